/* The operators of a spectral element, by sum factorisation: one axis after the other. */
#include "element.h"

#include <math.h>
#include <string.h>

#define INNER_ROOT 0.6546536707079771 /* sqrt(3 / 7) */

static const double nodes[NODES] = {-1.0, -INNER_ROOT, 0.0, INNER_ROOT, 1.0};
/* Weights of the nodes of an axis, and of rows and planes of nodes. */
#define WEIGHT_0 (1.0 / 10)
#define WEIGHT_1 (49.0 / 90)
#define WEIGHT_2 (32.0 / 45)
#define ROW_WEIGHTS(w) (w) * WEIGHT_0, (w)*WEIGHT_1, (w)*WEIGHT_2, (w)*WEIGHT_1, (w)*WEIGHT_0
#define PLANE_WEIGHTS(w) \
    ROW_WEIGHTS((w)*WEIGHT_0), ROW_WEIGHTS((w)*WEIGHT_1), ROW_WEIGHTS((w)*WEIGHT_2), ROW_WEIGHTS((w)*WEIGHT_1), \
        ROW_WEIGHTS((w)*WEIGHT_0)

const double node_weights[CUBE_NODES] = {PLANE_WEIGHTS(WEIGHT_0), PLANE_WEIGHTS(WEIGHT_1), PLANE_WEIGHTS(WEIGHT_2),
                                         PLANE_WEIGHTS(WEIGHT_1), PLANE_WEIGHTS(WEIGHT_0)};

/* derivative[i][j]: slope at node i of the Lagrange polynomial of node j. */
static const double derivative[NODES][NODES] = {
    {-5.0, 6.7565024887242409, -8.0 / 3, 1.4101641779424268, -0.5},
    {-1.2409902530309824, 0.0, 1.7457431218879393, -0.7637626158259734, 0.2590097469690171},
    {0.375, -1.3365845776954535, 0.0, 1.3365845776954535, -0.375},
    {-0.2590097469690171, 0.7637626158259734, -1.7457431218879393, 0.0, 1.2409902530309824},
    {0.5, -1.4101641779424268, 8.0 / 3, -6.7565024887242409, 5.0},
};

/*
 * weak_laplacian[i][j]: the integral of the product of the slopes of the polynomials of nodes i and j, which is the sum
 * over q of w_q d_qi d_qj, divided by w_j: it is applied to values that have been multiplied by their weights.
 */
static const double weak_laplacian[NODES][NODES] = {
    {35.0, -7.1869317712168797, 0.75, -0.31306822878312066, 0.5},
    {-39.128850754403013, 35.0 / 3, -49.0 / 12, 7.0 / 6, -1.7044825789303236},
    {16.0 / 3, -16.0 / 3, 20.0 / 3, -16.0 / 3, 16.0 / 3},
    {-1.7044825789303236, 7.0 / 6, -49.0 / 12, 35.0 / 3, -39.128850754403013},
    {0.5, -0.31306822878312066, 0.75, -7.1869317712168797, 35.0},
};

/* out[k][j] = sum over q of matrix[k][q] in[q][j], for rows of the given length. */
static inline __attribute__((always_inline)) void apply_rows(const double (*matrix)[NODES], const double *restrict in,
                                                             double *restrict out, int length)
{
    for (int k = 0; k < NODES; k++) {
        for (int j = 0; j < length; j++)
            out[k * length + j] = matrix[k][0] * in[j];
        for (int q = 1; q < NODES; q++) {
            for (int j = 0; j < length; j++)
                out[k * length + j] += matrix[k][q] * in[q * length + j];
        }
    }
}

/*
 * out[j][i] = sum over q of matrix[i][q] in[j][q], for a cube. Five sums at a time fill a vector better than rows at
 * a distance, so the loop over rows remains one.
 */
