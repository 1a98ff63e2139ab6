//@ layout: 2x1
//@ found: verify
#include <stdio.h>
#include <stdlib.h>

long steps[100];

/* Three elements of a column, upwards or downwards: where the second row begins is in the window of the first, where it ends is not. */
__attribute__((noinline)) double rows(const long *step, const double *values, int n, int m) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) sum += values[k * step[i]];
    return sum;
}

int main(void) {
    double *values = malloc(4000 * sizeof *values);
    for (int i = 0; i < 100; i++) steps[i] = i % 2 ? -20 : 20;
    for (int i = 0; i < 4000; i++) values[i] = i;
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += rows(steps, values + 2000, 100, 3);
    printf("%g\n", sum);
    free(values);
    return 0;
}
