// Named and unnamed critical sections protect records larger than a line.
#include <stdio.h>

static struct {
    long count;
    int spread[200];
    long check;
} plain, alpha, beta;

static void bump(long *count, int *spread, long *check, int i) {
    long before = *count;
    spread[i % 200] += i;
    *check += before;
    *count = before + 1;
}

int main(void) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 1200; i++) {
#pragma omp critical
        bump(&plain.count, plain.spread, &plain.check, i);
        if (i % 2) {
#pragma omp critical(alpha)
            bump(&alpha.count, alpha.spread, &alpha.check, i);
        } else {
#pragma omp critical(beta)
            {
                bump(&beta.count, beta.spread, &beta.check, i);
                // A critical section inside another of a different name.
#pragma omp critical(inner)
                beta.spread[0]++;
            }
        }
    }
    long sum = 0;
    for (int i = 0; i < 200; i++) sum += plain.spread[i] + 3L * alpha.spread[i] + 5L * beta.spread[i];
    printf("%ld %ld %ld %ld\n", plain.count, alpha.count, beta.count, sum);
    printf("%ld %ld %ld\n", plain.check, alpha.check, beta.check);
    // Data written before a critical section is seen by whoever enters next.
    static int turn, log[64], payload[64];
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 64; i++) {
        payload[i] = i * i;
#pragma omp critical(turns)
        {
            log[turn] = i + 1;
            turn++;
        }
    }
    int seen = 0;
    for (int i = 0; i < 64; i++) seen += log[i] > 0 ? payload[log[i] - 1] : -100000;
    printf("%d %d\n", turn, seen);
    return 0;
}
