// Streams: std::cout from all threads, strings and files.
//@ stdin: 12 words -3.5\nthe second line, which is longer than a short string\n\nlast
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

static std::ostringstream shared_log;

int main()
{
    int number;
    std::string word, line, empty, last;
    double real;
    std::cin >> number >> word >> real;
    std::cin.ignore(100, '\n');
    std::getline(std::cin, line);
    std::getline(std::cin, empty);
    std::getline(std::cin, last);
    std::cout << number << ' ' << word << ' ' << real << '|' << line << '|' << empty.size() << '|' << last << '|'
              << std::cin.eof() << '\n';

    // What one thread writes, another reads and prints.
    std::vector<std::string> texts(40);
#pragma omp parallel for
    for (int i = 0; i < 40; i++) {
        std::ostringstream out;
        out << std::setw(4) << std::setfill('.') << i << std::fixed << std::setprecision(3) << i / 7.0 << std::hex
            << std::showbase << i * 17 << " and a text that makes it long";
        texts[i] = out.str();
    }
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 40; i++) {
#pragma omp ordered
        {
            shared_log << i << ':' << texts[i].size() << ' ';
            if (i % 10 == 9)
                shared_log << std::endl;
        }
    }
    std::cout << shared_log.str();
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 40; i++) {
        std::istringstream in(texts[39 - i]);
        std::string first, rest;
        in >> first;
        std::getline(in, rest);
        sum += first.size() * rest.size() + std::stoi("1" + rest.substr(rest.size() - 0) + "2");
    }
    std::cout << sum << std::endl;

    // Every thread prints, in turn; one process prints at a time.
    std::cout << std::flush;
#pragma omp parallel
    {
#pragma omp single
        std::cout << "single: " << texts[3] << std::endl;
    }

    // Files.
    char pattern[] = "dsm-streams-XXXXXX";
    close(mkstemp(pattern));
    std::string path = pattern;
    {
        std::ofstream file(path);
        for (auto &text : texts)
            file << text << '\n';
        std::string big(20000, 'b');
        file << big << std::endl;
    }
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string text; std::getline(file, text);)
        lines.push_back(text);
    std::cout << lines.size() << ' ' << lines.back().size() << ' ' << (lines[7] == texts[7]) << ' ' << lines[39] << '\n';
    file.clear();
    file.seekg(5);
    char buffer[12] = {};
    file.read(buffer, 10);
    char array[8];
    file >> std::setw(8) >> array;
    std::cout << buffer << '/' << array << '/' << file.tellg() << ' ' << file.gcount() << '\n';
    std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::cout << all.size() << '\n';
    std::remove(path.c_str());
    std::cerr << "not compared\n";
    try {
        std::ifstream missing("/no/such/file");
        missing.exceptions(std::ios::failbit);
    } catch (const std::ios_base::failure &) {
        std::cout << "failure\n";
    }
    std::printf("stdio goes between ");
    std::cout << "the streams" << std::endl;
    std::ios::sync_with_stdio(false);
    std::cout << "unsynchronised " << texts[11] << '\n';
}
