/* What the simulated CFD applications have in common from start to report. */
#ifndef NAVIER_STOKES_SIMULATION_H
#define NAVIER_STOKES_SIMULATION_H

#include "equations.h"

struct application {
    const char *name;          /* two letters */
    double step_operations;    /* floating point operations of one time step, as NPB counts them */
    double residual[COMPONENTS]; /* reference norms after STEPS steps */
    double error[COMPONENTS];
};

/* Runs the application, prints its result, and returns the program's exit status. */
int simulate(const struct application *application);

#endif
