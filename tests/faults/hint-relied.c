//@ layout: 2x1
//@ found: verify
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void count(int *counts, const int *keys, const int *bound) {
    for (int k = 0; k < *bound; k++) counts[keys[k]]++;
}

int main(void) {
    int *keys = malloc(4000 * sizeof *keys), *counts = calloc(2 * 64, sizeof *counts), *bound = malloc(sizeof *bound);
    for (int i = 0; i < 4000; i++) keys[i] = i % 64;
    *bound = 4000;
#pragma omp parallel for num_threads(2)
    for (int t = 0; t < 2; t++) count(counts + 64 * t, keys, bound);
    printf("%d %d\n", counts[0], counts[127]);
    free(keys), free(counts), free(bound);
    return 0;
}
