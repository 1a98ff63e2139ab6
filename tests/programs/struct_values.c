// Structures passed and returned by value (registers, memory, sret), assigned, in shared arrays.
#include <stdio.h>

typedef struct { char c; } Tiny;
typedef struct { int a, b; } Pair;
typedef struct { double x, y; } Vec;
typedef struct { float r, g, b; } Colour;
typedef struct { long v[9]; char tag[5]; } Big;
typedef struct { Big big; Pair pair; Vec vec; } Huge;

static Tiny tiny(Tiny t) { return (Tiny){(char)(t.c + 1)}; }
static Pair swap(Pair p) { return (Pair){p.b, p.a}; }
static Vec add(Vec a, Vec b) { return (Vec){a.x + b.x, a.y + b.y}; }
static Colour mixed(Colour a, Colour b) { return (Colour){a.r + b.g, a.g + b.b, a.b + b.r}; }

static Big rotate(Big b, int by) {
    Big r = b;
    for (int i = 0; i < 9; i++) r.v[i] = b.v[(i + by) % 9];
    r.tag[by % 5] = (char)('A' + by % 26);
    b.v[0] = -1; // the copy, not the caller's
    return r;
}

static Huge build(Big b, Pair p, Vec v) {
    Huge h = {b, p, v};
    h.big = rotate(h.big, p.a);
    return h;
}

static Huge all[40], next[40];
static Vec vectors[100];

int main(void) {
    Tiny t = {'a'};
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 9; k++) all[i].big.v[k] = i * 10 + k;
#pragma omp parallel
    for (int round = 0; round < 6; round++) {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 40; i++) {
            Pair p = swap((Pair){round + i, i});
            next[i] = build(all[(i + 1) % 40].big, p, add(all[i].vec, (Vec){i, round}));
        }
#pragma omp for schedule(static, 3)
        for (int i = 0; i < 40; i++) all[i] = next[39 - i];
#pragma omp for
        for (int i = 0; i < 100; i++) vectors[i] = add(vectors[i], all[i % 40].vec);
#pragma omp single
        t = tiny(t);
    }
    long sum = 0;
    double xs = 0;
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 9; k++) sum = sum * 3 % 100000007 + all[i].big.v[k];
        for (int k = 0; k < 5; k++) sum += all[i].big.tag[k];
        sum += all[i].pair.a * 7 + all[i].pair.b;
        xs += all[i].vec.x + 2 * all[i].vec.y;
    }
    for (int i = 0; i < 100; i++) xs += vectors[i].x;
    Colour c = mixed((Colour){1, 2, 3}, (Colour){0.5f, 0.25f, 4});
    printf("%c %ld %.1f %.2f %.2f %.2f\n", t.c, sum, xs, c.r, c.g, c.b);
    return 0;
}
