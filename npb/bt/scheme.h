/*
 * The sweeps of BT (RNR-94-007, section 3): block-tridiagonal systems, whose 5 x 5 blocks are made of the Jacobians of
 * the fluxes (Beam and Warming 1978). Dissipation stays explicit.
 */
#ifndef BT_SCHEME_H
#define BT_SCHEME_H

#include "lines.h"

/* What a sweep knows of a point: the velocity, then these. */
enum { KNOWN_VOLUME = VELOCITY + AXES, KNOWN_ENERGY };

ALWAYS_INLINE void scheme_row(const struct row *restrict u, const struct row *restrict primitive,
                              double (*restrict known)[SLAB_PITCH])
{
    for (int i = 0; i < PITCH; i++) {
        for (int axis = 0; axis < AXES; axis++)
            known[VELOCITY + axis][i] = primitive->at[VELOCITY + axis][i];
        known[KNOWN_VOLUME][i] = primitive->at[VOLUME][i];
        known[KNOWN_ENERGY][i] = u->at[ENERGY][i] * primitive->at[VOLUME][i];
    }
}

ALWAYS_INLINE int scheme_knows(int axis, int m)
{
    (void)axis, (void)m;
    return 1;
}

ALWAYS_INLINE void scheme_begin(double (*known)[SLAB_PITCH], double (*change)[SLAB_PITCH])
{
    (void)known, (void)change;
}

ALWAYS_INLINE void scheme_end(struct row *restrict u, double (*restrict known)[SLAB_PITCH],
                              double (*restrict change)[SLAB_PITCH])
{
    (void)known;
    for (int m = 0; m < COMPONENTS; m++)
        for (int i = 0; i < PITCH; i++)
            u->at[m][i] += change[m][i];
}

/*
 * A block in the axis' own order of components: density, momentum along the axis, along the next, along the one after
 * it, energy. What COUPLED does not name is 0 in every Jacobian, and is not stored there.
 */
struct block {
    pack at[COMPONENTS][COMPONENTS];
};

static const char COUPLED[COMPONENTS][COMPONENTS] = {
    {1, 1, 0, 0, 0},
    {1, 1, 1, 1, 1},
    {1, 1, 1, 0, 0},
    {1, 1, 0, 1, 0},
    {1, 1, 1, 1, 1},
};

/* The component of the unknowns that is component `m` in the axis' order. */
ALWAYS_INLINE int component(int axis, int m)
{
    return m == DENSITY || m == ENERGY ? m : MOMENTUM + (axis + m - MOMENTUM) % AXES;
}

ALWAYS_INLINE void clear_uncoupled(struct block *block)
{
    for (int m = 0; m < COMPONENTS; m++)
        for (int n = 0; n < COMPONENTS; n++)
            if (!COUPLED[m][n])
                block->at[m][n] = (pack){0.0};
}

/*
 * block = viscous (Jacobian of the viscous flux + artificial diffusion) + convective (Jacobian of the convective flux),
 * at a point that the lines know.
 */
ALWAYS_INLINE void jacobians(int axis, const double *known, size_t stride, int point, double viscous, double convective,
                             struct block *block)
{
    const pack w = *const_pack_at(known, stride, point, VELOCITY + axis);
    const pack a = *const_pack_at(known, stride, point, VELOCITY + (axis + 1) % AXES);
    const pack b = *const_pack_at(known, stride, point, VELOCITY + (axis + 2) % AXES);
    const pack nu = viscous * VISCOSITY * *const_pack_at(known, stride, point, KNOWN_VOLUME);
    const pack e = *const_pack_at(known, stride, point, KNOWN_ENERGY);
    const pack zero = {0.0}, diffusion = zero + viscous * DIFFUSION[axis], square = w * w + a * a + b * b;
    const double s = convective;

    block->at[0][0] = diffusion;
    block->at[0][1] = zero + s;
    block->at[1][0] = s * (0.5 * K2 * square - w * w) - NORMAL_STRESS * nu * w;
    block->at[1][1] = diffusion + s * (2.0 - K2) * w + NORMAL_STRESS * nu;
    block->at[1][2] = -s * K2 * a;
    block->at[1][3] = -s * K2 * b;
    block->at[1][4] = zero + s * K2;
    block->at[2][0] = -(s * w + nu) * a;
    block->at[2][1] = s * a;
    block->at[2][2] = diffusion + s * w + nu;
    block->at[3][0] = -(s * w + nu) * b;
    block->at[3][1] = s * b;
    block->at[3][3] = diffusion + s * w + nu;
    block->at[4][0] =
        s * (K2 * square - K1 * e) * w - nu * ((NORMAL_STRESS - 1.0) * w * w + (1.0 - HEAT) * square + HEAT * e);
    block->at[4][1] = s * (K1 * e - K2 * (0.5 * square + w * w)) + (NORMAL_STRESS - HEAT) * nu * w;
    block->at[4][2] = ((1.0 - HEAT) * nu - s * K2 * w) * a;
    block->at[4][3] = ((1.0 - HEAT) * nu - s * K2 * w) * b;
    block->at[4][4] = diffusion + s * K1 * w + HEAT * nu;
}

