// Stack frames of a megabyte whose arrays are shared by the team, and large private ones.
#include "mix.h"
#include <stdio.h>

enum { N = 128 * 1024 };

static unsigned long one(int seed) {
    double a[N]; // 1 MiB
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) a[i] = i * 0.5 + seed;
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static, 1000)
    for (int i = 0; i < N; i++) sum += a[N - 1 - i];
    return (unsigned long)sum;
}

static unsigned long nested(int depth) {
    long a[N / 2]; // 512 KiB a level
    for (int i = 0; i < N / 2; i++) a[i] = i ^ depth;
    unsigned long below = depth ? nested(depth - 1) : 1;
#pragma omp parallel for
    for (int i = 0; i < N / 2; i++) a[i] += (long)(below & 1023);
    unsigned long h = below;
    for (int i = 0; i < N / 2; i += 61) h = mix(h, (unsigned long)a[i]);
    return h;
}

int main(void) {
    unsigned long h = 7;
    for (int i = 0; i < 4; i++) h = mix(h, one(i));
    printf("%016lx\n", h);
    printf("%016lx\n", nested(4));
    long total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int r = 0; r < 8; r++) {
        int mine[64 * 1024];
        for (int i = 0; i < 64 * 1024; i++) mine[i] = i + r;
        for (int i = 0; i < 64 * 1024; i += 97) total += mine[i];
    }
    printf("%ld\n", total);
    return 0;
}
