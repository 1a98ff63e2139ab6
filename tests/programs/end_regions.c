//@ exit: 3
// Parallel regions, locks, tasks and threadprivate data in functions that run at the end.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static double table[10000];
static int own = 5, steps;
#pragma omp threadprivate(own)
static omp_nest_lock_t nested;

static void last(void) {
    int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    sum += own;
    printf("last: own %d in all, main's %d\n", sum, own);
}

static void tasks(void) {
    int done = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 20; i++)
#pragma omp task shared(done)
    {
        omp_set_nest_lock(&nested);
        omp_set_nest_lock(&nested);
        done++;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
    }
    printf("tasks: %d\n", done);
    omp_destroy_nest_lock(&nested);
}

static void loops(void) {
    double sum = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for reduction(+ : sum) num_threads(4)
        for (int i = 0; i < 10000; i++) sum += table[i];
#pragma omp parallel num_threads(4)
        {
#pragma omp critical
            steps++;
#pragma omp barrier
#pragma omp parallel for num_threads(2)
            for (int i = omp_get_thread_num(); i < 4; i++) {
#pragma omp atomic
                table[i] += 0.0;
            }
        }
    }
    printf("loops: %.0f steps %d\n", sum, steps);
    int *more = malloc(1000 * sizeof *more), good = 0;
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 1000; i++) more[i] = i;
    for (int i = 0; i < 1000; i++) good += more[i] == i;
    printf("memory: %d\n", good);
    free(more);
    exit(3);
}

__attribute__((destructor)) static void destructor(void) {
    int sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (int i = 0; i < 100; i++) sum += (int)table[i];
    printf("destructor: %d\n", sum);
}

int main(void) {
    omp_init_nest_lock(&nested);
    atexit(last);
    atexit(tasks);
    atexit(loops);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 10000; i++) table[i] = i;
#pragma omp parallel num_threads(4)
    own += omp_get_thread_num();
    own = 100;
    return 0;
}
