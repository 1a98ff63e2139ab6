/*
 * The spatial operator (RNR-94-007, section 3): convection, viscosity, conduction of heat, artificial diffusion and
 * dissipation of the unknowns, in central differences, one row at a time.
 *
 * Axes differ in which velocity is the one along the axis and in their diffusion: one function adds the fluxes of any.
 */
#ifndef NAVIER_STOKES_TRANSPORT_H
#define NAVIER_STOKES_TRANSPORT_H

#include "equations.h"

/* A row, or a row that is moved by a point along x: unknowns and primitives, components PITCH apart. */
struct view {
    const double *u;
    const double *primitive;
};

ALWAYS_INLINE struct view view_of(const struct row *u, const struct row *primitive, int move)
{
    return (struct view){&u->at[0][0] + move, &primitive->at[0][0] + move};
}

ALWAYS_INLINE double bend(double before, double here, double after)
{
    return after - 2.0 * here + before;
}

/* out += the derivative along `axis` of all fluxes, from the points before, at and after those of the row. */
ALWAYS_INLINE void add_fluxes(int axis, struct view before, struct view here, struct view after,
                              struct row *restrict out)
{
    enum { P = PITCH };
    const double *restrict ub = before.u, *restrict uh = here.u, *restrict ua = after.u;
    const double *restrict pb = before.primitive, *restrict ph = here.primitive, *restrict pa = after.primitive;

    for (int i = 1; i < LAST; i++) {
        const double vb = pb[(VELOCITY + axis) * P + i], vh = ph[(VELOCITY + axis) * P + i];
        const double va = pa[(VELOCITY + axis) * P + i];
        const double kb = pb[KINETIC * P + i], kh = ph[KINETIC * P + i], ka = pa[KINETIC * P + i];
        const double wb = pb[VOLUME * P + i], wh = ph[VOLUME * P + i], wa = pa[VOLUME * P + i];
        const double eb = ub[ENERGY * P + i], eh = uh[ENERGY * P + i], ea = ua[ENERGY * P + i];
        double convection[COMPONENTS], viscosity[COMPONENTS];

        convection[DENSITY] = ua[(MOMENTUM + axis) * P + i] - ub[(MOMENTUM + axis) * P + i];
        viscosity[DENSITY] = 0.0;
        for (int d = 0; d < AXES; d++) {
            const int m = (MOMENTUM + d) * P + i, v = (VELOCITY + d) * P + i;
            convection[MOMENTUM + d] = ua[m] * va - ub[m] * vb;
            viscosity[MOMENTUM + d] = bend(pb[v], ph[v], pa[v]);
        }
        convection[MOMENTUM + axis] += K2 * ((ea - ka) - (eb - kb));
        viscosity[MOMENTUM + axis] *= NORMAL_STRESS;
        convection[ENERGY] = (K1 * ea - K2 * ka) * va - (K1 * eb - K2 * kb) * vb;
        viscosity[ENERGY] = (1.0 - HEAT) * bend(kb * wb, kh * wh, ka * wa) +
                            (1.0 / 6.0) * bend(vb * vb, vh * vh, va * va) + HEAT * bend(eb * wb, eh * wh, ea * wa);
        for (int m = 0; m < COMPONENTS; m++)
            out->at[m][i] += DIFFUSION[axis] * SECOND_DIFFERENCE * bend(ub[m * P + i], uh[m * P + i], ua[m * P + i]) +
                             VISCOSITY * SECOND_DIFFERENCE * viscosity[m] - DIFFERENCE * convection[m];
    }
}

/* Weights of the points at - 2 .. at + 2 in the fourth difference, which near a face leaves out what is behind it. */
ALWAYS_INLINE void dissipation_weights(int at, double weight[5])
{
    static const double inside[5] = {1.0, -4.0, 6.0, -4.0, 1.0};

    for (int n = 0; n < 5; n++)
        weight[n] = inside[n] * DISSIPATION;
    if (at == 1 || at == LAST - 1)
        weight[2] = 5.0 * DISSIPATION;
    if (at <= 2)
        weight[0] = 0.0;
    if (at == 1)
        weight[1] = 0.0;
    if (at >= LAST - 2)
        weight[4] = 0.0;
    if (at == LAST - 1)
        weight[3] = 0.0;
}

