/* First function of a thread that the program makes: in C, since `pthread_exit` and cancellation unwind through it. */
#include "internal.h"

#include <stdlib.h>

struct start {
    void *(*routine)(void *);
    void *argument;
    uint32_t stack;
};

void *dsm_rt_thread(void *given) {
    struct start start = *(struct start *)given;
    free(given);
    dsm_rt_thread_begins(start.stack);
    return start.routine(start.argument);
}