static inline __attribute__((always_inline)) void apply_along(const double (*matrix)[NODES], const double *restrict in,
                                                              double *restrict out)
{
#pragma GCC unroll 1
    for (int j = 0; j < FACE_NODES; j++) {
        double row[NODES];
        for (int i = 0; i < NODES; i++)
            row[i] = matrix[i][0] * in[j * NODES];
        for (int q = 1; q < NODES; q++) {
            for (int i = 0; i < NODES; i++)
                row[i] += matrix[i][q] * in[j * NODES + q];
        }
        for (int i = 0; i < NODES; i++)
            out[j * NODES + i] = row[i];
    }
}

/* The same matrix applied along each axis: to the nodes of a row, to the rows of each plane, and to the planes. */
static inline __attribute__((always_inline)) void apply_axes(const double (*matrix)[NODES], const double *restrict in,
                                                             double *restrict along, double *restrict rows,
                                                             double *restrict planes)
{
    apply_along(matrix, in, along);
    for (int k = 0; k < NODES; k++)
        apply_rows(matrix, in + k * FACE_NODES, rows + k * FACE_NODES, NODES);
    apply_rows(matrix, in, planes, FACE_NODES);
}

void element_operator(const double *restrict u, double *restrict w, double stiffness, double mass)
{
    double weighted[CUBE_NODES], along[CUBE_NODES], rows[CUBE_NODES], planes[CUBE_NODES];

    for (int n = 0; n < CUBE_NODES; n++)
        weighted[n] = node_weights[n] * u[n];
    apply_axes(weak_laplacian, weighted, along, rows, planes);
    for (int n = 0; n < CUBE_NODES; n++)
        w[n] = stiffness * (along[n] + rows[n] + planes[n]) + mass * weighted[n];
}

struct centre source_centre(double time)
{
    return (struct centre){{START_X + VELOCITY * time, START_Y + VELOCITY * time, START_Z + VELOCITY * time}};
}

/* The heat that the source gives to each node of a leaf: a cosine bell in a ball around the centre. */
static void source_heat(struct leaf leaf, struct centre centre, double *restrict heat)
{
    double square[3][NODES];
    const struct triple cell = leaf_cell(leaf);

    if (leaf_distance(leaf, centre) > RADIUS * RADIUS) {
        memset(heat, 0, CUBE_NODES * sizeof *heat);
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int i = 0; i < NODES; i++) {
            const double at = (cell.at[axis] + leaf_edge(leaf) * (0.5 * nodes[i] + 0.5)) * UNIT;
            square[axis][i] = (at - centre.at[axis]) * (at - centre.at[axis]);
        }
    }
    for (int k = 0; k < NODES; k++) {
        for (int j = 0; j < NODES; j++) {
            for (int i = 0; i < NODES; i++) {
                const double distance = square[0][i] + square[1][j] + square[2][k];
                heat[node_index(i, j, k)] =
                    distance <= RADIUS * RADIUS ? cos(sqrt(distance) * (M_PI / RADIUS)) + 1.0 : 0.0;
            }
        }
    }
}

/* rate = heat - velocity . grad u. */
static void transport(const double *restrict u, const double *restrict heat, int level, double *restrict rate)
{
    double along[CUBE_NODES], rows[CUBE_NODES], planes[CUBE_NODES];
    const double factor = VELOCITY / half_edge(level);

    apply_axes(derivative, u, along, rows, planes);
    for (int n = 0; n < CUBE_NODES; n++)
        rate[n] = heat[n] - factor * (along[n] + rows[n] + planes[n]);
}

/* Sets `values` to 0 on the faces of a leaf that lie on the domain's boundary. */
static void clear_boundary(struct leaf leaf, double *values)
{
    const struct triple cell = leaf_cell(leaf);
    static const int strides[] = {1, NODES, FACE_NODES};

    for (int axis = 0; axis < 3; axis++) {
        const int stride = strides[axis], other = strides[(axis + 1) % 3], third = strides[(axis + 2) % 3];
        for (int side = 0; side < 2; side++) {
            if (cell.at[axis] + side * leaf_edge(leaf) != side * EXTENT)
                continue;
            for (int n = 0; n < FACE_NODES; n++)
                values[side * (NODES - 1) * stride + n % NODES * other + n / NODES * third] = 0.0;
        }
    }
}

