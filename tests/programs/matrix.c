// Blocked matrix product and LU factorisation through pointers to rows; pivoting swaps the rows.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 72 };

static double **new_matrix(void) {
    double **m = malloc(N * sizeof *m);
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < N; i++) m[i] = calloc(N, sizeof **m);
    return m;
}

static void drop(double **m) {
    for (int i = 0; i < N; i++) free(m[i]);
    free(m);
}

static void multiply(double **restrict c, double **restrict a, double **restrict b) {
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int ib = 0; ib < N; ib += 12)
        for (int jb = 0; jb < N; jb += 12)
            for (int i = ib; i < ib + 12; i++)
                for (int k = 0; k < N; k++)
                    for (int j = jb; j < jb + 12; j++) c[i][j] += a[i][k] * b[k][j];
}

int main(void) {
    double **a = new_matrix(), **b = new_matrix(), **c = new_matrix();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = (i * 7 + j * 3) % 11 - 5 + (i == j) * 20, b[i][j] = (i + j) % 5;
    multiply(c, a, b);
    double trace = 0;
    for (int i = 0; i < N; i++) trace += c[i][i] * (i + 1);
    printf("%.1f\n", trace);
    int swaps = 0;
#pragma omp parallel
    for (int k = 0; k < N; k++) {
#pragma omp single
        {
            int best = k;
            for (int i = k + 1; i < N; i++)
                if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
            double *t = a[k];
            a[k] = a[best];
            a[best] = t;
            swaps += best != k;
        }
#pragma omp for schedule(static, 1)
        for (int i = k + 1; i < N; i++) {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < N; j++) a[i][j] -= a[i][k] * a[k][j];
        }
    }
    double log_det = 0;
    for (int i = 0; i < N; i++) log_det += log(fabs(a[i][i]));
    printf("%d %.8f\n", swaps, log_det);
    drop(a), drop(b), drop(c);
    return 0;
}
