// Locals of the enclosing function, shared by the team: scalars, arrays, pointers to them.
#include "mix.h"
#include <stdio.h>

typedef struct {
    int x, y;
    const char *name;
} Point;

static void accumulate(long *into, const int *values, int n) {
    for (int i = 0; i < n; i++) *into += values[i];
}

static int deeper(int level, int *outer) {
    int mine[16];
    for (int i = 0; i < 16; i++) mine[i] = level * 16 + i;
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 16; i++) {
        outer[i] += mine[i];
        mine[i] = -mine[i];
        sum += outer[i];
    }
    for (int i = 0; i < 16; i++) sum += mine[i];
    return level ? sum + deeper(level - 1, mine) : sum;
}

int main(void) {
    int values[64], outer[16] = {0}, counter = 0, parity = 0;
    long sums[8] = {0};
    double weight = 1.5;
    Point corner = {1, 2, "corner"};
    int *alias = &counter;
    for (int i = 0; i < 64; i++) values[i] = i * i;
#pragma omp parallel for schedule(static, 1)
    for (int k = 0; k < 8; k++) {
        accumulate(&sums[k], values + k * 8, 8);
#pragma omp critical
        {
            counter += k;
            *alias += 100;
            corner.x += counter > 0;
            weight *= 2;
        }
    }
    for (int k = 0; k < 8; k++) parity ^= (int)sums[k];
    printf("%d %d %.1f %d %d %s\n", counter, parity, weight, corner.x, corner.y, corner.name);
    for (int round = 0; round < 50; round++) {
        int fresh[10] = {0};
#pragma omp parallel for
        for (int i = 0; i < 10; i++) fresh[i] += round + i;
        for (int i = 0; i < 10; i++) counter += fresh[i];
    }
    printf("%d %d\n", counter, deeper(6, outer));
    unsigned long h = 0;
    for (int i = 0; i < 16; i++) h = mix(h, (unsigned long)outer[i]);
    printf("%016lx\n", h);
    return 0;
}
