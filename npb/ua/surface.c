/* Mortars of an element, and the maps between them and the element's nodes. */
#include "surface.h"

#define INNER (NODES - 2)
#define FINE (2 * NODES - 1) /* values along a split edge, both ends included */

/*
 * Inner nodes of an edge from the values along its two parts: u with u(-1), u(1) given such that (u - v) is orthogonal
 * to polynomials of degree 2, v being the two parts' piecewise polynomial.
 */
static const double projection[INNER][FINE] = {
    {-0.17728432186156903, 0.71521464124631986, 0.43986806503161044, 1.0 / 12, 0.0, -0.048547974579653298,
     -0.058915684079229266, 1.0 / 12, -0.037001392424145324},
    {3.0 / 32, -0.22857579303754702, 5.0 / 24, 0.35617995970421373, 9.0 / 64, 0.35617995970421373, 5.0 / 24,
     -0.22857579303754702, 3.0 / 32},
    {-0.037001392424145324, 1.0 / 12, -0.058915684079229266, -0.048547974579653298, 0.0, 1.0 / 12,
     0.43986806503161044, 0.71521464124631986, -0.17728432186156903},
};

int surface_mortars(shape_t shape, struct mortar_kind *list)
{
    int count = 0;

    for (int corner = 0; corner < CORNERS; corner++)
        list[count++] = (struct mortar_kind){corner_point(corner), 0, false};
    for (int edge = 0; edge < EDGES; edge++) {
        const struct line at = edge_line(edge);
        const bool split = edge_split(shape, edge);
        list[count++] = (struct mortar_kind){at.first + 2 * at.stride, !split, false};
        for (int t = 1; split && t < NODES; t += 2)
            list[count++] = (struct mortar_kind){at.first + t * at.stride, 1, true};
    }
    for (int face = 0; face < FACES; face++) {
        const struct square at = face_square(face);
        if (!face_split(shape, face)) {
            list[count++] = (struct mortar_kind){at.first + 2 * at.stride + 2 * at.pitch, 2, false};
            continue;
        }
        for (int r = 1; r < NODES - 1; r++) {
            for (int c = 1; c < NODES - 1; c++) {
                const int dimension = r % 2 + c % 2;
                list[count++] =
                    (struct mortar_kind){at.first + c * at.stride + r * at.pitch, dimension, dimension != 0};
            }
        }
    }
    return count;
}

/* Where the values of lattice point t begin among the FINE ones along a line, and how many there are. */
static inline int fine_first(int t)
{
    return 2 * t - t % 2;
}

static inline int fine_count(int t)
{
    return t % 2 == 0 ? 1 : INNER;
}

static void expand_split_edge(struct line at, const int *index, const double *m, double *u)
{
    double fine[FINE];

    for (int t = 0; t < NODES; t++) {
        for (int v = 0; v < fine_count(t); v++)
            fine[fine_first(t) + v] = m[index[at.first + t * at.stride] + v];
    }
    for (int i = 0; i < INNER; i++) {
        double sum = 0.0;
        for (int p = 0; p < FINE; p++)
            sum += projection[i][p] * fine[p];
        u[at.first + (i + 1) * at.stride] = sum;
    }
}

static void expand_split_face(struct square at, const int *index, const double *m, double *u)
{
    double fine[FINE][FINE], rows[FINE][INNER];

    for (int r = 0; r < NODES; r++) {
        for (int c = 0; c < NODES; c++) {
            const double *from = m + index[at.first + c * at.stride + r * at.pitch];
            for (int v = 0; v < fine_count(r); v++) {
                for (int h = 0; h < fine_count(c); h++)
                    fine[fine_first(r) + v][fine_first(c) + h] = *from++;
            }
        }
    }
    for (int p = 0; p < FINE; p++) {
        for (int i = 0; i < INNER; i++) {
            rows[p][i] = 0.0;
            for (int q = 0; q < FINE; q++)
                rows[p][i] += projection[i][q] * fine[p][q];
        }
    }
    for (int j = 0; j < INNER; j++) {
        for (int i = 0; i < INNER; i++) {
            double sum = 0.0;
            for (int p = 0; p < FINE; p++)
                sum += projection[j][p] * rows[p][i];
            u[at.first + (i + 1) * at.stride + (j + 1) * at.pitch] = sum;
        }
    }
}

