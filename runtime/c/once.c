/* `pthread_once`: in C, because what the routine throws passes through. */
#include "internal.h"

#include <pthread.h>

struct under_way {
    pthread_once_t *once;
    int done;
};

static void end(struct under_way *u) { dsm_rt_once_end(u->once, u->done); }

int __dsm_once(pthread_once_t *once, void (*routine)(void)) {
    int state = dsm_rt_once_begin(once);
    if (state == 0) return pthread_once(once, routine);
    if (state == 1) {
        struct under_way u __attribute__((cleanup(end))) = {once, 0};
        routine();
        u.done = 1;
    }
    return 0;
}
