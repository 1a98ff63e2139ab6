// Parts of lines that different threads print come in the order of their synchronisation, whatever it is.
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ROUNDS = 12, THREADS = 4 };

static atomic_int turn;

int main(void) {
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        for (int round = 0; round < ROUNDS; round++) {
            if (me == round % THREADS) printf("barrier %d,", round);
#pragma omp barrier
        }
        for (int round = 0; round < ROUNDS; round++) {
            while (atomic_load_explicit(&turn, memory_order_acquire) != THREADS * round + me) sched_yield();
            printf("turn %d of %d,", round, me);
            atomic_fetch_add_explicit(&turn, 1, memory_order_release);
        }
#pragma omp barrier
        static int next;
        for (int done = 0; !done;) {
#pragma omp critical
            {
                if (next % THREADS == me && next < THREADS * ROUNDS) printf("section %d,", next++);
                done = next >= THREADS * (ROUNDS - 1) + me + 1;
            }
            sched_yield();
        }
    }
    printf("\n");
    return 0;
}
