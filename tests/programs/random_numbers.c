// Random numbers come from one state, whichever threads draw: each number of the sequence once.
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400 };
static long draws[N];
static double fractions[N];

static int by_value(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static int by_fraction(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name) {
    qsort(draws, N, sizeof *draws, by_value);
    int twice = 0;
    unsigned long hash = 0;
    for (int i = 0; i < N; i++) {
        twice += i && draws[i] == draws[i - 1];
        hash = hash * 31 + (unsigned long)draws[i];
    }
    printf("%s: %d twice, %lu\n", name, twice, hash);
}

// Under a lock: the C library's drand48 family is not safe for threads that draw at the same time.
#define DRAW(call)                                                                                \
    do {                                                                                          \
        _Pragma("omp parallel for num_threads(4) schedule(dynamic, 3)") for (int i = 0; i < N; i++) { \
            _Pragma("omp critical") draws[i] = call;                                              \
        }                                                                                         \
        report(#call);                                                                            \
    } while (0)

int main(void) {
    static char buffer[256], other[32];
    DRAW(rand());
    DRAW(random());
    srand(42);
    DRAW(rand());
    srandom(7);
    DRAW(random());
    DRAW(lrand48());
    srand48(42);
    DRAW(lrand48());
    DRAW(mrand48());
    printf("main goes on with %ld %d %.12f\n", random(), rand(), drand48());

    srand48(-5);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < N; i++) {
#pragma omp critical
        fractions[i] = drand48();
    }
    qsort(fractions, N, sizeof *fractions, by_fraction);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += fractions[i] * (i + 1);
    printf("drand48 %.6f\n", sum);

    // The sequence of one thread that has all numbers is that of the program.
    srand(1);
    int first = rand(), second;
    srand(1);
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 3) second = rand();
    printf("again %d\n", first == second);

    unsigned short seed[3] = {1, 2, 3}, parameters[7] = {1, 2, 3, 0xe66d, 0xdeec, 5, 11}, own[4][3] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {4, 5, 6}};
    unsigned short *before = seed48(seed);
    printf("seed48 %d %d %d then %ld\n", before[0], before[1], before[2], lrand48());
    lcong48(parameters);
    static long nrand[4];
#pragma omp parallel num_threads(4)
    nrand[omp_get_thread_num()] = nrand48(own[omp_get_thread_num()]) + jrand48(own[omp_get_thread_num()]) + (long)(erand48(own[omp_get_thread_num()]) * 1e6);
    printf("own states %ld %ld %ld %ld then %ld\n", nrand[0], nrand[1], nrand[2], nrand[3], lrand48());

    // Generators of other sizes, in buffers of the program.
    char *standard = initstate(5, buffer, sizeof buffer);
    DRAW(random());
    char *large = initstate(6, other, sizeof other);
    DRAW(random());
    printf("buffers %d %d\n", large == buffer, setstate(standard) == other);
    DRAW(random());
    setstate(buffer);
    DRAW(random());
    static char smallest[8];
    initstate(9, smallest, 8);
    DRAW(random());
    return 0;
}
