/* The locks of `std::atomic_load`, `std::atomic_store` and their relatives on a `std::shared_ptr`.
 *
 * libstdc++ locks one or two of the mutexes in its own data, of which each process has a set. The functions here stand in front of the
 * library's: what lies in shared memory is locked for the threads of all processes. They are weak, because a static libstdc++ may have the
 * originals. */
#include "internal.h"

#include <pthread.h>

#define PUBLIC __attribute__((weak, visibility("default")))

/* A std::_Sp_locker, whose layout is part of the C++ ABI. What a key says: the lock's number, and whether it is locked for all processes. */
struct locker {
    unsigned char first, second;
};

enum { LOCK_BITS = 7, LOCKS = 1 << LOCK_BITS, ALL_PROCESSES = LOCKS };

static pthread_mutex_t locks[LOCKS] = {[0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

static unsigned lock_of(const void *pointer) { return (unsigned)(((uintptr_t)pointer >> 3) * 0x9e3779b97f4a7c15u >> (64 - LOCK_BITS)); }

/* The address of a mutex, which is the same in all processes, names the lock for all of them. */
static void take(unsigned key) {
    pthread_mutex_t *mutex = &locks[key % LOCKS];
    if (key & ALL_PROCESSES)
        __dsm_mutex_lock(mutex);
    else
        pthread_mutex_lock(mutex);
}

static void give_back(unsigned key) {
    pthread_mutex_t *mutex = &locks[key % LOCKS];
    if (key & ALL_PROCESSES)
        __dsm_mutex_unlock(mutex);
    else
        pthread_mutex_unlock(mutex);
}

/* The lower number first, so that nobody waits in a circle. */
static void lock(struct locker *locker, const void *one, const void *other) {
    unsigned all = dsm_rt_several_processes() && (dsm_rt_is_shared(one) || dsm_rt_is_shared(other)) ? ALL_PROCESSES : 0;
    unsigned a = lock_of(one) | all, b = lock_of(other) | all;
    unsigned first = a < b ? a : b, second = a < b ? b : a;
    take(first);
    if (second != first) take(second);
    if (dsm_rt_several_processes()) __dsm_store_range(locker, sizeof *locker);
    *locker = (struct locker){(unsigned char)first, (unsigned char)second};
}

static void unlock(struct locker *locker) {
    if (dsm_rt_several_processes()) __dsm_load_range(locker, sizeof *locker);
    struct locker held = *locker;
    if (held.second != held.first) give_back(held.second);
    give_back(held.first);
}

PUBLIC void _ZNSt10_Sp_lockerC1EPKv(struct locker *locker, const void *pointer) { lock(locker, pointer, pointer); }
PUBLIC void _ZNSt10_Sp_lockerC2EPKv(struct locker *locker, const void *pointer) { lock(locker, pointer, pointer); }
PUBLIC void _ZNSt10_Sp_lockerC1EPKvS1_(struct locker *locker, const void *one, const void *other) { lock(locker, one, other); }
PUBLIC void _ZNSt10_Sp_lockerC2EPKvS1_(struct locker *locker, const void *one, const void *other) { lock(locker, one, other); }
PUBLIC void _ZNSt10_Sp_lockerD1Ev(struct locker *locker) { unlock(locker); }
PUBLIC void _ZNSt10_Sp_lockerD2Ev(struct locker *locker) { unlock(locker); }
