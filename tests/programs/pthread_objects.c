//@ flags: -D_GNU_SOURCE
// Objects of POSIX threads between the threads of a team: barriers, semaphores, read-write and spin locks, once, thread-specific data.
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

enum { TEAM = 4, ROUNDS = 40, ITEMS = 200 };
static pthread_barrier_t barrier;
static sem_t items, space;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static mtx_t plain;
static pthread_key_t key;
static int cells[TEAM][64], ring[8], head, tail, prepared, table[64], spun, counted, serial, inside, most;

static void prepare(void) {
    for (int i = 0; i < 64; i++) table[i] = i + 1;
    prepared++;
}

static void count(void) { prepared += 10; }

static struct timespec soon(long milliseconds) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += milliseconds * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

int main(void) {
    long sum = 0, wrong = 0, taken = 0;
    pthread_barrier_init(&barrier, NULL, TEAM);
    sem_init(&items, 0, 0);
    sem_init(&space, 0, 8);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&plain, mtx_plain);
    if (pthread_key_create(&key, NULL)) return 1;
#pragma omp parallel num_threads(TEAM) reduction(+ : sum, wrong, taken)
    {
        int me = omp_get_thread_num(), mine = 0;
        // Each round a thread reads what its neighbour wrote in the round before.
        for (int r = 1; r <= ROUNDS; r++) {
            for (int i = 0; i < 64; i++) cells[me][i] = r * (me + 1);
            if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
            int next = (me + 1) % TEAM;
            for (int i = 0; i < 64; i++) wrong += cells[next][i] != r * (next + 1);
            pthread_barrier_wait(&barrier);
        }
        // Half of the threads make items, half take them.
        for (int i = 0; i < ITEMS; i++) {
            if (me % 2) {
                sem_wait(&space);
                pthread_mutex_lock(&mutex);
                ring[head++ % 8] = i;
                pthread_mutex_unlock(&mutex);
                sem_post(&items);
            } else {
                sem_wait(&items);
                pthread_mutex_lock(&mutex);
                taken += ring[tail++ % 8];
                pthread_mutex_unlock(&mutex);
                sem_post(&space);
            }
        }
        // Readers are in together: each waits for all.
        pthread_rwlock_rdlock(&lock);
        pthread_barrier_wait(&barrier);
        wrong += pthread_rwlock_trywrlock(&lock) != EBUSY;
        pthread_barrier_wait(&barrier);
        pthread_rwlock_unlock(&lock);
        for (int i = 0; i < 50; i++) {
            pthread_rwlock_wrlock(&lock);
            if (++inside > most) most = inside;
            table[i] += 0;
            inside--;
            pthread_rwlock_unlock(&lock);
            pthread_spin_lock(&spin);
            spun++;
            pthread_spin_unlock(&spin);
            mtx_lock(&plain);
            counted++;
            mtx_unlock(&plain);
        }
        pthread_once(&once, prepare);
        call_once(&flag, count);
        for (int i = 0; i < 64; i++) sum += table[i] == i + 1;
        // Each thread has its own value, found again in later regions.
        wrong += pthread_getspecific(key) != NULL;
        mine = me + 100;
        wrong += pthread_setspecific(key, malloc(sizeof(int))) != 0;
        *(int *)pthread_getspecific(key) = mine;
    }
#pragma omp parallel num_threads(TEAM) reduction(+ : wrong)
    {
        int *own = pthread_getspecific(key);
        wrong += *own != omp_get_thread_num() + 100;
        free(own);
    }
    int value = -1, late[4] = {0};
    sem_getvalue(&items, &value);
    pthread_mutex_lock(&mutex);
    sem_post(&items);
    // Nobody gives what is waited for here.
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        struct timespec end = soon(20);
        late[0] = pthread_mutex_timedlock(&mutex, &end);
        late[1] = sem_trywait(&items);
        late[2] = sem_timedwait(&items, &end) == -1 && errno == ETIMEDOUT;
        late[3] = sem_trywait(&items) == -1 && errno == EAGAIN;
    }
    pthread_mutex_unlock(&mutex);
    printf("%ld %ld %ld %d %d %d %d\n", sum, wrong, taken, serial, spun, counted, most);
    printf("%d %d %d %d %d %d\n", prepared, value, late[0] == ETIMEDOUT, late[1], late[2], late[3]);
    pthread_barrier_destroy(&barrier);
    sem_destroy(&items);
    return pthread_key_delete(key);
}
