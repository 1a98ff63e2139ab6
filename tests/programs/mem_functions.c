// memcpy, memmove, memset, memcmp, memchr on shared data: small, large, overlapping, unaligned,
// across arrays that other threads wrote; structure copies that become calls.
#include "mix.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20000 };
static unsigned char a[N + 64], b[N + 64];

int main(void) {
    unsigned char *heap = malloc(N + 64);
    memset(heap, 1, N + 64);
    long bad = 0;
#pragma omp parallel reduction(+ : bad)
    for (int round = 0; round < 12; round++) {
#pragma omp for schedule(static, 1)
        for (int k = 0; k < 40; k++) memset(a + k * 500, k + round, 500);
#pragma omp for schedule(static, 3)
        for (int k = 0; k < 25; k++) memcpy(b + k * 800 + round % 3, a + (24 - k) * 800, 797);
#pragma omp for schedule(dynamic)
        for (int k = 0; k < 8; k++) memmove(heap + k * 2500 + 7, b + k * 2500, 2490);
#pragma omp for schedule(static, 1)
        for (int k = 0; k < 8; k++) memmove(heap + k * 2500 + 1, heap + k * 2500 + 7, 2400);
#pragma omp for schedule(static, 1)
        for (int k = 0; k < 20; k++) {
            bad += memcmp(heap + k * 1000 + 100, heap + k * 1000 + 100, 900) != 0;
            unsigned char *p = memchr(a + k * 1000, k * 2 + 1 + round, 1000);
            bad += p != a + k * 1000 + 500;
            bad += memcmp(a + k * 1000, a + k * 1000 + 500, 500) >= 0;
        }
        // Tiny copies of every size, done by different threads side by side.
#pragma omp for schedule(static, 1)
        for (int k = 0; k < 64; k++) memcpy(b + k * 64 + round, heap + k * 70, (size_t)k);
    }
    unsigned long h = 0;
    for (int i = 0; i < N; i++) h = mix(h, a[i] + 256UL * b[i] + 65536UL * heap[i]);
    printf("bad %ld %016lx\n", bad, h);
    free(heap);
    return 0;
}
