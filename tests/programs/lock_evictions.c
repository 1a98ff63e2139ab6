// Locks hand data on although so many others were used in between that no table of locks remembers who held them last.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

// Each second lock is used after all the others, and each `STEP`th guards a value.
enum { MANY = 1 << 18, STEP = 1024, VALUES = MANY / STEP, PAGE = 4096 / sizeof(long) };

static pthread_spinlock_t locks[MANY];
// Far apart: what is told of one tells nothing of the next.
static long value[VALUES][PAGE];
static int written, forgotten;

static int get(int *flag) {
    int seen;
#pragma omp atomic read
    seen = *flag;
    return seen;
}

static void use_others(int from) {
    for (int i = from; i < MANY; i += 2) {
        if (i % STEP == 0) continue;
        pthread_spin_lock(&locks[i]);
        pthread_spin_unlock(&locks[i]);
    }
}

int main(void) {
    for (int i = 0; i < MANY; i++) pthread_spin_init(&locks[i], PTHREAD_PROCESS_PRIVATE);
    long sums[2] = {0, 0}, before = 0;
#pragma omp parallel num_threads(2) reduction(+ : before)
    {
        int me = omp_get_thread_num();
        // So that there is something old to see.
        for (int i = 0; i < VALUES; i++) before += value[i][0];
#pragma omp barrier
        for (int i = me; i < VALUES; i += 2) {
            pthread_spin_lock(&locks[STEP * i]);
            value[i][0] = i + 1;
            pthread_spin_unlock(&locks[STEP * i]);
        }
        // Tells the time, and orders nothing.
#pragma omp atomic
        written++;
        while (get(&written) < 2) sched_yield();
        if (me == 0) {
            use_others(0);
            use_others(1);
#pragma omp atomic write
            forgotten = 1;
        }
        while (!get(&forgotten)) sched_yield();
        for (int i = !me; i < VALUES; i += 2) {
            pthread_spin_lock(&locks[STEP * i]);
            sums[me] += value[i][0];
            pthread_spin_unlock(&locks[STEP * i]);
        }
    }
    printf("%ld %ld %ld\n", before, sums[0], sums[1]);
    return 0;
}
