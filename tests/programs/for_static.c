// Static worksharing: whole, chunked, every integer type, upward and downward steps.
#include "mix.h"
#include <stdio.h>

enum { N = 1000 };
static unsigned long hit[N];

static void clear(void) {
    for (int i = 0; i < N; i++) hit[i] = 0;
}

static void show(const char *what) {
    unsigned long h = 1;
    for (int i = 0; i < N; i++) h = mix(h, hit[i]);
    printf("%-22s %016lx\n", what, h);
    clear();
}

int main(void) {
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) hit[i] += (unsigned long)i * 3 + 1;
    }
    show("int");
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < N; i++) hit[i] += (unsigned long)i * 5 + 1;
    show("int chunk 1");
#pragma omp parallel for schedule(static, 7)
    for (unsigned i = 3; i < N; i += 2) hit[i] += i * 7UL;
    show("unsigned chunk 7");
#pragma omp parallel for schedule(static, 16)
    for (long i = N - 1; i >= 0; i -= 3) hit[i] += (unsigned long)i + 11;
    show("long down");
#pragma omp parallel for
    for (unsigned long i = N; i > 10; i -= 4) hit[i - 1] += i;
    show("unsigned long down");
#pragma omp parallel for schedule(static, 5)
    for (int i = -500; i < 500; i++) hit[i + 500] += (unsigned long)(i + 1000);
    show("negative start");
#pragma omp parallel for
    for (unsigned i = 0xFFFFFF00u; i < 0xFFFFFFF0u; i++) hit[i - 0xFFFFFF00u] += i;
    show("unsigned near the top");
#pragma omp parallel for schedule(static, 3)
    for (unsigned long i = 0xFFFFFFFFFFFFFF00UL; i < 0xFFFFFFFFFFFFFFF0UL; i += 5) hit[i - 0xFFFFFFFFFFFFFF00UL] += i;
    show("unsigned long top");
#pragma omp parallel for
    for (short s = 0; s < 300; s++) hit[s] += (unsigned long)s * s;
    show("short");
#pragma omp parallel for
    for (int i = 5; i < 5; i++) hit[0] = 99;
#pragma omp parallel for
    for (int i = 0; i < 1; i++) hit[i] += 42;
    show("empty and one");
#pragma omp parallel for
    for (unsigned long *p = hit; p < hit + N; p += 2) *p += (unsigned long)(p - hit);
    show("pointer");
    return 0;
}
