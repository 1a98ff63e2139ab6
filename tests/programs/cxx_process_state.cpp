// Formats of the standard streams, handlers and the global locale are the program's.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <locale>
#include <new>
#include <omp.h>
#include <random>
#include <sstream>
#include <string>

static int refused;

static void out_of_memory() {
    refused++;
    std::set_new_handler(nullptr);
}

static void at_the_end() { std::_Exit(3); }

int main() {
    std::cout << std::fixed << std::setprecision(3) << std::setfill('*') << std::boolalpha;
    std::cerr << std::hex;
#pragma omp parallel num_threads(4)
    for (int turn = 0; turn < 4; turn++) {
#pragma omp barrier
        if (turn == omp_get_thread_num())
            std::cout << turn << ' ' << 3.14159265 << ' ' << std::setw(8) << 42 << ' ' << true << ' ' << (std::cerr.flags() == (std::cerr.flags() | std::ios::hex))
                      << std::endl;
    }
    std::cout << std::scientific << std::setfill(' ') << std::setprecision(1);
#pragma omp parallel num_threads(4)
    for (int turn = 0; turn < 4; turn++) {
#pragma omp barrier
        if (turn == omp_get_thread_num()) std::cout << turn << ' ' << 3.14159265 << ' ' << std::setw(8) << 42 << std::endl;
    }
    // Made by one thread, drawn from by others.
    std::random_device *device = nullptr;
    long draws = 0, different = 0;
    unsigned before = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        device = new std::random_device;
#pragma omp critical
        for (int i = 0; i < 50; i++) {
            unsigned drawn = (*device)();
            different += drawn != before;
            before = drawn;
            draws++;
        }
    }
    delete device;
    std::cout << draws << ' ' << (different > 190) << std::endl;
    std::locale::global(std::locale("C.UTF-8"));
    std::set_new_handler(out_of_memory);
    std::set_terminate(at_the_end);
    static int caught[4], same[4];
    static std::string names[4];
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        same[me] = std::get_terminate() == at_the_end && std::get_new_handler() == out_of_memory;
        names[me] = std::locale().name();
        std::ostringstream out;
        out << std::locale(out.getloc()).name();
        names[me] += " " + out.str();
#pragma omp barrier
        if (me == 3) {
            try {
                volatile std::size_t many = std::size_t(1) << 62;
                ::operator delete(::operator new(many));
            } catch (const std::bad_alloc &) {
                caught[me]++;
            }
        }
    }
    for (int i = 0; i < 4; i++) std::printf("%d: %d %s %d\n", i, same[i], names[i].c_str(), caught[i]);
    std::printf("refused %d\n", refused);
    return 0;
}
