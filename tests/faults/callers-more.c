//@ layout: 1x1
//@ found: verify
#include <stdio.h>
double a[4096];

__attribute__((noinline)) static void step(double *p, int far) {
    p[0] += 1;
    p[1] += 2;
    if (far) p[100] = 3;
}


int main(void) {
    for (int i = 0; i < 1000; i++) step(a + 2 * i, i == 999);
    printf("%g %g\n", a[0], a[2098]);
    return 0;
}
