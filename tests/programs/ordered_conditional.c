// Loops whose iterations execute their ordered region only sometimes, or never: an iteration still waits for its turn where it ends, and what a thread
// stores afterwards must reach the others although none of the loop's own calls has a region.
#include <omp.h>
#include <stdio.h>

enum { COUNT = 4000 };
static long values[COUNT], order[COUNT];
static long total, placed;

static void run(int verbose) {
    long *p = values;
#pragma omp parallel num_threads(4)
    {
#pragma omp for ordered schedule(static, 5) nowait
        for (int i = 0; i < COUNT; i++) {
            p[i] += i + 1;
            if (verbose && i % 7 == 0) {
#pragma omp ordered
                order[placed++] = i;
            }
            p[i] += 1;
        }
#pragma omp critical
        total += p[omp_get_thread_num() * 5];
    }
}

int main(void) {
    for (int round = 0; round < 20; round++) {
        placed = 0;
        run(round % 2);
    }
    long sum = 0, wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += values[i];
        wrong += values[i] != 20 * (i + 2L);
    }
    for (long i = 0; i < placed; i++) wrong += order[i] != 7 * i;
    printf("%ld %ld %ld %ld\n", sum, wrong, placed, total);
}
