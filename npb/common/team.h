/*
 * Working as one of a team of threads: contiguous shares of an index range, and sums over the team.
 *
 * A benchmark that keeps one parallel region open hands each thread a `struct member`. Every array is divided in
 * the same proportions everywhere, so that what a thread initialises it also works on later and the memory stays
 * where it was first touched.
 */
#ifndef NPB_TEAM_H
#define NPB_TEAM_H

#include <omp.h>
#include <stddef.h>

#define TEAM_VALUES 2

/* Data of different threads lies on different pages, so that each can be near its thread. */
#define PAGE_BYTES 4096

/* What one thread contributes to sums. */
struct contribution {
    _Alignas(PAGE_BYTES) double value[2][TEAM_VALUES];
};

/* One thread's view of its team; lives on that thread's stack. */
struct member {
    int rank;
    int size;
    unsigned round; /* which half of the contributions the next sum uses */
    struct contribution *contributions;
};

/* Indices lo <= i < hi. */
struct span {
    int lo;
    int hi;
};

/* Memory for `count` objects of `size` bytes, page aligned and untouched. Ends the program if there is none. */
void *allocate(size_t count, size_t size);

/* One contribution per thread that a parallel region may have. */
struct contribution *team_contributions(void);

/* To be called by each thread inside the parallel region. */
static inline struct member team_member(struct contribution *contributions)
{
    return (struct member){omp_get_thread_num(), omp_get_num_threads(), 0, contributions};
}

/* The share of indices 0 .. count-1 that thread `rank` of `size` has. */
static inline struct span span_of(int count, int rank, int size)
{
    return (struct span){(int)((long)count * rank / size), (int)((long)count * (rank + 1) / size)};
}

static inline struct span team_span(const struct member *self, int count)
{
    return span_of(count, self->rank, self->size);
}

/*
 * Replaces each value by its sum over the team. Contains one barrier: what any member wrote before the call is
 * visible to all after it. Sums alternate between two sets of contributions, so that a fast thread cannot
 * overwrite what a slow one still has to read. Adds in rank order: all members get the same bits.
 */
static inline void team_sum(struct member *self, double value[TEAM_VALUES])
{
    const unsigned half = self->round++ & 1;
    struct contribution *all = self->contributions;

    for (int v = 0; v < TEAM_VALUES; v++)
        all[self->rank].value[half][v] = value[v];
#pragma omp barrier
    for (int v = 0; v < TEAM_VALUES; v++) {
        double sum = 0.0;
        for (int t = 0; t < self->size; t++)
            sum += all[t].value[half][v];
        value[v] = sum;
    }
}

/* The same for one value. */
static inline double team_sum_one(struct member *self, double value)
{
    double values[TEAM_VALUES] = {value, 0.0};

    team_sum(self, values);
    return values[0];
}

/*
 * The sum of `count` over the members before this one, and over all in *total. Contains one barrier, like a sum.
 * Counts are exact up to 2^53.
 */
static inline long team_scan(struct member *self, long count, long *total)
{
    const unsigned half = self->round++ & 1;
    struct contribution *all = self->contributions;
    long before = 0;

    all[self->rank].value[half][0] = (double)count;
#pragma omp barrier
    *total = 0;
    for (int t = 0; t < self->size; t++) {
        before += t < self->rank ? (long)all[t].value[half][0] : 0;
        *total += (long)all[t].value[half][0];
    }
    return before;
}

#endif
