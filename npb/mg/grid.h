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
#include <stdint.h>

/* The levels up to this one are not shared. */
#define COARSE_LEVEL 4
_Static_assert(COARSE_LEVEL < LEVELS, "the finest level is always shared");

struct grid {
    int n;
    double *point;
};

/* A random number as an integer and the interior point it belongs to, counted in memory order. */
struct candidate {
    uint64_t number;
    long point;
};

/* The extremes of a set of candidates, the one to be displaced next in front. */
#define CHARGES 10

struct extremes {
    struct candidate largest[CHARGES];
    struct candidate smallest[CHARGES];
};

/* All interior planes of a level. */
static inline struct span grid_planes(int level)
{
    return (struct span){1, (1 << level) + 1};
}

/* Those that are a member's where a level is shared. */
static inline struct span grid_share(const struct member *self, int level)
{
    const struct span share = team_span(self, 1 << level);

    return (struct span){share.lo + 1, share.hi + 1};
}

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

/*
 * The part of a V-cycle at and below COARSE_LEVEL: from the residual to the correction there. The arrays are indexed
 * by level.
 */
void grid_coarse_cycle(const struct grid *u, const struct grid *r);

/* The extremes of the random numbers drawn for the points of the planes; of two sets; and how to begin with none. */
struct extremes charge_draw(struct grid v, struct span planes);
void charge_merge(struct extremes *set, const struct extremes *other);
struct extremes charge_none(void);

/* Sets the span's planes to 0 except +1 where the set has its largest, -1 where it has its smallest numbers. */
void charge_place(struct grid v, struct span planes, const struct extremes *set);

#endif
