/* The atomic operations of the LLVM OpenMP library by type and operation, `__kmpc_atomic_TYPE_OPERATION`.
 *
 * clang and flang emit atomic instructions instead; older objects and other compilers call these. All are made of a load and compare-and-swaps
 * of the whole object, in relaxed order as the instructions have. `_rev` swaps the operands, `_cpt` returns the new value if `flag`, else
 * the old one. */
#include "internal.h"

#include <complex.h>
#include <stdbool.h>

/* Source position and thread number come first in all of them and are not needed. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { RELAXED = 0 };

typedef float complex cmplx4;
typedef double complex cmplx8;
typedef long double complex cmplx10;

/* Defines `old` and `new`: x was `old` and has become `new`. Comparing whole objects, padding included, never mistakes one value for another. */
#define CHANGE(type, place, expression)                                                               \
    type old, new;                                                                                    \
    __dsm_library_atomic_load(sizeof(type), place, &old, RELAXED);                                    \
    do {                                                                                              \
        type x = old;                                                                                 \
        new = (type)(expression);                                                                     \
    } while (!__dsm_library_atomic_compare_exchange(sizeof(type), place, &old, &new, RELAXED, RELAXED))

#define UPDATE(id, type, operand, expression)                                      \
    void __kmpc_atomic_##id(void *loc, int gtid, type *place, operand y) {         \
        CHANGE(type, place, expression);                                           \
    }

#define CAPTURE(id, type, expression)                                              \
    type __kmpc_atomic_##id(void *loc, int gtid, type *place, type y, int flag) {  \
        CHANGE(type, place, expression);                                           \
        return flag ? new : old;                                                   \
    }

/* libomp hands pairs of floats back through memory. */
#define CAPTURE_OUT(id, type, expression)                                                     \
    void __kmpc_atomic_##id(void *loc, int gtid, type *place, type y, type *out, int flag) {  \
        CHANGE(type, place, expression);                                                      \
        dsm_rt_store((char *)out, sizeof *out);                                               \
        *out = flag ? new : old;                                                              \
    }

#define BOTH(id, type, expression)   \
    UPDATE(id, type, type, expression) \
    CAPTURE(id##_cpt, type, expression)

/* The name of the reversed capture is irregular. */
#define BOTH_REVERSED(id, type, expression)  \
    UPDATE(id##_rev, type, type, expression) \
    CAPTURE(id##_cpt_rev, type, expression)

#define PLAIN(id, type)                                                            \
    type __kmpc_atomic_##id##_rd(void *loc, int gtid, type *place) {               \
        type value;                                                                \
        __dsm_library_atomic_load(sizeof value, place, &value, RELAXED);           \
        return value;                                                              \
    }                                                                              \
    void __kmpc_atomic_##id##_wr(void *loc, int gtid, type *place, type y) {       \
        __dsm_library_atomic_store(sizeof y, place, &y, RELAXED);                  \
    }

#define SWAP(id, type)                                                             \
    type __kmpc_atomic_##id##_swp(void *loc, int gtid, type *place, type y) {      \
        type old;                                                                  \
        __dsm_library_atomic_exchange(sizeof y, place, &y, &old, RELAXED);         \
        return old;                                                                \
    }

