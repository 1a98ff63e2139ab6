// Exceptions of the C++ library as values: objects that one process makes, copies, moves and assigns, and another reads and destroys.
#include <cstdio>
#include <filesystem>
#include <ios>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

constexpr int THREADS = 4, COUNT = 40;

struct Derived : std::range_error {
    int place;
    Derived(const std::string &text, int i) : std::range_error(text), place(i) {}
};

static std::string text(int i) { return "error number " + std::to_string(i) + " with a text that is on the heap"; }

template <class E, class Make> static void pass_around(const char *name, Make make)
{
    long bad = 0;
    for (int round = 0; round < 5; round++) {
        std::vector<std::string> texts(COUNT);
        // A vector that grows moves what other processes have put in.
        std::vector<E> made, thrown;
        std::vector<int> made_by, thrown_by;
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
        for (int i = 0; i < COUNT; i++) {
            E error = make(i);
            texts[i] = error.what();
#pragma omp critical
            {
                made.emplace_back(make(i));
                made_by.push_back(i);
            }
            try {
                throw error;
            } catch (const E &caught) {
#pragma omp critical
                {
                    thrown.push_back(caught);
                    thrown_by.push_back(i);
                }
            }
        }
        for (int k = 0; k < COUNT; k++) bad += made[k].what() != texts[made_by[k]] || thrown[k].what() != texts[thrown_by[k]];

        std::vector<E> copies = made;
        std::vector<E *> objects(COUNT);
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : bad)
        for (int k = 0; k < COUNT; k++) {
            E error(made[(k + 1) % COUNT]), other(std::move(error));
            error = make(0);
            error = std::move(other);
            bad += error.what() != texts[made_by[(k + 1) % COUNT]];
            copies[k] = error;
            thrown[k] = std::move(error);
            objects[k] = new E(copies[k]);
        }
#pragma omp parallel for num_threads(THREADS) schedule(static, 3) reduction(+ : bad)
        for (int k = 0; k < COUNT; k++) {
            const std::string &expected = texts[made_by[(k + 1) % COUNT]];
            bad += copies[k].what() != expected || thrown[k].what() != expected || objects[k]->what() != expected;
            delete objects[k];
        }
        for (int k = 0; k < COUNT; k++) bad += copies[k].what() != texts[made_by[(k + 1) % COUNT]];
    }
    std::printf("%s %ld %s\n", name, bad, make(7).what());
}

// The last copy destroys the paths that copies share.
static void share_paths()
{
    using std::filesystem::filesystem_error, std::filesystem::path;
    long bad = 0;
    for (int round = 0; round < 200; round++) {
        const path directory = "/a/directory/with/a/long/name/" + text(round);
        std::vector<filesystem_error> copies(THREADS, filesystem_error(text(round), directory, std::make_error_code(std::errc::timed_out)));
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : bad)
        for (int i = 0; i < THREADS; i++) {
            filesystem_error other("other", std::make_error_code(std::errc::timed_out));
            std::swap(copies[i], other);
            bad += other.path1() != directory;
        }
    }
    std::printf("paths %ld\n", bad);
}

int main()
{
    using std::filesystem::filesystem_error;
    const auto timed_out = std::make_error_code(std::errc::timed_out);
    pass_around<std::runtime_error>("runtime_error", [](int i) { return std::runtime_error(text(i)); });
    pass_around<std::logic_error>("logic_error", [](int i) { return std::logic_error(text(i).c_str()); });
    pass_around<std::out_of_range>("out_of_range", [](int i) { return std::out_of_range(text(i)); });
    pass_around<Derived>("Derived", [](int i) { return Derived(text(i), i); });
    pass_around<std::system_error>("system_error", [=](int i) { return std::system_error(timed_out, text(i)); });
    pass_around<std::ios_base::failure>("failure", [=](int i) { return std::ios_base::failure(text(i), timed_out); });
    pass_around<filesystem_error>("filesystem_error", [=](int i) { return filesystem_error(text(i), "/a/directory/" + text(i), timed_out); });
    share_paths();
}
