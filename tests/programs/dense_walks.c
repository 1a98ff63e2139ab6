// A thread copies blocks of columns out of a matrix that the other one has written, as a Fourier transform does along its second dimension: each walk touches a part of every row, and of every block.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 256, WIDTH = 514, COLUMNS = 64 };

static double sums[2];

// The sizes are arguments, so that nothing but the walk is known.
__attribute__((noinline)) static double copy(int rows, int width, const double *matrix, double *columns) {
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < COLUMNS; i++) columns[j * COLUMNS + i] = matrix[(size_t)j * width + i];
    return columns[rows / 2 * COLUMNS];
}

int main(void) {
    double *matrix = calloc(ROWS * WIDTH, sizeof(double)), *columns = malloc(ROWS * COLUMNS * sizeof(double));
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        for (int round = 0; round < 3; round++) {
            if (me == 0)
                for (int i = 0; i < ROWS * WIDTH; i++) matrix[i] = round + i / 100;
#pragma omp barrier
            if (me == 1)
                for (int first = 0; first + COLUMNS <= WIDTH; first += COLUMNS)
                    sums[1] += copy(ROWS, WIDTH, matrix + first, columns);
#pragma omp barrier
        }
    }
    printf("%g\n", sums[1]);
    free(matrix);
    free(columns);
    return 0;
}
