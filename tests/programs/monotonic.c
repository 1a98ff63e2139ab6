// Dynamic loops: each iteration once, whatever the number of chunks, and in increasing order in each thread where the schedule is monotonic.
//@ env: OMP_CANCELLATION=true
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 2000 };

static int times[MOST];
static int out_of_order;

static void ran(int i, int *previous) {
#pragma omp atomic
    times[i]++;
    if (i < *previous) {
#pragma omp atomic
        out_of_order++;
    }
    *previous = i;
}

static void expect(const char *what, int iterations, int chunk, int ordered) {
    for (int i = 0; i < MOST; i++)
        if (times[i] != (i < iterations)) printf("%s, chunks of %d: iteration %d of %d %d times\n", what, chunk, i, iterations, times[i]);
    if (ordered && out_of_order) printf("%s, chunks of %d: %d out of order\n", what, chunk, out_of_order);
    memset(times, 0, sizeof times);
    out_of_order = 0;
}

int main(void) {
    static const int trips[] = {0, 1, 2, 3, 7, 64, 1000, MOST};
    for (unsigned t = 0; t < sizeof trips / sizeof *trips; t++) {
        int iterations = trips[t];
        for (int chunk = 1; chunk <= 100; chunk *= 10) {
#pragma omp parallel
            {
                int previous = -1;
#pragma omp for schedule(nonmonotonic : dynamic, chunk)
                for (int i = 0; i < iterations; i++) ran(i, &previous);
            }
            expect("nonmonotonic", iterations, chunk, 0);
#pragma omp parallel
            {
                int previous = -1;
#pragma omp for schedule(monotonic : dynamic, chunk)
                for (int i = 0; i < iterations; i++) ran(i, &previous);
            }
            expect("monotonic", iterations, chunk, 1);
            for (int monotonic = 0; monotonic < 2; monotonic++) {
                omp_set_schedule(omp_sched_dynamic | (monotonic ? omp_sched_monotonic : 0), chunk);
#pragma omp parallel
                {
                    int previous = -1;
#pragma omp for schedule(runtime)
                    for (int i = 0; i < iterations; i++) ran(i, &previous);
                }
                expect("runtime", iterations, chunk, monotonic);
            }
        }
    }

    // Many loops at once: threads run ahead of each other.
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int loop = 0; loop < 300; loop++) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 10; i++) sum += i + loop;
    }
    printf("sum %d\n", sum);

    // Behind a loop that was cancelled.
    for (int region = 0; region < 5; region++) {
        sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 100; i++) sum++;
#pragma omp for schedule(static)
            for (int i = 0; i < 100; i++) {
#pragma omp cancel for if (region % 2)
            }
        }
        printf("region %d: %d\n", region, sum);
    }
    return 0;
}
