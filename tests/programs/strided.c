// Columns of matrices: steps longer than a line, up and down, one and two dimensions, and neighbours of other threads.
#include <stdio.h>

enum { N = 37, PAD = 300 };

static double a[N][N][PAD], b[N][N][PAD];

static void column(int thread, int threads, double by) {
    for (int k = thread; k < PAD; k += threads)
        for (int i = 0; i < N; i++)
            for (int j = N - 1; j >= 0; j--) a[i][j][k] += by * (b[j][i][k] + i - j);
}

int main(void) {
#pragma omp parallel for
    for (int k = 0; k < PAD; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) b[i][j][k] = i * 3 + j * 5 + k;
    for (int round = 1; round <= 3; round++) {
#pragma omp parallel for
        for (int part = 0; part < 5; part++) column(part, 5, round);
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            for (int j = i % 2; j < N; j += 2) b[i][j][round] = a[j][i][round] + a[i][j][PAD - 1];
    }
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < PAD; k++) sum += a[i][j][k] * (k % 7) + b[i][j][k];
    printf("%.1f %.1f %.1f\n", sum, a[3][5][7], b[N - 1][0][3]);
    return 0;
}
