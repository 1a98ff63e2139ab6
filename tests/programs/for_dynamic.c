// Dispatched loops: dynamic, guided, runtime and auto schedules, chunked or not, over all four
// index types. Each iteration runs exactly once, whoever runs it.
//@ env: OMP_SCHEDULE=guided,4
#include "mix.h"
#include <omp.h>
#include <stdio.h>

enum { N = 2000 };
static unsigned long hit[N];
static int runs[N];

static void show(const char *what) {
    unsigned long h = 1;
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        h = mix(h, hit[i]);
        wrong += runs[i] > 1;
        hit[i] = 0;
        runs[i] = 0;
    }
    printf("%-16s %016lx repeated %d\n", what, h, wrong);
}

#define BODY(i, f) (hit[i] += (f), runs[i]++)

int main(void) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < N; i++) BODY(i, (unsigned long)i + 1);
    show("dynamic");
#pragma omp parallel for schedule(dynamic, 13)
    for (unsigned i = 1; i < N; i += 3) BODY(i, i * 2UL);
    show("dynamic 13");
#pragma omp parallel for schedule(guided)
    for (long i = N - 1; i >= 0; i--) BODY(i, (unsigned long)i * 3);
    show("guided");
#pragma omp parallel for schedule(guided, 8)
    for (unsigned long i = 0; i < N; i += 2) BODY(i, i * 5);
    show("guided 8");
#pragma omp parallel for schedule(runtime)
    for (int i = N - 1; i >= 7; i -= 7) BODY(i, (unsigned long)i * 7);
    show("runtime env");
    omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < N; i++) BODY(i, (unsigned long)i * 9);
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("schedule %d %d\n", (int)kind, chunk);
    show("runtime set");
#pragma omp parallel for schedule(auto)
    for (int i = 0; i < N; i++) BODY(i, (unsigned long)i * 11);
    show("auto");
#pragma omp parallel for schedule(monotonic : dynamic, 2)
    for (int i = 0; i < N; i++) BODY(i, (unsigned long)i * 13);
    show("monotonic");
#pragma omp parallel for schedule(nonmonotonic : dynamic, 50)
    for (long i = -1000; i < 1000; i++) BODY(i + 1000, (unsigned long)(i + 5000));
    show("nonmonotonic");
#pragma omp parallel
    for (int round = 0; round < 20; round++) {
#pragma omp for schedule(dynamic, 4) nowait
        for (int i = 0; i < N / 2; i++) BODY(i, (unsigned long)(i * (round + 1)));
#pragma omp for schedule(guided)
        for (int i = N / 2; i < N; i++) BODY(i, (unsigned long)(i + round));
    }
    for (int i = 0; i < N; i++) runs[i] -= 19;
    show("many loops");
#pragma omp parallel for schedule(dynamic)
    for (int i = 9; i < 9; i++) BODY(0, 1);
    show("empty");
    return 0;
}
