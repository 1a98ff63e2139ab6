// A two-dimensional five-point stencil with swapped pointers and a residual reduction each sweep.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 130, SWEEPS = 40 };

int main(void) {
    double(*now)[N] = calloc(N, sizeof *now), (*next)[N] = calloc(N, sizeof *next);
    for (int i = 0; i < N; i++) now[0][i] = next[0][i] = 1024.0, now[i][N - 1] = next[i][N - 1] = i * 8.0;
    double worst = 0;
#pragma omp parallel
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp barrier
#pragma omp single
        worst = 0;
#pragma omp for reduction(max : worst) schedule(static)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                next[i][j] = 0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
                worst = fmax(worst, fabs(next[i][j] - now[i][j]));
            }
#pragma omp single
        {
            double(*t)[N] = now;
            now = next;
            next = t;
        }
    }
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += now[i][j];
    printf("%.9f %.9f\n", worst, sum);
    free(now);
    free(next);
    return 0;
}
