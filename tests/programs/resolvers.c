// Functions that the loader chooses at the start: resolvers that count in a global, read a table, call helpers; clones for processors.
// A resolver that calls a function through the procedure linkage table crashes in a program that lld has linked, plain clang's too.
//@ flags: -fuse-ld=bfd
#include <stdio.h>

static int level = 2, asked[4];
static double a[1000];
static const char names[][8] = {"one", "two", "three"};
static char chosen[16] = "none";

static void one(double *p) { for (int i = 0; i < 10; i++) p[i] += 1; }
static void two(double *p) { for (int i = 0; i < 10; i++) p[i] += 2 + level; }

__attribute__((noinline)) int raised(int by) {
    // The loader may ask several times.
    if (asked[by]++ == 0) level += by;
    return level - by;
}

static void (*pick(void))(double *) {
    char local[8] = "";
    const char *name = names[raised(1) - 1];
    for (int i = 0; name[i]; i++) local[i] = chosen[i] = name[i];
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse2") && level > 2 && local[0] == 't' ? two : one;
}

void f(double *) __attribute__((ifunc("pick")));

__attribute__((target_clones("avx2", "arch=x86-64-v4", "default"))) void scale(double *p, int n, double by) {
    for (int i = 0; i < n; i++) p[i] = p[i] * by + 1;
}

static void (*const table[])(double *) = {one, f};

int main(void) {
    raised(2);
#pragma omp parallel for schedule(static, 1)
    for (int b = 0; b < 100; b++) f(a + b * 10);
#pragma omp parallel for schedule(static, 3)
    for (int b = 0; b < 100; b++) table[b & 1](a + b * 10);
#pragma omp parallel for schedule(dynamic, 1)
    for (int b = 0; b < 100; b++) scale(a + b * 10, 10, 2);
    double s = 0;
    for (int i = 0; i < 1000; i++) s += a[i] * (i % 7);
    printf("%.0f level %d, asked %d %d, %s\n", s, level, asked[1] > 0, asked[2], chosen);
    return 0;
}
