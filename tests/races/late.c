/* Thread 1 writes after thread 0, having seen its value, but nothing orders the two: relaxed atomics say when, and synchronise nothing. Of `early`,
   thread 1 learns before thread 0 publishes it, of `published` likewise, but thread 0 publishes that before thread 1 does. */
#include <omp.h>
#include <stdio.h>

_Alignas(4096) int early[1024], published[1024];
_Alignas(4096) int turn;
_Alignas(4096) int other, another;

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
