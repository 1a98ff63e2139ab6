/*
 * Grids of MG and the operators between them.
 *
 * A grid has n = 2^level interior points along each axis, indexed 1 .. n, and ghost points 0 and n + 1 that repeat
 * the interior point at the other end (periodic boundaries). Planes of constant third index are dealt to threads in
 * contiguous spans. An operator computes the planes of a span and the ghost points belonging to them; it has no
 * barrier. What it reads from neighbouring planes must be visible before, what it wrote is visible after the
 * caller's next barrier.
 */
#ifndef MG_GRID_H
#define MG_GRID_H

#include "params.h"
#include "team.h"

#include <stddef.h>

struct grid {
    int n;
    double *point;
};

/* Number of points of a grid with its ghosts. */
static inline size_t grid_points(int n)
{
    return (size_t)(n + 2) * (size_t)(n + 2) * (size_t)(n + 2);
}

static inline size_t plane_points(int n)
{
    return (size_t)(n + 2) * (size_t)(n + 2);
}

/* Point 0 of row `j` in plane `k`. */
static inline double *grid_row(struct grid grid, int k, int j)
{
    return grid.point + ((size_t)k * (size_t)(grid.n + 2) + (size_t)j) * (size_t)(grid.n + 2);
}

/* Sets the span's planes, and the ghost planes next to it, to 0. */
void grid_zero(struct grid grid, struct span planes);

/* r = v - A u. `r` and `v` may be the same grid. */
void grid_residual(struct grid u, struct grid v, struct grid r, struct span planes);

/* u = u + S r. */
void grid_smooth(struct grid r, struct grid u, struct span planes);

/* coarse = projection of fine; the span counts coarse planes. */
void grid_restrict(struct grid fine, struct grid coarse, struct span planes);

/* fine = fine + trilinear interpolation of coarse; the span counts fine planes. */
void grid_correct(struct grid coarse, struct grid fine, struct span planes);

/* fine = trilinear interpolation of coarse; the span counts fine planes. */
void grid_interpolate(struct grid coarse, struct grid fine, struct span planes);

/* The span's part of the sum of squares over the interior. */
double grid_square_sum(struct grid grid, struct span planes);

/* Sets v to 0 except +1 at ten and -1 at ten random points. Called by every member; contains barriers. */
void grid_charge(struct member *self, struct grid v, struct span planes);

#endif
