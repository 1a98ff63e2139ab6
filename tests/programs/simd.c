// simd pragmas: simd, for simd, declare simd, aligned, linear, reduction; loops that vectorise with
// gathers, masks and strides; GNU vector types.
#include "mix.h"
#include <stdio.h>
#include <string.h>

enum { N = 4096 };
static float a[N], b[N], c[N];
static double d[N];
static int index_of[N], picked[N];
static unsigned char bytes[N];
typedef int Four __attribute__((vector_size(16)));
static Four fours[N / 4];

#pragma omp declare simd
static float blend(float x, float y) {
    return x * 0.5f + y * 0.25f;
}

int main(void) {
    float best = -1;
    long sum = 0;
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (int i = 0; i < N; i++) a[i] = (float)(i % 100), index_of[i] = (i * 1237) % N, bytes[i] = (unsigned char)i;
#pragma omp for simd schedule(static, 64)
        for (int i = 0; i < N; i++) b[i] = blend(a[N - 1 - i], a[i]);
        // A gather, a masked store, and a stride.
#pragma omp for simd
        for (int i = 0; i < N; i++) c[i] = b[index_of[i]];
#pragma omp for simd
        for (int i = 0; i < N; i++)
            if (a[i] > 50) picked[i] = (int)c[i] + 1;
#pragma omp for simd
        for (int i = 0; i < N / 2; i++) d[2 * i] = c[i] * 2.0;
#pragma omp for simd reduction(max : best) reduction(+ : sum)
        for (int i = 0; i < N; i++) {
            best = best > c[i] ? best : c[i];
            sum += bytes[i] * picked[i];
        }
        // A scatter: index_of is a permutation.
#pragma omp for simd
        for (int i = 0; i < N; i++) bytes[index_of[i]] = (unsigned char)(picked[i] + i);
#pragma omp for schedule(static, 7)
        for (int i = 0; i < N / 4; i++) fours[i] = (Four){i, i + 1, i + 2, i + 3} * (Four){2, 3, 4, 5};
#pragma omp for
        for (int i = 0; i < N / 8; i++) fours[i] += fours[N / 4 - 1 - i] << 1;
    }
    int k = 3;
#pragma omp simd linear(k : 2)
    for (int i = 0; i < 500; i++) {
        picked[i] += k;
        k += 2;
    }
    unsigned long h = 0;
    for (int i = 0; i < N; i++) {
        h = mix(h, (unsigned long)(c[i] * 8) + (unsigned long)(d[i] * 8) + bytes[i]);
        h = mix(h, (unsigned long)picked[i] + (unsigned long)fours[i / 4][i % 4]);
    }
    printf("%.2f %ld %016lx\n", best, sum, h);
    return 0;
}
