/*
 * A time step of the heat equation (NAS-04-006).
 *
 * The unknowns of the implicit step are the temperatures of inner nodes and of mortars. Let Theta be the map from them
 * to the elements' nodes and A the elements' operators: the matrix is Theta' A Theta. A search direction p occurs only
 * as Theta p, and Theta is linear, so elements keep Theta p and update it from the mortars' preconditioned residual:
 * the mortars' own part of p and of the solution is never formed. That leaves two barriers for an iteration, both of
 * which sum a scalar product: one for p' Theta' A Theta p, taken element by element, before the owners of mortars
 * gather the product, and one for the residual's, after which elements read the mortars.
 */
#include "heat.h"

#include <string.h>

struct storage heat_allocate(void)
{
    const size_t values = (size_t)MAX_ELEMENTS * OWN_VALUES;
    struct storage storage = {
        .buffers = buffers_allocate(),
        .mortars = mortars_allocate(),
        .vectors = {allocate(values, sizeof(double)), allocate(values, sizeof(double)),
                    allocate(values, sizeof(double)), allocate(values, sizeof(double)),
                    allocate(values, sizeof(double))},
        .work = allocate(MAX_ELEMENTS, sizeof(struct work)),
        .inverse = allocate(LEVELS + 1, sizeof(double[INNER_NODES])),
    };

    diagonal_prepare();
    for (int level = 0; level <= LEVELS; level++)
        diagonal_invert_inner(level, storage.inverse[level]);
    return storage;
}

/* The elements of this member. */
static struct span own_elements(const struct heat *heat)
{
    return mesh_span(heat->member, &heat->state.mesh);
}

static double *temperature(const struct heat *heat, int element)
{
    return heat->state.field + (size_t)element * FIELD_STRIDE;
}

/* Sets the surface nodes of an element from `shown`. */
static void read_mortars(const struct heat *heat, int element, double *u)
{
    const struct mortars *mortars = &heat->storage->mortars;

    surface_expand(mortars->shape[element], mortars->index[element], heat->storage->vectors.shown, u);
}

/* Writes what an element contributes to its mortars. */
static void contribute(const struct heat *heat, int element, const double *w)
{
    const struct mortars *mortars = &heat->storage->mortars;

    surface_collect(mortars->shape[element], mortars->slot[element], w, mortars->contribution);
}

/* Sets the inner nodes of split edges and faces to 0. */
static void clear_split(shape_t shape, double *u)
{
    for (int edge = 0; edge < EDGES; edge++) {
        const struct line at = edge_line(edge);
        for (int i = 1; edge_split(shape, edge) && i < NODES - 1; i++)
            u[at.first + i * at.stride] = 0.0;
    }
    for (int face = 0; face < FACES; face++) {
        const struct square at = face_square(face);
        for (int n = 0; face_split(shape, face) && n < MORTAR_VALUES; n++)
            u[at.first + (n % 3 + 1) * at.stride + (n / 3 + 1) * at.pitch] = 0.0;
    }
}

/*
 * An element's contribution to the initial guess: values of its undivided vertices, edges and faces. A vertex counts
 * in as many faces as are not split there, a third each.
 */
static void contribute_guess(const struct heat *heat, int element, const double *u)
{
    const struct mortars *mortars = &heat->storage->mortars;
    const shape_t shape = mortars->shape[element];
    double whole[CUBE_NODES];

    if (shape == 0) {
        contribute(heat, element, u);
        return;
    }
    /* With inner nodes of split edges and faces 0, nothing gets to their parts. */
    memcpy(whole, u, sizeof whole);
    clear_split(shape, whole);
    contribute(heat, element, whole);
    for (int corner = 0; corner < CORNERS; corner++) {
        int faces = 0;
        for (int axis = 0; axis < 3; axis++)
            faces += !face_split(shape, 2 * axis + (corner >> axis & 1));
        mortars->contribution[mortars->slot[element][corner_point(corner)]] *= faces * (1.0 / 3.0);
    }
}

