/*
 * The diagonal of the diffusion operator for the preconditioner.
 *
 * The entry of a mortar's value sums u' A u over the elements, u being what the unit value becomes on the element's
 * nodes. That depends on what is split around the mortar and on the level, and the level only enters by the two
 * factors of the operator. So a few entries of the reference element are computed once, by the operator itself.
 */
#include "surface.h"

#define FINE (2 * NODES - 1)

/* Entries of the stiffness and the mass matrix. */
struct entry {
    double stiffness;
    double mass;
};

static struct entry nodes[CUBE_NODES];
static struct entry corners[64]; /* three bits for the edges that end there, by axis, three for the faces, by normal */
static struct entry edges[3][FINE]; /* by how many of the edge's two faces are split, then along the edge */
static struct entry faces[FINE][FINE];

static inline double combine(struct entry entry, struct entry factors)
{
    return factors.stiffness * entry.stiffness + factors.mass * entry.mass;
}

/* What the matrices of the reference element are multiplied by in an element of `level`. */
static inline struct entry diffusion_factors(int level)
{
    const double half = half_edge(level);

    return (struct entry){DIFFUSIVITY * half, half * half * half / TIME_STEP};
}

/* The matrices' quadratic forms for nodal values `u`. */
static struct entry quadratic_form(const double *u)
{
    double w[CUBE_NODES];
    struct entry sum = {0.0, 0.0};

    element_operator(u, w, 1.0, 0.0);
    for (int n = 0; n < CUBE_NODES; n++)
        sum.stiffness += u[n] * w[n];
    element_operator(u, w, 0.0, 1.0);
    for (int n = 0; n < CUBE_NODES; n++)
        sum.mass += u[n] * w[n];
    return sum;
}

/* The entry of value `value` of the mortar centred on `point`, for an element of this shape. */
static struct entry mortar_entry(shape_t shape, int point, int value)
{
    struct mortar_kind list[MAX_MORTARS];
    double m[BLOCK_VALUES] = {0.0}, u[CUBE_NODES] = {0.0};
    int index[CUBE_NODES], next = 0;
    const int count = surface_mortars(shape, list);

    for (int n = 0; n < count; n++) {
        index[list[n].point] = next;
        next += mortar_values(list[n].dimension);
    }
    m[index[point] + value] = 1.0;
    surface_expand(shape, index, m, u);
    return quadratic_form(u);
}

static shape_t split_face(int face)
{
    shape_t shape = 1u << (EDGES + face);

    for (int edge = 0; edge < EDGES; edge++)
        shape |= edge_face(edge, 0) == face || edge_face(edge, 1) == face ? 1u << edge : 0;
    return shape;
}

static int corner_case(shape_t shape, int corner)
{
    int bits = 0;

    for (int axis = 0; axis < 3; axis++) {
        bits |= edge_split(shape, corner_edge(corner, axis)) << axis;
        bits |= face_split(shape, 2 * axis + (corner >> axis & 1)) << (3 + axis);
    }
    return bits;
}

/* Corner 0 stands for all: reflections map them onto each other. */
static void prepare_corners(void)
{
    for (int edges_split = 0; edges_split < 8; edges_split++) {
        for (int faces_split = 0; faces_split < 8; faces_split++) {
            shape_t shape = 0;
            for (int axis = 0; axis < 3; axis++) {
                shape |= edges_split >> axis & 1 ? 1u << corner_edge(0, axis) : 0;
                shape |= faces_split >> axis & 1 ? split_face(2 * axis) : 0;
            }
            corners[corner_case(shape, 0)] = mortar_entry(shape, corner_point(0), 0);
        }
    }
}

/* Value v of lattice point t among the FINE along a line. */
static int fine_position(int t, int v)
{
    return 2 * t - t % 2 + v;
}

static void prepare_edges_and_faces(void)
{
    const struct line edge = edge_line(0);
    const struct square face = face_square(0);
    const shape_t around[3] = {1u, split_face(edge_face(0, 0)),
                               split_face(edge_face(0, 0)) | split_face(edge_face(0, 1))};

    for (int t = 1; t < NODES - 1; t++) {
        const int point = edge.first + t * edge.stride;
        for (int v = 0; v < mortar_values(t % 2); v++) {
            for (int count = 0; count < 3; count++)
                edges[count][fine_position(t, v)] = mortar_entry(around[count], point, v);
        }
    }
    for (int r = 1; r < NODES - 1; r++) {
        for (int c = 1; c < NODES - 1; c++) {
            const int point = face.first + c * face.stride + r * face.pitch;
            const int high = mortar_values(r % 2), low = mortar_values(c % 2);
            for (int v = 0; v < high * low; v++)
                faces[fine_position(r, v / low)][fine_position(c, v % low)] = mortar_entry(split_face(0), point, v);
        }
    }
}

void diagonal_prepare(void)
{
    for (int n = 0; n < CUBE_NODES; n++) {
        double unit[CUBE_NODES] = {0.0};
        unit[n] = 1.0;
        nodes[n] = quadratic_form(unit);
    }
    prepare_corners();
    prepare_edges_and_faces();
}

void diagonal_invert_inner(int level, double inverse[INNER_NODES])
{
    double all[CUBE_NODES];

    for (int n = 0; n < CUBE_NODES; n++)
        all[n] = 1.0 / combine(nodes[n], diffusion_factors(level));
    inner_take(all, inverse);
}

static void collect_split_edge(shape_t shape, const int *slot, int edge, struct entry factors, double *m)
{
    const struct line at = edge_line(edge);
    const int count = face_split(shape, edge_face(edge, 0)) + face_split(shape, edge_face(edge, 1));

    for (int t = 1; t < NODES - 1; t++) {
        double *to = m + slot[at.first + t * at.stride];
        for (int v = 0; v < mortar_values(t % 2); v++)
            *to++ = combine(edges[count][fine_position(t, v)], factors);
    }
}

static void collect_split_face(const int *slot, int face, struct entry factors, double *m)
{
    const struct square at = face_square(face);

    for (int r = 1; r < NODES - 1; r++) {
        for (int c = 1; c < NODES - 1; c++) {
            double *to = m + slot[at.first + c * at.stride + r * at.pitch];
            for (int v = 0; v < mortar_values(r % 2); v++) {
                for (int h = 0; h < mortar_values(c % 2); h++)
                    *to++ = combine(faces[fine_position(r, v)][fine_position(c, h)], factors);
            }
        }
    }
}

/* The nodes' own entries are right wherever nothing is split; the others are replaced. */
void diagonal_collect(shape_t shape, const int *slot, int level, double *m)
{
    const struct entry factors = diffusion_factors(level);
    double own[CUBE_NODES];

    for (int n = 0; n < CUBE_NODES; n++)
        own[n] = combine(nodes[n], factors);
    surface_collect(shape, slot, own, m);
    for (int corner = 0; corner < CORNERS; corner++)
        m[slot[corner_point(corner)]] = combine(corners[corner_case(shape, corner)], factors);
    for (int edge = 0; edge < EDGES; edge++) {
        if (edge_split(shape, edge))
            collect_split_edge(shape, slot, edge, factors, m);
    }
    for (int face = 0; face < FACES; face++) {
        if (face_split(shape, face))
            collect_split_face(slot, face, factors, m);
    }
}
