// POSIX threads made by the program: shared data, stacks, mutexes, condition variables, beside parallel regions and in them.
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn, total, data[1000];

static void add(int *to, int what) { *to += what; }

static void *alternate(void *argument) {
    long me = (long)argument;
    int own = 3;
    int *volatile address = &own;
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&mutex);
        while (turn % 2 != me) pthread_cond_wait(&changed, &mutex);
        turn++;
        add(address, 1);
        total += own;
        data[i] += me;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    if (me) pthread_exit((void *)(me + 7));
    return (void *)(me + 7);
}

static void *count(void *to) {
    for (int i = 0; i < 1000; i++) __atomic_fetch_add((int *)to, data[i] != i, __ATOMIC_RELAXED);
    return NULL;
}

int main(void) {
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) data[i] = i;
    pthread_t threads[2];
    long sum = 0;
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, alternate, (void *)i);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    int changes = 0;
#pragma omp parallel for reduction(+ : changes)
    for (int i = 0; i < 1000; i++) changes += data[i] - i;
    printf("%d %d %ld %d\n", turn, total, sum, changes);
    // More threads than there are stacks, one after the other.
    int off = 0;
    for (int i = 0; i < 300; i++) {
        pthread_create(&threads[0], NULL, count, &off);
        pthread_join(threads[0], NULL);
    }
    printf("%d\n", off);
    // A condition variable between threads of a team, wherever they are.
    static int produced, consumed[100];
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        if (omp_get_thread_num() == 0) {
            while (produced != 2 * i) pthread_cond_wait(&changed, &mutex);
            data[i] = i * i;
            produced++;
        } else {
            while (produced != 2 * i + 1) pthread_cond_wait(&changed, &mutex);
            consumed[i] = data[i] + 1;
            produced++;
        }
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    sum = 0;
    for (int i = 0; i < 100; i++) sum += consumed[i];
    printf("%d %ld\n", produced, sum);
    // Nobody signals.
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&mutex);
    int status = 0;
    while (status == 0) status = pthread_cond_timedwait(&changed, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    printf("%s\n", status == ETIMEDOUT ? "timed out" : "failed");
    // A thread made by each member of a team.
    int made = 0;
#pragma omp parallel num_threads(3) reduction(+ : made)
    {
        int mine = 0;
        pthread_t thread;
        pthread_create(&thread, NULL, count, &mine);
        pthread_join(thread, NULL);
        made += mine > 0;
    }
    printf("%d\n", made);
    return 0;
}
