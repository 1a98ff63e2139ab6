// Function pointers: const and mutable callback tables, pointers written by one thread and called
// by another, calls through structures on the heap.
#include <stdio.h>
#include <stdlib.h>

typedef long (*Operation)(long, long);

static long add(long a, long b) { return a + b; }
static long sub(long a, long b) { return a - b; }
static long mul(long a, long b) { return a * b % 10007; }
static long xor (long a, long b) { return a ^ b; }

static const Operation fixed[] = {add, sub, mul, xor};
static Operation mutable[64];

typedef struct Shape {
    long (*area)(const struct Shape *);
    void (*grow)(struct Shape *, int);
    int w, h;
} Shape;

static long box(const Shape *s) { return (long)s->w * s->h; }
static long edge(const Shape *s) { return 2L * (s->w + s->h); }
static void both(Shape *s, int by) { s->w += by, s->h += by; }
static void wide(Shape *s, int by) { s->w += by, s->area = s->w % 2 ? box : edge; }

static long each(long *data, int n, Operation op, long with) {
    long last = 0;
#pragma omp parallel for lastprivate(last)
    for (int i = 0; i < n; i++) last = data[i] = op(data[i], with + i);
    return last;
}

int main(void) {
    long data[64], sum = 0;
    for (int i = 0; i < 64; i++) data[i] = i;
    for (int k = 0; k < 4; k++) sum += each(data, 64, fixed[k], k + 3);
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 64; i++) mutable[i] = fixed[(i * 7 + 1) % 4];
#pragma omp for schedule(static, 5)
        for (int i = 0; i < 64; i++) data[i] = mutable[63 - i](data[i], i);
    }
    for (int i = 0; i < 64; i++) sum = sum * 31 + data[i];
    printf("%ld\n", sum);
    Shape *shapes[30];
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 30; i++) {
        shapes[i] = malloc(sizeof(Shape));
        *shapes[i] = (Shape){i % 2 ? box : edge, i % 3 ? both : wide, i, i + 1};
    }
    long total = 0;
#pragma omp parallel
    for (int round = 0; round < 5; round++) {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 30; i++) shapes[(i + round) % 30]->grow(shapes[(i + round) % 30], i);
#pragma omp for reduction(+ : total)
        for (int i = 0; i < 30; i++) total += shapes[i]->area(shapes[i]);
    }
    for (int i = 0; i < 30; i++) free(shapes[i]);
    printf("%ld\n", total);
    return 0;
}
