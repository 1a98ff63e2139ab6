/*
 * The surface of an element and the mortars on it (Feng et al., J. Sci. Comput. 27, 2006).
 *
 * The temperature on the surface belongs to mortars: vertices with one value, edges with the three inner nodes'
 * values, and faces with nine. Where the neighbours are finer, an edge consists of two edge mortars with a vertex
 * mortar between them, and a face of four face mortars, four edge mortars and a vertex mortar. Such an edge or face
 * is called split. The edges of a split face are split as well.
 *
 * A mortar's centre is a point of the surface lattice: NODES points on each axis, a quarter of the element's edge
 * apart, numbered like nodes. Points with even coordinates are vertices or centres of whole edges and faces; the
 * others only carry a mortar where the surface is split.
 */
#ifndef UA_SURFACE_H
#define UA_SURFACE_H

#include "element.h"

#define CORNERS 8
#define EDGES 12
#define FACES 6

/* Which edges and faces of an element are split: bit e for an edge, bit EDGES + f for a face. */
typedef uint32_t shape_t;

static inline bool edge_split(shape_t shape, int edge)
{
    return shape >> edge & 1;
}

static inline bool face_split(shape_t shape, int face)
{
    return shape >> (EDGES + face) & 1;
}

/* A line of lattice points or nodes: the first one and the distance between two. */
struct line {
    int first;
    int stride;
};

/* A square of them: the stride on the lower axis, and on the higher one. */
struct square {
    int first;
    int stride;
    int pitch;
};

static inline int axis_stride(int axis)
{
    return axis == 0 ? 1 : axis == 1 ? NODES : FACE_NODES;
}

/* Corner number: a bit for the upper side of each axis. */
static inline int corner_point(int corner)
{
    return node_index((corner & 1) * (NODES - 1), (corner >> 1 & 1) * (NODES - 1), (corner >> 2) * (NODES - 1));
}

/* Edge 4 a + b + 2 c is parallel to axis a, on side b of the lower and side c of the higher other axis. */
static inline struct line edge_line(int edge)
{
    const int axis = edge / 4, low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;

    return (struct line){(NODES - 1) * ((edge & 1) * axis_stride(low) + (edge >> 1 & 1) * axis_stride(high)),
                         axis_stride(axis)};
}

/* Face 2 a + b is normal to axis a, on side b. */
static inline struct square face_square(int face)
{
    const int axis = face / 2, low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;

    return (struct square){(NODES - 1) * (face & 1) * axis_stride(axis), axis_stride(low), axis_stride(high)};
}

/* The two faces that meet in an edge. */
static inline int edge_face(int edge, int which)
{
    const int axis = edge / 4, low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;

    return which == 0 ? 2 * low + (edge & 1) : 2 * high + (edge >> 1 & 1);
}

/* The edge parallel to `axis` that ends in a corner. */
static inline int corner_edge(int corner, int axis)
{
    const int low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;

    return 4 * axis + (corner >> low & 1) + 2 * (corner >> high & 1);
}

/* A mortar as an element sees it. */
struct mortar_kind {
    int point;     /* its centre in the lattice */
    int dimension; /* 0 vertex, 1 edge, 2 face */
    bool part;     /* a part of a split edge or face, vertices excepted */
};

#define MAX_MORTARS 98 /* an element has 98 lattice points on its surface */

#define MORTAR_VALUES ((NODES - 2) * (NODES - 2)) /* at most: those of a face */

static inline int mortar_values(int dimension)
{
    return dimension == 0 ? 1 : dimension == 1 ? NODES - 2 : MORTAR_VALUES;
}

/* The mortars of an element: `list` has space for MAX_MORTARS. Returns how many there are. */
int surface_mortars(shape_t shape, struct mortar_kind *list);

/* Values of an element's mortars, at most. */
#define BLOCK_VALUES 386

/*
 * Sets the surface nodes of `u` from the mortars: values of the mortar centred on point p begin at m[index[p]].
 * Vertices are copied, whole edges and faces too. On split ones the values are the L2 projection of what the mortars
 * hold, with the test functions of degree NODES - 3 and with the vertices fixed.
 */
void surface_expand(shape_t shape, const int *index, const double *m, double *u);

/*
 * The transpose: the element's contribution to each of its mortars, from the surface nodes of `w`. That to the mortar
 * centred on point p begins at m[slot[p]].
 */
void surface_collect(shape_t shape, const int *slot, const double *w, double *m);

/* The diagonal of element_diffusion as the mortars see it: what the element contributes to each mortar's entry. */
void diagonal_prepare(void);
void diagonal_collect(shape_t shape, const int *slot, int level, double *m);

/* The inverse of the diagonal at the inner nodes of an element. */
void diagonal_invert_inner(int level, double inverse[INNER_NODES]);

#endif
