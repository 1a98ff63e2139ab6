/*
 * The compressible Navier-Stokes equations of the simulated CFD applications (RNR-94-007, section 3), and where their
 * unknowns are in memory.
 *
 * The unknowns are density, momentum and total energy, all per volume, at POINTS points along each axis of a cube,
 * boundaries included. A field is stored plane by plane (z), row by row (y); a row holds the five components one after
 * the other, so that loops along x work on successive numbers and a range of rows is one piece of memory. Rows are
 * padded to whole packs of LANES points; what the padding holds is computed with, but has no effect on other points.
 */
#ifndef NAVIER_STOKES_EQUATIONS_H
#define NAVIER_STOKES_EQUATIONS_H

#include "params.h"

#include <stddef.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define AXES 3
#define COMPONENTS 5

enum component { DENSITY, MOMENTUM, ENERGY = MOMENTUM + AXES };

/* Points of neighbouring lines that are worked on together. */
#define LANES 8
#define PITCH ((POINTS + LANES - 1) / LANES * LANES)
#define INNER (POINTS - 2)
#define LAST (POINTS - 1)

/* The five components of the points (0 .. POINTS-1, j, k). */
struct row {
    _Alignas(LANES * sizeof(double)) double at[COMPONENTS][PITCH];
};

/* The constants k1 .. k5 of the specification, as they occur in the equations. */
#define K1 1.4
#define K2 0.4
#define VISCOSITY 0.1           /* k3 k4 */
#define HEAT (1.4 * 1.4)        /* k1 k5: conduction of heat over viscosity */
#define NORMAL_STRESS (4.0 / 3.0)

/* Central differences over the spacing of the points: first and second. */
#define DIFFERENCE (0.5 * LAST)
#define SECOND_DIFFERENCE ((double)LAST * LAST)

/* Artificial second-order diffusion of each component along an axis, and fourth-order dissipation. */
static const double DIFFUSION[AXES] = {0.75, 0.75, 1.0};
#define DISSIPATION 0.25

/* Row `j` of plane `k`. */
static inline struct row *field_row(struct row *field, int k, int j)
{
    return field + ((size_t)k * POINTS + (size_t)j);
}

/* The same of a field that is only read. */
static inline const struct row *const_row(const struct row *field, int k, int j)
{
    return field + ((size_t)k * POINTS + (size_t)j);
}

#define FIELD_ROWS ((size_t)POINTS * POINTS)

/* What follows from the unknowns of a row: velocity, kinetic energy per volume, and 1 / density. */
enum primitive { VELOCITY, KINETIC = VELOCITY + AXES, VOLUME };

ALWAYS_INLINE void primitives_of_row(const struct row *restrict u, struct row *restrict primitive)
{
    for (int i = 0; i < PITCH; i++) {
        const double volume = 1.0 / u->at[DENSITY][i];
        double sum = 0.0;

        for (int axis = 0; axis < AXES; axis++) {
            const double momentum = u->at[MOMENTUM + axis][i];
            primitive->at[VELOCITY + axis][i] = volume * momentum;
            sum += momentum * momentum;
        }
        primitive->at[KINETIC][i] = 0.5 * volume * sum;
        primitive->at[VOLUME][i] = volume;
    }
}

#endif
