/*
 * The passes of a time step. The benchmark's scheme.h says what a sweep solves:
 *
 *   scheme_row     what sweeps need to know of the points of a row
 *   scheme_knows   whether a sweep along an axis needs component m of that
 *   scheme_begin   what is done with a row's change before all sweeps
 *   scheme_sweep   solves for LANES lines along an axis
 *   scheme_end     adds a row's change after all sweeps to the unknowns
 */
#include "adi.h"

#include "lines.h"
#include "scheme.h"
#include "transport.h"

/* The change in plane `k` before the sweeps, and what the sweeps need to know of its points. */
ALWAYS_INLINE void explicit_plane(const struct row *u, const struct row *forcing, int k, struct slab *change,
                                  struct slab *known)
{
    struct window window;

    window_open(&window, u, k);
    scheme_row(const_row(u, k, 0), &window.ring[0], known->at[0]);
    for (int j = 1; j < LAST; j++) {
        struct row row;

        residual_row(&window, u, forcing, k, j, &row);
        for (int m = 0; m < COMPONENTS; m++)
            for (int i = 0; i < PITCH; i++)
                change->at[j][m][i] = TIME_STEP * row.at[m][i];
        scheme_row(const_row(u, k, j), &window.ring[j % 3], known->at[j]);
        scheme_begin(known->at[j], change->at[j]);
    }
    scheme_row(const_row(u, k, LAST), &window.ring[LAST % 3], known->at[LAST]);
}

ALWAYS_INLINE void sweep_along_rows(struct slab *change, const struct slab *known)
{
    struct bundle lines, given;

    for (int first = 1; first < LAST; first += LANES) {
        const int last = first + LANES < LAST ? first + LANES - 1 : LAST - 1;

        for (int m = 0; m < COMPONENTS; m++) {
            bundle_load(&lines, change, m, first, last);
            if (scheme_knows(0, m))
                bundle_load(&given, known, m, first, last);
        }
        scheme_sweep(0, &given.at[0][0][0], &lines.at[0][0][0], LANES);
        for (int m = 0; m < COMPONENTS; m++)
            bundle_store(&lines, change, m, first, last);
    }
}

ALWAYS_INLINE void sweep_across_rows(int axis, struct slab *change, const struct slab *known)
{
    for (int i = 0; i < PITCH; i += LANES)
        scheme_sweep(axis, &known->at[0][0][i], &change->at[0][0][i], SLAB_PITCH);
}

void adi_planes(const struct row *u, const struct row *forcing, struct row *change, struct span planes)
{
    struct slab mine, known;

    for (int k = planes.lo; k < planes.hi; k++) {
        explicit_plane(u, forcing, k, &mine, &known);
        sweep_along_rows(&mine, &known);
        sweep_across_rows(1, &mine, &known);
        for (int j = 1; j < LAST; j++) {
            struct row *restrict out = field_row(change, k, j);
            for (int m = 0; m < COMPONENTS; m++)
                for (int i = 0; i < PITCH; i++)
                    out->at[m][i] = mine.at[j][m][i];
        }
    }
}

void adi_rows(struct row *u, const struct row *change, struct span rows)
{
    struct slab mine, known;
    struct row primitive;

    for (int j = rows.lo; j < rows.hi; j++) {
        for (int k = 0; k < POINTS; k++) {
            const struct row *restrict in = const_row(change, k, j);

            primitives_of_row(const_row(u, k, j), &primitive);
            scheme_row(const_row(u, k, j), &primitive, known.at[k]);
            for (int m = 0; m < COMPONENTS && k > 0 && k < LAST; m++)
                for (int i = 0; i < PITCH; i++)
                    mine.at[k][m][i] = in->at[m][i];
        }
        sweep_across_rows(2, &mine, &known);
        for (int k = 1; k < LAST; k++)
            scheme_end(field_row(u, k, j), known.at[k], mine.at[k]);
    }
}
