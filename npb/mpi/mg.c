/*
 * MG on MPI processes, for comparison with the OpenMP version. A process has the planes that a thread has there, at
 * the same indices of grids of full extent, of which it touches only these and the ghost planes next to them. In place
 * of a barrier behind an operator the processes exchange ghost planes. The levels up to COARSE_LEVEL are done by each
 * process alike, from a residual that is collected from all.
 */
#include "grid.h"
#include "report.h"
#include "result.h"
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Solution and residual on every level, right-hand side on the finest; level l has 2^l interior points an axis. */
static struct grid u[LEVELS + 1], r[LEVELS + 1], v;

static void allocate_grids(void)
{
    for (int level = 1; level <= LEVELS; level++) {
        const int n = 1 << level;
        u[level] = (struct grid){n, allocate(grid_points(n), sizeof(double))};
        r[level] = (struct grid){n, allocate(grid_points(n), sizeof(double))};
    }
    v = (struct grid){POINTS, allocate(grid_points(POINTS), sizeof(double))};
}

/* Sends plane `from` to process `to`, and receives plane `into` from process `source`. */
static void pass_plane(struct grid grid, int from, int to, int into, int source)
{
    const int points = (int)plane_points(grid.n);

    MPI_Sendrecv(grid_row(grid, from, 0), points, MPI_DOUBLE, to, 0, grid_row(grid, into, 0), points, MPI_DOUBLE,
                 source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Brings the ghost planes on both sides of the process's planes up to date. The boundaries are periodic. */
static void exchange(const struct member *self, struct grid grid, struct span planes)
{
    const int next = (self->rank + 1) % self->size, previous = (self->rank + self->size - 1) % self->size;

    if (self->size == 1)
        return;
    pass_plane(grid, planes.hi - 1, next, planes.lo - 1, previous);
    pass_plane(grid, planes.lo, previous, planes.hi, next);
}

/* Gives every process all planes of the residual on COARSE_LEVEL, ghost planes included. */
static void collect_coarse(const struct division *coarse)
{
    const struct grid grid = r[COARSE_LEVEL];
    const size_t bytes = plane_points(grid.n) * sizeof(double);

    world_gather(grid.point, coarse);
    memcpy(grid_row(grid, 0, 0), grid_row(grid, grid.n, 0), bytes);
    memcpy(grid_row(grid, grid.n + 1, 0), grid_row(grid, 1, 0), bytes);
}

/* Residual and smoothing on `level`, whose u has been exchanged. */
static void relax(const struct member *self, struct grid right, int level)
{
    const struct span planes = grid_share(self, level);

    grid_residual(u[level], right, r[level], planes);
    exchange(self, r[level], planes);
    grid_smooth(r[level], u[level], planes);
    exchange(self, u[level], planes);
}

/* One V-cycle: improves u on the finest level from the residual r there, which has been exchanged. */
static void v_cycle(const struct member *self, const struct division *coarse)
{
    for (int level = LEVELS - 1; level >= COARSE_LEVEL; level--) {
        const struct span planes = grid_share(self, level);
        grid_restrict(r[level + 1], r[level], planes);
        if (level > COARSE_LEVEL)
            exchange(self, r[level], planes);
    }
    collect_coarse(coarse);
    grid_coarse_cycle(u, r);
    for (int level = COARSE_LEVEL + 1; level < LEVELS; level++) {
        const struct span planes = grid_share(self, level);
        grid_interpolate(u[level - 1], u[level], planes);
        exchange(self, u[level], planes);
        relax(self, r[level], level);
    }
    const struct span planes = grid_share(self, LEVELS);
    grid_correct(u[LEVELS - 1], u[LEVELS], planes);
    exchange(self, u[LEVELS], planes);
    relax(self, v, LEVELS);
}

/* r = v - A u on the finest level. */
static void finest_residual(const struct member *self)
{
    const struct span planes = grid_share(self, LEVELS);

    grid_residual(u[LEVELS], v, r[LEVELS], planes);
    exchange(self, r[LEVELS], planes);
}

static double residual_norm(const struct member *self)
{
    const double points = (double)POINTS * POINTS * POINTS;

    return sqrt(world_sum_one(grid_square_sum(r[LEVELS], grid_share(self, LEVELS))) / points);
}

/* Start of a solution: u = 0 and the charges in v. */
static void start_grids(const struct member *self)
{
    const struct span planes = grid_share(self, LEVELS);
    struct extremes *found = allocate((size_t)self->size, sizeof *found), all = charge_none();

    grid_zero(u[LEVELS], planes);
    exchange(self, u[LEVELS], planes);
    found[self->rank] = charge_draw(v, planes);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, found, sizeof *found, MPI_BYTE, MPI_COMM_WORLD);
    for (int t = 0; t < self->size; t++)
        charge_merge(&all, &found[t]);
    charge_place(v, planes, &all);
    free(found);
}

int main(void)
{
    const struct member self = world_begin();
    const bool speaks = self.rank == 0;
    int status = 0;

    world_limit(&self, 2 << COARSE_LEVEL); /* the planes of the smallest shared level */
    if (speaks)
        mg_heading(self.size);
    const double launch = wall_seconds();
    allocate_grids();
    const int plane = (int)plane_points(1 << COARSE_LEVEL);
    const struct division coarse = world_division(&self, 1 << COARSE_LEVEL, plane, plane);
    start_grids(&self);
    finest_residual(&self); /* this residual and the cycle are untimed: they touch all code and data */
    v_cycle(&self, &coarse);
    start_grids(&self);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = wall_seconds();
    finest_residual(&self);
    residual_norm(&self);
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        if (speaks)
            mg_iteration(iteration);
        v_cycle(&self, &coarse);
        finest_residual(&self);
    }
    const double norm = residual_norm(&self);
    if (speaks)
        status = mg_result(norm, start - launch, wall_seconds() - start, self.size);
    MPI_Finalize();
    return status;
}
