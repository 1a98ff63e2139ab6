/* The time steps of UA: convection by Runge-Kutta, diffusion by conjugate gradients, adaptation of the mesh. */
#ifndef UA_HEAT_H
#define UA_HEAT_H

#include "adapt.h"
#include "mortar.h"

/* What an element needs in a time step besides the temperature. Only its own thread uses it. */
struct work {
    double load[CUBE_NODES];      /* right-hand side of the implicit step */
    double direction[CUBE_NODES]; /* search direction of the conjugate gradients, on the element's nodes */
    double product[INNER_NODES];  /* the operator applied to it, on inner nodes */
    double residual[INNER_NODES];
};

/* Values of mortars, one for each number. All but `shown` are used by the owner alone. */
struct vectors {
    double *shown; /* what elements read: the initial guess, later the preconditioned residual */
    double *residual;
    double *sum;      /* what has been gathered */
    double *inverse;  /* of the operator's diagonal; 0 on the domain's boundary */
    double *multiplicity;
};

/* Shared memory of the solver. */
struct storage {
    struct buffers buffers;
    struct mortars mortars;
    struct vectors vectors;
    struct work *work;
    double (*inverse)[INNER_NODES]; /* of the operator's diagonal at inner nodes, by level */
};

/* One member's view of the solver; lives on its stack. */
struct heat {
    struct member *member;
    const struct storage *storage;
    struct state state;
    struct share share;
};

/* To be called once, outside of the parallel region. */
struct storage heat_allocate(void);

/* The mesh for the source's first place, with temperature 0. The functions below are called by all members. */
struct heat heat_start(struct member *member, const struct storage *storage);

/* Sets the temperature to 0. */
void heat_clear(struct heat *heat);

/* One time step, from `time` to `time` + TIME_STEP. */
void heat_step(struct heat *heat, double time);

/* Adapts the mesh to where the source is at `time`. */
void heat_adapt(struct heat *heat, double time);

/* The integral of the temperature over the domain. */
double heat_integral(struct heat *heat);

#endif
