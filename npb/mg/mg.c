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
#include "result.h"
#include "team.h"

#include <math.h>

/* Solution and residual on every level, right-hand side on the finest; level l has 2^l interior points an axis. */
static struct grid u[LEVELS + 1], r[LEVELS + 1], v;

/* Where a member shows its extremes to the others when the charges are found. */
static struct finding {
    _Alignas(PAGE_BYTES) struct extremes extremes;
} *found;

static void allocate_grids(void)
{
    for (int level = 1; level <= LEVELS; level++) {
        const int n = 1 << level;
        u[level] = (struct grid){n, allocate(grid_points(n), sizeof(double))};
        r[level] = (struct grid){n, allocate(grid_points(n), sizeof(double))};
    }
    v = (struct grid){POINTS, allocate(grid_points(POINTS), sizeof(double))};
    found = allocate((size_t)omp_get_max_threads(), sizeof *found);
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
        grid_restrict(r[level + 1], r[level], grid_share(self, level));
#pragma omp barrier
    }
    if (self->rank == 0) {
        grid_restrict(r[COARSE_LEVEL + 1], r[COARSE_LEVEL], grid_planes(COARSE_LEVEL));
        grid_coarse_cycle(u, r);
    }
#pragma omp barrier
    for (int level = COARSE_LEVEL + 1; level < LEVELS; level++) {
        const struct span planes = grid_share(self, level);
        grid_interpolate(u[level - 1], u[level], planes);
        relax(r[level], level, planes);
    }
    const struct span planes = grid_share(self, LEVELS);
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
static void start_grids(const struct member *self, struct span planes)
{
    struct extremes all = charge_none();

    grid_zero(u[LEVELS], planes);
    found[self->rank].extremes = charge_draw(v, planes);
#pragma omp barrier
    for (int t = 0; t < self->size; t++)
        charge_merge(&all, &found[t].extremes);
    charge_place(v, planes, &all);
#pragma omp barrier
}

/* The run as one member of the team sees it. Returns the final norm; *seconds is set by member 0. */
static double run(struct member *self, double *seconds)
{
    const struct span planes = grid_share(self, LEVELS);
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
        if (speaks)
            mg_iteration(iteration);
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

    mg_heading(omp_get_max_threads());
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
    return mg_result(norm, wall_seconds() - start - seconds, seconds, threads);
}
