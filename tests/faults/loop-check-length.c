//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) double a[4096];

__attribute__((noinline)) void fill(double *p, int n) {
    for (int i = 0; i < n; i++) p[i] = i;
}

int main(void) {
    /* The last element begins a line. */
    fill(a, 1001);
    printf("%g\n", a[1000]);
    return 0;
}
