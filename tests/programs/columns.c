// Loops over collapsed nests walk down columns, forwards and backwards, of planes that other threads have written since the last time: what was known of a column then counts no more.
#include <stdio.h>

// The columns are few, so that all of a thread's are known after the first ones, and planes are longer than lines.
enum { PLANES = 40, ROWS = 4, WIDTH = 12, LONG = 512, ROUNDS = 12 };

static double planes[PLANES][ROWS][LONG], sums[ROWS][WIDTH];

int main(void) {
    double check = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (int k = 0; k < PLANES; k++)
                for (int j = 0; j < ROWS; j++)
                    for (int i = 0; i < WIDTH; i++) planes[k][j][i] += (k + 1) * (round + 1) + j + i % 7;
            // Each column is read and written by the thread that has a part of each plane.
#pragma omp for collapse(2) schedule(static)
            for (int j = 0; j < ROWS; j++)
                for (int i = 0; i < WIDTH; i++) {
                    double sum = 0;
                    for (int k = 0; k < PLANES; k++) sum += planes[k][j][i];
                    for (int k = PLANES - 2; k >= 0; k--) planes[k][j][i] += planes[k + 1][j][i] / 2;
                    sums[j][i] += sum;
                }
        }
    }
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < WIDTH; i++) check += sums[j][i] / (1 + j);
    printf("%.6e %.6e\n", check, planes[3][2][7]);
    return 0;
}
