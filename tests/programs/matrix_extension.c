// Matrices as values, loaded and stored by columns that lie far from each other.
//@ flags: -fenable-matrix
#include <stdio.h>
#define N 200

typedef double square __attribute__((matrix_type(4, 4)));
typedef float wide __attribute__((matrix_type(2, 3)));
static double a[N * N];
static float b[N * N];

int main(void) {
#pragma omp parallel for
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 1000;
        b[i] = i % 777;
    }
    double s = 0;
    volatile long stride = N;
#pragma omp parallel for reduction(+ : s) schedule(static, 1)
    for (int i = 0; i < N - 4; i += 4) {
        square x = __builtin_matrix_column_major_load(a + i * N + i, 4, 4, N);
        square y = x * x;
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4; c++) s += y[r][c];
        wide z = __builtin_matrix_column_major_load(b + i * N + (i + 50) % 190, 2, 3, stride);
        __builtin_matrix_column_major_store(z * 2.0f, b + i * N + i, N);
        __builtin_matrix_column_major_store(y, a + i * N + (i + 100) % 190, stride);
    }
    double t = 0;
    for (int i = 0; i < N * N; i++) t += a[i] * (i % 7) + b[i] * (i % 11);
    printf("%.0f %.0f\n", s, t);
    return 0;
}
