// Data that changes writer every phase: blocks rotate over the team, everyone reads everything.
#include "mix.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 24, WORDS = 700, PHASES = 20 };
static int global_data[BLOCKS][WORDS];

int main(void) {
    int(*heap_data)[WORDS] = malloc(sizeof(int[BLOCKS][WORDS]));
    int stack_data[BLOCKS][3];
    for (int b = 0; b < BLOCKS; b++) {
        for (int w = 0; w < WORDS; w++) heap_data[b][w] = b + w;
        for (int w = 0; w < 3; w++) stack_data[b][w] = b * w;
    }
    long bad = 0;
#pragma omp parallel reduction(+ : bad)
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int phase = 0; phase < PHASES; phase++) {
            for (int b = 0; b < BLOCKS; b++) {
                if ((b + phase) % team != me) continue;
                for (int w = 0; w < WORDS; w++) {
                    global_data[b][w] += heap_data[(b + 1) % BLOCKS][w] % 1000;
                }
                stack_data[b][phase % 3] += global_data[b][phase];
            }
#pragma omp barrier
            for (int b = 0; b < BLOCKS; b++) {
                if ((b * 3 + phase) % team != me) continue;
                for (int w = 0; w < WORDS; w++) heap_data[b][w] = global_data[BLOCKS - 1 - b][w] - phase;
            }
#pragma omp barrier
            for (int b = 0; b < BLOCKS; b++)
                for (int w = 0; w < WORDS; w += 13) bad += heap_data[b][w] != global_data[BLOCKS - 1 - b][w] - phase;
#pragma omp barrier
        }
    }
    unsigned long h = 0;
    for (int b = 0; b < BLOCKS; b++) {
        for (int w = 0; w < WORDS; w++) h = mix(h, (unsigned long)(heap_data[b][w] + global_data[b][w]));
        for (int w = 0; w < 3; w++) h = mix(h, (unsigned long)stack_data[b][w]);
    }
    printf("bad %ld %016lx\n", bad, h);
    free(heap_data);
    return 0;
}
