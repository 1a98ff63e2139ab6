// Complex arithmetic on shared arrays: a discrete Fourier transform and its inverse.
#include <complex.h>
#include <math.h>
#include <stdio.h>

enum { N = 64 };
static double _Complex signal[N], spectrum[N], back[N];
static float _Complex single_precision[N];

int main(void) {
    const double turn = 2 * 3.14159265358979323846 / N;
    double _Complex twiddle[N];
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < N; i++) {
            twiddle[i] = cexp(turn * i * I);
            signal[i] = (i * 37 % 11) - 5 + (i % 3) * I;
        }
#pragma omp for schedule(static, 3)
        for (int k = 0; k < N; k++) {
            double _Complex sum = 0;
            for (int i = 0; i < N; i++) sum += signal[i] * conj(twiddle[i * k % N]);
            spectrum[k] = sum;
        }
#pragma omp for schedule(dynamic, 5)
        for (int i = 0; i < N; i++) {
            double _Complex sum = 0;
            for (int k = 0; k < N; k++) sum += spectrum[k] * twiddle[i * k % N];
            back[i] = sum / N;
        }
#pragma omp for schedule(static, 2)
        for (int i = 0; i < N; i++) single_precision[i] = (float _Complex)(back[N - 1 - i] * back[i] / (2.0 + I));
    }
    double worst = 0;
    for (int i = 0; i < N; i++) worst = fmax(worst, cabs(back[i] - signal[i]));
    printf("%d\n", worst < 1e-9);
    for (int k = 0; k < N; k += 9)
        printf("%.4f %.4f %.3f %.3f\n", creal(spectrum[k]) + 0.0, cimag(spectrum[k]) + 0.0,
               crealf(single_precision[k]), cimagf(single_precision[k]));
    return 0;
}
