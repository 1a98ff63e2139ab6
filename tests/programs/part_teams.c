// Regions of a few threads, one after the other: who takes part in none of them sees all that was written there in the next region of all.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 4, REGIONS = 9, PAGE = 4096 / sizeof(long) };

static long page[REGIONS][PAGE];

int main(void) {
    long sum = 0;
    for (int round = 1; round <= 6; round++) {
        // Everybody has a copy.
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
        for (int i = 0; i < REGIONS; i++) sum += (omp_get_thread_num() + 1) * page[i][round];
        int few = 1 + round % 3;
        for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(few)
            {
                if (omp_get_thread_num() == few - 1) page[region][round + 1] += round * region + 1;
#pragma omp barrier
                if (omp_get_thread_num() == 0) page[region][round + 2] += page[region][round + 1] % 5;
            }
        }
    }
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    for (int i = 0; i < REGIONS; i++)
        for (int k = 0; k < 10; k++) sum += (omp_get_thread_num() + 1) * page[i][k];
    printf("%ld\n", sum);
    return 0;
}
