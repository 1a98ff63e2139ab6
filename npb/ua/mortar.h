/*
 * The mortars of the mesh: their numbers, and which elements contribute to each.
 *
 * An element carries a mortar that is one of its own vertices, edges or faces, undivided. A mortar belongs to the
 * first element in Morton order that carries it, and to the member that works on this element. The values of a
 * member's mortars are numbered consecutively, first those that elements of other members use.
 *
 * Sums over the elements around a mortar are gathered by the mortar's owner: an element writes what it contributes to
 * places of its own, and after a barrier the owner adds. Nobody adds to what another member adds to, so no value needs
 * a lock or an atomic update, and the order of the terms does not depend on the number of threads. Contributions to
 * mortars of other members lie together, apart from the rest. So what one member writes and another reads is dense,
 * both ways, and all other memory of an iteration is used by one thread alone.
 */
#ifndef UA_MORTAR_H
#define UA_MORTAR_H

#include "surface.h"

/* Mortars that an element can own, and their values. */
#define OWN_MORTARS 26
#define OWN_VALUES 98

/* Contributions to the mortars that an element can own: 8 for a vertex, 4 for an edge, 2 for a face. */
#define OWN_SOURCES 124

/* What the members share. Elements are numbered as in the mesh. */
struct mortars {
    shape_t *shape;           /* of each element */
    int (*index)[CUBE_NODES]; /* where the values of the mortar centred on a lattice point begin, by element */
    int (*slot)[CUBE_NODES];  /* where the element's contribution to it begins */
    double *contribution;
    int (*around)[64]; /* see mortar.c */
    struct gather *gather;
    int *source;
};

/* A mortar of a member, in the order of the values. */
struct gather {
    int first; /* its first value */
    int element;
    int16_t point; /* its centre in the element's lattice */
    int8_t dimension;
    int8_t sources; /* contributions: one for each element around it */
};

/* The mortars that one member owns; lives on its stack. */
struct share {
    struct span values;
    int count; /* of mortars */
    struct gather *gather;
    int *source; /* where the contributions begin, mortar by mortar */
};

struct mortars mortars_allocate(void);

/*
 * Numbers the mortars of a new mesh and finds the shapes of its elements. Called by all members; contains barriers,
 * and one at the end.
 */
struct share mortars_number(struct member *self, const struct mesh *mesh, const struct mortars *all);

/* sum[v] = total of the contributions to value v, for each value of the share. */
void mortars_gather(const struct share *share, const struct mortars *all, double *sum);

/* Whether a mortar of the share is on the domain's boundary. */
bool mortar_on_boundary(const struct mesh *mesh, const struct gather *mortar);

#endif
