// Ranges that are overwritten from end to end, by threads other than those that had them before, and ranges that only look like it.
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { PARTS = 7, PER = 1501, N = PARTS * PER, ROWS = 12, COLUMNS = 700 };

struct pair {
    double re, im;
};
struct triple {
    int x, y, z;
};

static double a[N + 1], b[N + 1];
static struct pair pairs[N];
static struct triple triples[N];
static int keys[N + 1];
static char bytes[8 * N];
static double rows[ROWS][COLUMNS];

// Overwrite all that they are given.
__attribute__((noinline)) static void fill(double *p, int n, double v) {
    for (int i = 0; i < n; i++) p[i] = v + i;
}
__attribute__((noinline)) static void fill_down(int *p, int n, int v) {
    for (int i = n - 1; i >= 0; i--) p[i] = v ^ i;
}
__attribute__((noinline)) static void copy(double *restrict to, const double *restrict from, int n) {
    for (int i = 0; i < n; i++) to[i] = from[i] * 2;
}
__attribute__((noinline)) static void fill_pairs(struct pair *p, int n, double v) {
    for (int i = 0; i < n; i++) p[i] = (struct pair){v + i, v - i};
}
__attribute__((noinline)) static double fill_and_sum(double *p, int n, double v) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        p[i] = v * i;
        asm volatile("" ::: "memory");
        sum += p[i];
    }
    return sum;
}
__attribute__((noinline)) static void fill_rows(int from, int to, int left, int right, double v) {
    for (int r = from; r < to; r++)
        for (int c = left; c < right; c++) rows[r][c] = v + r * c;
}

// Keep something of what was there.
__attribute__((noinline)) static void add(double *p, int n, double v) {
    for (int i = 0; i < n; i++) p[i] = p[i] / 2 + v;
}
__attribute__((noinline)) static void shift(double *p, int n) {
    for (int i = 0; i < n; i++) p[i] = p[i + 1] + 1;
}
__attribute__((noinline)) static void sum_up(double *p, int n) {
    for (int i = 1; i < n; i++) p[i] = p[i - 1] + 1;
}
__attribute__((noinline)) static void may_meet(double *to, const double *from, int n) {
    for (int i = 0; i < n; i++) to[i] = from[i] + 1;
}
__attribute__((noinline)) static void some(int *p, int n, int v) {
    for (int i = 0; i < n; i++)
        if (p[i] % 3 == 0) p[i] = v + i;
}
__attribute__((noinline)) static void every_third(int *p, int n, int v) {
    for (int i = 0; i < n; i++)
        if (i % 3 == v % 3) p[i] = v;
}
__attribute__((noinline)) static void leave_out_y(struct triple *p, int n, int v) {
    for (int i = 0; i < n; i++) {
        p[i].x = v;
        p[i].z = i;
    }
}
__attribute__((noinline)) static void until(int *p, int n, const int *stop) {
    for (int i = 0; i < n; i++) {
        p[i] = i;
        if (stop[i] % 97 == 96) break;
    }
}
__attribute__((noinline)) static void scatter(int *p, int n, const double *where) {
    for (int i = 0; i < n; i++) p[(int)where[i] % n] = i;
}

static double sum(void) {
    double s = 0;
    for (int i = 0; i <= N; i++) s += a[i] * (i % 5) + b[i] + keys[i] % 1000;
    for (int i = 0; i < N; i++) s += pairs[i].re + 2 * pairs[i].im + triples[i].x + 3 * triples[i].y - triples[i].z;
    for (int i = 0; i < 8 * N; i++) s += bytes[i] * (i % 3);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) s += rows[r][c] * (c % 7);
    return s;
}

static void work(int kind, int part, int round) {
    int at = part * PER;
    switch (kind) {
    case 0: fill(a + at, PER, round); break;
    case 1: fill_down(keys + at, PER, round * 77); break;
    case 2: copy(b + at, a + at, PER); break;
    case 3: fill_pairs(pairs + at, PER, round); break;
    case 4: a[at] = fill_and_sum(a + at, PER, round); break;
    case 5: fill_rows(ROWS * part / PARTS, ROWS * (part + 1) / PARTS, 0, COLUMNS, round); break;
    case 6: fill_rows(ROWS * part / PARTS, ROWS * (part + 1) / PARTS, 3, COLUMNS - 200 - 7 * round, round); break;
    case 7: memset(bytes + 8 * at, round, 8 * PER - 5); break;
    case 8: memcpy(b + at, a + at, PER * sizeof *b); break;
    case 9: memmove(bytes + 8 * at + 700, bytes + 8 * at, 8 * PER - 700); break;
    case 10: memmove(bytes + 8 * at, bytes + 8 * at + 1100, 8 * PER - 1100); break;
    case 11: add(a + at, PER, round); break;
    case 12: shift(a + at, PER - 1); break;
    case 13: sum_up(b + at, PER); break;
    case 14: may_meet(a + at + 5, a + at, PER - 5); break;
    case 15: may_meet(b + at, b + at + 300, PER - 300); break;
    case 16: some(keys + at, PER, round); break;
    case 17: every_third(keys + at, PER, round); break;
    case 18: leave_out_y(triples + at, PER, round); break;
    case 19: until(keys + at, PER, keys + at); break;
    case 20: scatter(keys + at, PER, b + at); break;
    case 21: may_meet(b + at, a + at, PER); break;
    case 22: may_meet(a + at, b + (at + PER) % N, PER); break;
    }
}

int main(void) {
#pragma omp parallel for
    for (int i = 0; i <= N; i++) {
        a[i] = i, b[i] = 3 * i % 101, keys[i] = i * 7 % 1001;
        if (i < N) triples[i] = (struct triple){i % 10, i % 11, i % 12};
    }
    for (int i = 0; i < 8 * N; i++) bytes[i] = i % 100;
    for (int round = 0; round < 3; round++)
        for (int kind = 0; kind <= 22; kind++) {
            // Every part is another thread's each time.
#pragma omp parallel
            for (int part = 0; part < PARTS; part++)
                if ((part + kind + round) % omp_get_num_threads() == omp_get_thread_num()) work(kind, part, round);
            printf("%d %d: %.3f\n", round, kind, sum());
        }
    return 0;
}
