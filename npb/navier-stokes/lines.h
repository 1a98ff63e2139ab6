/*
 * A thread's own copies of lines of points, for the implicit sweeps.
 *
 * A sweep solves along lines, LANES neighbouring ones at a time: a pack is one quantity of a point of each. A slab
 * holds a plane of points, for sweeps across its rows; a bundle holds LANES rows of a slab transposed, for the sweep
 * along them. In both, component m of point p of a line is p COMPONENTS + m strides from the start. They are on the
 * stack of the functions that use them, whose helpers are inlined so that no address leaves the function.
 */
#ifndef NAVIER_STOKES_LINES_H
#define NAVIER_STOKES_LINES_H

#include "equations.h"

typedef double pack __attribute__((vector_size(LANES * sizeof(double)), may_alias));

/* An odd number of packs: equal components of successive rows do not fall into the same cache sets. */
#define SLAB_PITCH ((PITCH / LANES | 1) * LANES)

struct slab {
    _Alignas(64) double at[POINTS][COMPONENTS][SLAB_PITCH];
};

struct bundle {
    _Alignas(64) double at[POINTS][COMPONENTS][LANES];
};

ALWAYS_INLINE pack *pack_at(double *line, size_t stride, int point, int m)
{
    return (pack *)(line + (size_t)(point * COMPONENTS + m) * stride);
}

ALWAYS_INLINE const pack *const_pack_at(const double *line, size_t stride, int point, int m)
{
    return (const pack *)(line + (size_t)(point * COMPONENTS + m) * stride);
}

/* Component m of the rows first .. first + LANES - 1; those behind row `last` repeat it. */
ALWAYS_INLINE void bundle_load(struct bundle *restrict bundle, const struct slab *restrict slab, int m, int first,
                               int last)
{
    const double *restrict row[LANES];

    for (int l = 0; l < LANES; l++)
        row[l] = slab->at[first + l < last ? first + l : last][m];
    for (int i = 0; i < POINTS; i++)
        for (int l = 0; l < LANES; l++)
            bundle->at[i][m][l] = row[l][i];
}

/* Puts the inner points of the rows first .. last, of which there are at most LANES, back. */
ALWAYS_INLINE void bundle_store(const struct bundle *restrict bundle, struct slab *restrict slab, int m, int first,
                                int last)
{
    for (int l = 0; l < LANES && first + l <= last; l++) {
        double *restrict row = slab->at[first + l][m];

        for (int i = 1; i < LAST; i++)
            row[i] = bundle->at[i][m][l];
    }
}

#endif
