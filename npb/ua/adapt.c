/* The rounds of an adaptation, and the transfer of the temperature between two meshes. */
#include "adapt.h"

#include <string.h>

struct buffers buffers_allocate(void)
{
    struct buffers buffers = {.marks = allocate(MAX_ELEMENTS, sizeof(int))};

    for (int n = 0; n < 3; n++)
        buffers.leaf[n] = allocate(MAX_ELEMENTS, sizeof(struct leaf));
    for (int n = 0; n < 2; n++)
        buffers.field[n] = allocate(MAX_ELEMENTS, FIELD_STRIDE * sizeof(double));
    return buffers;
}

struct state state_start(const struct member *self, const struct buffers *buffers)
{
    if (self->rank == 0) {
        buffers->leaf[0][0] = (struct leaf){0, 0};
        memset(buffers->field[0], 0, CUBE_NODES * sizeof(double));
    }
#pragma omp barrier
    return (struct state){{1, buffers->leaf[0]}, buffers->field[0]};
}

/* The temperature on the nodes of a leaf of a coarser or equal level than the old mesh has there. */
static void collect_children(const struct state *old, struct leaf leaf, double *values)
{
    const int found = mesh_find_place(&old->mesh, leaf.place);
    double child[CUBE_NODES];

    if (old->mesh.leaf[found].level == leaf.level) {
        memcpy(values, old->field + (size_t)found * FIELD_STRIDE, CUBE_NODES * sizeof *values);
        return;
    }
    for (uint32_t which = 0; which < 8; which++) {
        const uint32_t offset = which << (3 * (LEVELS - leaf.level - 1));
        collect_children(old, (struct leaf){leaf.place + offset, leaf.level + 1}, child);
        element_coarsen(child, (int)which, values);
    }
}

/* The temperature on the nodes of a leaf of the new mesh. */
static void transfer(const struct state *old, struct leaf leaf, double *values)
{
    const int found = mesh_find_place(&old->mesh, leaf.place);

    if (old->mesh.leaf[found].level >= leaf.level) {
        collect_children(old, leaf, values);
        return;
    }
    memcpy(values, old->field + (size_t)found * FIELD_STRIDE, CUBE_NODES * sizeof *values);
    for (int level = old->mesh.leaf[found].level + 1; level <= leaf.level; level++)
        element_refine(values, leaf_child((struct leaf){leaf.place, level}), values);
}

/* Leaves of neither of two meshes. */
static struct leaf *spare(const struct buffers *buffers, const struct mesh *one, const struct mesh *other)
{
    int n = 0;

    while (buffers->leaf[n] == one->leaf || buffers->leaf[n] == other->leaf)
        n++;
    return buffers->leaf[n];
}

bool adapt(struct member *self, const struct buffers *buffers, struct state *state, struct centre source)
{
    struct mesh mesh = state->mesh, next = {0, spare(buffers, &mesh, &mesh)};
    bool changed = false;

    while (mesh_refine(self, &mesh, &next, source, buffers->marks)) {
        mesh = next;
        next.leaf = spare(buffers, &state->mesh, &mesh);
        changed = true;
    }
    while (mesh_coarsen(self, &mesh, &next, source, buffers->marks)) {
        mesh = next;
        next.leaf = spare(buffers, &state->mesh, &mesh);
        changed = true;
    }
    if (!changed)
        return false;
    struct state fresh = {mesh, state->field == buffers->field[0] ? buffers->field[1] : buffers->field[0]};
    const struct span mine = mesh_span(self, &mesh);
    for (int e = mine.lo; e < mine.hi; e++)
        transfer(state, mesh.leaf[e], fresh.field + (size_t)e * FIELD_STRIDE);
#pragma omp barrier
    *state = fresh;
    return true;
}
