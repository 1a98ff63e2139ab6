/* The exact solution, initial values and errors (RNR-94-007, section 3). Nothing here is timed. */
#include "field.h"

#include <stdbool.h>

/* A component of the exact solution: a constant and a polynomial without one for each axis, powers from 1 to 4. */
struct polynomial {
    double constant;
    double power[AXES][4];
};

static const struct polynomial EXACT[COMPONENTS] = {
    {2.0, {{0.0, 5.0, 0.02, 0.5}, {0.0, 3.0, 0.01, 0.4}, {4.0, 0.5, 0.03, 0.3}}},
    {1.0, {{0.0, 1.0, 0.01, 0.4}, {0.0, 2.0, 0.03, 0.3}, {0.0, 3.0, 0.02, 0.5}}},
    {2.0, {{2.0, 0.0, 0.04, 0.3}, {0.0, 2.0, 0.03, 0.5}, {0.0, 3.0, 0.05, 0.4}}},
    {2.0, {{2.0, 0.0, 0.03, 0.2}, {0.0, 2.0, 0.05, 0.1}, {0.0, 3.0, 0.04, 0.3}}},
    {5.0, {{4.0, 0.1, 0.05, 0.1}, {3.0, 0.4, 0.04, 0.3}, {2.0, 0.3, 0.03, 0.2}}},
};

void exact_solution(double xi, double eta, double zeta, double u[COMPONENTS])
{
    const double at[AXES] = {xi, eta, zeta};

    for (int m = 0; m < COMPONENTS; m++) {
        u[m] = EXACT[m].constant;
        for (int axis = 0; axis < AXES; axis++) {
            const double *power = EXACT[m].power[axis], x = at[axis];
            u[m] += x * (power[0] + x * (power[1] + x * (power[2] + x * power[3])));
        }
    }
}

/* The coordinate of a point of a row; the padding repeats the last point. */
static double coordinate(int i)
{
    return (double)(i < LAST ? i : LAST) / LAST;
}

static bool on_face(int i)
{
    return i == 0 || i >= LAST;
}

/*
 * Transfinite interpolation: between opposite faces linearly, and of the three values p, q, r for the axes
 * p + q + r - pq - pr - qr + pqr.
 */
static void interpolate(const double at[AXES], double u[COMPONENTS])
{
    double mean[AXES][COMPONENTS];

    for (int axis = 0; axis < AXES; axis++) {
        double end[2][COMPONENTS];

        for (int e = 0; e < 2; e++) {
            double foot[AXES] = {at[0], at[1], at[2]};
            foot[axis] = e;
            exact_solution(foot[0], foot[1], foot[2], end[e]);
        }
        for (int m = 0; m < COMPONENTS; m++)
            mean[axis][m] = at[axis] * end[1][m] + (1.0 - at[axis]) * end[0][m];
    }
    for (int m = 0; m < COMPONENTS; m++) {
        const double p = mean[0][m], q = mean[1][m], r = mean[2][m];
        u[m] = p + q + r - p * q - p * r - q * r + p * q * r;
    }
}

void field_zero(struct row *field, struct span planes)
{
    for (int k = planes.lo; k < planes.hi; k++)
        for (int j = 0; j < POINTS; j++)
            *field_row(field, k, j) = (struct row){{{0.0}}};
}

/* Fills the planes: with the exact solution where `everywhere` or on a face, else between the faces. */
static void fill(struct row *u, struct span planes, bool everywhere)
{
    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 0; j < POINTS; j++) {
            struct row *row = field_row(u, k, j);

            for (int i = 0; i < PITCH; i++) {
                const double at[AXES] = {coordinate(i), coordinate(j), coordinate(k)};
                double value[COMPONENTS];

                if (everywhere || on_face(i) || on_face(j) || on_face(k))
                    exact_solution(at[0], at[1], at[2], value);
                else
                    interpolate(at, value);
                for (int m = 0; m < COMPONENTS; m++)
                    row->at[m][i] = value[m];
            }
        }
    }
}

void field_exact(struct row *u, struct span planes)
{
    fill(u, planes, true);
}

void field_initial(struct row *u, struct span planes)
{
    fill(u, planes, false);
}

void field_error(const struct row *u, struct span planes, double sum[COMPONENTS])
{
    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 0; j < POINTS; j++) {
            const struct row *row = const_row(u, k, j);

            for (int i = 0; i < POINTS; i++) {
                double exact[COMPONENTS];

                exact_solution(coordinate(i), coordinate(j), coordinate(k), exact);
                for (int m = 0; m < COMPONENTS; m++)
                    sum[m] += (row->at[m][i] - exact[m]) * (row->at[m][i] - exact[m]);
            }
        }
    }
}
