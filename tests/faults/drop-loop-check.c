//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) double a[4096];

__attribute__((noinline)) void fill(double *p, int n) {
    for (int i = 0; i < n; i++) p[i] = i;
}

int main(void) {
    fill(a, 1000);
    printf("%g\n", a[999]);
    return 0;
}
