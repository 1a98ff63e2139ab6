// Pointers that loops advance as integers: by rows, back and forth, under conditions, from one array into another, and with steps of pointers between.
#include "mix.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 96, PITCH = 112 };

static double a[N * PITCH], b[N * PITCH], c[N * PITCH];

// The inner loop walks by the element, the outer one goes back by what it has walked and on by a row.
__attribute__((noinline)) static void multiply(double *to, double *left, double *right, unsigned n, unsigned pitch) {
    uintptr_t row = (uintptr_t)pitch * sizeof(double), width = (uintptr_t)n * sizeof(double);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j += 4) {
            double *column = right + j;
            double s0 = to[0], s1 = to[1], s2 = to[2], s3 = to[3];
            for (unsigned k = 0; k < n; k++) {
                double x = *left++;
                s0 += x * column[0];
                s1 += x * column[1];
                s2 += x * column[2];
                s3 += x * column[3];
                column = (double *)((uintptr_t)column + row);
            }
            left = (double *)((uintptr_t)left - width);
            to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3;
            to += 4;
        }
        left = (double *)((uintptr_t)left + row);
        to = (double *)((uintptr_t)to + (row - width));
    }
}

// Down, by a stride of the caller's.
__attribute__((noinline)) static double down(double *last, long count, intptr_t stride) {
    double sum = 0;
    for (double *p = last; count > 0; count--) {
        sum = sum / 2 + *p;
        p = (double *)((intptr_t)p - stride);
    }
    return sum;
}

// The distance is that to another object, and changes.
__attribute__((noinline)) static double across(double *from, double *to, int steps) {
    double sum = 0;
    double *p = from;
    uintptr_t there = (uintptr_t)to - (uintptr_t)from;
    for (int i = 0; i < steps; i++) {
        sum += *p * (i + 1);
        *p += 1;
        p = (double *)((uintptr_t)p + (i % 2 ? (uintptr_t)0 - there + sizeof(double) : there));
    }
    return sum;
}

// A pointer that is sometimes rounded up, and sometimes walks.
__attribute__((noinline)) static double rounded(char *at, char *end) {
    double sum = 0;
    while (at < end) {
        switch (*at & 3) {
        case 0: at = (char *)(((uintptr_t)at + 64) & ~(uintptr_t)63); break;
        case 1:
        case 2: at += 3; break;
        default: at = (char *)((uintptr_t)at + 5);
        }
        if (at < end) sum += *at;
    }
    return sum;
}

struct node {
    double value;
    intptr_t next;
};

// A list whose links are distances.
__attribute__((noinline)) static double chain(struct node *node) {
    double sum = 0;
    for (;;) {
        sum = sum * 0.75 + node->value;
        if (!node->next) return sum;
        node = (struct node *)((uintptr_t)node + node->next);
    }
}

int main(void) {
    struct node *nodes = malloc(257 * sizeof *nodes);
    char *text = aligned_alloc(64, 8192);
    double sums[6] = {0};
#pragma omp parallel
    {
#pragma omp for schedule(static, 7)
        for (int i = 0; i < N * PITCH; i++) a[i] = i % 13 - 6, b[i] = i % 7 - 3, c[i] = i % 5;
#pragma omp for schedule(dynamic, 5)
        for (int i = 0; i < 257; i++) {
            nodes[i].value = i;
            // 93 generates the additive group: the list comes to each node, the last is that in front of the first.
            nodes[i].next = i == 257 - 93 ? 0 : (intptr_t)sizeof *nodes * ((i + 93) % 257 - i);
        }
#pragma omp for
        for (int i = 0; i < 8192; i++) text[i] = (char)(i * 31 % 127);
#pragma omp for
        for (int block = 0; block < N / 16; block++) multiply(c + block * 16 * PITCH, a + block * 16 * PITCH, b, 16, PITCH);
#pragma omp sections
        {
#pragma omp section
            sums[0] = down(c + (N - 1) * PITCH, N, PITCH * (intptr_t)sizeof(double));
#pragma omp section
            sums[1] = across(a, b, 200);
#pragma omp section
            sums[2] = rounded(text, text + 8192);
        }
#pragma omp single
        sums[3] = chain(nodes);
#pragma omp for
        for (int block = 0; block < N / 16; block++) multiply(c + block * 16, b, a + block * 16, 16, PITCH);
    }
    for (int i = 0; i < N * PITCH; i++) sums[4] += c[i] * (i % 11);
    for (int i = 0; i < N * PITCH; i++) sums[5] += a[i] + 2 * b[i];
    for (int i = 0; i < 6; i++) printf("%.6f\n", sums[i]);
    free(nodes);
    free(text);
    return 0;
}