void element_convection(struct leaf leaf, double time, const double *restrict u, double *restrict rate)
{
    double heat[CUBE_NODES], stage[CUBE_NODES], slope[CUBE_NODES];

    source_heat(leaf, source_centre(time), heat);
    transport(u, heat, leaf.level, rate);
    source_heat(leaf, source_centre(time + 0.5 * TIME_STEP), heat);
    for (int n = 0; n < CUBE_NODES; n++)
        stage[n] = u[n] + 0.5 * TIME_STEP * rate[n];
    transport(stage, heat, leaf.level, slope);
    for (int n = 0; n < CUBE_NODES; n++) {
        stage[n] = u[n] + 0.5 * TIME_STEP * slope[n];
        rate[n] += 2.0 * slope[n];
    }
    transport(stage, heat, leaf.level, slope);
    for (int n = 0; n < CUBE_NODES; n++) {
        stage[n] = u[n] + TIME_STEP * slope[n];
        rate[n] += 2.0 * slope[n];
    }
    source_heat(leaf, source_centre(time + TIME_STEP), heat);
    transport(stage, heat, leaf.level, slope);
    for (int n = 0; n < CUBE_NODES; n++)
        rate[n] = (rate[n] + slope[n]) * (1.0 / 6.0);
    clear_boundary(leaf, rate);
}

double element_integral(const double *u, int level)
{
    const double half = half_edge(level);
    double sum = 0.0;

    for (int n = 0; n < CUBE_NODES; n++)
        sum += node_weights[n] * u[n];
    return sum * half * half * half;
}

/* row[j] = value at `x` of the Lagrange polynomial of node j. */
static void lagrange_row(double x, double *row)
{
    for (int j = 0; j < NODES; j++) {
        row[j] = 1.0;
        for (int m = 0; m < NODES; m++)
            row[j] *= m == j ? 1.0 : (x - nodes[m]) / (nodes[j] - nodes[m]);
    }
}

/* Evaluates u on the tensor product of five points on each axis, given by rows of Lagrange polynomials. */
static void evaluate(double (*const rows[3])[NODES], const double *u, double *values)
{
    double along[CUBE_NODES], planes[CUBE_NODES];

    apply_along((const double(*)[NODES])rows[0], u, along);
    for (int k = 0; k < NODES; k++)
        apply_rows((const double(*)[NODES])rows[1], along + k * FACE_NODES, planes + k * FACE_NODES, NODES);
    apply_rows((const double(*)[NODES])rows[2], planes, values, FACE_NODES);
}

void element_refine(const double *parent, int which, double *child)
{
    double half[2][NODES][NODES];

    for (int i = 0; i < NODES; i++) {
        lagrange_row(0.5 * (nodes[i] - 1.0), half[0][i]);
        lagrange_row(0.5 * (nodes[i] + 1.0), half[1][i]);
    }
    evaluate((double(*const[3])[NODES]){half[which & 1], half[which >> 1 & 1], half[which >> 2]}, parent, child);
}

/*
 * A parent's node takes the value that the polynomial of the child has in which it lies. The middle node, which lies
 * in both children of an axis, is given to the lower one.
 */
void element_coarsen(const double *child, int which, double *parent)
{
    double rows[NODES][NODES], values[CUBE_NODES];

    for (int i = 0; i < NODES; i++)
        lagrange_row(2.0 * nodes[i] + (i <= NODES / 2 ? 1.0 : -1.0), rows[i]);
    evaluate((double(*const[3])[NODES]){rows, rows, rows}, child, values);
    for (int k = 0; k < NODES; k++) {
        for (int j = 0; j < NODES; j++) {
            for (int i = 0; i < NODES; i++) {
                const int in = (i > NODES / 2) | (j > NODES / 2) << 1 | (k > NODES / 2) << 2;
                if (in == which)
                    parent[node_index(i, j, k)] = values[node_index(i, j, k)];
            }
        }
    }
}
