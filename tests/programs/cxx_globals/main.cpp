// Variables with constructors and destructors: each once, in order, in one process; the same variable in all files.
//@ exit: 5
//@ varies
#include "shared.hpp"

#include <cstdlib>

std::vector<const char *> events;
Traced first("first", 1);
static Traced second("second", 2);
static int zero;
__attribute__((weak)) int weak_number = 3;

struct Slow {
    int value;
    Slow()
    {
        events.push_back("slow made");
        value = 77;
    }
    ~Slow() { std::printf("slow gone %d\n", value); }
};

static int slow()
{
    static Slow object;
    return ++object.value;
}

struct Fails {
    Fails(int *tries)
    {
        if (++*tries < 3)
            throw 1;
    }
    ~Fails() { std::puts("fails gone"); }
};

static int tries;

static int attempts()
{
    for (;;) {
        try {
            static Fails object(&tries);
            return tries;
        } catch (int) {
        }
    }
}

static void at_end() { std::printf("end %d %d\n", first.value, zero); }

__attribute__((destructor)) static void very_last() { std::printf("last %d\n", zero); }

__attribute__((constructor)) static void very_first() { zero = 40; }

int main()
{
    std::atexit(at_end);
    int sum = 0, most = 0;
#pragma omp parallel reduction(+ : sum) reduction(max : most)
    {
        // Whoever comes first initialises it, with a lock around the use.
#pragma omp critical
        sum += slow() > 0;
        most = attempts();
#pragma omp critical
        sum += label().size() == 48;
#pragma omp for
        for (int i = 0; i < 100; i++)
            Table<int>::entries[i] += i;
#pragma omp single
        {
            folded.value++;
            second.value++;
            weak_number++;
            zero++;
        }
    }
    for (const char *event : events)
        std::puts(event);
    fill_elsewhere();
    std::printf("%d %d\n", sum > 0, most);
    std::printf("%ld %d %d %d %s\n", sum_elsewhere(), folded.value, weak_number, zero, label().c_str());
    return 5;
}
