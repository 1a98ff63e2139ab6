/* Places of leaves, search, and the rounds that change the mesh. */
#include "octree.h"

#include <stdio.h>
#include <stdlib.h>

/* Spreads the low ten bits: bit b goes to bit 3 b. */
static inline uint32_t spread(uint32_t bits)
{
    bits = (bits | bits << 16) & 0x030000ff;
    bits = (bits | bits << 8) & 0x0300f00f;
    bits = (bits | bits << 4) & 0x030c30c3;
    return (bits | bits << 2) & 0x09249249;
}

/* The inverse of `spread`. */
static inline int gather_bits(uint32_t bits)
{
    bits &= 0x09249249;
    bits = (bits | bits >> 2) & 0x030c30c3;
    bits = (bits | bits >> 4) & 0x0300f00f;
    bits = (bits | bits >> 8) & 0x030000ff;
    return (int)((bits | bits >> 16) & 0x3ff);
}

_Static_assert(LEVELS <= 10, "a place has ten bits for each axis");

struct triple leaf_cell(struct leaf leaf)
{
    return (struct triple){{gather_bits(leaf.place), gather_bits(leaf.place >> 1), gather_bits(leaf.place >> 2)}};
}

int mesh_find_place(const struct mesh *mesh, uint32_t place)
{
    const struct leaf *leaf = mesh->leaf;
    int first = 0;

    for (int count = mesh->count; count > 1;) { /* the answer is among `count` leaves from `first` on */
        const int half = count / 2;
        first = leaf[first + half].place <= place ? first + half : first;
        count -= half;
    }
    return first;
}

int mesh_find(const struct mesh *mesh, struct triple cell)
{
    uint32_t place = 0;

    for (int axis = 0; axis < 3; axis++) {
        if (cell.at[axis] < 0 || cell.at[axis] >= EXTENT)
            return -1;
        place |= spread((uint32_t)cell.at[axis]) << axis;
    }
    return mesh_find_place(mesh, place);
}

double leaf_distance(struct leaf leaf, struct centre centre)
{
    const struct triple cell = leaf_cell(leaf);
    double sum = 0.0;

    for (int axis = 0; axis < 3; axis++) {
        const double low = cell.at[axis] * UNIT, high = (cell.at[axis] + leaf_edge(leaf)) * UNIT;
        const double at = centre.at[axis];
        const double gap = at < low ? low - at : at > high ? at - high : 0.0;
        sum += gap * gap;
    }
    return sum;
}

static bool touched(struct leaf leaf, struct centre source)
{
    return leaf_distance(leaf, source) < RADIUS * RADIUS;
}

struct span mesh_span(const struct member *self, const struct mesh *mesh)
{
    return team_span(self, mesh->count);
}

/*
 * The leaf across a face or an edge of a child that lies in its parent's surface: there are three faces and three
 * edges of that kind, all at the child's outer corner. `way` has a bit for each axis along which to leave. The
 * result is the leaf next to the child's own lowest cell, or -1.
 */
static int outer_neighbour(const struct mesh *mesh, struct leaf leaf, int way)
{
    struct triple cell = leaf_cell(leaf);
    const int child = leaf_child(leaf);

    for (int axis = 0; axis < 3; axis++) {
        if (way >> axis & 1)
            cell.at[axis] += child >> axis & 1 ? leaf_edge(leaf) : -leaf_edge(leaf);
    }
    return mesh_find(mesh, cell);
}

/* The ways across the three outer faces and the three outer edges. */
static const int ways[] = {1, 2, 4, 3, 5, 6};
#define WAYS 6

/* Marks the neighbours of leaf `index` that are more than one level coarser. Several members may mark the same leaf. */
static void mark_coarse_neighbours(const struct mesh *mesh, int index, int *marks)
{
    const struct leaf leaf = mesh->leaf[index];

    if (leaf.level < 2)
        return;
    for (int w = 0; w < WAYS; w++) {
        const int other = outer_neighbour(mesh, leaf, ways[w]);
        if (other >= 0 && mesh->leaf[other].level < leaf.level - 1) {
#pragma omp atomic write
            marks[other] = 1;
        }
    }
}

