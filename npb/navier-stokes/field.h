/* Fields over the cube: the exact solution, the forcing that makes it steady, initial values, and norms. */
#ifndef NAVIER_STOKES_FIELD_H
#define NAVIER_STOKES_FIELD_H

#include "equations.h"
#include "team.h"

/* The share of the planes, or rows of each plane, that have inner points. */
static inline struct span inner_span(const struct member *self)
{
    const struct span share = team_span(self, INNER);

    return (struct span){share.lo + 1, share.hi + 1};
}

/* The same share, and the boundary next to it. */
static inline struct span outer_span(const struct member *self)
{
    const struct span inner = inner_span(self);

    return (struct span){inner.lo == 1 ? 0 : inner.lo, inner.hi == LAST ? POINTS : inner.hi};
}

/* The exact solution at a point of the unit cube. */
void exact_solution(double xi, double eta, double zeta, double u[COMPONENTS]);

/* Sets the planes to 0. */
void field_zero(struct row *field, struct span planes);

/* Sets the planes to the exact solution. */
void field_exact(struct row *u, struct span planes);

/* Sets the planes to initial values: the exact solution on the cube's faces, interpolated between them. */
void field_initial(struct row *u, struct span planes);

/* forcing = the negative of the operator applied to `u`, the exact solution, at the inner points of the planes. */
void field_forcing(const struct row *u, struct row *forcing, struct span planes);

/* Adds to each component's `sum` the squares of what operator and forcing leave at the inner points of the planes. */
void field_residual(const struct row *u, const struct row *forcing, struct span planes, double sum[COMPONENTS]);

/* Adds to each component's `sum` the squares of the distance from the exact solution over the planes. */
void field_error(const struct row *u, struct span planes, double sum[COMPONENTS]);

#endif
