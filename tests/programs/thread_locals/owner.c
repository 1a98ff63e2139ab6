/* Defines the variables, with initial values, and keeps addresses of one of them. */
#include "shared.h"

_Thread_local long counter = 1000;
_Thread_local int values[ROOM] = {1, 2, 3};
_Thread_local double hidden_from_others = 0.5;
static _Thread_local struct {
    int tag;
    long total;
} record = {7, 70};
static long *published[64];

long *own_counter(void) { return &counter; }

void publish(int thread)
{
    record.total += thread + record.tag;
    published[thread] = &record.total;
}

long sum_of_published(int threads)
{
    long sum = 0;
    for (int i = 0; i < threads; i++) sum += *published[i];
    return sum;
}
