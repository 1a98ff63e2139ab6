/*
 * The processes of an MPI job as a team: their shares of an index range are those that `team.h` gives to threads, and
 * sums over the team are reductions.
 */
#ifndef MPI_WORLD_H
#define MPI_WORLD_H

#include "team.h"

#include <mpi.h>

/* How an array is divided among the processes, as collective operations want to know it: in elements. */
struct division {
    int *count;
    int *start;
};

/* Starts MPI. To be called first; MPI_Finalize ends it. */
struct member world_begin(void);

/* The division of `count` items of `size` elements each, of which the first begins at element `origin`. */
struct division world_division(const struct member *self, int count, int size, int origin);

/* Replaces each of `count` values by its sum over the processes. */
void world_sum(double *values, int count);

double world_sum_one(double value);

/* Gives every process all of an array of which each has its own part. */
void world_gather(double *array, const struct division *division);

/* Ends the job with a message if there are more processes than `most`. */
void world_limit(const struct member *self, int most);

#endif
