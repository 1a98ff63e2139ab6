/* The two triangular solutions of an SSOR step. */
#ifndef LU_SWEEP_H
#define LU_SWEEP_H

#include "grid.h"

/* To be called by each member before the first sweep, with a barrier between the two. */
void sweep_prepare(struct member *self);

/*
 * Solves the lower, then the upper triangular system in `change`, which holds the residual on entry and the change of
 * the state, not yet scaled, afterwards. The members follow one another, as a pipeline: what one of them needs of its
 * neighbour's planes is visible when it gets there, and there is no barrier. `step` counts the calls from 0.
 */
void sweep_both(const struct member *self, int step, const struct row *state, struct row *change);

/* state = state + change, scaled as over-relaxation requires, for the unknowns of the planes. */
void sweep_apply(const struct row *change, struct row *state, struct span planes);

#endif
