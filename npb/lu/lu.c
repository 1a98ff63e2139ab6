/*
 * LU, a simulated application (RNR-94-007, section 3): the steady state of a flow in a cube by symmetric successive
 * over-relaxation, with an exact solution that the forcing is made for.
 *
 * One parallel region spans the whole run. A thread has the same planes of all fields. A step has two barriers: the
 * state may change when no sweep reads it any more, and the residual needs the neighbours' new state. The sweeps
 * synchronise neighbours only.
 */
#include "params.h"
#include "report.h"
#include "residual.h"
#include "solution.h"
#include "sweep.h"
#include "team.h"
#include "verify.h"

#include <stdio.h>
#include <string.h>

/* The flow; the terms that make the prescribed solution its steady state; residuals and changes by turns. */
static struct row *state, *forcing, *change;

static void clear(struct row *field, struct span planes)
{
    memset(field + row_index(planes.lo, 0), 0, (size_t)(planes.hi - planes.lo) * PLANE_ROWS * sizeof *field);
}

/* The first touch of all fields, and the forcing: the residual of the exact solution. */
static void set_up(struct member *self)
{
    const struct span all = all_planes(self);

    clear(state, all);
    clear(forcing, all);
    clear(change, all);
    sweep_prepare(self);
    solution_exact(state, all);
#pragma omp barrier
    residual_of(state, change, forcing, inner_planes(self));
}

/* The state from which the iteration starts, and its residual. */
static void start(struct member *self)
{
#pragma omp barrier
    solution_start(state, all_planes(self));
#pragma omp barrier
    residual_of(state, forcing, change, inner_planes(self));
#pragma omp barrier
}

/* From the residual of the state to the next state and its residual. */
static void advance(struct member *self, int step, struct span planes)
{
    sweep_both(self, step, state, change);
#pragma omp barrier
    sweep_apply(change, state, planes);
#pragma omp barrier
    residual_of(state, forcing, change, planes);
}

/* The run as one member of the team sees it. Returns the final norms; *seconds is set by member 0. */
static struct results run(struct member *self, double *seconds)
{
    const struct span planes = inner_planes(self);
    const bool speaks = self->rank == 0;
    struct results results = {.surface_integral = 0.0};

    set_up(self);
    start(self);
    advance(self, 0, planes); /* untimed: touches all code and data */
    start(self);
    const double begin = wall_seconds();
    for (int step = 1; step <= ITERATIONS; step++) {
        if (speaks && (step == 1 || step == ITERATIONS || step % 20 == 0))
            printf(" Time step %4d\n", step);
        advance(self, step, planes);
    }
    results.residual = solution_norm(self, change);
    if (speaks)
        *seconds = wall_seconds() - begin;
    results.error = solution_error(self, state);
    return results;
}

int main(void)
{
    const double points = POINTS;
    struct contribution *contributions = team_contributions();
    struct results results;
    double seconds = 0.0;
    int threads = 1;

    report_heading("LU");
    printf(" Size: %4dx%4dx%4d\n", POINTS, POINTS, POINTS);
    printf(" Iterations:                  %5d\n", ITERATIONS);
    printf(" Number of available threads: %5d\n\n", omp_get_max_threads());

    state = allocate(FIELD_ROWS, sizeof *state);
    forcing = allocate(FIELD_ROWS, sizeof *forcing);
    change = allocate(FIELD_ROWS, sizeof *change);
#pragma omp parallel
    {
        struct member self = team_member(contributions);
        double elapsed = 0.0;
        const struct results mine = run(&self, &elapsed);

        if (self.rank == 0) {
            threads = self.size;
            results = mine;
            seconds = elapsed;
        }
    }
    results.surface_integral = solution_surface_integral(state);
    const bool verified = results_agree(&results);
    const double operations = ((1984.77 * points - 10923.3) * points + 27770.9) * points - 144010.0;
    return report_result(&(struct report){
        .name = "LU",
        .size = {POINTS, POINTS, POINTS},
        .iterations = ITERATIONS,
        .seconds = seconds,
        .mops = operations * ITERATIONS / seconds * 1e-6,
        .operation = "floating point",
        .threads = threads,
        .verified = verified,
    });
}
