/*
 * The SSOR iteration of LU (RNR-94-007, section 3). The implicit operator has a 5x5 block for each pair of
 * neighbouring points; D are the blocks on the diagonal, L those that couple a point to its neighbours with smaller
 * indices, U those with larger ones. A step solves
 *
 *     (D + omega L) D^-1 (D + omega U) change = dt residual.
 *
 * Both solutions go through the rows of constant y, one after the other, each member through its own planes. A member
 * starts with a row when the neighbour that precedes it has finished the same row in the plane between them; the
 * members count the rows that they have finished, and nothing is ever set back. One who ends the lower solution may
 * start with the upper one: the member behind it has to be through with its planes by then.
 */
#include "sweep.h"

#include "flow.h"
#include "pipeline.h"

enum sweep { LOWER, UPPER, SWEEPS };

static struct counter *finished[SWEEPS]; /* one for each member */

void sweep_prepare(struct member *self)
{
    if (self->rank == 0)
        for (int s = 0; s < SWEEPS; s++) {
            finished[s] = allocate((size_t)self->size, sizeof *finished[s]);
            for (int t = 0; t < self->size; t++)
                finished[s][t].rows = 0;
        }
}

/* What a row's blocks need, and what has to be divided by when D is inverted. */
struct row_flow {
    double volume[POINTS], kinetic[POINTS], energy[POINTS], velocity[AXES][POINTS];
    double momentum_pivot[POINTS], energy_pivot[POINTS];
};

/* Diagonal of D without the viscous part: identity and artificial diffusion. */
#define STIFFNESS (1.0 + 2.0 * TIME_STEP * SECOND_QUOTIENT * (SMOOTHING(X) + SMOOTHING(Y) + SMOOTHING(Z)))

/* Viscous part of D: sums over the axes, one of which is the velocity's own. */
#define DRAG (2.0 * TIME_STEP * SECOND_QUOTIENT * VISCOSITY * (AXES - 1 + STRETCH))
#define HEAT_LOSS (2.0 * TIME_STEP * SECOND_QUOTIENT * CONDUCTIVITY * AXES)

static void row_flow_fill(const struct row *state, struct row_flow *restrict out)
{
#pragma omp simd
    for (int i = 0; i < POINTS; i++) {
        const struct flow flow = flow_of(row_get(state, i));
        out->volume[i] = flow.volume;
        out->kinetic[i] = flow.kinetic;
        out->energy[i] = flow.energy;
        for (int a = 0; a < AXES; a++)
            out->velocity[a][i] = flow.velocity[a];
        out->momentum_pivot[i] = 1.0 / (STIFFNESS + DRAG * flow.volume);
        out->energy_pivot[i] = 1.0 / (STIFFNESS + HEAT_LOSS * flow.volume);
    }
}

ALWAYS_INLINE struct flow row_flow_get(const struct row_flow *row, int i)
{
    struct flow flow;

    flow.volume = row->volume[i];
    flow.kinetic = row->kinetic[i];
    flow.energy = row->energy[i];
    for (int a = 0; a < AXES; a++)
        flow.velocity[a] = row->velocity[a][i];
    return flow;
}

/* sum + omega * block * change, the block being that for a point's neighbour along `axis` on the sweep's side. */
ALWAYS_INLINE struct vector couple(struct vector sum, struct flow neighbour, struct vector change, int axis,
                                   enum sweep sweep)
{
    const double side = sweep == LOWER ? -1.0 : 1.0;
    const struct vector convected = convection_change(neighbour, change, axis);
    const struct vector diffused = diffusion_change(neighbour, change, axis);

    for (int m = 0; m < COMPONENTS; m++)
        sum.value[m] += OMEGA * TIME_STEP * (side * FIRST_QUOTIENT * convected.value[m] -
                                             SECOND_QUOTIENT * (diffused.value[m] + SMOOTHING(axis) * change.value[m]));
    return sum;
}

/* Adds the coupling of all points of a row to the neighbouring row along y or z. */
ALWAYS_INLINE void couple_row(const struct row *state, const struct row *change, int axis, enum sweep sweep,
                              struct row *restrict sum)
{
#pragma omp simd
    for (int i = 1; i <= INNER; i++)
        row_set(sum, i, couple(row_get(sum, i), flow_of(row_get(state, i)), row_get(change, i), axis, sweep));
}

