// Locks that a thread takes many times in a row, and others then: what was written under them is there, whatever the last holder does meanwhile.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, LOCKS = 100, TIMES = 50, ROUNDS = 20, PAGE = 4096 / sizeof(long) };

static omp_lock_t locks[THREADS][LOCKS];
static long counts[THREADS][LOCKS];
static omp_lock_t shared;
// Far apart: no notice covers two of them.
static long far[ROUNDS][PAGE];
static pthread_mutex_t mutexes[THREADS];
static long last;
static int done;

static int is_done(void) {
    int seen;
#pragma omp atomic read
    seen = done;
    return seen;
}

// Runs when the other threads have ended, and takes locks that they took last.
static void at_exit(void) {
    long sum = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_mutex_lock(&mutexes[t]);
        sum += t;
        pthread_mutex_unlock(&mutexes[t]);
        for (int i = 0; i < LOCKS; i++) {
            omp_set_lock(&locks[t][i]);
            sum += counts[t][i];
            omp_unset_lock(&locks[t][i]);
        }
    }
    printf("at exit %ld\n", sum);
}

static void take_often(int me) {
    for (int k = 0; k < TIMES; k++) {
        for (int i = 0; i < LOCKS; i++) {
            omp_set_lock(&locks[me][i]);
            counts[me][i]++;
            omp_unset_lock(&locks[me][i]);
        }
    }
}

int main(void) {
    long sum = 0, taken = 0, wrong = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_mutex_init(&mutexes[t], NULL);
        for (int i = 0; i < LOCKS; i++) omp_init_lock(&locks[t][i]);
    }
    omp_init_lock(&shared);
    atexit(at_exit);

    // Thread 0 takes all locks while the others do nothing but look at a flag, which orders nothing.
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    {
        int me = omp_get_thread_num();
        take_often(me);
#pragma omp barrier
        if (me == 0) {
            for (int t = 0; t < THREADS; t++) {
                for (int i = 0; i < LOCKS; i++) {
                    omp_set_lock(&locks[t][i]);
                    sum += counts[t][i];
                    omp_unset_lock(&locks[t][i]);
                }
            }
#pragma omp atomic write
            done = 1;
        } else {
            while (!is_done());
        }
    }
    printf("sum %ld\n", sum);

    // What one has written under its lock another one finds there, without a barrier between the two.
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        for (int i = me; i < 2 * ROUNDS; i += 2) {
            for (long turn = -1; turn != i;) {
#pragma omp atomic read
                turn = last;
            }
            // Often enough that the lock is cached, in most rounds.
            for (int k = 0; k < 10 * (i + 1); k++) {
                omp_set_lock(&shared);
                wrong += far[i / 2][k % 7] < (me == 1);
                far[i / 2][k % 7]++;
                omp_unset_lock(&shared);
            }
            omp_set_lock(&shared);
            for (int k = 0; k < 7; k++) wrong += far[i / 2][k] == 0;
            omp_unset_lock(&shared);
#pragma omp atomic write
            last = i + 1;
        }
    }
    long all = 0;
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < 7; k++) all += far[i][k];
    printf("wrong %ld of %ld\n", wrong, all);

    // To give a lock back is to flush: who sees an atomic store behind that, and flushes, sees what was written under the lock.
    long seen = 0;
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        for (int i = 0; i < ROUNDS; i++) {
            if (me == 1) {
                for (int k = 0; k < TIMES; k++) {
                    omp_set_lock(&shared);
                    far[i][8]++;
                    omp_unset_lock(&shared);
                }
#pragma omp atomic write
                done = 2 + i;
            } else {
                while (is_done() != 2 + i);
#pragma omp flush
                seen += far[i][8];
            }
#pragma omp barrier
        }
    }
    printf("seen %ld\n", seen);

    // A lock that nobody holds is free, whoever took it often.
#pragma omp parallel num_threads(THREADS) reduction(+ : taken)
    {
        int me = omp_get_thread_num(), next = (me + 1) % THREADS;
        for (int k = 0; k < TIMES; k++) {
            pthread_mutex_lock(&mutexes[me]);
            pthread_mutex_unlock(&mutexes[me]);
        }
        take_often(me);
#pragma omp barrier
        for (int i = 0; i < LOCKS; i++) {
            if (omp_test_lock(&locks[next][i])) {
                taken += counts[next][i] == 2 * TIMES;
                omp_unset_lock(&locks[next][i]);
            }
        }
        if (pthread_mutex_trylock(&mutexes[next]) == 0) {
            taken++;
            pthread_mutex_unlock(&mutexes[next]);
        }
    }
    printf("taken %ld\n", taken);

    // Locks end and begin anew in the same place.
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num(), next = (me + 1) % THREADS;
        for (int k = 0; k < 3; k++) {
            take_often(me);
#pragma omp barrier
            for (int i = 0; i < LOCKS; i++) {
                omp_destroy_lock(&locks[next][i]);
                omp_init_lock(&locks[next][i]);
            }
#pragma omp barrier
        }
        take_often(me);
        pthread_mutex_lock(&mutexes[me]);
        pthread_mutex_unlock(&mutexes[me]);
    }
    printf("end\n");
    return 0;
}
