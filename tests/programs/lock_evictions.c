// Locks hand data on although so many others were used in between that the runtime's table of locks has forgotten who held them last.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>

// Of each pair, the first is held, and has the place in the table that both would have. Chosen are pairs whose second then competes with the others' for
// few places: the hash is that of `lock_table.rs`. With another one the program has the same output, and tests less.
enum { PAIRS = 1 << 23, SLOTS = 1 << 21, WINDOW = 32, CHOSEN = 96, PAGE = 4096 / sizeof(long) };

static pthread_spinlock_t locks[PAIRS][2];
static pthread_spinlock_t *chosen[CHOSEN];
// Far apart: no notice covers two of them.
static long value[CHOSEN][PAGE];
static int turn;

static uint64_t window(pthread_spinlock_t *lock) {
    uint64_t mixed = (uint64_t)(uintptr_t)lock * 0x9e3779b97f4a7c15;
    return ((mixed ^ mixed >> 32) * 0xd6e8feb86659fd93 >> 32) % SLOTS;
}

static void use(pthread_spinlock_t *lock) {
    pthread_spin_lock(lock);
    pthread_spin_unlock(lock);
}

// Tells the time, and orders nothing.
static void wait_for(int value) {
    for (int seen = -1; seen != value; sched_yield()) {
#pragma omp atomic read
        seen = turn;
    }
}

static void go_on(int value) {
#pragma omp atomic write
    turn = value;
}

int main(void) {
    int count = 0;
    for (int i = 0; i < PAIRS && count < CHOSEN; i++) {
        if (window(&locks[i][1]) >= WINDOW) continue;
        for (int k = 0; k < 2; k++) pthread_spin_init(&locks[i][k], PTHREAD_PROCESS_PRIVATE);
        pthread_spin_lock(&locks[i][0]);
        chosen[count++] = &locks[i][1];
    }
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        int me = omp_get_thread_num();
        // So that there is something old to see.
        for (int i = 0; i < count; i++) sum += value[i][0];
#pragma omp barrier
        for (int i = 0; i < 2 * count; i++) {
            pthread_spinlock_t *lock = chosen[i / 2];
            if (me == i % 2) {
                wait_for(2 * i);
                pthread_spin_lock(lock);
                value[i / 2][0] += i + 1;
                pthread_spin_unlock(lock);
                for (int k = 0; k < count; k++)
                    if (chosen[k] != lock) use(chosen[k]);
                go_on(2 * i + 1);
            } else {
                wait_for(2 * i + 1);
                pthread_spin_lock(lock);
                sum += value[i / 2][0];
                pthread_spin_unlock(lock);
                go_on(2 * i + 2);
            }
        }
    }
    for (int i = 0; i < count; i++) pthread_spin_unlock(chosen[i] - 1);
    printf("%d %ld\n", count == CHOSEN, sum);
    return 0;
}