/* The inverse of the diagonal at a member's mortars, 0 on the domain's boundary. Contributions have been written. */
static void invert_diagonal(const struct heat *heat)
{
    double *inverse = heat->storage->vectors.inverse;

    mortars_gather(&heat->share, &heat->storage->mortars, inverse);
    for (int n = 0; n < heat->share.count; n++) {
        const struct gather *mortar = &heat->share.gather[n];
        const bool boundary = mortar_on_boundary(&heat->state.mesh, mortar);
        for (int v = mortar->first; v < mortar->first + mortar_values(mortar->dimension); v++)
            inverse[v] = boundary ? 0.0 : 1.0 / inverse[v];
    }
}

/* Numbers the mortars of a new mesh and computes what depends on the mesh alone. */
static void meet_mesh(struct heat *heat)
{
    const struct storage *storage = heat->storage;
    const struct mortars *mortars = &storage->mortars;
    const struct vectors *vectors = &storage->vectors;
    const struct span elements = own_elements(heat);
    double ones[CUBE_NODES];

    for (int n = 0; n < CUBE_NODES; n++)
        ones[n] = 1.0;
    heat->share = mortars_number(heat->member, &heat->state.mesh, mortars);
    for (int e = elements.lo; e < elements.hi; e++)
        contribute_guess(heat, e, ones);
#pragma omp barrier
    mortars_gather(&heat->share, mortars, vectors->multiplicity);
#pragma omp barrier
    for (int e = elements.lo; e < elements.hi; e++)
        diagonal_collect(mortars->shape[e], mortars->slot[e], heat->state.mesh.leaf[e].level, mortars->contribution);
#pragma omp barrier
    invert_diagonal(heat);
#pragma omp barrier
}

struct heat heat_start(struct member *member, const struct storage *storage)
{
    struct heat heat = {.member = member, .storage = storage, .state = state_start(member, &storage->buffers)};

    heat_adapt(&heat, 0.0);
    return heat;
}

void heat_adapt(struct heat *heat, double time)
{
    if (adapt(heat->member, &heat->storage->buffers, &heat->state, source_centre(time)))
        meet_mesh(heat);
}

void heat_clear(struct heat *heat)
{
    const struct span elements = own_elements(heat);

    for (int e = elements.lo; e < elements.hi; e++)
        memset(temperature(heat, e), 0, CUBE_NODES * sizeof(double));
}

/* The explicit part of a step, the right-hand side of the implicit one, and contributions to its initial guess. */
static void convect(const struct heat *heat, struct span elements, double time)
{
    double rate[CUBE_NODES];

    for (int e = elements.lo; e < elements.hi; e++) {
        const struct leaf leaf = heat->state.mesh.leaf[e];
        const double half = half_edge(leaf.level), volume = half * half * half;
        double *u = temperature(heat, e), *load = heat->storage->work[e].load;

        element_convection(leaf, time, u, rate);
        for (int n = 0; n < CUBE_NODES; n++) {
            load[n] = node_weights[n] * volume * (u[n] / TIME_STEP + rate[n]);
            u[n] += TIME_STEP * rate[n];
        }
        contribute_guess(heat, e, u);
    }
}

/* Makes the temperature that of the initial guess, and writes the residual: inner nodes, and contributions. */
static void start_residual(const struct heat *heat, struct span elements)
{
    double w[CUBE_NODES];

    for (int e = elements.lo; e < elements.hi; e++) {
        struct work *work = &heat->storage->work[e];
        double *u = temperature(heat, e);

        read_mortars(heat, e, u);
        element_diffusion(u, w, heat->state.mesh.leaf[e].level);
        for (int n = 0; n < CUBE_NODES; n++)
            w[n] = work->load[n] - w[n];
        inner_take(w, work->residual);
        contribute(heat, e, w);
    }
}

/* z = D r with the inverse diagonal D; what elements read of z is shown. Returns the member's share of r'z. */
static double precondition(const struct heat *heat, struct span elements)
{
    const struct vectors *vectors = &heat->storage->vectors;
    const int first = heat->share.values.lo, count = heat->share.values.hi - first;
    const double *restrict inverse = vectors->inverse + first, *restrict residual = vectors->residual + first;
    double *restrict shown = vectors->shown + first;
    double sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (int v = 0; v < count; v++) {
        shown[v] = inverse[v] * residual[v];
        sum += shown[v] * residual[v];
    }
    for (int e = elements.lo; e < elements.hi; e++) {
        const double *inner = heat->storage->work[e].residual;
        const double *inner_inverse = heat->storage->inverse[heat->state.mesh.leaf[e].level];
#pragma omp simd reduction(+ : sum)
        for (int n = 0; n < INNER_NODES; n++)
            sum += inner_inverse[n] * inner[n] * inner[n];
    }
    return sum;
}

