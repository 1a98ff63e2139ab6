// Loops that load their bound again in each iteration, and change it: what they are expected to touch is a guess. Upwards, downwards, in steps, with and without
// signs; bounds that shrink, grow and make no sense when the loop is entered; stores to what the loop walks through.
#include "mix.h"
#include <stdio.h>
#include <stdlib.h>

enum { N = 6000, PARTS = 4 };

static int starts[PARTS + 1];

__attribute__((noinline)) static void count(int *counts, const int *keys, int first, const int *bound) {
    for (int k = first; k < *bound; k++) counts[keys[k]]++;
}

// Every element that is 0 ends the loop later or earlier.
__attribute__((noinline)) static long moving(long *values, long first, long *bound, long by) {
    long sum = 0;
    for (long k = first; k < *bound; k++) {
        sum += values[k];
        if (values[k] % 1000 == 0) *bound += by;
        values[k] += k;
    }
    return sum;
}

__attribute__((noinline)) static long down(int *values, unsigned last, volatile unsigned *shown, unsigned *bound) {
    long sum = 0;
    for (unsigned k = last; k > *bound; k -= 2) {
        values[k] = (int)(values[k] * 3 + k);
        sum += values[k];
    }
    *shown = *bound;
    return sum;
}

// The first iteration sets the bound; until then it is far behind the array, or before it.
__attribute__((noinline)) static long wild(int *values, long first, long *bound, long real) {
    long sum = 0;
    for (long k = first; k <= *bound; k++) {
        *bound = real;
        sum += values[k];
    }
    return sum;
}

__attribute__((noinline)) static void copy(int *to, const int *from, const int *bound) {
    for (int k = 0; k != *bound; k++) to[k] = from[k] + 1;
}

int main(void) {
    int *keys = malloc(N * sizeof *keys), *counts = calloc(PARTS * 64, sizeof *counts), *copies = malloc(N * sizeof *copies);
    long *values = malloc(2 * N * sizeof *values), *bounds = malloc(PARTS * sizeof *bounds), sums[PARTS];
    unsigned *lows = malloc(PARTS * sizeof *lows), shown[PARTS];
    for (int i = 0; i < N; i++) keys[i] = i * 7 % 64;
    for (int i = 0; i < 2 * N; i++) values[i] = i * 13L % 2003;
    for (int p = 0; p <= PARTS; p++) starts[p] = p * (N / PARTS);
    unsigned long h = 0;
    for (int round = 0; round < 3; round++) {
        for (int p = 0; p < PARTS; p++) bounds[p] = starts[p] + 1200, lows[p] = (unsigned)starts[p] + 100;
#pragma omp parallel for schedule(dynamic)
        for (int p = 0; p < PARTS; p++) {
            count(counts + 64 * p, keys, starts[p], &starts[p + 1]);
            sums[p] = moving(values, starts[p], &bounds[p], round == 1 ? -40 : 20);
        }
        for (int p = 0; p < PARTS; p++) h = mix(mix(h, (unsigned long)sums[p]), (unsigned long)bounds[p]);
#pragma omp parallel for schedule(static, 1)
        for (int p = 0; p < PARTS; p++) {
            sums[p] = down(keys, (unsigned)starts[p + 1] - 2, &shown[p], &lows[p]);
            bounds[p] = (long[]){1L << 20, 1L << 29, 1L << 38, 9000}[p];
            sums[p] += wild(keys, starts[p], &bounds[p], starts[p + 1] - 1);
        }
        for (int p = 0; p < PARTS; p++) h = mix(mix(h, (unsigned long)sums[p]), shown[p]);
#pragma omp parallel sections
        {
#pragma omp section
            copy(copies, keys, &starts[PARTS]);
#pragma omp section
            h = mix(h, 1);
        }
        for (int i = 0; i < N; i++) keys[i] = (int)((unsigned)copies[i] % 64);
    }
    for (int i = 0; i < PARTS * 64; i++) h = mix(h, (unsigned long)counts[i]);
    for (int i = 0; i < 2 * N; i++) h = mix(h, (unsigned long)values[i]);
    printf("%lu\n", h);
    free(keys), free(counts), free(copies), free(values), free(bounds), free(lows);
    return 0;
}
