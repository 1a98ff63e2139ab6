/*
 * One spectral element: a cube with the tensor product of NODES Gauss-Lobatto-Legendre points on each axis, and the
 * polynomials of degree NODES - 1 through them. Values are ordered with x fastest.
 */
#ifndef UA_ELEMENT_H
#define UA_ELEMENT_H

#include "octree.h"

#define NODES 5
#define FACE_NODES (NODES * NODES)
#define CUBE_NODES (NODES * NODES * NODES)
#define INNER_NODES 27 /* those on no face */

static inline int node_index(int i, int j, int k)
{
    return i + NODES * (j + NODES * k);
}

/* Copies the values on inner nodes out of those on all nodes. */
static inline void inner_take(const double *restrict all, double *restrict inner)
{
    for (int k = 1; k < NODES - 1; k++) {
        for (int j = 1; j < NODES - 1; j++) {
            for (int i = 1; i < NODES - 1; i++)
                *inner++ = all[node_index(i, j, k)];
        }
    }
}

/* all = factor * inner on inner nodes, node by node. */
static inline void inner_put(const double *restrict factor, const double *restrict inner, double *restrict all)
{
    for (int k = 1; k < NODES - 1; k++) {
        for (int j = 1; j < NODES - 1; j++) {
            for (int i = 1; i < NODES - 1; i++)
                all[node_index(i, j, k)] = *factor++ * *inner++;
        }
    }
}

/* Half the edge of an element: the derivative of its coordinates with respect to those of the reference element. */
static inline double half_edge(int level)
{
    return 0.5 / (double)(1 << level);
}

/*
 * w = (stiffness * K + mass * M) u, where K and M belong to the reference element [-1, 1]^3: K is the Laplacian in
 * weak form, M the diagonal mass matrix, both by Gauss-Lobatto quadrature.
 */
void element_operator(const double *restrict u, double *restrict w, double stiffness, double mass);

/* The operator of an implicit time step of diffusion in an element of `level`. */
static inline void element_diffusion(const double *restrict u, double *restrict w, int level)
{
    const double half = half_edge(level);

    element_operator(u, w, DIFFUSIVITY * half, half * half * half / TIME_STEP);
}

/* The weights of the nodes in integrals over the reference element: products of three. */
extern const double node_weights[CUBE_NODES];

/*
 * Rate of change by convection and the source over the step that starts at `time`, by the classical Runge-Kutta
 * method of fourth order; 0 on the faces that lie on the domain's boundary.
 */
void element_convection(struct leaf leaf, double time, const double *restrict u, double *restrict rate);

/* Where the centre of the source is at `time`. */
struct centre source_centre(double time);

/* Integral over an element of `level`. */
double element_integral(const double *u, int level);

/* The values of a parent on the nodes of one of its children. `parent` and `child` may be the same. */
void element_refine(const double *parent, int which, double *child);

/* Sets those values of a parent that come from one of its children. */
void element_coarsen(const double *child, int which, double *parent);

#endif
