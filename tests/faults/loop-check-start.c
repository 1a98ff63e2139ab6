//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) double a[4096];

__attribute__((noinline)) void fill(double *p, int n) {
    for (int i = 0; i < n; i++) p[i] = i;
}

int main(void) {
    /* The first element ends a line. */
    fill(a + 7, 1000);
    printf("%g\n", a[7]);
    return 0;
}
