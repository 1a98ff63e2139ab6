/*
 * Fields of LU: five quantities at every point of a cube, indexed 0 .. POINTS - 1 along each axis. The boundary is
 * part of the grid and never changes.
 *
 * A field is stored as rows along x. A row holds its quantities one after the other, so that loops along x run over
 * consecutive numbers. Planes of constant z are dealt to threads in contiguous spans.
 */
#ifndef LU_GRID_H
#define LU_GRID_H

#include "params.h"
#include "team.h"

#include <stddef.h>

enum axis { X, Y, Z, AXES };

/* Mass, momentum and energy per volume; in other fields, what belongs to their equations. */
enum { DENSITY, MOMENTUM, ENERGY = MOMENTUM + AXES, COMPONENTS };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Rows start at multiples of 64 bytes. */
#define ROW_PITCH ((POINTS + 7) / 8 * 8)

struct row {
    _Alignas(64) double value[COMPONENTS][ROW_PITCH];
};

/* One row more than there are, lest neighbouring planes fall into the same cache sets. */
#define PLANE_ROWS (POINTS + 1)
#define FIELD_ROWS ((size_t)POINTS * PLANE_ROWS)

/* The five quantities at one point. */
struct vector {
    double value[COMPONENTS];
};

static inline size_t row_index(int k, int j)
{
    return (size_t)k * PLANE_ROWS + (size_t)j;
}

ALWAYS_INLINE struct vector row_get(const struct row *row, int i)
{
    struct vector point;

    for (int m = 0; m < COMPONENTS; m++)
        point.value[m] = row->value[m][i];
    return point;
}

ALWAYS_INLINE void row_set(struct row *row, int i, struct vector point)
{
    for (int m = 0; m < COMPONENTS; m++)
        row->value[m][i] = point.value[m];
}

/* The member's planes of unknowns. */
static inline struct span inner_planes(const struct member *self)
{
    const struct span share = team_span(self, INNER);

    return (struct span){share.lo + 1, share.hi + 1};
}

/* The same, and the boundary plane next to the first or the last of them for the first or the last member. */
static inline struct span all_planes(const struct member *self)
{
    struct span planes = inner_planes(self);

    if (self->rank == 0)
        planes.lo--;
    if (self->rank == self->size - 1)
        planes.hi++;
    return planes;
}

#endif
