// The thread that makes tasks blocks in the kernel until others have run them, behind their predecessors: it passes no task scheduling point meanwhile.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { TASKS = 12, WORDS = 1000 };
static long input[TASKS][WORDS], sums[TASKS], doubled[TASKS];

static void signal_end(int descriptor) {
    char end = 1;
    if (write(descriptor, &end, 1) != 1) perror("write");
}

// In a team of one, the thread runs the tasks at its next scheduling point.
static void await_ends(int descriptor, int count) {
    char end;
    if (omp_get_num_threads() == 1) return;
    while (count-- > 0)
        if (read(descriptor, &end, 1) != 1) perror("read");
}

int main(void) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < TASKS; i++) {
            for (int k = 0; k < WORDS; k++) input[i][k] = i * k;
#pragma omp task firstprivate(i) depend(out : sums[i])
            for (int k = 0; k < WORDS; k++) sums[i] += input[i][k];
#pragma omp task firstprivate(i) depend(in : sums[i])
            {
                doubled[i] = 2 * sums[i];
                signal_end(ends[1]);
            }
        }
        await_ends(ends[0], TASKS);
#pragma omp taskwait
        for (int i = 0; i < TASKS; i++) printf("%ld %ld\n", sums[i], doubled[i]);
        // More than once, and without dependences.
        for (int round = 0; round < 3; round++) {
#pragma omp task
            signal_end(ends[1]);
            await_ends(ends[0], 1);
        }
    }
    return 0;
}
