// Recursion with escaping locals on every level, in several threads at once; results by pointer.
#include <stdio.h>

typedef struct Frame {
    struct Frame *up;
    int depth, sum;
} Frame;

static int walk(Frame *up, int depth, int limit) {
    Frame here = {up, depth, 0};
    for (Frame *f = &here; f; f = f->up) f->sum += depth + 1;
    if (depth < limit) {
        walk(&here, depth + 1, limit);
        if (depth % 3 == 0) walk(&here, depth + 2, limit);
    }
    return here.sum;
}

static void hanoi(int n, int from, int to, int *moves, int (*count)[3]) {
    if (n == 0) return;
    int by = 3 - from - to, inner = 0;
    hanoi(n - 1, from, by, &inner, count);
    (*count)[to]++;
    *moves += inner + 1;
    inner = 0;
    hanoi(n - 1, by, to, &inner, count);
    *moves += inner;
}

static unsigned ack(unsigned m, unsigned n, unsigned *calls) {
    unsigned local = 1;
    unsigned r = m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1, &local) : ack(m - 1, ack(m, n - 1, &local), &local);
    *calls += local;
    return r;
}

int main(void) {
    int sums[12];
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 12; i++) sums[i] = walk(NULL, 0, 6 + i);
    for (int i = 0; i < 12; i++) printf("%d ", sums[i]);
    puts("");
    int moves[6] = {0}, count[6][3] = {{0}};
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 6; i++) hanoi(8 + i, 0, 2, &moves[i], &count[i]);
    for (int i = 0; i < 6; i++) printf("%d %d,%d,%d | ", moves[i], count[i][0], count[i][1], count[i][2]);
    puts("");
    unsigned calls[4] = {0}, value[4];
#pragma omp parallel for
    for (unsigned i = 0; i < 4; i++) value[i] = ack(2, i * 5, &calls[i]);
    for (int i = 0; i < 4; i++) printf("%u/%u ", value[i], calls[i]);
    puts("");
    return 0;
}
