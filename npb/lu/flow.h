/*
 * The equations that LU solves: the compressible Navier-Stokes equations without mixed derivatives, with constants
 * k1 .. k5 (RNR-94-007, section 3). Each axis has the same terms, with the momentum along it in a special part.
 *
 * What the discretisation needs of them: the convective flux, the quantities that diffuse, and products of their
 * Jacobian matrices with a vector. The matrices themselves are never formed.
 */
#ifndef LU_FLOW_H
#define LU_FLOW_H

#include "grid.h"

#define K1 1.4 /* ratio of specific heats */
#define K2 0.4
#define K3 0.1
#define K4 1.0
#define K5 1.4
#define VISCOSITY (K3 * K4)
#define CONDUCTIVITY (K1 * K5 * VISCOSITY)

/* Along its own axis a velocity diffuses faster, by this factor. */
#define STRETCH (4.0 / 3.0)

/* Difference quotients on the grid: 1 / (2 h) and 1 / h^2. */
#define FIRST_QUOTIENT ((POINTS - 1) / 2.0)
#define SECOND_QUOTIENT ((POINTS - 1.0) * (POINTS - 1.0))

/* Artificial diffusion along an axis, the same in all five equations. */
#define SMOOTHING(axis) ((axis) == Z ? 1.0 : 0.75)

/* A state in quantities per mass. */
struct flow {
    double volume; /* 1 / density */
    double velocity[AXES];
    double kinetic; /* half the square of the speed */
    double energy;
};

ALWAYS_INLINE struct flow flow_of(struct vector state)
{
    struct flow flow;

    flow.volume = 1.0 / state.value[DENSITY];
    flow.kinetic = 0.0;
    for (int a = 0; a < AXES; a++) {
        flow.velocity[a] = state.value[MOMENTUM + a] * flow.volume;
        flow.kinetic += 0.5 * flow.velocity[a] * flow.velocity[a];
    }
    flow.energy = state.value[ENERGY] * flow.volume;
    return flow;
}

/* Convective flux along `axis`. */
ALWAYS_INLINE struct vector convection(struct vector state, struct flow flow, int axis)
{
    const double speed = flow.velocity[axis];
    const double pressure = K2 * (state.value[ENERGY] - state.value[DENSITY] * flow.kinetic);
    struct vector flux;

    flux.value[DENSITY] = state.value[MOMENTUM + axis];
    for (int a = 0; a < AXES; a++)
        flux.value[MOMENTUM + a] = state.value[MOMENTUM + a] * speed;
    flux.value[MOMENTUM + axis] += pressure;
    flux.value[ENERGY] = (state.value[ENERGY] + pressure) * speed;
    return flux;
}

/* What diffuses along `axis`: the viscous terms are second differences of this. */
ALWAYS_INLINE struct vector diffusion(struct flow flow, int axis)
{
    const double speed = flow.velocity[axis];
    struct vector potential;

    potential.value[DENSITY] = 0.0;
    for (int a = 0; a < AXES; a++)
        potential.value[MOMENTUM + a] = VISCOSITY * (a == axis ? STRETCH : 1.0) * flow.velocity[a];
    potential.value[ENERGY] = (VISCOSITY - CONDUCTIVITY) * flow.kinetic +
                              0.5 * (STRETCH - 1.0) * VISCOSITY * speed * speed + CONDUCTIVITY * flow.energy;
    return potential;
}

/* Jacobian matrix of the convective flux at `flow`, times x. */
ALWAYS_INLINE struct vector convection_change(struct flow flow, struct vector x, int axis)
{
    const double speed = flow.velocity[axis], enthalpy = K1 * flow.energy - K2 * flow.kinetic;
    const double excess = x.value[MOMENTUM + axis] - speed * x.value[DENSITY];
    double pressure = x.value[ENERGY] + flow.kinetic * x.value[DENSITY];
    struct vector y;

    for (int a = 0; a < AXES; a++)
        pressure -= flow.velocity[a] * x.value[MOMENTUM + a];
    pressure *= K2;
    y.value[DENSITY] = x.value[MOMENTUM + axis];
    for (int a = 0; a < AXES; a++)
        y.value[MOMENTUM + a] = flow.velocity[a] * excess + speed * x.value[MOMENTUM + a];
    y.value[MOMENTUM + axis] += pressure;
    y.value[ENERGY] = enthalpy * excess + speed * (x.value[ENERGY] + pressure);
    return y;
}

/* Jacobian matrix of `diffusion` at `flow`, times x. */
ALWAYS_INLINE struct vector diffusion_change(struct flow flow, struct vector x, int axis)
{
    struct vector y;

    y.value[DENSITY] = 0.0;
    y.value[ENERGY] = CONDUCTIVITY * flow.volume * (x.value[ENERGY] - flow.energy * x.value[DENSITY]);
    for (int a = 0; a < AXES; a++) {
        const double viscosity = VISCOSITY * (a == axis ? STRETCH : 1.0);
        const double change = flow.volume * (x.value[MOMENTUM + a] - flow.velocity[a] * x.value[DENSITY]);
        y.value[MOMENTUM + a] = viscosity * change;
        y.value[ENERGY] += (viscosity - CONDUCTIVITY) * flow.velocity[a] * change;
    }
    return y;
}

#endif
