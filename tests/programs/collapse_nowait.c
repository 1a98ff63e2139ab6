// collapse over two and three loops, and nowait followed by work that needs no barrier.
#include "mix.h"
#include <stdio.h>

static int grid[23][31], cube[5][7][11];
static long left[400], right[400];

int main(void) {
#pragma omp parallel
    {
#pragma omp for collapse(2) schedule(static, 3)
        for (int i = 0; i < 23; i++)
            for (int j = 30; j >= 0; j--) grid[i][j] = i * 100 + j;
#pragma omp for collapse(3) schedule(dynamic, 5) nowait
        for (int i = 0; i < 5; i++)
            for (unsigned j = 0; j < 7; j++)
                for (long k = 0; k < 11; k += 2) cube[i][j][k] = grid[i][j] + grid[22 - i][30 - j] + (int)k;
#pragma omp for nowait schedule(static)
        for (int i = 0; i < 400; i++) left[i] = i * 2;
        // The same static schedule gives the same iterations to the same thread.
#pragma omp for nowait schedule(static)
        for (int i = 0; i < 400; i++) left[i] += left[i] % 7;
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < 400; i++) right[i] = left[399 - i] + cube[i % 5][i % 7][i % 11];
    }
    unsigned long h = 0;
    for (int i = 0; i < 23; i++)
        for (int j = 0; j < 31; j++) h = mix(h, (unsigned long)grid[i][j]);
    for (int i = 0; i < 385; i++) h = mix(h, (unsigned long)cube[i / 77][i / 11 % 7][i % 11]);
    for (int i = 0; i < 400; i++) h = mix(h, (unsigned long)right[i]);
    printf("%016lx\n", h);
    // A triangle: the inner bound depends on the outer index, so the outer loop alone is shared.
    long sum = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : sum)
    for (int i = 0; i < 23; i++)
        for (int j = 0; j <= i; j++) sum += grid[i][j];
    printf("%ld\n", sum);
    return 0;
}
