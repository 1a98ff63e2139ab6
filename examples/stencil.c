// A stencil: the pattern that distributed shared memory is good at.
//
// Each thread owns a band of rows and needs one row of each neighbour per sweep. The compiler checks a
// whole row range before the inner loop, so that a sweep over unchanged memory runs at full speed, and at
// the barrier only the rows at the edges travel, because nobody else reads the inner ones.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 258, SWEEPS = 200 };

int main(void) {
    double(*now)[N] = calloc(N, sizeof *now), (*next)[N] = calloc(N, sizeof *next);
    // A linear profile is a fixed point of the average of four neighbours; disturb the inside.
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            now[i][j] = next[i][j] = i + 2.0 * j;
            if (i > 0 && j > 0 && i < N - 1 && j < N - 1) now[i][j] += sin(i * 0.1) * 10;
        }
    double start = omp_get_wtime(), change = 0, first = 0;
    int team = 0;
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp single
            change = 0;
#pragma omp for schedule(static) reduction(max : change)
            for (int i = 1; i < N - 1; i++)
                for (int j = 1; j < N - 1; j++) {
                    next[i][j] = 0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
                    change = fmax(change, fabs(next[i][j] - now[i][j]));
                }
#pragma omp single
            {
                double(*swap)[N] = now;
                now = next, next = swap;
                if (sweep == 0) first = change;
            }
        }
    }
    double seconds = omp_get_wtime() - start;
    // The same sweeps again, in order, by this thread alone, must give the same bits.
    double(*a)[N] = calloc(N, sizeof *a), (*b)[N] = calloc(N, sizeof *b);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = b[i][j] = i + 2.0 * j;
            if (i > 0 && j > 0 && i < N - 1 && j < N - 1) a[i][j] += sin(i * 0.1) * 10;
        }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        double(*swap)[N] = a;
        a = b, b = swap;
    }
    int wrong = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) wrong += now[i][j] != a[i][j];
    printf("%d threads, %d sweeps over %d x %d: %.1f us a sweep, largest change %.4f, at first %.4f\n", team, SWEEPS, N,
           N, seconds / SWEEPS * 1e6, change, first);
    puts(wrong ? "WRONG" : "verified");
    free(now), free(next), free(a), free(b);
    return wrong != 0;
}
