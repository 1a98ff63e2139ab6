// Threads reach each other's thread-local variables through their addresses, also those that other files define.
#include "shared.h"
#include <omp.h>
#include <stdio.h>

static __thread long mine = 5;
static __thread long untouched[4] = {1, 2, 3, 4};
static long *where[4];
static int *arrays[4];
static long *counters[4];

int *own_values(void) { return values; }

int main(void)
{
    long sum = 0, sums[4] = {0};
    int distinct = 1, same = 1, rounds = 0;
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        mine += 100 * me;
        counter += me;
        values[3] = me;
        hidden_from_others += me;
        untouched[me] *= 10;
        where[me] = &mine;
        arrays[me] = own_values();
        counters[me] = own_counter();
        publish(me);
#pragma omp barrier
        // All read what the others have.
        for (int i = 0; i < 4; i++)
            sums[me] += *where[i] + arrays[i][0] + arrays[i][2] + arrays[i][3] + *counters[i];
#pragma omp barrier
        // Each writes to its neighbour's.
        int next = (me + 1) % 4;
        *where[next] += 1;
        arrays[next][1] = 50 + me;
        *counters[next] *= 2;
#pragma omp barrier
#pragma omp critical
        {
            sum += mine + values[1] + counter + untouched[me] + (long)(2 * hidden_from_others);
            same &= where[me] == &mine && arrays[me] == values && counters[me] == &counter;
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) distinct &= where[i] != where[j] && counters[i] != counters[j];
    printf("%ld %ld %ld %ld %ld %d %d %ld\n", sum, sums[0], sums[1], sums[2], sums[3], distinct, same,
           sum_of_published(4));
    // What a thread has stays its own from region to region.
#pragma omp parallel num_threads(4) reduction(+ : rounds)
    rounds += where[omp_get_thread_num()] == &mine && mine == 6 + 100 * omp_get_thread_num();
    printf("%d %ld\n", rounds, *where[3]);
    return 0;
}