#define ARITHMETIC(id, type)             \
    BOTH(id##_add, type, x + y)          \
    BOTH(id##_sub, type, x - y)          \
    BOTH(id##_mul, type, x *y)           \
    BOTH(id##_div, type, x / y)          \
    BOTH_REVERSED(id##_sub, type, y - x) \
    BOTH_REVERSED(id##_div, type, y / x)

#define EXTREMES(id, type)                 \
    BOTH(id##_max, type, x > y ? x : y)    \
    BOTH(id##_min, type, x < y ? x : y)

#define INTEGER(id, type, id_unsigned, type_unsigned)           \
    PLAIN(id, type)                                             \
    SWAP(id, type)                                              \
    ARITHMETIC(id, type)                                        \
    EXTREMES(id, type)                                          \
    BOTH(id##_andb, type, x &y)                                 \
    BOTH(id##_orb, type, x | y)                                 \
    BOTH(id##_xor, type, x ^ y)                                 \
    BOTH(id##_neqv, type, x ^ y)                                \
    BOTH(id##_eqv, type, x ^ ~y)                                \
    BOTH(id##_andl, type, x &&y)                                \
    BOTH(id##_orl, type, x || y)                                \
    BOTH(id##_shl, type, x << y)                                \
    BOTH(id##_shr, type, x >> y)                                \
    BOTH_REVERSED(id##_shl, type, y << x)                       \
    BOTH_REVERSED(id##_shr, type, y >> x)                       \
    UPDATE(id##_mul_float8, type, double, x *y)                 \
    UPDATE(id##_div_float8, type, double, x / y)                \
    BOTH(id_unsigned##_div, type_unsigned, x / y)               \
    BOTH(id_unsigned##_shr, type_unsigned, x >> y)              \
    BOTH_REVERSED(id_unsigned##_div, type_unsigned, y / x)      \
    BOTH_REVERSED(id_unsigned##_shr, type_unsigned, y >> x)

INTEGER(fixed1, int8_t, fixed1u, uint8_t)
INTEGER(fixed2, int16_t, fixed2u, uint16_t)
INTEGER(fixed4, int32_t, fixed4u, uint32_t)
INTEGER(fixed8, int64_t, fixed8u, uint64_t)

#define REAL(id, type)   \
    PLAIN(id, type)      \
    SWAP(id, type)       \
    ARITHMETIC(id, type) \
    EXTREMES(id, type)

REAL(float4, float)
REAL(float8, double)
REAL(float10, long double)
UPDATE(float4_add_float8, float, double, x + y)
UPDATE(float4_sub_float8, float, double, x - y)
UPDATE(float4_mul_float8, float, double, x *y)
UPDATE(float4_div_float8, float, double, x / y)

PLAIN(cmplx8, cmplx8)
SWAP(cmplx8, cmplx8)
ARITHMETIC(cmplx8, cmplx8)
PLAIN(cmplx10, cmplx10)
SWAP(cmplx10, cmplx10)
ARITHMETIC(cmplx10, cmplx10)

#define COMPLEX4(operation, expression)                               \
    UPDATE(cmplx4_##operation, cmplx4, cmplx4, expression)            \
    CAPTURE_OUT(cmplx4_##operation##_cpt, cmplx4, expression)         \
    UPDATE(cmplx4_##operation##_cmplx8, cmplx4, cmplx8, expression)

#define COMPLEX4_REVERSED(operation, expression)                      \
    UPDATE(cmplx4_##operation##_rev, cmplx4, cmplx4, expression)      \
    CAPTURE_OUT(cmplx4_##operation##_cpt_rev, cmplx4, expression)

PLAIN(cmplx4, cmplx4)
COMPLEX4(add, x + y)
COMPLEX4(sub, x - y)
COMPLEX4(mul, x *y)
COMPLEX4(div, x / y)
COMPLEX4_REVERSED(sub, y - x)
COMPLEX4_REVERSED(div, y / x)
void __kmpc_atomic_cmplx4_swp(void *loc, int gtid, cmplx4 *place, cmplx4 y, cmplx4 *out) {
    __dsm_library_atomic_exchange(sizeof y, place, &y, out, RELAXED);
}

/* Of any type, by its size; `combine(new, old, operand)`. */
#define ANY(bytes)                                                                                        \
    void __kmpc_atomic_##bytes(void *loc, int gtid, void *place, void *operand,                           \
                               void (*combine)(void *, void *, void *)) {                                 \
        _Alignas(16) char old[bytes], new[bytes];                                                         \
        __dsm_library_atomic_load(bytes, place, old, RELAXED);                                            \
        do                                                                                                \
            combine(new, old, operand);                                                                   \
        while (!__dsm_library_atomic_compare_exchange(bytes, place, old, new, RELAXED, RELAXED));         \
    }

ANY(1)
ANY(2)
ANY(4)
ANY(8)
ANY(10)
ANY(16)
ANY(20)
ANY(32)

/* Of `atomic compare`. `out` gets what failed to be `expected`; with the value as result, what the object is afterwards. */
#define COMPARE(bytes, type)                                                                              \
    bool __kmpc_atomic_bool_##bytes##_cas(void *loc, int gtid, type *place, type expected, type new) {    \
        return __dsm_library_atomic_compare_exchange(bytes, place, &expected, &new, RELAXED, RELAXED);    \
    }                                                                                                     \
    type __kmpc_atomic_val_##bytes##_cas(void *loc, int gtid, type *place, type expected, type new) {     \
        __dsm_library_atomic_compare_exchange(bytes, place, &expected, &new, RELAXED, RELAXED);           \
        return expected;                                                                                  \
    }                                                                                                     \
    bool __kmpc_atomic_bool_##bytes##_cas_cpt(void *loc, int gtid, type *place, type expected, type new,  \
                                              type *out) {                                                \
        type old = __kmpc_atomic_val_##bytes##_cas(loc, gtid, place, expected, new);                      \
        if (old == expected) return true;                                                                 \
        dsm_rt_store((char *)out, bytes);                                                                 \
        *out = old;                                                                                       \
        return false;                                                                                     \
    }                                                                                                     \
    type __kmpc_atomic_val_##bytes##_cas_cpt(void *loc, int gtid, type *place, type expected, type new,   \
                                             type *out) {                                                 \
        type old = __kmpc_atomic_val_##bytes##_cas(loc, gtid, place, expected, new);                      \
        dsm_rt_store((char *)out, bytes);                                                                 \
        *out = old == expected ? new : old;                                                               \
        return old;                                                                                       \
    }

COMPARE(1, int8_t)
COMPARE(2, int16_t)
COMPARE(4, int32_t)
COMPARE(8, int64_t)
