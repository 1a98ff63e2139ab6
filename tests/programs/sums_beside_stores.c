// In one block: sums that all threads add to, and for each thread a variable that it stores to and adds to in turn; in another one, what threads add to and load. Each thread finds its own stores and additions in their
// order, and the sums are exact, whatever of it a process executes elsewhere or keeps.
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 12, STEPS = 3000, THREADS = 64 };

static struct {
    long own[THREADS];
    double sum, weight;
    long count;
    int step, greatest;
    short parity;
    float own_sums[THREADS];
} all;

static _Alignas(1 << 16) struct {
    long own[THREADS];
    double sum;
} added;

static int count_wrong_additions(int me) {
    int bad = 0;
    long own = added.own[me];
    for (int i = 0; i < STEPS; i++) {
#pragma omp atomic
        added.own[me] += i;
#pragma omp atomic
        added.sum += 0.5;
        own += i;
        if (i % 3 == 0) bad += added.own[me] != own;
    }
    return bad;
}

static int count_wrong(int me, int round) {
    int bad = 0;
    for (int i = 0; i < STEPS; i++) {
#pragma omp atomic
        all.sum += 1;
        if (i % 5 == round % 5) {
            all.own[me] = i;
#pragma omp atomic
            all.own[me] += 2;
            bad += all.own[me] != i + 2;
            all.own[me] -= 1;
        }
#pragma omp atomic
        all.count += 3;
#pragma omp atomic
        all.own[me] += 1;
        if (i % 5 == round % 5) bad += all.own[me] != i + 2;
        if (i % 7 == 0) {
            long seen;
            all.own_sums[me] = 0.5f;
#pragma omp atomic
            all.own_sums[me] += i;
#pragma omp atomic capture
            seen = ++all.own[me];
            bad += all.own[me] != seen || all.own_sums[me] != i + 0.5f;
        }
        if (i % 16 == 0) {
#pragma omp atomic
            all.parity ^= 1;
#pragma omp atomic
            all.weight += 0.25 * all.step;
#pragma omp atomic compare
            if (all.greatest < i) { all.greatest = i; }
        }
    }
    return bad;
}

int main(void) {
    int bad = 0, threads = omp_get_max_threads();
    if (threads > THREADS) return 2;
    for (int round = 0; round < ROUNDS; round++) {
        double sum = (double)STEPS * threads * (round + 1);
        all.step = 1 + round % 3;
        all.greatest = 0;
        double weight = all.weight + 0.25 * all.step * ((STEPS + 15) / 16) * threads;
#pragma omp parallel reduction(+ : bad)
        bad += count_wrong(omp_get_thread_num(), round) + count_wrong_additions(omp_get_thread_num());
        bad += all.sum != sum || all.count != 3 * (long)sum || all.weight != weight || added.sum != sum / 2;
        bad += all.greatest != (STEPS - 1) / 16 * 16;
        bad += all.parity != ((STEPS + 15) / 16 * threads * (round + 1)) % 2;
    }
    printf("%d are wrong\n", bad);
    return bad != 0;
}
