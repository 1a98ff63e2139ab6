/*
 * The operators of MG (RNR-94-007, section 2.2.3), row by row.
 *
 * The 27-point sums are built from two rows of partial sums, which neighbouring points share: over the four rows
 * that are face neighbours within the cross-section, and over the four at its corners.
 */
#include "grid.h"

#include <string.h>

/* Sums over the four nearest rows around row (k, j), and over the four diagonal ones; ghosts included. */
static inline void cross_sums(struct grid g, int k, int j, double *restrict near, double *restrict diagonal)
{
    const double *restrict below = grid_row(g, k, j - 1), *restrict above = grid_row(g, k, j + 1);
    const double *restrict front = grid_row(g, k - 1, j), *restrict back = grid_row(g, k + 1, j);
    const double *restrict front_below = grid_row(g, k - 1, j - 1), *restrict front_above = grid_row(g, k - 1, j + 1);
    const double *restrict back_below = grid_row(g, k + 1, j - 1), *restrict back_above = grid_row(g, k + 1, j + 1);
    const int points = g.n + 2;

    for (int i = 0; i < points; i++) {
        near[i] = below[i] + above[i] + front[i] + back[i];
        diagonal[i] = front_below[i] + front_above[i] + back_below[i] + back_above[i];
    }
}

static inline void close_row(double *row, int n)
{
    row[0] = row[n];
    row[n + 1] = row[1];
}

/* The ghost rows of plane k, and the ghost plane that repeats it, if it is the first or the last one. */
static inline void close_plane(struct grid g, int k)
{
    const size_t row_bytes = (size_t)(g.n + 2) * sizeof(double), plane_bytes = plane_points(g.n) * sizeof(double);

    memcpy(grid_row(g, k, 0), grid_row(g, k, g.n), row_bytes);
    memcpy(grid_row(g, k, g.n + 1), grid_row(g, k, 1), row_bytes);
    if (k == 1)
        memcpy(grid_row(g, g.n + 1, 0), grid_row(g, k, 0), plane_bytes);
    if (k == g.n)
        memcpy(grid_row(g, 0, 0), grid_row(g, k, 0), plane_bytes);
}

void grid_zero(struct grid grid, struct span planes)
{
    const int first = planes.lo == 1 ? 0 : planes.lo, past = planes.hi == grid.n + 1 ? grid.n + 2 : planes.hi;
    double *restrict point = grid_row(grid, first, 0);
    const size_t count = planes.lo < planes.hi ? (size_t)(past - first) * plane_points(grid.n) : 0;

    for (size_t i = 0; i < count; i++)
        point[i] = 0.0;
}

void grid_residual(struct grid u, struct grid v, struct grid r, struct span planes)
{
    const int n = u.n;
    double near[MAX_ROW], diagonal[MAX_ROW];

    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 1; j <= n; j++) {
            const double *centre = grid_row(u, k, j), *right = grid_row(v, k, j);
            double *out = grid_row(r, k, j);

            cross_sums(u, k, j, near, diagonal);
#pragma omp simd
            for (int i = 1; i <= n; i++)
                out[i] = right[i] - A_CENTRE * centre[i] - A_EDGE * (diagonal[i] + near[i - 1] + near[i + 1]) -
                         A_CORNER * (diagonal[i - 1] + diagonal[i + 1]);
            close_row(out, n);
        }
        close_plane(r, k);
    }
}

void grid_smooth(struct grid r, struct grid u, struct span planes)
{
    const int n = u.n;
    double near[MAX_ROW], diagonal[MAX_ROW];

    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 1; j <= n; j++) {
            const double *restrict centre = grid_row(r, k, j);
            double *restrict out = grid_row(u, k, j);

            cross_sums(r, k, j, near, diagonal);
            for (int i = 1; i <= n; i++)
                out[i] += S_CENTRE * centre[i] + S_FACE * (centre[i - 1] + centre[i + 1] + near[i]) +
                          S_EDGE * (diagonal[i] + near[i - 1] + near[i + 1]);
            close_row(out, n);
        }
        close_plane(u, k);
    }
}

void grid_restrict(struct grid fine, struct grid coarse, struct span planes)
{
    const int n = coarse.n;
    double near[MAX_ROW], diagonal[MAX_ROW];

    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 1; j <= n; j++) {
            const double *restrict centre = grid_row(fine, 2 * k, 2 * j);
            double *restrict out = grid_row(coarse, k, j);

            cross_sums(fine, 2 * k, 2 * j, near, diagonal);
            for (int i = 1; i <= n; i++)
                out[i] = 0.5 * centre[2 * i] + 0.25 * (centre[2 * i - 1] + centre[2 * i + 1] + near[2 * i]) +
                         0.125 * (near[2 * i - 1] + near[2 * i + 1] + diagonal[2 * i]) +
                         0.0625 * (diagonal[2 * i - 1] + diagonal[2 * i + 1]);
            close_row(out, n);
        }
        close_plane(coarse, k);
    }
}

/*
 * Coarse rows interpolated to row j of fine plane k. Even fine indices coincide with a coarse one, odd ones lie
 * halfway between two: 1, 2 or 4 coarse rows contribute.
 */
static inline void mean_row(struct grid coarse, int k, int j, double *restrict mean)
{
    const int points = coarse.n + 1;
    const double *restrict a = grid_row(coarse, k / 2, j / 2);

    if (k % 2 == 0 && j % 2 == 0) {
        for (int i = 0; i < points; i++)
            mean[i] = a[i];
    } else if (k % 2 == 0 || j % 2 == 0) {
        const double *restrict b = grid_row(coarse, (k + 1) / 2, (j + 1) / 2);
        for (int i = 0; i < points; i++)
            mean[i] = 0.5 * (a[i] + b[i]);
    } else {
        const double *restrict b = grid_row(coarse, k / 2, j / 2 + 1);
        const double *restrict c = grid_row(coarse, k / 2 + 1, j / 2);
        const double *restrict d = grid_row(coarse, k / 2 + 1, j / 2 + 1);
        for (int i = 0; i < points; i++)
            mean[i] = 0.25 * ((a[i] + b[i]) + (c[i] + d[i]));
    }
}

void grid_correct(struct grid coarse, struct grid fine, struct span planes)
{
    double mean[MAX_ROW];

    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 1; j <= fine.n; j++) {
            double *restrict out = grid_row(fine, k, j);

            mean_row(coarse, k, j, mean);
            for (int i = 0; i < coarse.n; i++) {
                out[2 * i + 1] += 0.5 * (mean[i] + mean[i + 1]);
                out[2 * i + 2] += mean[i + 1];
            }
            close_row(out, fine.n);
        }
        close_plane(fine, k);
    }
}

void grid_interpolate(struct grid coarse, struct grid fine, struct span planes)
{
    double mean[MAX_ROW];

    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 1; j <= fine.n; j++) {
            double *restrict out = grid_row(fine, k, j);

            mean_row(coarse, k, j, mean);
            for (int i = 0; i < coarse.n; i++) {
                out[2 * i + 1] = 0.5 * (mean[i] + mean[i + 1]);
                out[2 * i + 2] = mean[i + 1];
            }
            close_row(out, fine.n);
        }
        close_plane(fine, k);
    }
}

double grid_square_sum(struct grid grid, struct span planes)
{
    double sum = 0.0;

    for (int k = planes.lo; k < planes.hi; k++) {
        for (int j = 1; j <= grid.n; j++) {
            const double *restrict row = grid_row(grid, k, j);
#pragma omp simd reduction(+ : sum)
            for (int i = 1; i <= grid.n; i++)
                sum += row[i] * row[i];
        }
    }
    return sum;
}
