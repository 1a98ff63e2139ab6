// Locks held for so long that others wait for them asleep, of several processes and of one.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 8, PAUSE_US = 3000 };

static long count;
static omp_lock_t lock;

static void add(void) {
    long seen = count;
    usleep(PAUSE_US);
    count = seen + 1;
}

int main(void) {
    omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
    {
        for (int i = 0; i < ROUNDS; i++) {
            omp_set_lock(&lock);
            add();
            omp_unset_lock(&lock);
        }
#pragma omp barrier
        for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
            add();
        }
    }
    omp_destroy_lock(&lock);
    printf("%ld\n", count);
    return 0;
}
