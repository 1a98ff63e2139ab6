//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) double a[4096];

__attribute__((noinline)) void fill(double *p, int n) {
    for (int i = n; i > 0; i--) p[i] = p[i + 1] + 1;
}

int main(void) {
    fill(a, 1000);
    printf("%g\n", a[1]);
    return 0;
}
