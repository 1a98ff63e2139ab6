/*
 * MG, the multigrid kernel (RNR-94-007, section 2.2.3): V-cycles for a Poisson equation on a periodic cube.
 *
 * One parallel region spans the whole run. On the levels above COARSE_LEVEL the team shares the planes, with one
 * barrier after each operator; the levels up to COARSE_LEVEL are so small that member 0 does all of them alone
 * between two barriers.
 */
#include "grid.h"
#include "params.h"
#include "report.h"
#include "team.h"

#include <math.h>
#include <stdio.h>

#define COARSE_LEVEL 4
_Static_assert(COARSE_LEVEL < LEVELS, "the finest level is always shared");

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

/* The interior planes of a shared level that are this member's. */
static struct span planes_of(const struct member *self, int level)
{
    const struct span share = team_span(self, 1 << level);

    return (struct span){share.lo + 1, share.hi + 1};
}

/* The part of a V-cycle at and below COARSE_LEVEL: from the residual above it to the correction on it. */
static void coarse_cycle(void)
{
    for (int level = COARSE_LEVEL; level >= 1; level--)
        grid_restrict(r[level + 1], r[level], (struct span){1, (1 << level) + 1});
    grid_zero(u[1], (struct span){1, 3});
    grid_smooth(r[1], u[1], (struct span){1, 3});
    for (int level = 2; level <= COARSE_LEVEL; level++) {
        const struct span planes = {1, (1 << level) + 1};
        grid_interpolate(u[level - 1], u[level], planes);
        grid_residual(u[level], r[level], r[level], planes);
        grid_smooth(r[level], u[level], planes);
    }
}

/*
 * Residual and smoothing on `level`. The residual overwrites the right-hand side, so on the levels below the finest
 * both are r; smoothing needs the neighbours' residual.
 */
static void relax(struct grid right, int level, struct span planes)
{
#pragma omp barrier
    grid_residual(u[level], right, r[level], planes);
#pragma omp barrier
    grid_smooth(r[level], u[level], planes);
#pragma omp barrier
}

/* One V-cycle: improves u on the finest level from the residual r there, which the team must see on entry. */
static void v_cycle(const struct member *self)
{
    for (int level = LEVELS - 1; level > COARSE_LEVEL; level--) {
        grid_restrict(r[level + 1], r[level], planes_of(self, level));
#pragma omp barrier
    }
    if (self->rank == 0)
        coarse_cycle();
#pragma omp barrier
    for (int level = COARSE_LEVEL + 1; level < LEVELS; level++) {
        const struct span planes = planes_of(self, level);
        grid_interpolate(u[level - 1], u[level], planes);
        relax(r[level], level, planes);
    }
    const struct span planes = planes_of(self, LEVELS);
    grid_correct(u[LEVELS - 1], u[LEVELS], planes);
    relax(v, LEVELS, planes);
}

/* r = v - A u on the finest level. */
static void finest_residual(struct span planes)
{
    grid_residual(u[LEVELS], v, r[LEVELS], planes);
#pragma omp barrier
}

static double residual_norm(struct member *self, struct span planes)
{
    const double points = (double)POINTS * POINTS * POINTS;

    return sqrt(team_sum_one(self, grid_square_sum(r[LEVELS], planes)) / points);
}

/* Start of a solution: u = 0, the charges in v, and the grids placed by their first writer. */
static void start_grids(struct member *self, struct span planes)
{
    grid_zero(u[LEVELS], planes);
    grid_charge(self, v, planes);
}

/* The run as one member of the team sees it. Returns the final norm; *seconds is set by member 0. */
static double run(struct member *self, double *seconds)
{
    const struct span planes = planes_of(self, LEVELS);
    const bool speaks = self->rank == 0;

    start_grids(self, planes);
    finest_residual(planes); /* this residual and the cycle are untimed: they touch all code and data */
    v_cycle(self);
    start_grids(self, planes);
#pragma omp barrier
    const double start = wall_seconds();
    finest_residual(planes);
    residual_norm(self, planes);
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        if (speaks && (iteration == 1 || iteration == ITERATIONS || iteration % 5 == 0))
            printf("  iter %3d\n", iteration);
        v_cycle(self);
        finest_residual(planes);
    }
    const double norm = residual_norm(self, planes);
    if (speaks)
        *seconds = wall_seconds() - start;
    return norm;
}

int main(void)
{
    struct contribution *contributions = team_contributions();
    double norm = 0.0, seconds = 0.0;
    int threads = 1;

    report_heading("MG");
    printf(" Size: %4dx%4dx%4d  (class %c)\n", POINTS, POINTS, POINTS, NPB_CLASS);
    printf(" Iterations:                  %5d\n", ITERATIONS);
    printf(" Number of available threads: %5d\n\n", omp_get_max_threads());

    const double start = wall_seconds();
    allocate_grids();
#pragma omp parallel
    {
        struct member self = team_member(contributions);
        double elapsed = 0.0;
        const double result = run(&self, &elapsed);

        if (self.rank == 0) {
            threads = self.size;
            norm = result;
            seconds = elapsed;
        }
    }
    printf(" Initialization time: %15.3f seconds\n\n", wall_seconds() - start - seconds);
    printf(" L2 Norm is %20.13e\n", norm);
    printf(" Error is   %20.13e\n", fabs(norm - NORM) / NORM);

    return report_result(&(struct report){
        .name = "MG",
        .size = {POINTS, POINTS, POINTS},
        .iterations = ITERATIONS,
        .seconds = seconds,
        .mops = 58.0 * ITERATIONS * POINTS * POINTS * POINTS * 1e-6 / seconds,
        .operation = "floating point",
        .threads = threads,
        .verified = agrees(norm, NORM, TOLERANCE),
    });
}
