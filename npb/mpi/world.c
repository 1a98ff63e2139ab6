/* MPI behind the kernels' idea of a team. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

struct member world_begin(void)
{
    struct member self = {0};

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.size);
    return self;
}

struct division world_division(const struct member *self, int count, int size, int origin)
{
    struct division division = {
        allocate((size_t)self->size, sizeof *division.count),
        allocate((size_t)self->size, sizeof *division.start),
    };

    for (int rank = 0; rank < self->size; rank++) {
        const struct span share = span_of(count, rank, self->size);
        division.count[rank] = (share.hi - share.lo) * size;
        division.start[rank] = origin + share.lo * size;
    }
    return division;
}

void world_sum(double *values, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

double world_sum_one(double value)
{
    world_sum(&value, 1);
    return value;
}

void world_gather(double *array, const struct division *division)
{
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, array, division->count, division->start, MPI_DOUBLE,
                   MPI_COMM_WORLD);
}

void world_limit(const struct member *self, int most)
{
    if (self->size <= most)
        return;
    if (self->rank == 0)
        fprintf(stderr, "npb: at most %d processes have a share of this problem; start fewer\n", most);
    MPI_Finalize();
    exit(2);
}
