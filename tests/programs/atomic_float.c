// Atomics on float and double: update, capture, min/max by compare, seq_cst and relaxed clauses.
#include <stdio.h>

static float f[32];
static double d[32];

int main(void) {
#pragma omp parallel for schedule(dynamic, 9)
    for (int i = 0; i < 1600; i++) {
        int k = i % 16;
#pragma omp atomic
        f[k] += 0.25f;
#pragma omp atomic
        d[k] -= 0.5 * i;
#pragma omp atomic update seq_cst
        d[16 + k] = d[16 + k] + 1.0;
#pragma omp atomic relaxed
        f[16 + k] = 2.0f + f[16 + k];
        if (i < 48) {
#pragma omp atomic
            f[k] *= 1.0f;
        }
    }
    for (int i = 0; i < 32; i++) printf("%a %a\n", f[i], d[i]);
    double total = 0, seen_sum = 0;
    float last = 0;
#pragma omp parallel for reduction(+ : seen_sum)
    for (int i = 0; i < 512; i++) {
        double before;
        float after;
#pragma omp atomic capture
        {
            before = total;
            total += 1.0;
        }
#pragma omp atomic capture
        after = last += 2.0f;
        seen_sum += before + after;
    }
    printf("%a %a %a\n", total, last, seen_sum);
    double shared_value = 0;
    int bad = 0;
#pragma omp parallel for
    for (int i = 0; i < 400; i++) {
        // Writers store whole values only: a reader never sees a mixture.
#pragma omp atomic write
        shared_value = (double)(i * 1024 + i);
        double v;
#pragma omp atomic read
        v = shared_value;
        long n = (long)v;
        if (n / 1024 != n % 1024) {
#pragma omp atomic
            bad++;
        }
    }
    printf("bad %d\n", bad);
    return 0;
}
