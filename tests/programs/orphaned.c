// Worksharing, barriers and reductions in functions called from the region, serial and parallel.
#include <stdio.h>

enum { N = 512 };
static long a[N], b[N];

static void step(int k) {
#pragma omp for schedule(static, 11)
    for (int i = 0; i < N; i++) a[i] = b[(i * 5 + k) % N] + i;
}

static void back(void) {
#pragma omp for schedule(dynamic, 17)
    for (int i = 0; i < N; i++) b[i] = a[N - 1 - i] % 1000;
}

static long shared_total;

static void total(void) {
#pragma omp for reduction(+ : shared_total)
    for (int i = 0; i < N; i++) shared_total += b[i];
}

static void all(int rounds) {
    for (int k = 0; k < rounds; k++) {
        step(k);
        back();
        total();
    }
}

int main(void) {
    all(3);
    printf("%ld\n", shared_total);
#pragma omp parallel
    all(25);
    printf("%ld\n", shared_total);
#pragma omp parallel if (0)
    all(2);
    printf("%ld %ld %ld\n", shared_total, a[17], b[300]);
    return 0;
}
