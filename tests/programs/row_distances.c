// Rows whose ends are computed from their begins: lengths known at run time only, also of no or a negative number of elements, next to each other or apart, in 32 and 64 bits.
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 60000 };

static double values[ELEMENTS + 1000], sums[64];

// Both ends belong to the row.
__attribute__((noinline)) static void with_last(long rows, int length, int pitch, double add) {
#pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        long first = pitch * row, last = first + (length - 1);
        for (long i = first; i <= last; i++) values[i] += add;
    }
}

__attribute__((noinline)) static void with_end(int rows, int length, int pitch, double add) {
#pragma omp parallel for
    for (int row = 0; row < rows; row++) {
        int first = pitch * row, end = first + length;
        for (int i = first; i < end; i++) values[i] += add;
    }
}

// Rows of one element at least.
__attribute__((noinline)) static void at_least_one(long rows, long length, long pitch, double add) {
#pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        long i = pitch * row, end = i + length;
        do {
            values[i] += add;
        } while (++i < end);
    }
}

// Rows in front of their ends.
__attribute__((noinline)) static void with_begin(long rows, long length, long pitch, double add) {
#pragma omp parallel for
    for (long row = 1; row <= rows; row++) {
        long end = pitch * row;
        for (long i = end - length; i < end; i++) values[i] += add;
    }
}

// Rows are read through an index, as sparse matrices of rows of one length are.
__attribute__((noinline)) static double gathered(int rows, int length, const int *index) {
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int row = 0; row < rows; row++) {
        int first = length * row, end = first + length;
        double sum = 0;
        for (int k = first; k < end; k++) sum += values[index[k]];
        total += sum;
    }
    return total;
}

int main(void) {
    int *index = malloc(ELEMENTS * sizeof *index);
    for (int i = 0; i < ELEMENTS; i++) index[i] = (i * 7919L + 13) % ELEMENTS;
    const int shapes[][2] = {{20, 20}, {17, 20}, {0, 20}, {-5, 20}, {700, 1000}, {1, 1}, {3, 1000}, {20, 20}};
    for (unsigned k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        int length = shapes[k][0], pitch = shapes[k][1], rows = ELEMENTS / pitch;
        with_last(rows, length, pitch, k + 1);
        with_end(rows, length, pitch, 2 * k);
        with_begin(rows, length, pitch, .5);
        at_least_one(rows, length, pitch, 3);
        if (length > 0) sums[k] = gathered(ELEMENTS / length, length, index);
    }
    double total = 0;
    for (int i = 0; i < ELEMENTS; i++) total += values[i] * (i % 101);
    for (int k = 0; k < 8; k++) printf("%d %.1f\n", k, sums[k]);
    printf("%.1f\n", total);
    free(index);
    return 0;
}
