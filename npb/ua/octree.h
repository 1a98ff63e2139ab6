/*
 * The mesh as a linear octree (Sundar, Sampath and Biros, SIAM J. Sci. Comput. 30(5), 2008): only the leaves, in
 * Morton order. There are no links between elements; who lies where is found by binary search.
 *
 * A cell is a cube of the finest level, 0 .. EXTENT - 1 on each axis. A leaf's place is the Morton code of its
 * lowest cell. The mesh is balanced: leaves that share a face or an edge, or a part of one, differ by at most one
 * level. Leaves that share only a vertex may differ by more.
 */
#ifndef UA_OCTREE_H
#define UA_OCTREE_H

#include "params.h"
#include "team.h"

#include <stdbool.h>
#include <stdint.h>

struct leaf {
    uint32_t place;
    int32_t level;
};

/* Each member keeps its own copy; the leaves are shared. */
struct mesh {
    int count;
    struct leaf *leaf;
};

/* Cells, or points between them, by axis. */
struct triple {
    int at[3];
};

/* Where the source is; lengths as in the problem: the domain is the unit cube. */
struct centre {
    double at[3];
};

/* Edge of a leaf in cells. */
static inline int leaf_edge(struct leaf leaf)
{
    return EXTENT >> leaf.level;
}

/* Which child of its parent a leaf is: bits for the upper half on x, y and z. */
static inline int leaf_child(struct leaf leaf)
{
    return (int)(leaf.place >> (3 * (LEVELS - leaf.level))) & 7;
}

/* The lowest cell of a leaf. */
struct triple leaf_cell(struct leaf leaf);

/* Index of the leaf that contains a cell, -1 for one outside of the domain. */
int mesh_find(const struct mesh *mesh, struct triple cell);

/* Index of the leaf that contains the cell with this Morton code. */
int mesh_find_place(const struct mesh *mesh, uint32_t place);

/* Square of the distance of a leaf from a point. */
double leaf_distance(struct leaf leaf, struct centre centre);

/* The leaves that a member works on. */
struct span mesh_span(const struct member *self, const struct mesh *mesh);

/*
 * One round of refinement from `mesh` to `*next`, whose leaves go to memory of its own: leaves that the source
 * touches and are not of the finest level, and leaves that spoil the balance, become eight. Called by all members,
 * contains barriers. `marks` is scratch for MAX_ELEMENTS. Returns whether anything changed.
 */
bool mesh_refine(struct member *self, const struct mesh *mesh, struct mesh *next, struct centre source, int *marks);

/* One round of coarsening: eight children that the source does not touch become one if that keeps the balance. */
bool mesh_coarsen(struct member *self, const struct mesh *mesh, struct mesh *next, struct centre source, int *marks);

#endif
