//@ layout: 2x1
//@ found: output
#include <stdio.h>
#include <stdlib.h>

int order[1000];

__attribute__((noinline)) long sum(const long *values, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) sum += values[order[i]];
    return sum;
}

int main(void) {
    long *values = calloc(1000, sizeof *values), total = 0;
    for (int i = 0; i < 1000; i++) order[i] = 7 * i % 1000;
#pragma omp parallel num_threads(2)
    for (int round = 1; round < 4; round++) {
#pragma omp single
        for (int i = 0; i < 1000; i++) values[i] = round * i;
        long own = sum(values, 1000);
#pragma omp critical
        total += own;
#pragma omp barrier
    }
    printf("%ld\n", total);
    return 0;
}
