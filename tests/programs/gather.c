// Indirect and conditional accesses, loops that leave early: globals whose blocks wander between threads.
#include <stdio.h>

enum { N = 4000, ROUNDS = 6 };

static double p[N], q[N];
static int index_of[N], count[64], found[16];

static double product(int lo, int hi) {
    double sum = 0;
    for (int row = lo; row < hi; row++) {
        double s = 0;
        for (int k = row; k < row + 40 && k < N; k++) s += p[index_of[k]] * (k % 3);
        q[row] = s;
        sum += s;
    }
    return sum;
}

static void scatter(int part, int parts) {
    for (int i = part; i < N; i += parts) q[index_of[i]] += i;
}

static void raise_some(int lo, int hi, double limit) {
    for (int i = lo; i < hi; i++)
        if (q[i] > limit) p[i] += 1;
}

static int first_above(int lo, int hi, double limit) {
    int i = lo;
    while (i < hi && p[i] <= limit) i++;
    return i;
}

int main(void) {
    for (int i = 0; i < N; i++) index_of[i] = (int)((i * 2753L + 11) % N), p[i] = i % 17;
    double total = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for reduction(+ : total) schedule(static, 250)
        for (int part = 0; part < N / 100; part++) total += product(part * 100, part * 100 + 100);
#pragma omp parallel for
        for (int part = 0; part < 7; part++) scatter(part, 7);
#pragma omp parallel for schedule(dynamic)
        for (int part = 0; part < 8; part++) raise_some(part * 500, part * 500 + 500, 900 + 10 * round);
#pragma omp parallel for
        for (int part = 0; part < 16; part++) found[part] += first_above(part * 250, part * 250 + 250, 15 + round);
        for (int i = 0; i < N; i += 3) count[index_of[i] % 64]++;
    }
    long sum = 0;
    for (int i = 0; i < 64; i++) sum = sum * 3 % 1000003 + count[i];
    for (int i = 0; i < 16; i++) sum = sum * 5 % 1000003 + found[i];
    double all = 0;
    for (int i = 0; i < N; i++) all += q[i] + p[i] * 3;
    printf("%.1f %.1f %ld\n", total, all, sum);
    return 0;
}