ALWAYS_INLINE int clamp(int at)
{
    return at < 0 ? 0 : at > LAST ? LAST : at;
}

/* out -= dissipation along x. */
ALWAYS_INLINE void add_dissipation_in_row(const struct row *restrict u, struct row *restrict out)
{
    for (int m = 0; m < COMPONENTS; m++) {
        const double *restrict v = u->at[m];

        for (int i = 3; i < LAST - 2; i++)
            out->at[m][i] -= DISSIPATION * ((v[i - 2] + v[i + 2]) - 4.0 * (v[i - 1] + v[i + 1]) + 6.0 * v[i]);
    }
    for (int n = 0; n < 4; n++) {
        const int i = n < 2 ? 1 + n : LAST - 4 + n;
        double weight[5];

        dissipation_weights(i, weight);
        for (int m = 0; m < COMPONENTS; m++)
            for (int d = 0; d < 5; d++)
                out->at[m][i] -= weight[d] * u->at[m][clamp(i + d - 2)];
    }
}

/* out -= dissipation along an axis on which the row is point `at` and `u` are the rows at - 2 .. at + 2. */
ALWAYS_INLINE void add_dissipation_across(int at, const struct row *const u[5], struct row *restrict out)
{
    double weight[5];

    dissipation_weights(at, weight);
    for (int m = 0; m < COMPONENTS; m++) {
        const double *restrict a = u[0]->at[m], *restrict b = u[1]->at[m], *restrict c = u[2]->at[m];
        const double *restrict d = u[3]->at[m], *restrict e = u[4]->at[m];

        for (int i = 1; i < LAST; i++)
            out->at[m][i] -=
                weight[0] * a[i] + weight[1] * b[i] + weight[2] * c[i] + weight[3] * d[i] + weight[4] * e[i];
    }
}

/* The primitives that are needed while the rows of a plane are visited in order. */
struct window {
    struct row ring[3]; /* rows j - 1, j, j + 1, each at its number modulo 3 */
    struct row front, back;
};

/* To be called in front of row 1 of plane `k`. */
ALWAYS_INLINE void window_open(struct window *window, const struct row *u, int k)
{
    primitives_of_row(const_row(u, k, 0), &window->ring[0]);
    primitives_of_row(const_row(u, k, 1), &window->ring[1]);
}

/* out += the operator applied to `u` in row `j` of plane `k`; rows have to come one after the other, from 1. */
ALWAYS_INLINE void add_transport(struct window *window, const struct row *u, int k, int j,
                                 struct row *restrict out)
{
    const struct row *here = const_row(u, k, j), *row_primitives = &window->ring[j % 3];
    const struct view view = view_of(here, row_primitives, 0);
    const struct row *along_y[5], *along_z[5];

    primitives_of_row(const_row(u, k, j + 1), &window->ring[(j + 1) % 3]);
    primitives_of_row(const_row(u, k - 1, j), &window->front);
    primitives_of_row(const_row(u, k + 1, j), &window->back);
    add_fluxes(0, view_of(here, row_primitives, -1), view, view_of(here, row_primitives, 1), out);
    add_fluxes(1, view_of(const_row(u, k, j - 1), &window->ring[(j + 2) % 3], 0), view,
               view_of(const_row(u, k, j + 1), &window->ring[(j + 1) % 3], 0), out);
    add_fluxes(2, view_of(const_row(u, k - 1, j), &window->front, 0), view,
               view_of(const_row(u, k + 1, j), &window->back, 0), out);
    for (int d = 0; d < 5; d++) {
        along_y[d] = const_row(u, k, clamp(j + d - 2));
        along_z[d] = const_row(u, clamp(k + d - 2), j);
    }
    add_dissipation_in_row(here, out);
    add_dissipation_across(j, along_y, out);
    add_dissipation_across(k, along_z, out);
}

/* out = what the operator and the forcing leave in row `j`. */
ALWAYS_INLINE void residual_row(struct window *window, const struct row *u, const struct row *forcing, int k, int j,
                                struct row *restrict out)
{
    *out = *const_row(forcing, k, j);
    add_transport(window, u, k, j, out);
}

#endif
