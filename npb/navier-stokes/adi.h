/*
 * A time step by approximate factorisation (RNR-94-007, section 3): the change that the operator gives explicitly goes
 * through implicit sweeps along x, y and z (alternating directions), and is added to the unknowns.
 *
 * A step has two passes, with a barrier after each. In the first a thread owns planes: it computes the change in a
 * plane and sweeps along x and y there, while the plane is in its cache. In the second it owns rows of all planes: it
 * sweeps along z and adds. So threads exchange the change before the second pass, and the unknowns before the first.
 */
#ifndef NAVIER_STOKES_ADI_H
#define NAVIER_STOKES_ADI_H

#include "equations.h"
#include "team.h"

/* First pass: change = TIME_STEP (operator + forcing), swept along x and y. */
void adi_planes(const struct row *u, const struct row *forcing, struct row *change, struct span planes);

/* Second pass: u = u + change swept along z, for the rows of all planes. */
void adi_rows(struct row *u, const struct row *change, struct span rows);

#endif
