/*
 * UA, the benchmark with an unstructured adaptive mesh (NAS-04-006): a ball that gives off heat moves through a fluid
 * in a cube. The mesh follows the ball.
 *
 * One parallel region spans the whole run. A member works on a contiguous part of the elements in Morton order, which
 * is divided anew with each mesh.
 */
#include "heat.h"
#include "report.h"

#include <math.h>
#include <stdio.h>

/* What a run is about to print, and what it is judged by. */
struct outcome {
    double integral;
    double seconds;
    double elements; /* of all time steps together */
};

static struct outcome run(struct member *self, const struct storage *storage)
{
    const bool speaks = self->rank == 0;
    struct heat heat = heat_start(self, storage);
    double elements = 0.0;

    heat_step(&heat, 0.0); /* untimed: touches all code and data */
    heat_clear(&heat);
#pragma omp barrier
    const double start = wall_seconds();
    for (int step = 1; step <= STEPS; step++) {
        heat_step(&heat, (step - 1) * TIME_STEP);
        if (step % ADAPTATION_INTERVAL == 0 && step != STEPS) {
            heat_adapt(&heat, step * TIME_STEP);
            if (speaks)
                printf("  step %4d: %6d elements\n", step, heat.state.mesh.count);
        }
        elements += heat.state.mesh.count;
    }
#pragma omp barrier
    const double seconds = wall_seconds() - start;
    return (struct outcome){heat_integral(&heat), seconds, elements};
}

int main(void)
{
    struct contribution *contributions = team_contributions();
    struct outcome outcome = {0.0, 0.0, 0.0};
    int threads = 1;

    report_heading("UA");
    printf(" Levels of refinement:        %5d  (class %c)\n", LEVELS, NPB_CLASS);
    printf(" Time steps:                  %5d\n", STEPS);
    printf(" Number of available threads: %5d\n\n", omp_get_max_threads());

    const double start = wall_seconds();
    const struct storage storage = heat_allocate();
#pragma omp parallel
    {
        struct member self = team_member(contributions);
        const struct outcome result = run(&self, &storage);

        if (self.rank == 0) {
            threads = self.size;
            outcome = result;
        }
    }
    printf("\n Initialization time: %15.3f seconds\n\n", wall_seconds() - start - outcome.seconds);
    printf(" Temperature integral is %20.13e\n", outcome.integral);
    printf(" Error is                %20.13e\n", fabs(outcome.integral - INTEGRAL) / INTEGRAL);

    return report_result(&(struct report){
        .name = "UA",
        .size = {LEVELS, 0, 0},
        .iterations = STEPS,
        .seconds = outcome.seconds,
        .mops = outcome.elements * CUBE_NODES * (CG_ITERATIONS + 1) * 1e-6 / outcome.seconds,
        .operation = "coll. point advanced",
        .threads = threads,
        .verified = agrees(outcome.integral, INTEGRAL, TOLERANCE),
    });
}