/* What elimination leaves of a point: its change is r - next (change of the point after it). */
struct reduced {
    struct block next;
    pack r[COMPONENTS];
};

/* diagonal -= left next and r -= left r', where `left` is a Jacobian, and next and r' are those of the point before. */
ALWAYS_INLINE void subtract(const struct block *left, const struct reduced *before, struct block *diagonal,
                            pack r[COMPONENTS])
{
    for (int m = 0; m < COMPONENTS; m++) {
        for (int p = 0; p < COMPONENTS; p++) {
            if (!COUPLED[m][p])
                continue;
            r[m] -= left->at[m][p] * before->r[p];
            for (int n = 0; n < COMPONENTS; n++)
                diagonal->at[m][n] -= left->at[m][p] * before->next.at[p][n];
        }
    }
}

/* Subtracts `factor` times row `pivot` from row `row` of what the diagonal block is divided into. */
ALWAYS_INLINE void subtract_row(struct reduced *point, int row, const pack *factor, int pivot)
{
    point->r[row] -= *factor * point->r[pivot];
    for (int n = 0; n < COMPONENTS; n++)
        point->next.at[row][n] -= *factor * point->next.at[pivot][n];
}

/* Multiplies the point's blocks with the inverse of `diagonal`: Gaussian elimination without a search for pivots. */
ALWAYS_INLINE void divide(struct block *diagonal, struct reduced *point)
{
    for (int pivot = 0; pivot < COMPONENTS; pivot++) {
        const pack inverse = 1.0 / diagonal->at[pivot][pivot];

        point->r[pivot] *= inverse;
        for (int n = 0; n < COMPONENTS; n++)
            point->next.at[pivot][n] *= inverse;
        for (int n = pivot + 1; n < COMPONENTS; n++)
            diagonal->at[pivot][n] *= inverse;
        for (int m = pivot + 1; m < COMPONENTS; m++) {
            subtract_row(point, m, &diagonal->at[m][pivot], pivot);
            for (int n = pivot + 1; n < COMPONENTS; n++)
                diagonal->at[m][n] -= diagonal->at[m][pivot] * diagonal->at[pivot][n];
        }
    }
    for (int pivot = COMPONENTS - 1; pivot > 0; pivot--)
        for (int m = 0; m < pivot; m++)
            subtract_row(point, m, &diagonal->at[m][pivot], pivot);
}

/*
 * Solves for LANES lines along `axis` by block elimination: the blocks left of, on and right of the diagonal at a point
 * come from the point before it, itself, and the point after it. Boundary points do not change, so what couples to them
 * drops out.
 */
ALWAYS_INLINE void scheme_sweep(int axis, const double *known, double *change, size_t stride)
{
    const double first = TIME_STEP * DIFFERENCE, second = TIME_STEP * SECOND_DIFFERENCE;
    struct reduced reduced[POINTS];
    pack later[COMPONENTS] = {{0.0}};

    for (int p = 1; p < LAST; p++) {
        struct reduced *here = &reduced[p];
        struct block diagonal, left;

        clear_uncoupled(&diagonal);
        jacobians(axis, known, stride, p, 2.0 * second, 0.0, &diagonal);
        for (int m = 0; m < COMPONENTS; m++) {
            diagonal.at[m][m] += 1.0;
            here->r[m] = *pack_at(change, stride, p, component(axis, m));
        }
        if (p > 1) {
            jacobians(axis, known, stride, p - 1, -second, -first, &left);
            subtract(&left, &reduced[p - 1], &diagonal, here->r);
        }
        clear_uncoupled(&here->next);
        jacobians(axis, known, stride, p + 1, -second, first, &here->next);
        divide(&diagonal, here);
    }
    for (int p = LAST - 1; p > 0; p--) {
        pack value[COMPONENTS];

        for (int m = 0; m < COMPONENTS; m++) {
            value[m] = reduced[p].r[m];
            for (int n = 0; n < COMPONENTS; n++)
                value[m] -= reduced[p].next.at[m][n] * later[n];
        }
        for (int m = 0; m < COMPONENTS; m++)
            later[m] = *pack_at(change, stride, p, component(axis, m)) = value[m];
    }
}

#endif
