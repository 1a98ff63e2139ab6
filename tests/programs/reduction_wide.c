// Reductions of long double and complex values: too wide for an atomic instruction, so the compiler
// calls the generic atomic functions.
//@ libs: -latomic
#include <complex.h>
#include <stdio.h>

int main(void) {
    long double lsum = 1, lhigh = -1;
    double _Complex csum = 1;
    float _Complex fsum = I;
#pragma omp parallel for reduction(+ : lsum, csum, fsum) reduction(max : lhigh)
    for (int i = 0; i < 640; i++) {
        double v = ((i * 29) % 97 - 40) * 0.25;
        lsum += v;
        csum += v + 2 * v * I;
        fsum += (float)v - (float)v * I;
        if (v > lhigh) lhigh = v;
    }
    printf("%.6Lf %.6Lf\n", lsum, lhigh);
    printf("%.3f %.3f %.3f %.3f\n", creal(csum), cimag(csum), crealf(fsum), cimagf(fsum));
    return 0;
}
