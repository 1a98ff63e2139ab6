//@ flags: -D_GNU_SOURCE
// A barrier that the thread which it returns PTHREAD_BARRIER_SERIAL_THREAD to destroys, and begins anew for the next round.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t barriers[2];
static long sums[2];

int main(void) {
    int failed = 0, serial = 0;
    for (int i = 0; i < 2; i++) pthread_barrier_init(&barriers[i], NULL, omp_get_max_threads());
#pragma omp parallel num_threads(omp_get_max_threads()) reduction(+ : failed, serial)
    for (int round = 0; round < 300; round++) {
        pthread_barrier_t *barrier = &barriers[round % 2];
#pragma omp atomic
        sums[round % 2]++;
        if (pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            serial++;
            failed += pthread_barrier_destroy(barrier) != 0;
            failed += pthread_barrier_init(barrier, NULL, omp_get_num_threads()) != 0;
        }
    }
    for (int i = 0; i < 2; i++) failed += sums[i] != 150L * omp_get_max_threads();
    printf("%d failed, %d rounds\n", failed, serial);
    return 0;
}
