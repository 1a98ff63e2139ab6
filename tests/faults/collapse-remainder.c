//@ layout: 1x1
//@ found: output
#include <stdio.h>

static long values[4000];

__attribute__((noinline)) void fill(int rows, int columns) {
#pragma omp parallel for collapse(2)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) values[i * columns + j] = 10 * i + j;
}

int main(void) {
    fill(20, 30);
    long sum = 0;
    for (int i = 0; i < 600; i++) sum = sum * 31 + values[i];
    printf("%ld\n", sum);
    return 0;
}
