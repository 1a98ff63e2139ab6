/* The exact solution of LU, a sum of polynomials of each coordinate (RNR-94-007, section 3), and measures on fields. */
#include "solution.h"

#include "flow.h"

#include <math.h>

#define DEGREE 4

/* For each quantity: the constant, then the coefficients of the powers 1 .. DEGREE of x, y and z. */
static const struct polynomial {
    double constant;
    double power[AXES][DEGREE];
} exact[COMPONENTS] = {
    {2.0, {{0.0, 5.0, 0.02, 0.5}, {0.0, 3.0, 0.01, 0.4}, {4.0, 0.5, 0.03, 0.3}}},
    {1.0, {{0.0, 1.0, 0.01, 0.4}, {0.0, 2.0, 0.03, 0.3}, {0.0, 3.0, 0.02, 0.5}}},
    {2.0, {{2.0, 0.0, 0.04, 0.3}, {0.0, 2.0, 0.03, 0.5}, {0.0, 3.0, 0.05, 0.4}}},
    {2.0, {{2.0, 0.0, 0.03, 0.2}, {0.0, 2.0, 0.05, 0.1}, {0.0, 3.0, 0.04, 0.3}}},
    {5.0, {{4.0, 0.1, 0.05, 0.1}, {3.0, 0.4, 0.04, 0.3}, {2.0, 0.3, 0.03, 0.2}}},
};

/* The point's indices along x, y and z. */
struct point {
    int index[AXES];
};

static double coordinate(int index)
{
    return (double)index / (POINTS - 1);
}

static struct vector exact_at(struct point point)
{
    struct vector state;

    for (int m = 0; m < COMPONENTS; m++) {
        state.value[m] = exact[m].constant;
        for (int a = 0; a < AXES; a++) {
            const double t = coordinate(point.index[a]), *c = exact[m].power[a];
            state.value[m] += t * (c[0] + t * (c[1] + t * (c[2] + t * c[3])));
        }
    }
    return state;
}

/* Linear interpolation between the two boundary points that share all other coordinates with `point`. */
static struct vector between_faces(struct point point, enum axis axis)
{
    const double t = coordinate(point.index[axis]);
    struct point first = point, last = point;

    first.index[axis] = 0;
    last.index[axis] = POINTS - 1;
    const struct vector from = exact_at(first), to = exact_at(last);
    struct vector mean;
    for (int m = 0; m < COMPONENTS; m++)
        mean.value[m] = (1.0 - t) * from.value[m] + t * to.value[m];
    return mean;
}

/* The interpolants of the three axes blended as the specification says. On the boundary it is the exact solution. */
static struct vector start_at(struct point point)
{
    struct vector state;

    for (int a = 0; a < AXES; a++)
        if (point.index[a] == 0 || point.index[a] == POINTS - 1)
            return exact_at(point);
    const struct vector x = between_faces(point, X), y = between_faces(point, Y), z = between_faces(point, Z);
    for (int m = 0; m < COMPONENTS; m++)
        state.value[m] = 1.0 - (1.0 - x.value[m]) * (1.0 - y.value[m]) * (1.0 - z.value[m]);
    return state;
}

static void fill(struct row *field, struct span planes, struct vector at(struct point point))
{
    for (int k = planes.lo; k < planes.hi; k++)
        for (int j = 0; j < POINTS; j++)
            for (int i = 0; i < POINTS; i++)
                row_set(field + row_index(k, j), i, at((struct point){{i, j, k}}));
}

void solution_exact(struct row *field, struct span planes)
{
    fill(field, planes, exact_at);
}

void solution_start(struct row *field, struct span planes)
{
    fill(field, planes, start_at);
}

/* The root of the mean of squares whose sums over the member's planes are given. */
static struct vector team_root_mean(struct member *self, struct vector squares)
{
    for (int m = 0; m < COMPONENTS; m++)
        squares.value[m] = sqrt(team_sum_one(self, squares.value[m]) / ((double)INNER * INNER * INNER));
    return squares;
}

struct vector solution_norm(struct member *self, const struct row *field)
{
    const struct span planes = inner_planes(self);
    struct vector squares = {{0.0}};

    for (int k = planes.lo; k < planes.hi; k++)
        for (int j = 1; j <= INNER; j++)
            for (int i = 1; i <= INNER; i++) {
                const struct vector point = row_get(field + row_index(k, j), i);
                for (int m = 0; m < COMPONENTS; m++)
                    squares.value[m] += point.value[m] * point.value[m];
            }
    return team_root_mean(self, squares);
}

struct vector solution_error(struct member *self, const struct row *field)
{
    const struct span planes = inner_planes(self);
    struct vector squares = {{0.0}};

    for (int k = planes.lo; k < planes.hi; k++)
        for (int j = 1; j <= INNER; j++)
            for (int i = 1; i <= INNER; i++) {
                const struct vector point = row_get(field + row_index(k, j), i);
                const struct vector right = exact_at((struct point){{i, j, k}});
                for (int m = 0; m < COMPONENTS; m++) {
                    const double distance = right.value[m] - point.value[m];
                    squares.value[m] += distance * distance;
                }
            }
    return team_root_mean(self, squares);
}

/* The box of the surface integral: first and last index along x, y and z. */
static const int box[AXES][2] = {{1, POINTS - 2}, {1, POINTS - 3}, {2, POINTS - 2}};

static double pressure_at(const struct row *field, struct point point)
{
    const struct vector state = row_get(field + row_index(point.index[Z], point.index[Y]), point.index[X]);

    return K2 * (state.value[ENERGY] - state.value[DENSITY] * flow_of(state).kinetic);
}

/* The trapezoidal rule takes half of what is at the end of a side. */
static double end_weight(int index, enum axis axis)
{
    return index == box[axis][0] || index == box[axis][1] ? 0.5 : 1.0;
}

/* Sum over the two faces of the box that `axis` is normal to; the rule is applied along the two others. */
static double face_sum(const struct row *field, enum axis axis)
{
    const enum axis u = (axis + 1) % AXES, v = (axis + 2) % AXES;
    struct point point;
    double sum = 0.0;

    for (int side = 0; side < 2; side++) {
        point.index[axis] = box[axis][side];
        for (int a = box[u][0]; a <= box[u][1]; a++)
            for (int b = box[v][0]; b <= box[v][1]; b++) {
                point.index[u] = a;
                point.index[v] = b;
                sum += end_weight(a, u) * end_weight(b, v) * pressure_at(field, point);
            }
    }
    return sum;
}

double solution_surface_integral(const struct row *field)
{
    const double cell = 1.0 / SECOND_QUOTIENT;

    return cell * (face_sum(field, X) + face_sum(field, Y) + face_sum(field, Z));
}
