/*
 * The sweeps of SP (RNR-94-007, section 3): the Jacobians of the convective fluxes are diagonalised (Pulliam and
 * Chaussee 1981), so that each axis has five independent systems, which implicit fourth-order dissipation makes
 * pentadiagonal. Three of them, those of what travels with the flow, have the same matrix.
 *
 * The change is expressed in the eigenvectors of the x axis before the first sweep, of the axis to come between sweeps,
 * and in the unknowns again after the last.
 */
#ifndef SP_SCHEME_H
#define SP_SCHEME_H

#include "lines.h"

#include <math.h>

/* What a sweep knows of a point: the velocity, then these. */
enum { KNOWN_VOLUME = VELOCITY + AXES, KNOWN_SOUND };

/* The families of systems: waves with the flow, and sound with and against it. */
enum { FLOW, FORWARD, BACKWARD, FAMILIES };

#define ROOT_HALF 0.70710678118654752440

ALWAYS_INLINE void scheme_row(const struct row *restrict u, const struct row *restrict primitive,
                              double (*restrict known)[SLAB_PITCH])
{
    for (int i = 0; i < PITCH; i++) {
        const double volume = primitive->at[VOLUME][i];

        for (int axis = 0; axis < AXES; axis++)
            known[VELOCITY + axis][i] = primitive->at[VELOCITY + axis][i];
        known[KNOWN_VOLUME][i] = volume;
        known[KNOWN_SOUND][i] = sqrt(K1 * K2 * volume * (u->at[ENERGY][i] - primitive->at[KINETIC][i]));
    }
}

ALWAYS_INLINE int scheme_knows(int axis, int m)
{
    return m == VELOCITY + axis || m == KNOWN_VOLUME || m == KNOWN_SOUND;
}

/* Half the square of the velocity. */
ALWAYS_INLINE double half_square(double x, double y, double z)
{
    return 0.5 * (x * x + y * y + z * z);
}

/* From the unknowns to the eigenvectors of the x axis. */
ALWAYS_INLINE void scheme_begin(double (*restrict known)[SLAB_PITCH], double (*restrict change)[SLAB_PITCH])
{
    for (int i = 0; i < PITCH; i++) {
        const double x = known[VELOCITY][i], y = known[VELOCITY + 1][i], z = known[VELOCITY + 2][i];
        const double volume = known[KNOWN_VOLUME][i], sound = known[KNOWN_SOUND][i];
        const double density = change[DENSITY][i], energy = change[ENERGY][i];
        const double along = change[MOMENTUM][i], next = change[MOMENTUM + 1][i], other = change[MOMENTUM + 2][i];
        const double pressure = K2 * (half_square(x, y, z) * density - x * along - y * next - z * other + energy);
        const double entropy = pressure / (sound * sound);
        const double shear = ROOT_HALF * volume * (x * density - along);
        const double compression = ROOT_HALF * volume * sound * entropy;

        change[0][i] = density - entropy;
        change[1][i] = volume * (other - z * density);
        change[2][i] = volume * (y * density - next);
        change[3][i] = compression - shear;
        change[4][i] = compression + shear;
    }
}

/* From the eigenvectors of the z axis to the unknowns, and on to u. */
ALWAYS_INLINE void scheme_end(struct row *restrict u, double (*restrict known)[SLAB_PITCH],
                              double (*restrict change)[SLAB_PITCH])
{
    for (int i = 0; i < PITCH; i++) {
        const double x = known[VELOCITY][i], y = known[VELOCITY + 1][i], z = known[VELOCITY + 2][i];
        const double sound = known[KNOWN_SOUND][i], density = u->at[DENSITY][i];
        const double compression = ROOT_HALF * density / sound * (change[3][i] + change[4][i]);
        const double along = ROOT_HALF * density * (change[3][i] - change[4][i]);
        const double mass = change[2][i] + compression;
        const double in_x = -density * change[1][i], in_y = density * change[0][i];

        u->at[DENSITY][i] += mass;
        u->at[MOMENTUM][i] += in_x + x * mass;
        u->at[MOMENTUM + 1][i] += in_y + y * mass;
        u->at[MOMENTUM + 2][i] += along + z * mass;
        u->at[ENERGY][i] += x * in_x + y * in_y + z * along + half_square(x, y, z) * mass +
                            sound * sound / K2 * compression;
    }
}

/* From the eigenvectors of the axis before to those of `axis`. */
ALWAYS_INLINE void turn(int axis, pack r[COMPONENTS])
{
    if (axis == 0)
        return;
    const pack half = 0.5 * (r[3] + r[4]), difference = ROOT_HALF * (r[3] - r[4]);
    const pack first = r[0], second = r[1], third = r[2], shear = ROOT_HALF * (axis == 1 ? third : first);

    r[0] = axis == 1 ? -second : difference;
    r[1] = axis == 1 ? first : -third;
    r[2] = axis == 1 ? difference : second;
    r[3] = half - shear;
    r[4] = half + shear;
}

