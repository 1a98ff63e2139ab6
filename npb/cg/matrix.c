/*
 * The matrix of CG: sum over i of w_i x_i x_i^T, plus (RCOND - SHIFT) on the diagonal (RNR-94-007, section 2.2.2).
 * The x_i are sparse random vectors with x_i[i] = 1/2, the weights w_i fall geometrically from 1 to RCOND.
 *
 * Each thread fills the rows of its span. The random vectors are one sequence with rejections, so a thread has to
 * run through the numbers of its predecessors, but it keeps only its own vectors; the team then shares them.
 */
#include "matrix.h"

#include "random.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

double matrix_value[MAX_NONZEROS];
int matrix_column[MAX_NONZEROS];
int matrix_row[ROWS + 1];

/* The random vectors: how many entries each has, where, and what. */
static int vector_length[ROWS];
static int vector_index[ROWS][VECTOR_ENTRIES];
static double vector_entry[ROWS][VECTOR_ENTRIES];

/* How many elements each thread's rows have in the end. */
static int *elements_of;

/* Rows under construction, private to a thread. Row r of the span occupies start[r] .. start[r] + length[r]. */
struct draft {
    struct span rows;
    int *start;
    int *length;
    int *column;
    double *value;
};

static bool contains(const int *list, int length, int wanted)
{
    for (int i = 0; i < length; i++)
        if (list[i] == wanted)
            return true;
    return false;
}

/* Draws the next vector: entries in (0, 1) at distinct random places. Returns the random state after it. */
static uint64_t draw_vector(uint64_t state, int bits, int *index, double *entry)
{
    for (int found = 0; found < VECTOR_NONZEROS;) {
        const uint64_t value = random_next(state);
        state = random_next(value);
        const int place = (int)(state >> (RANDOM_BITS - bits));

        if (place >= ROWS || contains(index, found, place))
            continue;
        index[found] = place;
        entry[found] = random_unit(value);
        found++;
    }
    return state;
}

/* Sets the entry at `place` to 1/2, as the last one if it is new. Returns the number of entries. */
static int set_diagonal(int place, int *index, double *entry)
{
    for (int k = 0; k < VECTOR_NONZEROS; k++) {
        if (index[k] == place) {
            entry[k] = 0.5;
            return VECTOR_NONZEROS;
        }
    }
    index[VECTOR_NONZEROS] = place;
    entry[VECTOR_NONZEROS] = 0.5;
    return VECTOR_NONZEROS + 1;
}

static void draw_vectors(struct span own)
{
    uint64_t state = random_next(RANDOM_SEED); /* the sequence's first number is not used */
    int bits = 1;

    while ((1 << bits) < ROWS)
        bits++;
    for (int i = 0; i < own.hi; i++) {
        int index[VECTOR_ENTRIES];
        double entry[VECTOR_ENTRIES];

        state = draw_vector(state, bits, index, entry);
        if (i < own.lo)
            continue;
        const int length = set_diagonal(i, index, entry);
        vector_length[i] = length;
        for (int k = 0; k < length; k++) {
            vector_index[i][k] = index[k];
            vector_entry[i][k] = entry[k];
        }
    }
}

/* Reserves space for every product that falls into the span's rows. */
static void reserve(struct draft *draft)
{
    const struct span rows = draft->rows;
    const int count = rows.hi - rows.lo;
    int *start = allocate((size_t)count + 1, sizeof *start);
    int *length = allocate((size_t)count + 1, sizeof *length);

    for (int r = 0; r < count; r++)
        length[r] = 0;
    for (int i = 0; i < ROWS; i++) {
        const int entries = vector_length[i];
        for (int k = 0; k < entries; k++) {
            const int row = vector_index[i][k];
            if (row >= rows.lo && row < rows.hi)
                length[row - rows.lo] += entries;
        }
    }
    start[0] = 0;
    for (int r = 0; r < count; r++) {
        start[r + 1] = start[r] + length[r];
        length[r] = 0;
    }
    draft->start = start;
    draft->length = length;
    draft->column = allocate((size_t)start[count] + 1, sizeof(int));
    draft->value = allocate((size_t)start[count] + 1, sizeof(double));
}