/* Index of the member's first leaf in the next mesh, given how many it has there; sets that mesh's count. */
static int place_leaves(struct member *self, struct mesh *next, int count)
{
    long total;
    const long first = team_scan(self, count, &total);

    if (total > MAX_ELEMENTS) {
        fprintf(stderr, "UA: the mesh has %ld elements, there is space for %d\n", total, MAX_ELEMENTS);
        exit(2);
    }
    next->count = (int)total;
    return (int)first;
}

bool mesh_refine(struct member *self, const struct mesh *mesh, struct mesh *next, struct centre source, int *marks)
{
    const struct span mine = mesh_span(self, mesh);
    int count = 0;

    for (int i = mine.lo; i < mine.hi; i++)
        marks[i] = mesh->leaf[i].level < LEVELS && touched(mesh->leaf[i], source);
#pragma omp barrier
    for (int i = mine.lo; i < mine.hi; i++)
        mark_coarse_neighbours(mesh, i, marks);
#pragma omp barrier
    for (int i = mine.lo; i < mine.hi; i++)
        count += marks[i] ? 8 : 1;
    int to = place_leaves(self, next, count);
    for (int i = mine.lo; i < mine.hi; i++) {
        const struct leaf leaf = mesh->leaf[i];
        if (!marks[i]) {
            next->leaf[to++] = leaf;
            continue;
        }
        for (uint32_t child = 0; child < 8; child++)
            next->leaf[to++] =
                (struct leaf){leaf.place | child << (3 * (LEVELS - leaf.level - 1)), leaf.level + 1};
    }
#pragma omp barrier
    return next->count != mesh->count;
}

/* Whether a leaf across an outer face or edge of leaf `index` is finer than it. */
static bool has_finer_neighbour(const struct mesh *mesh, int index)
{
    for (int w = 0; w < WAYS; w++) {
        const int other = outer_neighbour(mesh, mesh->leaf[index], ways[w]);
        if (other >= 0 && mesh->leaf[other].level > mesh->leaf[index].level)
            return true;
    }
    return false;
}

/* Whether leaf `index` is the first of eight that can become one. */
static bool can_merge(const struct mesh *mesh, int index, struct centre source)
{
    const struct leaf first = mesh->leaf[index];

    if (first.level == 0 || leaf_child(first) != 0 || index + 7 >= mesh->count)
        return false;
    /* In Morton order only the last of eight siblings is at a distance of 7 and of the same level. */
    const struct leaf last = mesh->leaf[index + 7];
    if (last.level != first.level || last.place - first.place != 7u << (3 * (LEVELS - first.level)))
        return false;
    for (int i = index; i < index + 8; i++) {
        if (touched(mesh->leaf[i], source) || has_finer_neighbour(mesh, i))
            return false;
    }
    return true;
}

/* Whether leaf `index` is one of eight that become one and not the first of them. */
static bool vanishes(const struct mesh *mesh, int index, const int *marks)
{
    const int child = leaf_child(mesh->leaf[index]);

    return mesh->leaf[index].level > 0 && child > 0 && index >= child && marks[index - child];
}

bool mesh_coarsen(struct member *self, const struct mesh *mesh, struct mesh *next, struct centre source, int *marks)
{
    const struct span mine = mesh_span(self, mesh);
    int count = 0;

    for (int i = mine.lo; i < mine.hi; i++)
        marks[i] = can_merge(mesh, i, source);
#pragma omp barrier
    for (int i = mine.lo; i < mine.hi; i++)
        count += !vanishes(mesh, i, marks);
    int to = place_leaves(self, next, count);
    for (int i = mine.lo; i < mine.hi; i++) {
        const struct leaf leaf = mesh->leaf[i];
        if (!vanishes(mesh, i, marks))
            next->leaf[to++] = (struct leaf){leaf.place, leaf.level - marks[i]};
    }
#pragma omp barrier
    return next->count != mesh->count;
}