/* The family that component `m` of the change belongs to. */
ALWAYS_INLINE int family_of(int m)
{
    return m < 3 ? FLOW : m == 3 ? FORWARD : BACKWARD;
}

/* What the matrices take from a point: speed and the largest coefficient of diffusion. */
struct condition {
    pack flow, sound, diffusion;
};

ALWAYS_INLINE void condition_load(struct condition *point, int axis, const double *known, size_t stride, int at)
{
    point->flow = *const_pack_at(known, stride, at, VELOCITY + axis);
    point->sound = *const_pack_at(known, stride, at, KNOWN_SOUND);
    point->diffusion = DIFFUSION[axis] + HEAT * VISCOSITY * *const_pack_at(known, stride, at, KNOWN_VOLUME);
}

/* A row of a matrix: the coefficients of the point and its neighbours; the two points beyond these have FAR. */
struct band {
    pack before, diagonal, after;
};

#define FAR (TIME_STEP * DISSIPATION)

/* The row of point `p` in a family's matrix, from the points before, at and after p. */
ALWAYS_INLINE void band_fill(struct band *band, int family, int p, const struct condition *before,
                             const struct condition *here, const struct condition *after)
{
    const double first = TIME_STEP * DIFFERENCE, second = TIME_STEP * SECOND_DIFFERENCE;

    band->before = -first * before->flow - second * before->diffusion - 4.0 * FAR;
    band->diagonal = 1.0 + 2.0 * second * here->diffusion + (p == 1 || p == LAST - 1 ? 5.0 : 6.0) * FAR;
    band->after = first * after->flow - second * after->diffusion - 4.0 * FAR;
    if (family == FORWARD) {
        band->before -= first * before->sound;
        band->after += first * after->sound;
    }
    if (family == BACKWARD) {
        band->before += first * before->sound;
        band->after -= first * after->sound;
    }
}

/* What elimination leaves of a point: its change is r - next (change of the next point) - second (of the one after). */
struct reduced {
    pack next[FAMILIES], second[FAMILIES], r[COMPONENTS];
};

/* Eliminates the two points before `here` from the row of `family`, and scales the row to a diagonal of 1. */
ALWAYS_INLINE void reduce(int family, const struct band *band, const struct reduced *two_before,
                          const struct reduced *before, struct reduced *here)
{
    const pack near = band->before - FAR * two_before->next[family];
    const pack inverse = 1.0 / (band->diagonal - FAR * two_before->second[family] - near * before->next[family]);

    here->next[family] = inverse * (band->after - near * before->second[family]);
    here->second[family] = inverse * FAR;
    for (int m = 0; m < COMPONENTS; m++)
        if (family_of(m) == family)
            here->r[m] = inverse * (here->r[m] - FAR * two_before->r[m] - near * before->r[m]);
}

/*
 * Solves for LANES lines along `axis` by Gaussian elimination. Boundary points do not change, so what couples to them
 * drops out.
 */
ALWAYS_INLINE void scheme_sweep(int axis, const double *known, double *change, size_t stride)
{
    struct reduced reduced[1 + POINTS]; /* point p is at p + 1; those of -1 and 0 are 0 */
    struct condition before, here, after;
    pack later[COMPONENTS] = {{0.0}}, latest[COMPONENTS] = {{0.0}};

    reduced[0] = reduced[1] = (struct reduced){{{0.0}}, {{0.0}}, {{0.0}}};
    condition_load(&here, axis, known, stride, 0);
    condition_load(&after, axis, known, stride, 1);
    for (int p = 1; p < LAST; p++) {
        struct reduced *now = &reduced[p + 1];

        before = here;
        here = after;
        condition_load(&after, axis, known, stride, p + 1);
        for (int m = 0; m < COMPONENTS; m++)
            now->r[m] = *pack_at(change, stride, p, m);
        turn(axis, now->r);
        for (int f = 0; f < FAMILIES; f++) {
            struct band band;

            band_fill(&band, f, p, &before, &here, &after);
            reduce(f, &band, now - 2, now - 1, now);
        }
    }
    for (int p = LAST - 1; p > 0; p--) {
        const struct reduced *now = &reduced[p + 1];

        for (int m = 0; m < COMPONENTS; m++) {
            const int f = family_of(m);
            const pack value = now->r[m] - now->next[f] * later[m] - now->second[f] * latest[m];

            *pack_at(change, stride, p, m) = value;
            latest[m] = later[m];
            later[m] = value;
        }
    }
}

#endif
