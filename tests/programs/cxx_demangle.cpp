// Names of types in memory that one thread asks for and others read, and in buffers that they fit into or not.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <map>
#include <string>
#include <typeinfo>

enum { THREADS = 4 };
static char *names[THREADS];
static int states[THREADS];
static size_t lengths[THREADS];

int main() {
    const char *mangled[THREADS] = {typeid(std::map<int, double>).name(), typeid(int *).name(), "_Z3fooi", "no name"};
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for
        for (int i = 0; i < THREADS; i++) {
            if (i % 2 == 0) {
                names[i] = abi::__cxa_demangle(mangled[i], nullptr, nullptr, &states[i]);
            } else {
                lengths[i] = 2;
                char *buffer = static_cast<char *>(std::malloc(lengths[i]));
                names[i] = abi::__cxa_demangle(mangled[i], buffer, &lengths[i], &states[i]);
                if (!names[i])
                    std::free(buffer);
            }
        }
#pragma omp single
        for (int i = 0; i < THREADS; i++)
            std::printf("%d %s %d\n", states[i], names[i] ? names[i] : "(none)", names[i] && i % 2 && lengths[i] >= std::strlen(names[i]));
#pragma omp for schedule(static, 1)
        for (int i = 0; i < THREADS; i++)
            std::free(names[(i + 1) % THREADS]);
    }
    char large[200];
    size_t bytes = sizeof large;
    bool is_there = abi::__cxa_demangle("_Z3bard", large, &bytes, nullptr) == large;
    int state = 0;
    bool is_refused = !abi::__cxa_demangle("_Z3bard", large, nullptr, &state);
    std::printf("%d %s %d %d\n", is_there, large, is_refused, state);
    return 0;
}
