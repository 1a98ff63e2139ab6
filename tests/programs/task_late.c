// Tasks that a thread makes when the others have ended, or are about to end, their parts of the region: they come back for them. All have ended behind the region.
#include <omp.h>
#include <stdio.h>

enum { REGIONS = 3000, TASKS = 12 };

static long sum;

static void work(long value, int depth) {
    #pragma omp atomic
    sum += value;
    if (depth > 0) {
        #pragma omp task
        work(value + 1, depth - 1);
        #pragma omp task untied
        work(value + 2, depth - 1);
    }
}

static void pass(int microseconds) {
    double end = omp_get_wtime() + microseconds * 1e-6;
    while (omp_get_wtime() < end) {
    }
}

int main(void) {
    for (int region = 0; region < REGIONS; region++) {
        #pragma omp parallel num_threads(3)
        {
            int me = omp_get_thread_num(), makes = region % 3;
            // Before, while, and after the others end.
            if (me == makes)
                pass(region % 7);
            if (me == makes || (region % 5 == 0 && me == (makes + 1) % 3)) {
                for (int i = 0; i < TASKS; i++) {
                    #pragma omp task
                    work(i, 2);
                }
            }
        }
        if (region % 1000 == 999)
            printf("%ld\n", sum);
    }

    // The same in regions that threads of a region start.
    sum = 0;
    omp_set_max_active_levels(2);
    for (int region = 0; region < REGIONS / 30; region++) {
        #pragma omp parallel num_threads(2)
        #pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == region % 2) {
                pass(region % 5);
                #pragma omp task
                work(region, 3);
            }
        }
    }
    printf("%ld\n", sum);
    return 0;
}
