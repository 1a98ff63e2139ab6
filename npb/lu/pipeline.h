/* Signals between neighbours in a software pipeline: each counts the rows that it has finished, the next waits. */
#ifndef LU_PIPELINE_H
#define LU_PIPELINE_H

#include "team.h"

#include <sched.h>

/* After so many looks at the counter a thread lets others have its core: there may be more threads than cores. */
#define PATIENCE 10000

struct counter {
    _Alignas(PAGE_BYTES) long rows;
};

/* Returns when `counter` has reached `rows`. What its owner wrote before is then visible to the caller. */
static inline void pipeline_wait(const struct counter *counter, long rows)
{
    int looks = 0;
    long seen;

    for (;;) {
#pragma omp atomic read
        seen = counter->rows;
        if (seen >= rows)
            break;
        if (looks < PATIENCE)
            looks++;
        else
            sched_yield();
    }
#pragma omp flush
}

/* Sets the counter to `rows`, after everything that the caller wrote before. */
static inline void pipeline_signal(struct counter *counter, long rows)
{
#pragma omp flush
#pragma omp atomic write
    counter->rows = rows;
}

#endif
