/* The discretised equations of LU. */
#ifndef LU_RESIDUAL_H
#define LU_RESIDUAL_H

#include "grid.h"

/*
 * residual = differences of the state - forcing, for the unknowns of the planes; 0 in the steady state. Reads two
 * planes beyond each end of the span.
 */
void residual_of(const struct row *state, const struct row *forcing, struct row *residual, struct span planes);

#endif
