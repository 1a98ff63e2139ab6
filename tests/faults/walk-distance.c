//@ layout: 1x1
//@ found: output
#include <stdint.h>
#include <stdio.h>

static long values[40][64];

__attribute__((noinline)) long sum(long *row, int rows, int columns, uintptr_t pitch) {
    long sum = 0;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) sum = sum * 3 + *row++;
        row = (long *)((uintptr_t)row - columns * sizeof(long) + pitch);
    }
    return sum;
}

int main(void) {
#pragma omp parallel for
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 64; j++) values[i][j] = 10 * i + j;
    printf("%ld\n", sum(values[0], 40, 50, sizeof values[0]));
    return 0;
}
