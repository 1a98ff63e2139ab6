// std::filesystem: paths that one thread makes are taken apart, compared, changed and used by others; errors with paths.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

int main()
{
    const fs::path directory = fs::temp_directory_path() / ("dsm-filesystem-" + std::to_string(getpid()));
    fs::create_directory(directory);
    #pragma omp parallel for num_threads(4)
    for (int i = 0; i < 32; i++) {
        std::ofstream file(directory / ("file_number_" + std::to_string(i) + ".txt"));
        file << std::string(i * 10, 'x');
    }
    std::vector<fs::path> paths;
    for (auto &entry : fs::directory_iterator(directory))
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    const size_t n = paths.size();
    std::vector<std::string> lines(n);
    std::vector<fs::path> relative(n), combined(n);
    long total = 0, parts = 0, caught = 0;
    #pragma omp parallel num_threads(4)
    {
        #pragma omp for reduction(+ : total, parts) schedule(static, 1)
        for (size_t i = 0; i < n; i++) {
            total += fs::file_size(paths[i]);
            lines[i] = paths[i].filename().string();
            relative[i] = fs::relative(paths[i], directory);
            combined[i] = paths[i].parent_path().parent_path() / paths[i].stem();
            combined[i].replace_extension(".log");
            parts += std::distance(paths[i].begin(), paths[i].end()) - std::distance(directory.begin(), directory.end());
        }
        #pragma omp for reduction(+ : caught) schedule(static, 3)
        for (size_t i = 0; i < n; i++) {
            lines[i] += " " + relative[i].string() + " " + combined[i].filename().string();
            lines[i] += fs::exists(paths[i]) ? "+" : "-";
            lines[i] += relative[i] < relative[(i + 1) % n] ? "<" : ">";
            lines[i] += paths[i].extension().string() + (fs::is_regular_file(paths[i]) ? "r" : "d");
            fs::path same = paths[i].lexically_normal();
            same /= "x";
            if (same.parent_path() != paths[i])
                lines[i] += "!";
            fs::rename(paths[i], fs::path(paths[i]).concat("z"));
            try {
                (void)fs::file_size(paths[i]);
            } catch (const fs::filesystem_error &error) {
                caught += error.path1() == paths[i];
            }
        }
    }
    for (auto &line : lines)
        std::cout << line << "\n";
    std::cout << total << " " << parts << " " << caught << " " << fs::remove_all(directory) << "\n";
    std::exception_ptr thrown;
    #pragma omp parallel num_threads(4)
    {
        #pragma omp for schedule(static, 1)
        for (int i = 0; i < 4; i++)
            if (i == 3)
                try {
                    (void)fs::file_size(directory / "a name that is not there");
                } catch (...) {
                    thrown = std::current_exception();
                }
        #pragma omp for schedule(static, 1) ordered
        for (int i = 0; i < 4; i++)
            try {
                std::rethrow_exception(thrown);
            } catch (const fs::filesystem_error &error) {
                std::string what = error.what();
                #pragma omp ordered
                std::cout << what.substr(0, 30) << " " << error.path1().filename() << "\n" << std::flush;
            }
    }
    thrown = nullptr;
    std::error_code error;
    std::cout << fs::file_size("/nonexistent", error) << " " << error.message() << "\n";
}