/* The inverse of D at point i, times x. D is triangular: mass enters all equations, momenta enter that of energy. */
ALWAYS_INLINE struct vector invert_diagonal(const struct row_flow *flow, int i, struct vector x)
{
    const double volume = flow->volume[i];
    struct vector y;

    y.value[DENSITY] = x.value[DENSITY] / STIFFNESS;
    double energy = x.value[ENERGY] + HEAT_LOSS * volume * flow->energy[i] * y.value[DENSITY];
    for (int a = 0; a < AXES; a++) {
        const double velocity = flow->velocity[a][i], carried = velocity * y.value[DENSITY];
        const double momentum = (x.value[MOMENTUM + a] + DRAG * volume * carried) * flow->momentum_pivot[i];
        energy -= (DRAG - HEAT_LOSS) * volume * velocity * (momentum - carried);
        y.value[MOMENTUM + a] = momentum;
    }
    y.value[ENERGY] = energy * flow->energy_pivot[i];
    return y;
}

/* Row j of plane k of the lower solution: change = D^-1 (dt residual - omega L change). */
static void lower_row(const struct row *state, struct row *change)
{
    struct row sum;
    struct row_flow flow;
    struct vector previous = {{0.0}};

    for (int m = 0; m < COMPONENTS; m++)
        for (int i = 1; i <= INNER; i++)
            sum.value[m][i] = -TIME_STEP * change->value[m][i];
    couple_row(state - PLANE_ROWS, change - PLANE_ROWS, Z, LOWER, &sum);
    couple_row(state - 1, change - 1, Y, LOWER, &sum);
    row_flow_fill(state, &flow);
    for (int i = 1; i <= INNER; i++) {
        struct vector right = couple(row_get(&sum, i), row_flow_get(&flow, i - 1), previous, X, LOWER);
        for (int m = 0; m < COMPONENTS; m++)
            right.value[m] = -right.value[m];
        previous = invert_diagonal(&flow, i, right);
        row_set(change, i, previous);
    }
}

/* Row j of plane k of the upper solution: change = change - D^-1 omega U change. */
static void upper_row(const struct row *state, struct row *change)
{
    struct row sum;
    struct row_flow flow;
    struct vector previous = {{0.0}};

    for (int m = 0; m < COMPONENTS; m++)
        for (int i = 1; i <= INNER; i++)
            sum.value[m][i] = 0.0;
    couple_row(state + PLANE_ROWS, change + PLANE_ROWS, Z, UPPER, &sum);
    couple_row(state + 1, change + 1, Y, UPPER, &sum);
    row_flow_fill(state, &flow);
    for (int i = INNER; i >= 1; i--) {
        const struct vector coupled = couple(row_get(&sum, i), row_flow_get(&flow, i + 1), previous, X, UPPER);
        const struct vector less = invert_diagonal(&flow, i, coupled);
        previous = row_get(change, i);
        for (int m = 0; m < COMPONENTS; m++)
            previous.value[m] -= less.value[m];
        row_set(change, i, previous);
    }
}

void sweep_both(const struct member *self, int step, const struct row *state, struct row *change)
{
    const struct span planes = inner_planes(self);
    const long before = (long)step * INNER;

    for (int j = 1; j <= INNER; j++) {
        if (self->rank > 0)
            pipeline_wait(&finished[LOWER][self->rank - 1], before + j);
        for (int k = planes.lo; k < planes.hi; k++)
            lower_row(state + row_index(k, j), change + row_index(k, j));
        pipeline_signal(&finished[LOWER][self->rank], before + j);
    }
    for (int j = INNER; j >= 1; j--) {
        const long rows = before + INNER + 1 - j;
        if (self->rank < self->size - 1)
            pipeline_wait(&finished[UPPER][self->rank + 1], rows);
        for (int k = planes.hi - 1; k >= planes.lo; k--)
            upper_row(state + row_index(k, j), change + row_index(k, j));
        pipeline_signal(&finished[UPPER][self->rank], rows);
    }
}

void sweep_apply(const struct row *change, struct row *state, struct span planes)
{
    const double scale = 1.0 / (OMEGA * (2.0 - OMEGA));

    for (int k = planes.lo; k < planes.hi; k++)
        for (int j = 1; j <= INNER; j++) {
            const struct row *from = change + row_index(k, j);
            struct row *to = state + row_index(k, j);
            for (int m = 0; m < COMPONENTS; m++)
                for (int i = 1; i <= INNER; i++)
                    to->value[m][i] += scale * from->value[m][i];
        }
}
