/* The sparse matrix of CG, in compressed rows. */
#ifndef CG_MATRIX_H
#define CG_MATRIX_H

#include "params.h"
#include "team.h"

extern double matrix_value[MAX_NONZEROS];
extern int matrix_column[MAX_NONZEROS];
extern int matrix_row[ROWS + 1]; /* where each row starts; the columns of a row ascend */

/* Builds the matrix. Every member of the team calls it and fills the rows of its own span. */
void matrix_build(struct member *self);

#endif
