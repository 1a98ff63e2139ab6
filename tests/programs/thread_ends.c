// Threads that end, inside and outside of regions: destructors of thread-specific data are user code, keys can be made and deleted for ever, handlers run
// inside of `raise` and may synchronise, and a condition variable is waited for by the clock that it was made with.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 6, WORDS = 512 };
static pthread_key_t key;
static long *tables[THREADS];
static long ended;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void destroy(void *value) {
    long *table = value, sum = 0;
    for (int i = 0; i < WORDS; i++) sum += ++table[i];
    pthread_mutex_lock(&mutex);
    ended += sum;
    pthread_mutex_unlock(&mutex);
}

static void *work(void *argument) {
    long *table = tables[(long)argument];
    for (int i = 0; i < WORDS; i++) table[i] = i;
    pthread_setspecific(key, table);
    return NULL;
}

static void threads(void) {
    pthread_key_create(&key, destroy);
    for (int i = 0; i < THREADS; i++) tables[i] = malloc(WORDS * sizeof(long));
    long seen = 0;
#pragma omp parallel num_threads(2) reduction(+ : seen)
    {
        pthread_t made[3];
        int me = omp_get_thread_num();
        for (int round = 0; round < 3; round++) {
            for (long i = 0; i < 3; i++) pthread_create(&made[i], NULL, work, (void *)(3 * me + i));
            for (int i = 0; i < 3; i++) pthread_join(made[i], NULL);
        }
#pragma omp barrier
        for (int i = 0; i < WORDS; i++) seen += tables[(3 * me + 4) % THREADS][i];
    }
    printf("ended %ld, seen %ld\n", ended, seen);
    pthread_key_delete(key);
}

static void keys(void) {
    int failed = 0, kept = 0;
#pragma omp parallel num_threads(2) reduction(+ : failed, kept)
    for (int i = 0; i < 1500; i++) {
        pthread_key_t one;
        if (pthread_key_create(&one, NULL)) {
            failed++;
            continue;
        }
        kept += pthread_getspecific(one) != NULL;
        pthread_setspecific(one, &key);
        kept += pthread_getspecific(one) != &key;
        failed += pthread_key_delete(one) != 0;
    }
    printf("keys: %d failed, %d kept a value\n", failed, kept);
}

static omp_lock_t lock;
static long shared[64];

static void handler(int signal) {
    omp_set_lock(&lock);
    shared[1] += signal;
    omp_unset_lock(&lock);
}

static void raises(void) {
    omp_init_lock(&lock);
    signal(SIGUSR1, handler);
    long wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    for (int round = 0; round < 20; round++) {
        long before = shared[2];
        raise(SIGUSR1);
        // Nobody stores to it, but it lies beside what the handler has changed.
        wrong += shared[2] != before;
#pragma omp barrier
        wrong += shared[1] != 4L * (round + 1) * SIGUSR1;
#pragma omp barrier
    }
    printf("raised: %ld wrong\n", wrong);
    omp_destroy_lock(&lock);
}

static pthread_cond_t condition;
static int ready;

static void clocks(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition, &attributes);
    pthread_condattr_destroy(&attributes);
    int early = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_sec += 100;
            pthread_mutex_lock(&mutex);
            while (!ready)
                if (pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT) {
                    early = 1;
                    break;
                }
            pthread_mutex_unlock(&mutex);
        } else {
            struct timespec pause = {0, 20000000};
            nanosleep(&pause, NULL);
            pthread_mutex_lock(&mutex);
            ready = 1;
            pthread_cond_broadcast(&condition);
            pthread_mutex_unlock(&mutex);
        }
    }
    printf("early: %d, destroyed %d\n", early, pthread_cond_destroy(&condition));
}

int main(void) {
    threads();
    keys();
    raises();
    clocks();
}
