/* Twins of much data, made in one phase and not needed afterwards. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 64 << 20, COUNT = BYTES / sizeof(int), ROUNDS = 20 };

int main(void)
{
    int *data = malloc(BYTES);
    int small = 0;
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    for (int round = 0; round < 2; round++) {
        /* Every block is written by all: all but one make a twin of it. */
#pragma omp parallel
        {
            int me = omp_get_thread_num(), team = omp_get_num_threads();
            for (int i = me; i < COUNT; i += team)
                data[i] += round + i % 3;
        }
    }
#pragma omp parallel
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp single
        small++;
    }
    long wrong = small != ROUNDS;
    /* A part is written again after its twins went away. */
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = me; i < COUNT / 8; i += team)
            data[i]++;
#pragma omp barrier
        for (int i = (me + 1) % team; i < COUNT; i += team)
            wrong += data[i] != i + 1 + 2 * (i % 3) + (i < COUNT / 8);
    }
    printf("%ld wrong\n", wrong);
    return 0;
}
