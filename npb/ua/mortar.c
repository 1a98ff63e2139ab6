/* Ownership of mortars, their numbers, and the lists for gathering. */
#include "mortar.h"

/*
 * around[e] names the leaves that touch element e from outside: for each of the 4 x 4 x 4 cubes of half its edge
 * that fill the element and surround it, the leaf that contains it, or -1 outside of the domain. Where a cube
 * touches e only in a corner there may be finer leaves in it; then it is the one in that corner.
 */
static inline int cube_number(int x, int y, int z)
{
    return (x + 1) + 4 * ((y + 1) + 4 * (z + 1));
}

/* The half-edge cubes -1 .. 2 next to lattice coordinate t: one, or two if t is on the border between them. */
static inline int cubes_at(int t, int cubes[2])
{
    cubes[0] = t % 2 != 0 ? (t - 1) / 2 : t / 2 - 1;
    cubes[1] = t / 2;
    return t % 2 != 0 ? 1 : 2;
}

static inline int lattice_coordinate(int point, int axis)
{
    return axis == 0 ? point % NODES : axis == 1 ? point / NODES % NODES : point / FACE_NODES;
}

/* The cell in a half-edge cube that is nearest to the element. */
static struct triple nearest_cell(struct leaf leaf, const int cube[3])
{
    struct triple cell = leaf_cell(leaf);
    const int edge = leaf_edge(leaf);

    for (int axis = 0; axis < 3; axis++)
        cell.at[axis] += cube[axis] < 0 ? -1 : cube[axis] > 1 ? edge : cube[axis] * edge / 2;
    return cell;
}

/* Fills in the cubes of the neighbour in the direction `way`, -1 .. 1 on each axis: all at once if it is one leaf. */
static void look_around(const struct mesh *mesh, int element, const int way[3], int *around)
{
    const struct leaf leaf = mesh->leaf[element];
    int low[3], high[3], found = -1;
    bool single = false;

    for (int axis = 0; axis < 3; axis++) {
        low[axis] = way[axis] < 0 ? -1 : way[axis] > 0 ? 2 : 0;
        high[axis] = way[axis] == 0 ? 1 : low[axis];
    }
    for (int z = low[2]; z <= high[2]; z++) {
        for (int y = low[1]; y <= high[1]; y++) {
            for (int x = low[0]; x <= high[0]; x++) {
                if (!single)
                    found = mesh_find(mesh, nearest_cell(leaf, (const int[]){x, y, z}));
                single = found < 0 || mesh->leaf[found].level <= leaf.level;
                around[cube_number(x, y, z)] = found;
            }
        }
    }
}

static void find_around(const struct mesh *mesh, int element, int *around)
{
    for (int number = 0; number < 27; number++) {
        const int way[3] = {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1};
        if (number != 13) {
            look_around(mesh, element, way, around);
            continue;
        }
        for (int cube = 0; cube < 8; cube++)
            around[cube_number(cube & 1, cube >> 1 & 1, cube >> 2)] = element;
    }
}

/* The different leaves around a lattice point. Returns how many of the eight in `leaves` there are. */
static int leaves_at(const int *around, int point, int leaves[8])
{
    int cubes[3][2], many[3], count = 0;

    for (int axis = 0; axis < 3; axis++)
        many[axis] = cubes_at(lattice_coordinate(point, axis), cubes[axis]);
    for (int z = 0; z < many[2]; z++) {
        for (int y = 0; y < many[1]; y++) {
            for (int x = 0; x < many[0]; x++) {
                const int leaf = around[cube_number(cubes[0][x], cubes[1][y], cubes[2][z])];
                int known = leaf < 0 ? count : 0;
                while (known < count && leaves[known] != leaf)
                    known++;
                if (leaf >= 0 && known == count)
                    leaves[count++] = leaf;
            }
        }
    }
    return count;
}

/* What is finer than an element around the centre of an edge or a face splits it. */
static bool finer_at(const struct mesh *mesh, int element, const int *around, int point)
{
    int leaves[8];
    const int count = leaves_at(around, point, leaves);

    for (int n = 0; n < count; n++) {
        if (mesh->leaf[leaves[n]].level > mesh->leaf[element].level)
            return true;
    }
    return false;
}

