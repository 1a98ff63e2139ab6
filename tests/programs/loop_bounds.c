// OpenMP loops whose lower bounds are variables: negative ones, near the ends of the type, steps, both directions, schedules, in nests; and unsigned
// sums that wrap, which are no such loops.
#include "mix.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 4096, MIDDLE = COUNT / 2 };

static long values[COUNT], more[COUNT];
static unsigned long hash;

#define WALKS(name, pragma)                                                                                                  \
    __attribute__((noinline)) static void name(long *to, const long *from, int low, int high) {                             \
        _Pragma(pragma) for (int i = low; i < high; i++) to[i] += from[i] + 1;                                                \
        _Pragma(pragma) for (int i = low; i <= high; i++) to[i] ^= from[i] + 2;                                               \
        _Pragma(pragma) for (int i = low; i < high; i += 3) to[i] += from[i + 1];                                             \
        _Pragma(pragma) for (int i = low; i <= high; i += 128) to[i] -= from[i];                                              \
        _Pragma(pragma) for (int i = high; i > low; i--) to[i] = to[i] * 3 + from[i];                                         \
        _Pragma(pragma) for (int i = high; i >= low; i -= 5) to[i] += from[i - 1] + 4;                                        \
    }

WALKS(simd, "omp simd")
WALKS(fixed, "omp parallel for")
WALKS(parts, "omp parallel for schedule(static, 7)")
WALKS(vectors, "omp parallel for simd")
WALKS(dynamic, "omp parallel for schedule(dynamic, 9)")
WALKS(guided, "omp parallel for schedule(guided)")

typedef void walk(long *to, const long *from, int low, int high);

static void look(void) {
    for (int i = 0; i < COUNT; i++) hash = mix(hash, (unsigned long)(values[i] * 5 + more[i]));
}

static void all(walk *walk) {
    static const int bounds[][2] = {{0, 1000}, {-700, 900}, {-1000, -400}, {10, 11}, {10, 10}, {10, 9}, {20, -20}, {5, 1029}};
    for (unsigned b = 0; b < sizeof bounds / sizeof *bounds; b++) walk(values + MIDDLE, more + MIDDLE, bounds[b][0], bounds[b][1]);
    // Pointers that are out of the array by as much as the bounds: near the ends of the type.
    walk((long *)((char *)values - (INT_MAX - 900L) * 8), (long *)((char *)more - (INT_MAX - 900L) * 8), INT_MAX - 800, INT_MAX - 150);
    walk((long *)((char *)values - (INT_MIN - 100L) * 8), (long *)((char *)more - (INT_MIN - 100L) * 8), INT_MIN + 9, INT_MIN + 500);
    // Loops that are not entered.
    walk(values, more, INT_MAX, INT_MIN);
    walk(values, more, 1, INT_MIN + 5);
    look();
}

// Numbers without a sign may wrap, and their sum may be taken for a signed one.
__attribute__((noinline)) static void unsigned_sums(long *to, unsigned low, unsigned count) {
#pragma omp simd
    for (unsigned i = 0; i < count; i++) to[(int)(low + i) & (COUNT - 1)] += i;
#pragma omp parallel for
    for (unsigned i = 0; i < count; i++) to[MIDDLE + i] += (int)(low + 3 * i) / 7;
}

__attribute__((noinline)) static long unsigned_walk(const long *from, unsigned low, unsigned count) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (unsigned i = 0; i < count; i++) sum += from[(int)(low + (int)0x80000000 + i)] * (long)(i + 1);
    return sum;
}

// A tile of a grid, with the row's start an index of its own.
__attribute__((noinline)) static void tile(long (*grid)[64], int top, int bottom, int left, int right) {
#pragma omp parallel for
    for (int i = top; i < bottom; i++) {
#pragma omp simd
        for (int j = left; j < right; j++) grid[i][j] += i * 100 + j;
        for (int j = right; j > left; j -= 2) grid[i][j] -= j;
    }
}

int main(void) {
    for (int i = 0; i < COUNT; i++) more[i] = i * 7 % 101;
    all(simd);
    all(fixed);
    all(parts);
    all(vectors);
    all(dynamic);
    all(guided);
    tile((long(*)[64])values, 1, 60, 3, 60);
    tile((long(*)[64])(values + MIDDLE), -20, 20, 1, 63);
    memset(more, 0, sizeof more);
    static const unsigned lows[] = {0, 0x7ffffff0u, 0x80000000u, 0xfffffff0u};
    for (int b = 0; b < 4; b++) unsigned_sums(more, lows[b], 40);
    look();
    hash = mix(hash, (unsigned long)unsigned_walk(values + MIDDLE, 0x80000000u - 30, 60));
    printf("%lu\n", hash);
    return 0;
}
