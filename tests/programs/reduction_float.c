// Floating-point reductions. Values are small multiples of 1/4, so that any order gives the same sum.
#include <stdio.h>

enum { N = 640 };
static double input[N];

int main(void) {
    for (int i = 0; i < N; i++) input[i] = ((i * 29) % 97 - 40) * 0.25;
    float fsum = 0.5f, fprod = 1, flow = 1e9f, fhigh = -1e9f;
    double dsum = 0.25, dprod = 1, dlow = 1e9, dhigh = -1e9;
#pragma omp parallel for reduction(+ : fsum, dsum) reduction(* : fprod, dprod)                               \
    reduction(min : flow, dlow) reduction(max : fhigh, dhigh) schedule(static, 7)
    for (int i = 0; i < N; i++) {
        double v = input[i];
        fsum += (float)v;
        dsum += v;
        if (i % 40 == 0) fprod *= 2, dprod *= -2;
        if (v < dlow) dlow = v;
        if (v > dhigh) dhigh = v;
        if ((float)v < flow) flow = (float)v;
        if ((float)v > fhigh) fhigh = (float)v;
    }
    printf("%a %a %a %a\n", fsum, fprod, flow, fhigh);
    printf("%a %a %a %a\n", dsum, dprod, dlow, dhigh);
    // Many reductions in a row reuse the runtime's reduction storage.
    double chain = 0;
    for (int round = 0; round < 50; round++) {
        double part = 0;
#pragma omp parallel for reduction(+ : part)
        for (int i = 0; i < N; i++) part += input[i] + round;
        chain = chain * 0.5 + part;
    }
    printf("%a\n", chain);
    return 0;
}
