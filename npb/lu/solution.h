/* The exact solution that LU prescribes, fields that come from it, and what is measured on a solution. */
#ifndef LU_SOLUTION_H
#define LU_SOLUTION_H

#include "grid.h"

/* Sets the rows of the planes to the exact solution. */
void solution_exact(struct row *field, struct span planes);

/* The same on the boundary, and inside what is interpolated from the boundary: where the iteration starts. */
void solution_start(struct row *field, struct span planes);

/* Root mean squares over all unknowns, the same for all members: of a field, and of its distance to the exact one. */
struct vector solution_norm(struct member *self, const struct row *field);
struct vector solution_error(struct member *self, const struct row *field);

/* The integral of the pressure over the surface of a box inside the cube. */
double solution_surface_integral(const struct row *field);

#endif
