// Loops and nests that leave early, entered with few elements, and with bounds that are far behind the place where they leave.
#include "mix.h"
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 3000, NAMES = 200, NAME = 24 };

static int values[COUNT];
static char names[NAMES][NAME];
static unsigned long hash;

__attribute__((noinline)) static int position(const int *at, int count, int wanted) {
    for (int i = 0; i < count; i++)
        if (at[i] == wanted) return i;
    return -1;
}

__attribute__((noinline)) static ptrdiff_t position_backwards(const int *at, ptrdiff_t count, int wanted) {
    for (ptrdiff_t i = count - 1; i >= 0; i--)
        if (at[i] == wanted) return i;
    return -1;
}

// The bound says nothing: the caller knows that it is found.
__attribute__((noinline)) static size_t position_of_known(const int *at, size_t step, size_t most, int wanted) {
    for (size_t i = 0; i < most; i += step)
        if (at[i] == wanted) return i;
    return most;
}

__attribute__((noinline)) static size_t position_of_known_long(const int *at, size_t most, int wanted) {
    size_t i = 0;
    do {
        if (at[i] == wanted) return i;
    } while (++i != most);
    return most;
}

// Pairs in a triangle.
__attribute__((noinline)) static int has_pair(const int *at, int count, int distance) {
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (at[j] - at[i] == distance) return i * 1000 + j;
    return 0;
}

__attribute__((noinline)) static int has_pair_backwards(const int *at, long count, int distance) {
    for (long i = count - 1; i > 0; i--)
        for (long j = i - 1; j >= 0; j--)
            if (at[j] - at[i] == distance) return (int)(i * 1000 + j);
    return 0;
}

// The inner loop is not guarded: it always runs once, and leaves.
__attribute__((noinline)) static int has_pair_unguarded(const int *at, size_t count, int distance) {
    for (size_t i = 0; i < count; i++) {
        size_t j = i + 1;
        do {
            if (at[j] - at[i] >= distance || at[j] == INT_MAX) break;
        } while (++j != count);
        if (i == count - 1) return (int)(i * 1000 + j);
    }
    return 0;
}

__attribute__((noinline)) static int fill(int *at, int count, int until, int with) {
    for (int i = 0; i < count; i++) {
        if (at[i] == until) return i;
        at[i] += with;
    }
    return count;
}

__attribute__((noinline)) static int compare(const char *x, const char *y, int most) {
    for (int i = 0; i < most; i++) {
        if (x[i] != y[i]) return x[i] - y[i];
        if (x[i] == 0) return 0;
    }
    return 0;
}

// Two arrays, of which one may not be there.
__attribute__((noinline)) static int weighted(const int *at, const int *weights, int count, int most) {
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += weights ? at[i] * weights[i] : at[i];
        if (sum > most) return i;
    }
    return sum;
}

__attribute__((noinline)) static int insert(int *at, int count, int value) {
    int i = count;
    for (; i > 0; i--) {
        if (at[i - 1] <= value) break;
        at[i] = at[i - 1];
    }
    at[i] = value;
    return i;
}

static void note(long value) {
#pragma omp critical
    hash += mix(7, (unsigned long)value);
}

int main(void) {
    for (int i = 0; i < COUNT; i++) values[i] = i;
    values[COUNT - 1] = INT_MAX;
    for (int i = 0; i < NAMES; i++) snprintf(names[i], NAME, "name %d", i % 77);
    for (int round = 0; round < 6; round++) {
#pragma omp parallel for schedule(static, 7)
        for (int i = 0; i < COUNT - 200; i += 5) {
            int base = values[i];
            note(position(values + i, 20 + round * 30, base + 15 + round));
            note(position(values + i, round - 1, base));
            note((long)position_backwards(values + i, 13 + round * 20, base + 3));
            note((long)position_of_known(values + i, 1, SIZE_MAX, base + 40));
            note((long)position_of_known(values + i, 2, SIZE_MAX - 6, base + 150));
            note((long)position_of_known(values + i, 1, (size_t)1 << 62, base + 11));
            note((long)position_of_known_long(values + i, (size_t)-3, base + 12));
            note((long)position_of_known_long(values + i, 0, base + 170));
            note(has_pair(values + i, 12 + round, 9 + round));
            note(has_pair(values + i, round - 2, 1));
            note(has_pair_backwards(values + i, 12 + round, -9 - round));
            note(has_pair_unguarded(values + i, 12, 11 + round * 20));
            note(weighted(values + i, round % 2 ? values + i / 2 : NULL, 9, INT_MAX / 2));
            note(compare(names[i % NAMES], names[(i + 77 * round) % NAMES], NAME));
        }
        // Others' elements in the next round: blocks that were valid are not any more.
#pragma omp parallel for schedule(static, 11)
        for (int i = 0; i < COUNT / 20; i++) {
            int *own = values + ((i + round * 13) % (COUNT / 20)) * 20;
            note(fill(own, 19, -1, 1000 * (round + 1)));
            note(fill(own, 19, own[10], -1000 * (round + 1)));
            note(fill(own + 11, 8, -1, -1000 * (round + 1)));
            own[10] -= 1000 * (round + 1);
        }
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < NAMES; i++) names[i][5 + round % 3]++;
    }
#pragma omp parallel for schedule(static, 1)
    for (int part = 0; part < 12; part++) {
        int *sorted = malloc(64 * sizeof(int));
        for (int i = 0; i < 64; i++) note(insert(sorted, i, (i * 29 + 5) % 64));
        for (int i = 0; i < 64; i++) note(sorted[i]);
        free(sorted);
    }
    long sum = 0;
    for (int i = 0; i < COUNT; i++) sum += values[i] % 100003;
    printf("%ld %lu\n", sum, hash);
    return 0;
}