static shape_t find_shape(const struct mesh *mesh, int element, const int *around)
{
    shape_t shape = 0;

    for (int edge = 0; edge < EDGES; edge++) {
        const struct line at = edge_line(edge);
        shape |= (shape_t)finer_at(mesh, element, around, at.first + 2 * at.stride) << edge;
    }
    for (int face = 0; face < FACES; face++) {
        const struct square at = face_square(face);
        shape |= (shape_t)finer_at(mesh, element, around, at.first + 2 * at.stride + 2 * at.pitch) << (EDGES + face);
    }
    return shape;
}

/* A lattice point of an element in quarters of a cell. */
static struct triple quarters(struct leaf leaf, int point)
{
    struct triple at = leaf_cell(leaf);

    for (int axis = 0; axis < 3; axis++)
        at.at[axis] = 4 * at.at[axis] + leaf_edge(leaf) * lattice_coordinate(point, axis);
    return at;
}

/* The lattice point of `leaf` at a place where it has one. */
static int point_of(struct leaf leaf, struct triple at)
{
    const struct triple cell = leaf_cell(leaf);
    const int edge = leaf_edge(leaf);

    return node_index((at.at[0] - 4 * cell.at[0]) / edge, (at.at[1] - 4 * cell.at[1]) / edge,
                      (at.at[2] - 4 * cell.at[2]) / edge);
}

/* Whether `leaf`, one of those around a mortar, carries it. `level` is that of the element that sees the mortar. */
static bool carries(struct leaf leaf, struct triple at, struct mortar_kind kind, int level)
{
    if (kind.dimension > 0)
        return leaf.level == level + kind.part;
    const int mask = 4 * leaf_edge(leaf) - 1;
    return ((at.at[0] | at.at[1] | at.at[2]) & mask) == 0;
}

/* The first element that carries a mortar of `element`. */
static int owner_of(const struct mesh *mesh, int element, const int *around, struct mortar_kind kind)
{
    const struct leaf leaf = mesh->leaf[element];
    const struct triple at = quarters(leaf, kind.point);
    int leaves[8], owner = mesh->count;
    const int count = leaves_at(around, kind.point, leaves);

    for (int n = 0; n < count; n++) {
        if (leaves[n] < owner && carries(mesh->leaf[leaves[n]], at, kind, leaf.level))
            owner = leaves[n];
    }
    return owner;
}

/* Where the next contributions of a member go. */
struct cursors {
    int inside; /* those to its own mortars */
    int outside;
};

/*
 * Finds the neighbours and the shape of an element, the owners of its mortars, and places for what it contributes to
 * them. The index of each mortar becomes the complement of its owner's, which is negative.
 */
static void meet_element(const struct mesh *mesh, struct span elements, int element, const struct mortars *all,
                         struct cursors *next)
{
    struct mortar_kind list[MAX_MORTARS];

    find_around(mesh, element, all->around[element]);
    all->shape[element] = find_shape(mesh, element, all->around[element]);
    const int count = surface_mortars(all->shape[element], list);
    for (int n = 0; n < count; n++) {
        const int owner = owner_of(mesh, element, all->around[element], list[n]);
        int *place = owner >= elements.lo && owner < elements.hi ? &next->inside : &next->outside;
        all->index[element][list[n].point] = ~owner;
        all->slot[element][list[n].point] = *place;
        *place += mortar_values(list[n].dimension);
    }
}

/* Whether an element of another member touches a mortar of `element`. */
static bool used_elsewhere(struct span elements, const int *around, int point)
{
    int leaves[8];
    const int count = leaves_at(around, point, leaves);

    for (int n = 0; n < count; n++) {
        if (leaves[n] < elements.lo || leaves[n] >= elements.hi)
            return true;
    }
    return false;
}

/* Numbers the values of the mortars of a member: those that others use too, or the rest. */
static void number_own(struct span elements, const struct mortars *all, bool shared, struct share *share)
{
    struct mortar_kind list[MAX_MORTARS];

    for (int e = elements.lo; e < elements.hi; e++) {
        const int count = surface_mortars(all->shape[e], list);
        for (int n = 0; n < count; n++) {
            const int point = list[n].point, dimension = list[n].dimension;
            if (all->index[e][point] != ~e || (shared && !used_elsewhere(elements, all->around[e], point)))
                continue;
            all->index[e][point] = share->values.hi;
            share->gather[share->count++] =
                (struct gather){share->values.hi, e, (int16_t)point, (int8_t)dimension, 0};
            share->values.hi += mortar_values(dimension);
        }
    }
}

