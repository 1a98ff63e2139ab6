/*
 * One-dimensional transforms of a bundle of pencils at once.
 *
 * A bundle holds LANES pencils, element by element: the inner loops run over lanes and vectorise whatever the
 * length. Real and imaginary parts are apart. The functions are inlined so that a caller's bundles can live on its
 * stack without their addresses leaving the function.
 */
#ifndef FT_TRANSFORM_H
#define FT_TRANSFORM_H

#include "params.h"

#define LANES 16
#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct complex_number {
    double re;
    double im;
};

struct bundle {
    _Alignas(64) double re[MAX_AXIS * LANES];
    _Alignas(64) double im[MAX_AXIS * LANES];
};

/* exp(2 pi i k / MAX_AXIS) for k = 0 .. MAX_AXIS - 1. */
struct roots {
    double re[MAX_AXIS];
    double im[MAX_AXIS];
};

enum direction { FORWARD = 1, INVERSE = -1 };

/*
 * One radix-4 step: `length` is that of the transforms still to do, of which there are `stride` interleaved ones.
 * exp(+...) is the forward direction.
 */
ALWAYS_INLINE void radix4(const struct roots *roots, enum direction direction, int length, int stride,
                          const struct bundle *restrict in, struct bundle *restrict out)
{
    const int quarter = length / 4, width = stride * LANES, step = MAX_AXIS / length;
    const double sign = direction;

    for (int k = 0; k < quarter; k++) {
        const double w1r = roots->re[k * step], w1i = sign * roots->im[k * step];
        const double w2r = roots->re[2 * k * step], w2i = sign * roots->im[2 * k * step];
        const double w3r = roots->re[3 * k * step], w3i = sign * roots->im[3 * k * step];
        const double *restrict ar = in->re + k * width, *restrict ai = in->im + k * width;
        double *restrict yr = out->re + 4 * k * width, *restrict yi = out->im + 4 * k * width;

        for (int t = 0; t < width; t++) {
            const int b = t + quarter * width, c = t + 2 * quarter * width, d = t + 3 * quarter * width;
            const double sum_r = ar[t] + ar[c], sum_i = ai[t] + ai[c];
            const double dif_r = ar[t] - ar[c], dif_i = ai[t] - ai[c];
            const double odd_r = ar[b] + ar[d], odd_i = ai[b] + ai[d];
            /* i (b - d), in the transform's direction */
            const double rot_r = sign * (ai[d] - ai[b]), rot_i = sign * (ar[b] - ar[d]);
            const double e1r = dif_r + rot_r, e1i = dif_i + rot_i;
            const double e2r = sum_r - odd_r, e2i = sum_i - odd_i;
            const double e3r = dif_r - rot_r, e3i = dif_i - rot_i;

            yr[t] = sum_r + odd_r;
            yi[t] = sum_i + odd_i;
            yr[t + width] = w1r * e1r - w1i * e1i;
            yi[t + width] = w1r * e1i + w1i * e1r;
            yr[t + 2 * width] = w2r * e2r - w2i * e2i;
            yi[t + 2 * width] = w2r * e2i + w2i * e2r;
            yr[t + 3 * width] = w3r * e3r - w3i * e3i;
            yi[t + 3 * width] = w3r * e3i + w3i * e3r;
        }
    }
}

/* The last step where the length is an odd power of two: `stride` transforms of length 2, without factors. */
ALWAYS_INLINE void radix2(int stride, const struct bundle *restrict in, struct bundle *restrict out)
{
    const int width = stride * LANES;

    for (int t = 0; t < width; t++) {
        out->re[t] = in->re[t] + in->re[t + width];
        out->im[t] = in->im[t] + in->im[t + width];
        out->re[t + width] = in->re[t] - in->re[t + width];
        out->im[t + width] = in->im[t] - in->im[t + width];
    }
}

/*
 * Transforms the 2^log_length elements of every lane (Stockham's self-sorting form). The data is in `a`, `b` is
 * scratch; returns whichever of the two holds the result.
 */
ALWAYS_INLINE struct bundle *transform(const struct roots *roots, enum direction direction, int log_length,
                                       struct bundle *a, struct bundle *b)
{
    int length = 1 << log_length, stride = 1;
    struct bundle *from = a, *to = b;

    while (length > 1) {
        if (length == 2) {
            radix2(stride, from, to);
            length = 1;
        } else {
            radix4(roots, direction, length, stride, from, to);
            length /= 4;
            stride *= 4;
        }
        struct bundle *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

#endif
