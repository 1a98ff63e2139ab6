//@ layout: 2x1
//@ found: verify
#include <stdio.h>
#include <stdlib.h>

int starts[101];

__attribute__((noinline)) double rows(const int *start, const double *values, int n) {
    double sum = 0;
    for (int round = 0; round < n / 50; round++) {
#pragma omp barrier
        for (int i = 0; i < n; i++)
            for (int k = start[i]; k < start[i + 1]; k++) sum += values[k];
    }
    return sum;
}

int main(void) {
    double *values = malloc(8000 * sizeof *values);
    for (int i = 0; i <= 100; i++) starts[i] = i * 80;
    for (int i = 0; i < 8000; i++) values[i] = i;
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += rows(starts, values, 100);
    printf("%g\n", sum);
    free(values);
    return 0;
}