/* Appends the span's part of every outer product, in the order of the vectors. */
static void collect_products(const struct draft *draft)
{
    const struct span rows = draft->rows;
    const int *start = draft->start;
    int *length = draft->length, *column = draft->column;
    double *value = draft->value;
    const double ratio = pow(RCOND, 1.0 / ROWS);
    double weight = 1.0;

    for (int i = 0; i < ROWS; i++, weight *= ratio) {
        const int entries = vector_length[i];
        for (int k = 0; k < entries; k++) {
            const int row = vector_index[i][k];
            if (row < rows.lo || row >= rows.hi)
                continue;
            const double scale = weight * vector_entry[i][k];
            const int end = start[row - rows.lo] + length[row - rows.lo];
            for (int l = 0; l < entries; l++) {
                const int col = vector_index[i][l];
                const double shift = row == i && col == i ? RCOND - SHIFT : 0.0;
                column[end + l] = col;
                value[end + l] = vector_entry[i][l] * scale + shift;
            }
            length[row - rows.lo] += entries;
        }
    }
}

/* Shell's sort, with gaps for the few hundred columns that a row has at most. */
static void sort_ascending(int *list, int length)
{
    static const int gaps[] = {57, 23, 10, 4, 1};

    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        const int gap = gaps[g];
        for (int i = gap; i < length; i++) {
            const int item = list[i];
            int k = i;
            for (; k >= gap && list[k - gap] > item; k -= gap)
                list[k] = list[k - gap];
            list[k] = item;
        }
    }
}

/* Sums the duplicates of each row, in the order they came, and leaves its columns ascending. */
static void sum_duplicates(const struct draft *draft)
{
    double *sum = allocate(ROWS, sizeof *sum);
    bool *seen = allocate(ROWS, sizeof *seen);

    for (int col = 0; col < ROWS; col++) {
        sum[col] = 0.0;
        seen[col] = false;
    }
    for (int r = 0; r < draft->rows.hi - draft->rows.lo; r++) {
        int *column = draft->column + draft->start[r];
        double *value = draft->value + draft->start[r];
        int distinct = 0;

        for (int k = 0; k < draft->length[r]; k++) {
            const int col = column[k];
            sum[col] += value[k];
            if (!seen[col]) {
                seen[col] = true;
                column[distinct++] = col;
            }
        }
        sort_ascending(column, distinct);
        for (int k = 0; k < distinct; k++) {
            value[k] = sum[column[k]];
            sum[column[k]] = 0.0;
            seen[column[k]] = false;
        }
        draft->length[r] = distinct;
    }
    free(seen);
    free(sum);
}

/* Copies the finished rows to their place in the matrix. Needs to know how much the threads before have. */
static void publish(const struct draft *draft, struct member *self)
{
    const int count = draft->rows.hi - draft->rows.lo;
    int at = 0, elements = 0;

    for (int r = 0; r < count; r++)
        elements += draft->length[r];
    elements_of[self->rank] = elements;
#pragma omp barrier
    for (int t = 0; t < self->rank; t++)
        at += elements_of[t];
    for (int r = 0; r < count; r++) {
        const size_t length = (size_t)draft->length[r];
        matrix_row[draft->rows.lo + r] = at;
        memcpy(matrix_column + at, draft->column + draft->start[r], length * sizeof(int));
        memcpy(matrix_value + at, draft->value + draft->start[r], length * sizeof(double));
        at += draft->length[r];
    }
    if (self->rank == self->size - 1)
        matrix_row[ROWS] = at;
}

void matrix_build(struct member *self)
{
    struct draft draft = {.rows = team_span(self, ROWS)};

    draw_vectors(draft.rows);
    if (self->rank == 0)
        elements_of = allocate((size_t)self->size, sizeof *elements_of);
#pragma omp barrier
    reserve(&draft);
    collect_products(&draft);
    sum_duplicates(&draft);
    publish(&draft, self);
    free(draft.start);
    free(draft.length);
    free(draft.column);
    free(draft.value);
#pragma omp barrier
    if (self->rank == 0)
        free(elements_of);
}