void surface_expand(shape_t shape, const int *index, const double *m, double *u)
{
    for (int corner = 0; corner < CORNERS; corner++)
        u[corner_point(corner)] = m[index[corner_point(corner)]];
    for (int edge = 0; edge < EDGES; edge++) {
        const struct line at = edge_line(edge);
        if (edge_split(shape, edge)) {
            expand_split_edge(at, index, m, u);
            continue;
        }
        const double *from = m + index[at.first + 2 * at.stride];
        for (int i = 0; i < INNER; i++)
            u[at.first + (i + 1) * at.stride] = from[i];
    }
    for (int face = 0; face < FACES; face++) {
        const struct square at = face_square(face);
        if (face_split(shape, face)) {
            expand_split_face(at, index, m, u);
            continue;
        }
        const double *from = m + index[at.first + 2 * at.stride + 2 * at.pitch];
        for (int j = 0; j < INNER; j++) {
            for (int i = 0; i < INNER; i++)
                u[at.first + (i + 1) * at.stride + (j + 1) * at.pitch] = from[j * INNER + i];
        }
    }
}

/* The ends of the edge are added to, what lies between is set. */
static void collect_split_edge(struct line at, const int *slot, const double *w, double *m)
{
    for (int t = 0; t < NODES; t++) {
        double *to = m + slot[at.first + t * at.stride];
        for (int v = 0; v < fine_count(t); v++) {
            double sum = t == 0 || t == NODES - 1 ? to[v] : 0.0;
            for (int i = 0; i < INNER; i++)
                sum += projection[i][fine_first(t) + v] * w[at.first + (i + 1) * at.stride];
            to[v] = sum;
        }
    }
}

/* The edges of the face are added to, what lies between is set. */
static void collect_split_face(struct square at, const int *slot, const double *w, double *m)
{
    double rows[INNER][FINE];

    for (int j = 0; j < INNER; j++) {
        for (int q = 0; q < FINE; q++) {
            rows[j][q] = 0.0;
            for (int i = 0; i < INNER; i++)
                rows[j][q] += projection[i][q] * w[at.first + (i + 1) * at.stride + (j + 1) * at.pitch];
        }
    }
    for (int r = 0; r < NODES; r++) {
        for (int c = 0; c < NODES; c++) {
            double *to = m + slot[at.first + c * at.stride + r * at.pitch];
            const bool rim = r == 0 || r == NODES - 1 || c == 0 || c == NODES - 1;
            for (int v = 0; v < fine_count(r); v++) {
                for (int h = 0; h < fine_count(c); h++, to++) {
                    double sum = rim ? *to : 0.0;
                    for (int j = 0; j < INNER; j++)
                        sum += projection[j][fine_first(r) + v] * rows[j][fine_first(c) + h];
                    *to = sum;
                }
            }
        }
    }
}

void surface_collect(shape_t shape, const int *slot, const double *w, double *m)
{
    for (int corner = 0; corner < CORNERS; corner++)
        m[slot[corner_point(corner)]] = w[corner_point(corner)];
    for (int edge = 0; edge < EDGES; edge++) {
        const struct line at = edge_line(edge);
        if (edge_split(shape, edge)) {
            collect_split_edge(at, slot, w, m);
            continue;
        }
        double *to = m + slot[at.first + 2 * at.stride];
        for (int i = 0; i < INNER; i++)
            to[i] = w[at.first + (i + 1) * at.stride];
    }
    for (int face = 0; face < FACES; face++) {
        const struct square at = face_square(face);
        if (face_split(shape, face)) {
            collect_split_face(at, slot, w, m);
            continue;
        }
        double *to = m + slot[at.first + 2 * at.stride + 2 * at.pitch];
        for (int j = 0; j < INNER; j++) {
            for (int i = 0; i < INNER; i++)
                to[j * INNER + i] = w[at.first + (i + 1) * at.stride + (j + 1) * at.pitch];
        }
    }
}
