//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) double a[4096];

__attribute__((noinline)) void fill(double *p, int n, long y, long z, long w) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                for (int l = 0; l < n; l++) p[i * w + j * z + k * y + l] = 1;
}

int main(void) {
    /* None of the distances is that of rows that touch each other. */
    fill(a, 3, 40, 200, 1000);
    printf("%g\n", a[2 * 1240 + 2]);
    return 0;
}
