// sections: each runs once; lastprivate from the last section; nowait and nested use in a function.
#include <stdio.h>

static int out[6][100];

static void fill(int which) {
    for (int i = 0; i < 100; i++) out[which][i] = which * 1000 + i;
}

int main(void) {
    int runs[6] = {0}, last = 0;
#pragma omp parallel
    {
#pragma omp sections lastprivate(last)
        {
#pragma omp section
            fill(0), runs[0]++, last = 10;
#pragma omp section
            fill(1), runs[1]++, last = 11;
#pragma omp section
            fill(2), runs[2]++, last = 12;
#pragma omp section
            fill(3), runs[3]++, last = 13;
        }
#pragma omp sections nowait
        {
#pragma omp section
            for (int i = 0; i < 100; i++) out[4][i] = out[0][99 - i] + out[3][i];
#pragma omp section
            for (int i = 0; i < 100; i++) out[5][i] = out[1][99 - i] + out[2][i] + runs[2];
        }
    }
    long sum = 0;
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 100; i++) sum += (long)out[k][i] * (k + i + 1);
    printf("%ld last %d runs", sum, last);
    for (int i = 0; i < 6; i++) printf(" %d", runs[i]);
    puts("");
    for (int round = 0; round < 20; round++) {
        int a = 0, b = 0;
#pragma omp parallel sections
        {
#pragma omp section
            a = round + 1;
#pragma omp section
            b = round + 2;
        }
        sum += a * 3 + b;
    }
    printf("%ld\n", sum);
    return 0;
}
