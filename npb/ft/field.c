/*
 * The passes over FT's fields: whole planes along x and y, pencils along z, LANES of them at a time. A pass keeps its
 * bundles and its tables on its own stack.
 */
#include "field.h"

#include "random.h"

#include <math.h>

#define PI 3.14159265358979323846
#define SAMPLES 1024

void roots_fill(struct roots *roots)
{
    for (int k = 0; k < MAX_AXIS; k++) {
        roots->re[k] = cos(2.0 * PI * k / MAX_AXIS);
        roots->im[k] = sin(2.0 * PI * k / MAX_AXIS);
    }
}

/* exp(-4 ALPHA pi^2 k^2 t) for the wave numbers k of each axis: the evolution's factors, one axis at a time. */
struct decay {
    double x[NX];
    double y[NY];
    double z[NZ];
};

static inline void decay_axis(double *factor, int points, int time)
{
    for (int i = 0; i < points; i++) {
        const double k = i < points / 2 ? i : i - points;
        factor[i] = exp(-4.0 * ALPHA * PI * PI * k * k * time);
    }
}

static inline void decay_fill(struct decay *decay, int time)
{
    decay_axis(decay->x, NX, time);
    decay_axis(decay->y, NY, time);
    decay_axis(decay->z, NZ, time);
}

void field_zero_rows(struct complex_number *field, struct span rows)
{
    for (int z = 0; z < NZ; z++) {
        struct complex_number *restrict point = field + (size_t)z * PLANE_PITCH;
        for (size_t i = (size_t)rows.lo * ROW_PITCH; i < (size_t)rows.hi * ROW_PITCH; i++)
            point[i] = (struct complex_number){0.0, 0.0};
    }
}

void field_zero_planes(struct complex_number *field, struct span planes)
{
    for (size_t i = (size_t)planes.lo * PLANE_PITCH; i < (size_t)planes.hi * PLANE_PITCH; i++)
        field[i] = (struct complex_number){0.0, 0.0};
}

void field_draw(struct complex_number *field, struct span planes)
{
    uint64_t state = random_skip(RANDOM_SEED, 2 * (uint64_t)planes.lo * NX * NY);

    for (int z = planes.lo; z < planes.hi; z++) {
        for (int y = 0; y < NY; y++) {
            struct complex_number *restrict row = field + (size_t)z * PLANE_PITCH + (size_t)y * ROW_PITCH;
            for (int x = 0; x < NX; x++) {
                const uint64_t re = random_next(state);
                state = random_next(re);
                row[x] = (struct complex_number){random_unit(re), random_unit(state)};
            }
        }
    }
}

/* Fills a bundle with LANES neighbouring pencils, whose elements are `pitch` apart. */
ALWAYS_INLINE void load(struct bundle *bundle, int length, const struct complex_number *field, size_t pitch)
{
    for (int k = 0; k < length; k++) {
        const struct complex_number *restrict from = field + (size_t)k * pitch;
        for (int l = 0; l < LANES; l++) {
            bundle->re[k * LANES + l] = from[l].re;
            bundle->im[k * LANES + l] = from[l].im;
        }
    }
}

ALWAYS_INLINE void store(const struct bundle *bundle, int length, struct complex_number *field, size_t pitch)
{
    for (int k = 0; k < length; k++) {
        struct complex_number *restrict to = field + (size_t)k * pitch;
        for (int l = 0; l < LANES; l++)
            to[l] = (struct complex_number){bundle->re[k * LANES + l], bundle->im[k * LANES + l]};
    }
}

/* The same for LANES successive rows along x: the bundle is their transpose. */
ALWAYS_INLINE void load_rows(struct bundle *bundle, const struct complex_number *field)
{
    for (int l = 0; l < LANES; l++) {
        const struct complex_number *restrict from = field + (size_t)l * ROW_PITCH;
        for (int x = 0; x < NX; x++) {
            bundle->re[x * LANES + l] = from[x].re;
            bundle->im[x * LANES + l] = from[x].im;
        }
    }
}