/* Looks the numbers of the mortars that a member's elements do not own up at the owners. */
static void number_others(const struct mesh *mesh, struct span elements, const struct mortars *all)
{
    struct mortar_kind list[MAX_MORTARS];

    for (int e = elements.lo; e < elements.hi; e++) {
        const int count = surface_mortars(all->shape[e], list);
        for (int n = 0; n < count; n++) {
            int *index = &all->index[e][list[n].point];
            if (*index >= 0)
                continue;
            const int owner = ~*index;
            *index = all->index[owner][point_of(mesh->leaf[owner], quarters(mesh->leaf[e], list[n].point))];
        }
    }
}

/* Lists the contributions to a member's mortars. */
static void list_sources(const struct mesh *mesh, const struct mortars *all, const struct share *share)
{
    int *source = share->source;

    for (int n = 0; n < share->count; n++) {
        struct gather *mortar = &share->gather[n];
        const struct triple at = quarters(mesh->leaf[mortar->element], mortar->point);
        int leaves[8];

        mortar->sources = (int8_t)leaves_at(all->around[mortar->element], mortar->point, leaves);
        for (int s = 0; s < mortar->sources; s++)
            *source++ = all->slot[leaves[s]][point_of(mesh->leaf[leaves[s]], at)];
    }
}

struct mortars mortars_allocate(void)
{
    return (struct mortars){
        .shape = allocate(MAX_ELEMENTS, sizeof(shape_t)),
        .index = allocate(MAX_ELEMENTS, sizeof(int[CUBE_NODES])),
        .slot = allocate(MAX_ELEMENTS, sizeof(int[CUBE_NODES])),
        .contribution = allocate(2 * MAX_ELEMENTS, sizeof(double[BLOCK_VALUES])),
        .around = allocate(MAX_ELEMENTS, sizeof(int[64])),
        .gather = allocate(MAX_ELEMENTS, OWN_MORTARS * sizeof(struct gather)),
        .source = allocate(MAX_ELEMENTS, OWN_SOURCES * sizeof(int)),
    };
}

/*
 * What belongs to a member in an array begins at the number of its first element times the most that an element can
 * need, so there is space for the members before it, and a gap in front of it as a rule.
 */
struct share mortars_number(struct member *self, const struct mesh *mesh, const struct mortars *all)
{
    const struct span elements = mesh_span(self, mesh);
    const int first = elements.lo * OWN_VALUES;
    struct cursors next = {elements.lo * BLOCK_VALUES, (MAX_ELEMENTS + elements.lo) * BLOCK_VALUES};
    struct share share = {{first, first},
                          0,
                          all->gather + (size_t)elements.lo * OWN_MORTARS,
                          all->source + (size_t)elements.lo * OWN_SOURCES};

    for (int e = elements.lo; e < elements.hi; e++)
        meet_element(mesh, elements, e, all, &next);
    number_own(elements, all, true, &share);
    number_own(elements, all, false, &share);
#pragma omp barrier
    number_others(mesh, elements, all);
    list_sources(mesh, all, &share);
#pragma omp barrier
    return share;
}

/* Adds up the contributions to a mortar of `values` values. */
static inline __attribute__((always_inline)) void add_up(const double *contribution, const int *source, int sources,
                                                         int values, double *to)
{
    double sum[MORTAR_VALUES] = {0.0};

    for (int s = 0; s < sources; s++) {
        const double *from = contribution + source[s];
        for (int v = 0; v < values; v++)
            sum[v] += from[v];
    }
    for (int v = 0; v < values; v++)
        to[v] = sum[v];
}

void mortars_gather(const struct share *share, const struct mortars *all, double *sum)
{
    const double *contribution = all->contribution;
    const int *source = share->source;

    for (int n = 0; n < share->count; n++) {
        const struct gather mortar = share->gather[n];
        double *to = sum + mortar.first;
        switch (mortar.dimension) { /* so that each case has loops of known length */
        case 0:
            add_up(contribution, source, mortar.sources, mortar_values(0), to);
            break;
        case 1:
            add_up(contribution, source, mortar.sources, mortar_values(1), to);
            break;
        default:
            add_up(contribution, source, mortar.sources, mortar_values(2), to);
            break;
        }
        source += mortar.sources;
    }
}

bool mortar_on_boundary(const struct mesh *mesh, const struct gather *mortar)
{
    const struct triple at = quarters(mesh->leaf[mortar->element], mortar->point);

    for (int axis = 0; axis < 3; axis++) {
        if (at.at[axis] == 0 || at.at[axis] == 4 * EXTENT)
            return true;
    }
    return false;
}
