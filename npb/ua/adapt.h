/* Adaptation of the mesh to the source's place, with the temperature moved to the new mesh. */
#ifndef UA_ADAPT_H
#define UA_ADAPT_H

#include "element.h"

/* Distance between elements in an array of their temperatures, so that a page holds a whole number of elements. */
#define FIELD_STRIDE 128

/* Memory for meshes and temperatures that an adaptation goes through; shared. */
struct buffers {
    struct leaf *leaf[3];
    double *field[2];
    int *marks;
};

/* The mesh and the temperature on its elements' nodes. Each member keeps its own copy; `leaf` and `field` are shared. */
struct state {
    struct mesh mesh;
    double *field;
};

struct buffers buffers_allocate(void);

/* A single element with temperature 0. Called by all members; contains a barrier. */
struct state state_start(const struct member *self, const struct buffers *buffers);

/*
 * Refines and coarsens the mesh of `*state` for a source at `source`, and replaces the state by that on the new mesh.
 * Called by all members; contains barriers, and one at the end. Returns whether the mesh changed.
 */
bool adapt(struct member *self, const struct buffers *buffers, struct state *state, struct centre source);

#endif
