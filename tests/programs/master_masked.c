// master and masked (with a filter); neither implies a barrier.
#include <omp.h>
#include <stdio.h>

static int by_master, by_masked[8], data[256];

int main(void) {
    long total = 0;
#pragma omp parallel num_threads(4) reduction(+ : total)
    {
        for (int round = 0; round < 10; round++) {
#pragma omp master
            {
                by_master += 1 + omp_get_thread_num();
                for (int i = 0; i < 256; i++) data[i] = i * round;
            }
#pragma omp barrier
            for (int i = 0; i < 256; i++) total += data[i];
#pragma omp barrier
#pragma omp masked filter(round % 4)
            {
                by_masked[omp_get_thread_num()]++;
                for (int i = 0; i < 256; i++) data[i] += omp_get_thread_num() * 1000;
            }
#pragma omp barrier
            total += data[round];
#pragma omp barrier
        }
#pragma omp masked
        by_masked[7] += omp_get_thread_num() + 5;
    }
    printf("%d %ld |", by_master, total);
    for (int i = 0; i < 8; i++) printf(" %d", by_masked[i]);
    puts("");
    return 0;
}
