/*
 * The discretised equations of LU (RNR-94-007, section 3): along each axis, central differences of the convective
 * flux, second differences of what diffuses, and artificial dissipation of second and fourth order.
 *
 * Works row by row: the sum of all terms is made in a row on the stack and stored once.
 */
#include "residual.h"

#include "flow.h"

#define DISSIPATION 0.25

/* Rows at distance -1, 0 and +1 along an axis. Along x they are one row, read at a distance of `shift` points. */
struct neighbours {
    const struct row *below, *here, *above;
    int shift;
};

/* The terms that need one neighbour on either side. */
ALWAYS_INLINE void add_differences(struct neighbours rows, int axis, struct row *restrict sum)
{
#pragma omp simd
    for (int i = 1; i <= INNER; i++) {
        const struct vector below = row_get(rows.below, i - rows.shift), here = row_get(rows.here, i);
        const struct vector above = row_get(rows.above, i + rows.shift);
        const struct flow flow_below = flow_of(below), flow_here = flow_of(here), flow_above = flow_of(above);
        const struct vector flux_below = convection(below, flow_below, axis);
        const struct vector flux_above = convection(above, flow_above, axis);
        const struct vector low = diffusion(flow_below, axis), middle = diffusion(flow_here, axis);
        const struct vector high = diffusion(flow_above, axis);

        for (int m = 0; m < COMPONENTS; m++) {
            const double first = flux_above.value[m] - flux_below.value[m];
            const double second = low.value[m] - 2.0 * middle.value[m] + high.value[m];
            const double smooth = below.value[m] - 2.0 * here.value[m] + above.value[m];
            sum->value[m][i] += SECOND_QUOTIENT * (second + SMOOTHING(axis) * smooth) - FIRST_QUOTIENT * first;
        }
    }
}

/* A point's neighbours at distances -2 .. +2 and their weights in the fourth difference. */
#define STENCIL 5
#define REACH 2

struct weights {
    double at[STENCIL];
};

/* Next to the boundary the stencil leaves the boundary out, and has less weight in the middle. */
static struct weights weights_at(int index)
{
    if (index == 1)
        return (struct weights){{0.0, 0.0, 5.0, -4.0, 1.0}};
    if (index == 2)
        return (struct weights){{0.0, -4.0, 6.0, -4.0, 1.0}};
    if (index == INNER - 1)
        return (struct weights){{1.0, -4.0, 6.0, -4.0, 0.0}};
    if (index == INNER)
        return (struct weights){{1.0, -4.0, 5.0, 0.0, 0.0}};
    return (struct weights){{1.0, -4.0, 6.0, -4.0, 1.0}};
}

/* An index at some distance of an unknown's, or the boundary where there is none: such have no weight. */
static int bounded(int index)
{
    return index < 0 ? 0 : index > POINTS - 1 ? POINTS - 1 : index;
}

/* The fourth difference along y or z: the rows of the stencil, with the same weights at all points. */
ALWAYS_INLINE void dissipate_across(const struct row *const rows[STENCIL], struct weights w, struct row *restrict sum)
{
    for (int m = 0; m < COMPONENTS; m++) {
        const double *restrict a = rows[0]->value[m], *restrict b = rows[1]->value[m];
        const double *restrict c = rows[2]->value[m], *restrict d = rows[3]->value[m];
        const double *restrict e = rows[4]->value[m];
        for (int i = 1; i <= INNER; i++)
            sum->value[m][i] -= DISSIPATION * (w.at[0] * a[i] + w.at[1] * b[i] + w.at[2] * c[i] + w.at[3] * d[i] +
                                               w.at[4] * e[i]);
    }
}

/* The same along x. With 0 on the boundary and its neighbour's negative beyond, one stencil does for all points. */
ALWAYS_INLINE void dissipate_along(const struct row *row, struct row *restrict sum)
{
    double line[POINTS + 2]; /* point i is at i + 1 */

    for (int m = 0; m < COMPONENTS; m++) {
        const double *restrict value = row->value[m];
        for (int i = 1; i <= INNER; i++)
            line[i + 1] = value[i];
        line[0] = -value[1];
        line[1] = 0.0;
        line[POINTS] = 0.0;
        line[POINTS + 1] = -value[INNER];
        for (int i = 1; i <= INNER; i++)
            sum->value[m][i] -=
                DISSIPATION * (line[i - 1] + line[i + 3] - 4.0 * (line[i] + line[i + 2]) + 6.0 * line[i + 1]);
    }
}

static void add_dissipation(const struct row *state, int k, int j, struct row *sum)
{
    const struct row *along_y[STENCIL], *along_z[STENCIL];

    for (int s = 0; s < STENCIL; s++) {
        along_y[s] = state + row_index(k, bounded(j + s - REACH));
        along_z[s] = state + row_index(bounded(k + s - REACH), j);
    }
    dissipate_along(along_y[REACH], sum);
    dissipate_across(along_y, weights_at(j), sum);
    dissipate_across(along_z, weights_at(k), sum);
}

void residual_of(const struct row *state, const struct row *forcing, struct row *residual, struct span planes)
{
    for (int k = planes.lo; k < planes.hi; k++)
        for (int j = 1; j <= INNER; j++) {
            const struct row *here = state + row_index(k, j), *force = forcing + row_index(k, j);
            struct row *out = residual + row_index(k, j);
            struct row sum;

            for (int m = 0; m < COMPONENTS; m++)
                for (int i = 1; i <= INNER; i++)
                    sum.value[m][i] = -force->value[m][i];
            add_differences((struct neighbours){here, here, here, 1}, X, &sum);
            add_differences((struct neighbours){here - 1, here, here + 1, 0}, Y, &sum);
            add_differences((struct neighbours){here - PLANE_ROWS, here, here + PLANE_ROWS, 0}, Z, &sum);
            add_dissipation(state, k, j, &sum);
            for (int m = 0; m < COMPONENTS; m++)
                for (int i = 1; i <= INNER; i++)
                    out->value[m][i] = sum.value[m][i];
        }
}
