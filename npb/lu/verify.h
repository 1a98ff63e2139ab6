/* Comparison of LU's results with the published ones. */
#ifndef LU_VERIFY_H
#define LU_VERIFY_H

#include "grid.h"

#include <stdbool.h>

struct results {
    struct vector residual; /* root mean squares */
    struct vector error;
    double surface_integral;
};

/* Prints the results beside the published ones. Returns whether all of them agree. */
bool results_agree(const struct results *results);

#endif
