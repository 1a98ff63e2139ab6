/* Products of CG for a span of rows; other files say who has which rows. */
#ifndef CG_ALGEBRA_H
#define CG_ALGEBRA_H

#include "matrix.h"

/* out = matrix * in, for the rows of the span. */
static inline void multiply(struct span rows, const double *restrict in, double *restrict out)
{
    for (int row = rows.lo; row < rows.hi; row++) {
        const int begin = matrix_row[row], end = matrix_row[row + 1];
        double sum = 0.0;

        for (int k = begin; k < end; k++)
            sum += matrix_value[k] * in[matrix_column[k]];
        out[row] = sum;
    }
}

/* The span's part of the scalar product. */
static inline double product(struct span rows, const double *a, const double *b)
{
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (int i = rows.lo; i < rows.hi; i++)
        sum += a[i] * b[i];
    return sum;
}

#endif
