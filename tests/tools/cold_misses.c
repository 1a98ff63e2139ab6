/* How long a cold read miss of a block takes: process 1 reads a byte of each block of an array that process 0 has written, in an order in which no run of them comes. What soft-roce-guest.sh runs with and without
 * DSM_ONE_SIDED_READ; DSM_BLOCK is 4096. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 4096, BLOCKS = 960, CHUNK = 64 };

static char data[(BLOCKS + CHUNK) * BLOCK];
static double times[BLOCKS];

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    long sum = 0, expected = 0;
    for (int i = 0; i < BLOCKS; i++) {
        data[i * BLOCK + 7] = i % 100;
        expected += i % 100;
    }
#pragma omp parallel num_threads(omp_get_max_threads()) reduction(+ : sum)
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        for (int i = 0; i < BLOCKS; i++) {
            /* 37 blocks further each time: all of them once, and most of them in chunks that have been read before. */
            int block = i * 37 % BLOCKS;
            double start = omp_get_wtime();
            sum += *(volatile char *)&data[block * BLOCK + 7];
            times[i] = omp_get_wtime() - start;
        }
    }
    qsort(times, BLOCKS, sizeof times[0], ascending);
    printf("cold read misses of %d bytes: median %.1f us, a tenth below %.1f us, a tenth above %.1f us%s\n", BLOCK,
           1e6 * times[BLOCKS / 2], 1e6 * times[BLOCKS / 10], 1e6 * times[BLOCKS * 9 / 10],
           sum == expected ? "" : ", WRONG VALUES");
    return sum != expected;
}
