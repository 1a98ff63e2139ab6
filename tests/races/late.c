/* Thread 1 writes after thread 0, having seen its value, but nothing orders the two: relaxed atomics say when, and synchronise nothing. Of `early`,
   thread 1 learns before thread 0 publishes it, of `published` likewise, but thread 0 publishes that before thread 1 does. */
#include <omp.h>
#include <stdio.h>

// Each in blocks of its own: of two variables in one block, one report may stand for both.
_Alignas(8192) int early[2048];
_Alignas(8192) int published[2048];
_Alignas(8192) int turn;
_Alignas(8192) int other, another;

static void wait_for(int value)
{
    while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != value) {
    }
}

static void go_on(int value) { __atomic_store_n(&turn, value, __ATOMIC_RELAXED); }

int main(void)
{
    volatile int *first = early, *second = published;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            second[3] = 10;
            go_on(1);
            wait_for(2);
#pragma omp critical
            other = 1;
            first[3] = 10;
            go_on(3);
            wait_for(4);
        } else {
            wait_for(1);
            second[3] = 11;
            go_on(2);
            wait_for(3);
            first[3] = 11;
#pragma omp critical(second)
            another = 2;
            go_on(4);
        }
    }
    printf("%d %d\n", early[3] >= 10, published[3] >= 10);
    return 0;
}
