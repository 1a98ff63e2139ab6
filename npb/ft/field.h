/*
 * The complex fields of FT and the passes over them.
 *
 * A field is stored plane by plane (z), row by row (y). Rows and planes are padded, so that equal positions in
 * successive ones do not fall into the same cache sets. Threads own planes in the passes along x and y, and rows in
 * the passes along z: one exchange of data between threads per three-dimensional transform. No pass has a barrier.
 */
#ifndef FT_FIELD_H
#define FT_FIELD_H

#include "params.h"
#include "team.h"
#include "transform.h"

#include <stddef.h>

#define PAD 4
#define ROW_PITCH ((size_t)(NX + PAD))
#define PLANE_PITCH ((size_t)NY * ROW_PITCH + PAD)
#define FIELD_POINTS ((size_t)NZ * PLANE_PITCH)

void roots_fill(struct roots *roots);

/* Sets the rows of all planes to 0. */
void field_zero_rows(struct complex_number *field, struct span rows);

/* Sets whole planes to 0. */
void field_zero_planes(struct complex_number *field, struct span planes);

/* Random numbers in (0, 1) for real and imaginary parts of the planes. */
void field_draw(struct complex_number *field, struct span planes);

/* Transforms the planes along x and y, in place. */
void field_planes_forward(const struct roots *roots, struct complex_number *field, struct span planes);
void field_planes_inverse(const struct roots *roots, struct complex_number *field, struct span planes);

/* out = the forward transform of `in` along z, for all planes' rows in the span. */
void field_pencils_forward(const struct roots *roots, const struct complex_number *in, struct complex_number *out,
                           struct span rows);

/* out = the inverse transform along z of `in` decayed until `time`, for all planes' rows in the span. */
void field_pencils_evolve(const struct roots *roots, int time, const struct complex_number *in,
                          struct complex_number *out, struct span rows);

/* The part of the checksum that comes from the planes: the sum over the 1024 sampled points, not yet divided. */
struct complex_number field_sample(const struct complex_number *field, struct span planes);

#endif
