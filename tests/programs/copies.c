// Copies and sets of a few bytes in loops, which compilers make of structures and of neighbouring zeros: whole and in part, apart and
// overlapping, under conditions, by threads other than those that wrote there before.
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { N = 3001 };

struct row {
    double head, zeros[3], tail;
};
struct big {
    int head;
    double body[300];
};

static struct row a[N + 1], b[N + 1];
static struct big big[2][41];
static int wanted[N];

__attribute__((noinline)) static void copy(struct row *to, const struct row *from, int n) {
    for (int i = 0; i < n; i++) to[i] = from[i];
}
__attribute__((noinline)) static void copy_apart(struct row *restrict to, const struct row *restrict from, int n) {
    for (int i = 0; i < n; i++) to[i] = from[i];
}
__attribute__((noinline)) static void clear(struct row *p, int n, double tail) {
    for (int i = 0; i < n; i++) {
        p[i].head += 1;
        p[i].zeros[0] = p[i].zeros[1] = p[i].zeros[2] = 0;
        p[i].tail = tail - p[i].tail;
    }
}
__attribute__((noinline)) static void copy_some(struct row *to, const struct row *from, const int *which, int n) {
    for (int i = 0; i < n; i++)
        if (which[i] > 0) to[i] = from[which[i]];
}
__attribute__((noinline)) static void shift(struct row *p, int n) {
    for (int i = 0; i < n; i++) memmove(&p[i].zeros[1], &p[i].zeros[0], 3 * sizeof(double));
}

static double sum(void) {
    double s = 0;
    for (int i = 0; i <= N; i++)
        for (int k = 0; k < 3; k++) s += (k + 1) * (a[i].zeros[k] + 3 * b[i].zeros[k]) + a[i].head - b[i].tail * (i % 7);
    return s;
}

int main(void) {
    for (int i = 0; i <= N; i++) {
        a[i] = (struct row){i, {i + 1, i + 2, i + 3}, i + 4};
        wanted[i % N] = i * 7 % N - 500;
    }
    for (int round = 0; round < 6; round++) {
#pragma omp parallel
        {
            // Another thread has each part in each round, and parts do not end at lines.
            int threads = omp_get_num_threads(), part = (omp_get_thread_num() + round) % threads;
            int from = N * part / threads, to = N * (part + 1) / threads, n = to - from;
            copy_apart(b + from, a + from, n);
            clear(a + from, n, round);
#pragma omp barrier
            copy_some(b + from, a, wanted + from, n);
#pragma omp barrier
            shift(b + from, n);
            if (round % 2) copy(a + from, b + from, n);
#pragma omp barrier
            // Each row is read before it is written over, or after.
            if (part == 0) round % 3 ? copy(a, a + 1, 99) : copy(a + 1, a, 99);
#pragma omp for
            for (int i = 0; i < 41; i++) {
                struct big *mine = &big[round % 2][i], *other = &big[1 - round % 2][40 - i];
                *mine = *other;
                mine->head += i;
                memset(mine->body + 3, 0, 290 * sizeof(double));
                mine->body[i] = round;
            }
        }
        int heads = 0;
        double bodies = 0;
        for (int i = 0; i < 41; i++) {
            heads += big[round % 2][i].head * (i + 1);
            for (int k = 0; k < 300; k++) bodies += big[round % 2][i].body[k] * (k + i);
        }
        printf("%d %d %.1f %.1f\n", round, heads, bodies, sum());
    }
    return 0;
}
