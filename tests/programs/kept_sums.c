// Threads add to two variables of one block in thousands of short regions, and thread 0 reads them behind each: additions that a process keeps for a while are there as soon as the program's order says so.
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 3000, ADDITIONS = 20 };

static struct {
    double sum;
    long count;
    int step;
} all;

int main(void) {
    double sum = 0;
    long count = 0;
    int threads = omp_get_max_threads(), bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        all.step = 1 + round % 3;
#pragma omp parallel
        {
            int by = all.step;
            for (int i = 0; i < ADDITIONS; i++) {
#pragma omp atomic
                all.sum += by;
            }
        }
        sum += (1 + round % 3) * ADDITIONS * threads;
        bad += all.sum != sum;
#pragma omp parallel
        {
            int by = all.step;
            for (int i = 0; i < ADDITIONS; i++) {
#pragma omp atomic
                all.count += by;
            }
        }
        count += (1 + round % 3) * ADDITIONS * threads;
        bad += all.count != count;
    }
    printf("%d sums of %d are wrong\n", bad, 2 * ROUNDS);
    return bad != 0;
}