ALWAYS_INLINE void store_rows(const struct bundle *bundle, struct complex_number *field)
{
    for (int l = 0; l < LANES; l++) {
        struct complex_number *restrict to = field + (size_t)l * ROW_PITCH;
        for (int x = 0; x < NX; x++)
            to[x] = (struct complex_number){bundle->re[x * LANES + l], bundle->im[x * LANES + l]};
    }
}

/* Both transforms of a plane while it is in cache; which comes first does not matter. */
ALWAYS_INLINE void planes_pass(const struct roots *shared_roots, enum direction direction,
                               struct complex_number *field, struct span planes)
{
    const struct roots roots = *shared_roots;
    struct bundle a, b;

    for (int z = planes.lo; z < planes.hi; z++) {
        struct complex_number *plane = field + (size_t)z * PLANE_PITCH;
        for (int x = 0; x < NX; x += LANES) {
            load(&a, NY, plane + x, ROW_PITCH);
            store(transform(&roots, direction, LOG_NY, &a, &b), NY, plane + x, ROW_PITCH);
        }
        for (int y = 0; y < NY; y += LANES) {
            load_rows(&a, plane + (size_t)y * ROW_PITCH);
            store_rows(transform(&roots, direction, LOG_NX, &a, &b), plane + (size_t)y * ROW_PITCH);
        }
    }
}

void field_planes_forward(const struct roots *roots, struct complex_number *field, struct span planes)
{
    planes_pass(roots, FORWARD, field, planes);
}

void field_planes_inverse(const struct roots *roots, struct complex_number *field, struct span planes)
{
    planes_pass(roots, INVERSE, field, planes);
}

void field_pencils_forward(const struct roots *shared_roots, const struct complex_number *in,
                           struct complex_number *out, struct span rows)
{
    const struct roots roots = *shared_roots;
    struct bundle a, b;

    for (int y = rows.lo; y < rows.hi; y++) {
        for (int x = 0; x < NX; x += LANES) {
            const size_t at = (size_t)y * ROW_PITCH + (size_t)x;
            load(&a, NZ, in + at, PLANE_PITCH);
            store(transform(&roots, FORWARD, LOG_NZ, &a, &b), NZ, out + at, PLANE_PITCH);
        }
    }
}

/* Multiplies the pencils at x .. x + LANES - 1 of row y with the evolution's factors. */
ALWAYS_INLINE void decay_pencils(const struct decay *decay, int y, int x, struct bundle *bundle)
{
    for (int z = 0; z < NZ; z++) {
        const double factor = decay->y[y] * decay->z[z];
        for (int l = 0; l < LANES; l++) {
            bundle->re[z * LANES + l] *= factor * decay->x[x + l];
            bundle->im[z * LANES + l] *= factor * decay->x[x + l];
        }
    }
}

void field_pencils_evolve(const struct roots *shared_roots, int time, const struct complex_number *in,
                          struct complex_number *out, struct span rows)
{
    const struct roots roots = *shared_roots;
    struct decay decay;
    struct bundle a, b;

    decay_fill(&decay, time);
    for (int y = rows.lo; y < rows.hi; y++) {
        for (int x = 0; x < NX; x += LANES) {
            const size_t at = (size_t)y * ROW_PITCH + (size_t)x;
            load(&a, NZ, in + at, PLANE_PITCH);
            decay_pencils(&decay, y, x, &a);
            store(transform(&roots, INVERSE, LOG_NZ, &a, &b), NZ, out + at, PLANE_PITCH);
        }
    }
}

struct complex_number field_sample(const struct complex_number *field, struct span planes)
{
    struct complex_number sum = {0.0, 0.0};

    for (int j = 1; j <= SAMPLES; j++) {
        const int x = j % NX, y = 3 * j % NY, z = 5 * j % NZ;
        if (z < planes.lo || z >= planes.hi)
            continue;
        const struct complex_number *point = field + (size_t)z * PLANE_PITCH + (size_t)y * ROW_PITCH + (size_t)x;
        sum.re += point->re;
        sum.im += point->im;
    }
    return sum;
}
