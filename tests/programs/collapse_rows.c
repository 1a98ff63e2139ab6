// Collapsed loops whose rows are walked: bounds that are not 0, steps, types, schedules, rows of one element, reductions; quotients and remainders of
// the program's own, by divisors of either sign.
#include "mix.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 53, COLUMNS = 71, DEPTH = 9 };

static double grid[ROWS][COLUMNS], other[ROWS][COLUMNS], cube[ROWS][COLUMNS][DEPTH];
static int cells[ROWS * COLUMNS];

__attribute__((noinline)) static void stencil(int rows, int columns, double (*to)[COLUMNS], double (*from)[COLUMNS]) {
#pragma omp parallel for collapse(2)
    for (int i = 1; i < rows - 1; i++)
        for (int j = 1; j < columns - 1; j++) to[i][j] = from[i - 1][j] + from[i + 1][j] + 2 * from[i][j - 1] - from[i][j + 1];
}

__attribute__((noinline)) static void steps(long first, long rows, unsigned columns, int by) {
#pragma omp parallel for collapse(2) schedule(static, 7)
    for (long i = rows - 1; i >= first; i--)
        for (unsigned j = 3; j < columns; j += by) cells[i * COLUMNS + j] += (int)(i * 3 + j);
}

__attribute__((noinline)) static double fill(int rows, int columns, int depth, int *last) {
    double sum = 0;
    int seen = -1;
#pragma omp parallel for collapse(3) schedule(dynamic, 100) reduction(+ : sum) reduction(max : seen)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            for (int k = 0; k < depth; k++) {
                cube[i][j][k] = i + 10 * j + 100 * k;
                sum += cube[i][j][k];
                if (seen < i * 10000 + j * 100 + k) seen = i * 10000 + j * 100 + k;
            }
    *last = seen;
    return sum;
}

// An inner loop of its own, with a condition.
__attribute__((noinline)) static void inner(int rows, int columns, int depth) {
#pragma omp parallel for collapse(2) schedule(guided)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            if ((i + j) % 3 == 0) continue;
            double sum = 0;
            for (int k = 0; k < depth; k++) sum += cube[i][j][k];
            other[i][j] = sum;
        }
}

// The program divides itself: also by what is negative, or does not divide the count.
__attribute__((noinline)) static void divide(long count, long by, long *quotients, long *remainders) {
#pragma omp parallel for
    for (long k = 0; k < count; k++) {
        quotients[k] = k / by;
        remainders[k] = k % by;
    }
}

__attribute__((noinline)) static void divide_unsigned(unsigned count, unsigned by, long *quotients, long *remainders) {
#pragma omp parallel for
    for (unsigned k = 0; k < count; k++) {
        quotients[k] += k / by;
        remainders[k] -= k % by;
    }
}

int main(void) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) grid[i][j] = i * j % 17;
    stencil(ROWS, COLUMNS, other, grid);
    stencil(ROWS - 7, COLUMNS - 40, grid, other);
    stencil(3, 3, other, grid);
    stencil(2, COLUMNS, other, grid);
    steps(5, ROWS, COLUMNS, 3);
    steps(0, 20, 4, 1);
    int last, none;
    double sum = fill(ROWS, COLUMNS, DEPTH, &last);
    sum += fill(ROWS, 1, 1, &none) + fill(1, COLUMNS, DEPTH, &none);
    inner(ROWS, COLUMNS, DEPTH);
    unsigned long h = mix(0, (unsigned long)last);
    static const long divisors[] = {1, 7, -7, 64, -100, 1000, 5000, -5000};
    long *quotients = calloc(3000, sizeof(long)), *remainders = calloc(3000, sizeof(long));
    for (unsigned d = 0; d < sizeof divisors / sizeof *divisors; d++) {
        divide(3000, divisors[d], quotients, remainders);
        divide_unsigned(2999, (unsigned)labs(divisors[d]), quotients, remainders);
        for (int k = 0; k < 3000; k++) h = mix(h, (unsigned long)(quotients[k] * 5 + remainders[k]));
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) h = mix(h, (unsigned long)(long)(grid[i][j] * 3 + other[i][j] + cells[i * COLUMNS + j]));
    printf("%lu %.0f\n", h, sum);
    free(quotients);
    free(remainders);
    return 0;
}
