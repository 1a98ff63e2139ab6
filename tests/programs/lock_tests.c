// Threads that only try for a lock hand data on by turns: what one wrote under the lock is seen by the next that gets it so.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { ROUNDS = 12, WORDS = 40 };

static omp_lock_t lock;
static omp_nest_lock_t nest;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;

static int try(int kind) {
    switch (kind) {
    case 0: return omp_test_lock(&lock);
    case 1: return omp_test_nest_lock(&nest);
    case 2: return pthread_mutex_trylock(&mutex) == 0;
    default: return pthread_spin_trylock(&spin) == 0;
    }
}

static void unset(int kind) {
    switch (kind) {
    case 0: omp_unset_lock(&lock); break;
    case 1: omp_unset_nest_lock(&nest); break;
    case 2: pthread_mutex_unlock(&mutex); break;
    default: pthread_spin_unlock(&spin);
    }
}

static int turn[4];
static long word[4][WORDS];

int main(void) {
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
#pragma omp parallel num_threads(4)
    for (int kind = 0; kind < 4; kind++) {
        for (int mine = omp_get_thread_num(); mine < 4 * ROUNDS;) {
            if (!try(kind)) {
                sched_yield();
                continue;
            }
            int now = turn[kind] == mine;
            if (now) {
                for (int i = 0; i < WORDS; i++) word[kind][i] = 3 * word[kind][i] % 1000003 + mine + i;
                turn[kind]++;
                mine += 4;
            }
            unset(kind);
            if (!now) sched_yield();
        }
    }
    for (int kind = 0; kind < 4; kind++) {
        long sum = 0;
        for (int i = 0; i < WORDS; i++) sum = (7 * sum + word[kind][i]) % 1000003;
        printf("%d %ld\n", turn[kind], sum);
    }
    return 0;
}
