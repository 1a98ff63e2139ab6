/*
 * A run: forcing and initial values, STEPS time steps in one parallel region, and the root mean squares of residual and
 * error against their references.
 */
#include "simulation.h"

#include "adi.h"
#include "field.h"
#include "report.h"
#include "team.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#define TOLERANCE 1e-8

/* Unknowns, forcing, and the change of a time step between its passes. */
static struct row *u, *forcing, *change;

struct outcome {
    double seconds;
    int threads;
    double residual[COMPONENTS];
    double error[COMPONENTS];
};

static void step(struct span inner)
{
    adi_planes(u, forcing, change, inner);
#pragma omp barrier
    adi_rows(u, change, inner);
#pragma omp barrier
}

/* Sets the unknowns to their initial values, and the forcing. */
static void prepare(struct span inner, struct span outer)
{
    field_exact(u, outer);
    field_zero(forcing, outer);
    field_zero(change, outer);
#pragma omp barrier
    field_forcing(u, forcing, inner);
#pragma omp barrier
    field_initial(u, outer);
#pragma omp barrier
}

/* Replaces each sum by the root of the team's mean over the inner points. */
static void root_mean_square(struct member *self, double sum[COMPONENTS])
{
    for (int m = 0; m < COMPONENTS; m++)
        sum[m] = sqrt(team_sum_one(self, sum[m]) / INNER / INNER / INNER);
}

/* The run as one member of the team sees it. */
static struct outcome run(struct member *self)
{
    const struct span inner = inner_span(self), outer = outer_span(self);
    const bool speaks = self->rank == 0;
    struct outcome outcome = {.threads = self->size};

    prepare(inner, outer);
    step(inner); /* untimed: touches all code and data */
    field_initial(u, outer);
#pragma omp barrier
    const double start = wall_seconds();
    for (int number = 1; number <= STEPS; number++) {
        if (speaks && (number == 1 || number % 20 == 0))
            printf(" Time step %4d\n", number);
        step(inner);
    }
    outcome.seconds = wall_seconds() - start;
    field_residual(u, forcing, inner, outcome.residual);
    field_error(u, outer, outcome.error);
    root_mean_square(self, outcome.residual);
    root_mean_square(self, outcome.error);
    return outcome;
}

/* Prints norms beside the references; whether they agree. */
static bool compare(const char *what, const double norm[COMPONENTS], const double reference[COMPONENTS])
{
    bool all = true;

    printf(" RMS norms of the %s, reference, relative difference\n", what);
    for (int m = 0; m < COMPONENTS; m++) {
        const bool right = agrees(norm[m], reference[m], TOLERANCE);
        printf(" %-8s %2d %20.13e %20.13e %20.13e\n", right ? "" : "FAILURE:", m + 1, norm[m], reference[m],
               fabs((norm[m] - reference[m]) / reference[m]));
        all = all && right;
    }
    return all;
}

int simulate(const struct application *application)
{
    struct contribution *contributions = team_contributions();
    struct outcome outcome = {0};

    report_heading(application->name);
    printf(" Size: %4dx%4dx%4d\n", POINTS, POINTS, POINTS);
    printf(" Iterations: %4d    dt: %10.6f\n", STEPS, TIME_STEP);
    printf(" Number of available threads: %5d\n\n", omp_get_max_threads());
    u = allocate(FIELD_ROWS, sizeof *u);
    forcing = allocate(FIELD_ROWS, sizeof *forcing);
    change = allocate(FIELD_ROWS, sizeof *change);
#pragma omp parallel
    {
        struct member self = team_member(contributions);
        const struct outcome mine = run(&self);

        if (self.rank == 0)
            outcome = mine;
    }
    const bool residual = compare("residual", outcome.residual, application->residual);
    const bool error = compare("error of the solution", outcome.error, application->error);
    return report_result(&(struct report){
        .name = application->name,
        .size = {POINTS, POINTS, POINTS},
        .iterations = STEPS,
        .seconds = outcome.seconds,
        .mops = application->step_operations * STEPS * 1e-6 / outcome.seconds,
        .operation = "floating point",
        .threads = outcome.threads,
        .verified = residual && error,
    });
}
