// Jacobi iteration on a square grid: the textbook program of OpenMP.
//
// Two grids; every sweep reads one and writes the other. A thread's band of rows stays in its process; at the barrier behind
// a sweep only the two rows on the border of the bands travel.
//
//     jacobi [N] [SWEEPS]        default: 1024 50; make bench measures 2048 200
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int edge(int i, int n) { return i == 0 || i == n - 1; }

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1024, sweeps = argc > 2 ? atoi(argv[2]) : 50, team = 0;
    if (n < 3 || sweeps < 1) {
        fputs("usage: jacobi [N >= 3] [SWEEPS >= 1]\n", stderr);
        return 2;
    }
    double(*u)[n] = malloc(sizeof(double[n][n])), (*v)[n] = malloc(sizeof(double[n][n]));
    if (!u || !v) {
        fputs("jacobi: not enough memory\n", stderr);
        return 2;
    }
    // A mode of the grid: each sweep multiplies it by the same factor, so the answer is known. Whoever computes a row also sets it up.
    const double pi = acos(-1.0), rows = 7 * pi / (n - 1), columns = 5 * pi / (n - 1);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) u[i][j] = v[i][j] = edge(i, n) || edge(j, n) ? 0 : sin(rows * i) * sin(columns * j);
    double start = omp_get_wtime();
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
        double(*from)[n] = u, (*to)[n] = v;
        for (int sweep = 0; sweep < sweeps; sweep++) {
#pragma omp for schedule(static)
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < n - 1; j++)
                    to[i][j] = 0.25 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
            double(*swap)[n] = from;
            from = to, to = swap;
        }
    }
    double seconds = omp_get_wtime() - start;
    double(*last)[n] = sweeps % 2 ? v : u, worst = 0;
    double factor = pow(0.5 * (cos(rows) + cos(columns)), sweeps);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double right = edge(i, n) || edge(j, n) ? 0 : factor * sin(rows * i) * sin(columns * j);
            worst = fmax(worst, fabs(last[i][j] - right));
        }
    // A row that came one sweep late would be wrong by more than 1e-6.
    int wrong = !(worst < 1e-11);
    printf("%d threads, %d sweeps over %d x %d, largest error %.1e\n", team, sweeps, n, n, worst);
    printf("seconds %.4f\n", seconds);
    puts(wrong ? "WRONG" : "verified");
    free(u), free(v);
    return wrong != 0;
}
