/* Forcing and residual over the cube (RNR-94-007, section 3). Nothing here is timed. */
#include "field.h"

#include "transport.h"

void field_forcing(const struct row *u, struct row *forcing, struct span planes)
{
    for (int k = planes.lo; k < planes.hi; k++) {
        struct window window;

        window_open(&window, u, k);
        for (int j = 1; j < LAST; j++) {
            struct row sum = {{{0.0}}}, *out = field_row(forcing, k, j);

            add_transport(&window, u, k, j, &sum);
            for (int m = 0; m < COMPONENTS; m++)
                for (int i = 0; i < PITCH; i++)
                    out->at[m][i] = -sum.at[m][i];
        }
    }
}

void field_residual(const struct row *u, const struct row *forcing, struct span planes, double sum[COMPONENTS])
{
    for (int k = planes.lo; k < planes.hi; k++) {
        struct window window;

        window_open(&window, u, k);
        for (int j = 1; j < LAST; j++) {
            struct row left;

            residual_row(&window, u, forcing, k, j, &left);
            for (int m = 0; m < COMPONENTS; m++)
                for (int i = 1; i < LAST; i++)
                    sum[m] += left.at[m][i] * left.at[m][i];
        }
    }
}
