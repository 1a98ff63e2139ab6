// Each task waits until another thread has begun its child, and then in taskwait or at the end of a taskgroup for the child's end: the chain goes on
// only if threads that wait there run tasks of others.
#include <omp.h>
#include <stdio.h>

enum { LEVELS = 40 };
static int begun[LEVELS + 1];
static long found[LEVELS + 1][64], sum;

static void await_begin(int level) {
    int now = 0;
    // In a team of one, the thread runs the child when it waits for it.
    if (omp_get_num_threads() == 1) return;
    while (!now) {
#pragma omp atomic read acquire
        now = begun[level];
    }
}

static void descend(int level) {
#pragma omp atomic write release
    begun[level] = 1;
    if (level == LEVELS) return;
    // What the tasks above left, and what the one below leaves.
    for (int i = 0; i < 64; i++) found[level][i] = level ? found[level - 1][i] + i : i;
    if (level % 2) {
#pragma omp taskgroup
        {
#pragma omp task
            descend(level + 1);
            await_begin(level + 1);
        }
    } else {
#pragma omp task
        descend(level + 1);
        await_begin(level + 1);
#pragma omp taskwait
    }
    for (int i = 0; i < 64; i++) found[level][i] += found[level + 1][i];
}

int main(void) {
#pragma omp parallel
#pragma omp single
    {
        descend(0);
        for (int i = 0; i < 64; i++) sum += found[0][i];
        printf("%ld\n", sum);
    }
    return 0;
}
