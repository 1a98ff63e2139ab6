// Untied tasks, in several parts each, that wait for each other in pairs: they have to run in two threads at a time.
#include <omp.h>
#include <stdio.h>

enum { PAIRS = 10, WORDS = 100 };
static int arrived[PAIRS];
static long sums[2 * PAIRS], children[2 * PAIRS][WORDS];

static void meet(int pair) {
    int now = 0;
#pragma omp atomic update release
    arrived[pair]++;
    if (omp_get_num_threads() == 1) return;
    while (now < 2) {
#pragma omp atomic read acquire
        now = arrived[pair];
    }
}

static void work(int number) {
    int pair = number / 2;
    long local[3] = {number, 0, 0};
    // Before the task waits: while it does, its thread may begin the other one of the pair.
    meet(pair);
#pragma omp task untied shared(local)
    local[1] = 2 * local[0];
    for (int i = 0; i < WORDS; i++) {
#pragma omp task untied firstprivate(i)
        children[number][i] = number * i;
    }
#pragma omp taskwait
#pragma omp taskyield
#pragma omp taskgroup
    {
#pragma omp task untied shared(local)
        local[2] = local[1] + 1;
    }
    sums[number] = local[0] + local[1] + local[2];
}

int main(void) {
    long total = 0;
#pragma omp parallel
#pragma omp single
    for (int pair = 0; pair < PAIRS; pair++) {
        for (int i = 0; i < 2; i++) {
#pragma omp task untied firstprivate(pair, i)
            {
                int number = 2 * pair + i;
#pragma omp task untied firstprivate(number)
                work(number);
#pragma omp taskwait
                sums[number] += 1000;
            }
        }
#pragma omp taskwait
    }
    for (int number = 0; number < 2 * PAIRS; number++) {
        for (int i = 0; i < WORDS; i++) total += children[number][i];
        printf("%d %ld\n", number, sums[number]);
    }
    printf("%ld\n", total);
    return 0;
}