/* p = z + beta p and A p in each element. Returns the member's share of p'A p. */
static double search(const struct heat *heat, struct span elements, double beta)
{
    double z[CUBE_NODES], w[CUBE_NODES], sum = 0.0;

    for (int e = elements.lo; e < elements.hi; e++) {
        struct work *work = &heat->storage->work[e];
        const int level = heat->state.mesh.leaf[e].level;

        inner_put(heat->storage->inverse[level], work->residual, z);
        read_mortars(heat, e, z);
        for (int n = 0; n < CUBE_NODES; n++)
            work->direction[n] = z[n] + beta * work->direction[n];
        element_diffusion(work->direction, w, level);
#pragma omp simd reduction(+ : sum)
        for (int n = 0; n < CUBE_NODES; n++)
            sum += work->direction[n] * w[n];
        inner_take(w, work->product);
        contribute(heat, e, w);
    }
    return sum;
}

/* x = x + alpha p */
static void advance(const struct heat *heat, struct span elements, double alpha)
{
    for (int e = elements.lo; e < elements.hi; e++) {
        const double *direction = heat->storage->work[e].direction;
        double *u = temperature(heat, e);
        for (int n = 0; n < CUBE_NODES; n++)
            u[n] += alpha * direction[n];
    }
}

/* r = r - alpha A p */
static void reduce_residual(const struct heat *heat, struct span elements, double alpha)
{
    const struct vectors *vectors = &heat->storage->vectors;
    const struct span values = heat->share.values;

    mortars_gather(&heat->share, &heat->storage->mortars, vectors->sum);
    for (int v = values.lo; v < values.hi; v++)
        vectors->residual[v] -= alpha * vectors->sum[v];
    for (int e = elements.lo; e < elements.hi; e++) {
        struct work *work = &heat->storage->work[e];
        for (int n = 0; n < INNER_NODES; n++)
            work->residual[n] -= alpha * work->product[n];
    }
}

/* Conjugate gradients from the residual of the temperature, which the mortars still have to gather. */
static void diffuse(const struct heat *heat, struct span elements)
{
    mortars_gather(&heat->share, &heat->storage->mortars, heat->storage->vectors.residual);
    double rho = team_sum_one(heat->member, precondition(heat, elements)), beta = 0.0;

    for (int e = elements.lo; e < elements.hi; e++)
        memset(heat->storage->work[e].direction, 0, sizeof heat->storage->work[e].direction);
    for (int iteration = 1;; iteration++) {
        const double alpha = rho / team_sum_one(heat->member, search(heat, elements, beta));
        advance(heat, elements, alpha);
        if (iteration == CG_ITERATIONS)
            return;
        reduce_residual(heat, elements, alpha);
        const double before = rho;
        rho = team_sum_one(heat->member, precondition(heat, elements));
        beta = rho / before;
    }
}

void heat_step(struct heat *heat, double time)
{
    const struct vectors *vectors = &heat->storage->vectors;
    const struct span elements = own_elements(heat), values = heat->share.values;

    convect(heat, elements, time);
#pragma omp barrier
    mortars_gather(&heat->share, &heat->storage->mortars, vectors->shown);
    for (int v = values.lo; v < values.hi; v++)
        vectors->shown[v] /= vectors->multiplicity[v];
#pragma omp barrier
    start_residual(heat, elements);
#pragma omp barrier
    diffuse(heat, elements);
}

double heat_integral(struct heat *heat)
{
    const struct span elements = own_elements(heat);
    double sum = 0.0;

    for (int e = elements.lo; e < elements.hi; e++)
        sum += element_integral(temperature(heat, e), heat->state.mesh.leaf[e].level);
    return team_sum_one(heat->member, sum);
}
