/* A load that acquires stands in a loop around a relaxed compare-and-swap. */
//@ layout: 2x1
//@ found: output
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>

static _Alignas(65536) _Atomic long turn;
static _Alignas(65536) long data;

__attribute__((noinline)) static long take(void) {
    long seen;
    do seen = atomic_load_explicit(&turn, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&turn, &seen, seen + 1000, memory_order_relaxed, memory_order_relaxed));
    return seen;
}

int main(void) {
    long wrong = 0;
    for (int round = 1; round <= 200; round++) {
        turn = data = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
        {
            /* Both have a copy. */
            wrong += *(volatile long *)&data;
#pragma omp barrier
            if (omp_get_thread_num() == 0) {
                data = round;
                atomic_fetch_add_explicit(&turn, 1, memory_order_release);
            } else {
                while (take() % 1000 == 0)
                    ;
                wrong += data != round;
            }
        }
    }
    printf("%ld wrong\n", wrong);
    return 0;
}
