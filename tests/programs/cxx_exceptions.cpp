// Exceptions that threads throw and catch, through frames with variables that other threads can reach.
#include <cstdio>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

struct Failure : std::runtime_error {
    int code;
    Failure(const std::string &text, int code) : std::runtime_error(text), code(code) {}
};

struct Guard {
    int &count;
    explicit Guard(int &count) : count(count) { count++; }
    ~Guard() { count--; }
};

static std::vector<int> shared(1000);
static int *volatile escape;

// Its local variable is reachable by others while it throws.
__attribute__((noinline)) static int risky(int i)
{
    int local[64] = {i};
    escape = local;
    shared[i % 1000] = i;
    if (i % 3 == 0)
        throw Failure("failure number " + std::to_string(i) + ", described at some length", i);
    if (i % 7 == 0)
        throw i;
    return local[i % 2 ? 1 : 0] + 1;
}

__attribute__((noinline)) static int middle(int i, int &depth)
{
    Guard guard(depth);
    int array[32] = {};
    escape = array;
    return risky(i) + array[5];
}

static int classify(int i, int &depth)
{
    try {
        return middle(i, depth);
    } catch (const Failure &failure) {
        return 1000 + failure.code % 10 + (std::string(failure.what()).size() > 30);
    } catch (int code) {
        return 100 + code % 10;
    }
}

int main()
{
    long sum = 0;
    int depths = 0;
#pragma omp parallel for reduction(+ : sum, depths)
    for (int i = 0; i < 1000; i++) {
        int depth = 0;
        sum += classify(i, depth);
        depths += depth;
    }
    std::printf("%ld %d %d\n", sum, depths, shared[999]);

    // Many of them: what the frames took on the way must be given back.
    int caught = 0;
    for (int i = 0; i < 20000; i++) {
        int depth = 0;
        caught += classify(3 * i, depth) >= 1000;
    }
    std::printf("%d\n", caught);

    // Out of a critical section the exception must be caught inside it, as OpenMP asks.
    int fine = 0, failed = 0;
#pragma omp parallel for
    for (int i = 0; i < 300; i++) {
#pragma omp critical(counts)
        {
            try {
                risky(i);
                fine++;
            } catch (...) {
                failed++;
            }
        }
    }
    std::printf("%d %d\n", fine, failed);

    // From a function with a critical section of its own, and out of loops in the region.
    std::string first, dots;
    std::size_t team = 0;
#pragma omp parallel
    {
        try {
            try {
                for (int i = 1;; i++)
                    risky(i);
            } catch (const Failure &) {
#pragma omp single nowait
                first = "single saw it";
                throw;
            }
        } catch (const std::logic_error &) {
            std::puts("wrong");
        } catch (const std::exception &e) {
#pragma omp critical
            {
                dots += ".";
                team = omp_get_num_threads();
            }
        }
    }
    std::printf("%s %d\n", first.c_str(), dots.size() == team);
    try {
        std::vector<int>(5).at(5);
    } catch (const std::out_of_range &e) {
        std::printf("%s\n", e.what());
    }
}
