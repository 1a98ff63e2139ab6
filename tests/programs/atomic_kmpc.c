//@ flags: -Wno-implicit-function-declaration
// The atomic operations of the OpenMP library by type, as other compilers call them: every one alone, then updates by all threads.
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef float _Complex cmplx4;
typedef double _Complex cmplx8;
typedef long double _Complex cmplx10;

int __kmpc_global_thread_num(void *);
#define GTID __kmpc_global_thread_num(0)

static int32_t calls;
static double digest;
#define NOTE(value) (digest = digest / 3 + (double)(value), calls++)

#define CHECK(id, type, operand, start, with)                            \
    {                                                                    \
        static type place;                                               \
        void __kmpc_atomic_##id(void *, int, type *, operand);           \
        place = start;                                                   \
        __kmpc_atomic_##id(0, GTID, &place, with);                          \
        NOTE(place);                                                     \
    }
#define CAPTURE(id, type, start, with)                                   \
    {                                                                    \
        static type place;                                               \
        type __kmpc_atomic_##id(void *, int, type *, type, int);         \
        place = start;                                                   \
        NOTE(__kmpc_atomic_##id(0, GTID, &place, with, 0));                 \
        NOTE(__kmpc_atomic_##id(0, GTID, &place, with, 1));                 \
        NOTE(place);                                                     \
    }
#define BOTH(id, type, start, with) CHECK(id, type, type, start, with) CAPTURE(id##_cpt, type, start, with)
#define REVERSED(id, type, start, with) CHECK(id##_rev, type, type, start, with) CAPTURE(id##_cpt_rev, type, start, with)
#define PLAIN(id, type, start, with)                                     \
    {                                                                    \
        static type place;                                               \
        type __kmpc_atomic_##id##_rd(void *, int, type *);               \
        void __kmpc_atomic_##id##_wr(void *, int, type *, type);         \
        __kmpc_atomic_##id##_wr(0, GTID, &place, start);                    \
        NOTE(__kmpc_atomic_##id##_rd(0, GTID, &place));                     \
    }
#define SWAP(id, type, start, with)                                      \
    {                                                                    \
        static type place;                                               \
        type __kmpc_atomic_##id##_swp(void *, int, type *, type);        \
        place = start;                                                   \
        NOTE(__kmpc_atomic_##id##_swp(0, GTID, &place, with));              \
        NOTE(place);                                                     \
    }
#define ARITHMETIC(id, type, start, with)                                                                     \
    BOTH(id##_add, type, start, with) BOTH(id##_sub, type, start, with) BOTH(id##_mul, type, start, with)     \
    BOTH(id##_div, type, start, with) REVERSED(id##_sub, type, start, with) REVERSED(id##_div, type, 5, 125)
#define EXTREMES(id, type, start, with) BOTH(id##_max, type, start, with) BOTH(id##_min, type, start, with)
#define INTEGER(id, type, idu, typeu)                                                                         \
    static void all_##id(void) {                                                                              \
        PLAIN(id, type, 77, 3) SWAP(id, type, 77, 3) ARITHMETIC(id, type, 23, 5) EXTREMES(id, type, -4, 9)    \
        BOTH(id##_andb, type, 0x5b, 0x36) BOTH(id##_orb, type, 0x51, 0x36) BOTH(id##_xor, type, 0x5b, 0x36)   \
        BOTH(id##_neqv, type, 0x5b, 0x36) BOTH(id##_eqv, type, 0x5b, 0x36)                                    \
        BOTH(id##_andl, type, 4, 1) BOTH(id##_orl, type, 0, 0)                                                \
        BOTH(id##_shl, type, 5, 2) BOTH(id##_shr, type, -90, 2)                                               \
        REVERSED(id##_shl, type, 3, 1) REVERSED(id##_shr, type, 2, 100)                                       \
        CHECK(id##_mul_float8, type, double, 20, 1.3) CHECK(id##_div_float8, type, double, 20, 0.4)           \
        BOTH(idu##_div, typeu, 250, 3) BOTH(idu##_shr, typeu, 250, 1)                                         \
        REVERSED(idu##_div, typeu, 3, 250) REVERSED(idu##_shr, typeu, 1, 250)                                 \
        printf(#id " %.17g %d\n", digest, (int)calls);                                                        \
    }
#define REAL(id, type)                                                                                        \
    static void all_##id(void) {                                                                              \
        PLAIN(id, type, 7.5, 3) SWAP(id, type, 7.5, 3) ARITHMETIC(id, type, 23.5, 5) EXTREMES(id, type, -4.5, 9) \
        printf(#id " %.17g %d\n", digest, (int)calls);                                                        \
    }
#define COMPLEX(id, type)                                                                                     \
    static void all_##id(void) {                                                                              \
        PLAIN(id, type, 1 + 2 * I, 3) SWAP(id, type, 1 + 2 * I, 3) ARITHMETIC(id, type, 3 + 2 * I, 1 - I)      \
        printf(#id " %.17g %d\n", digest, (int)calls);                                                        \
    }
INTEGER(fixed1, int8_t, fixed1u, uint8_t)
INTEGER(fixed2, int16_t, fixed2u, uint16_t)
INTEGER(fixed4, int32_t, fixed4u, uint32_t)
INTEGER(fixed8, int64_t, fixed8u, uint64_t)
REAL(float4, float)
REAL(float8, double)
REAL(float10, long double)
COMPLEX(cmplx8, cmplx8)
COMPLEX(cmplx10, cmplx10)

// Pairs of floats are captured through memory.
#define OUT(id, start, with)                                                              \
    {                                                                                     \
        static cmplx4 place, out;                                                         \
        void __kmpc_atomic_cmplx4_##id(void *, int, cmplx4 *, cmplx4, cmplx4 *, int);     \
        place = start;                                                                    \
        __kmpc_atomic_cmplx4_##id(0, GTID, &place, with, &out, 0), NOTE(crealf(out));        \
        __kmpc_atomic_cmplx4_##id(0, GTID, &place, with, &out, 1), NOTE(cimagf(out));        \
        NOTE(crealf(place));                                                              \
    }
#define OPERATION(op)                                                                     \
    CHECK(cmplx4_##op, cmplx4, cmplx4, 3 + 2 * I, 1 - I) OUT(op##_cpt, 3 + 2 * I, 1 - I)  \
    CHECK(cmplx4_##op##_cmplx8, cmplx4, cmplx8, 3 + 2 * I, 1 - I)
static void all_cmplx4(void) {
    PLAIN(cmplx4, cmplx4, 1 + 2 * I, 3)
    OPERATION(add) OPERATION(sub) OPERATION(mul) OPERATION(div)
    CHECK(cmplx4_sub_rev, cmplx4, cmplx4, 3 + 2 * I, 1 - I) OUT(sub_cpt_rev, 3 + 2 * I, 1 - I)
    CHECK(cmplx4_div_rev, cmplx4, cmplx4, 3 + 2 * I, 1 - I) OUT(div_cpt_rev, 3 + 2 * I, 1 - I)
    CHECK(float4_add_float8, float, double, 3, 0.1) CHECK(float4_sub_float8, float, double, 3, 0.1)
    CHECK(float4_mul_float8, float, double, 3, 0.1) CHECK(float4_div_float8, float, double, 3, 0.1)
    static cmplx4 place = 4, out;
    void __kmpc_atomic_cmplx4_swp(void *, int, cmplx4 *, cmplx4, cmplx4 *);
    __kmpc_atomic_cmplx4_swp(0, GTID, &place, 9 + I, &out), NOTE(crealf(out)), NOTE(cimagf(place));
    printf("cmplx4 %.17g %d\n", digest, (int)calls);
}

#define COMPARE(n, type)                                                                              \
    {                                                                                                 \
        static type place = 5, out;                                                                   \
        _Bool __kmpc_atomic_bool_##n##_cas(void *, int, type *, type, type);                          \
        type __kmpc_atomic_val_##n##_cas(void *, int, type *, type, type);                            \
        _Bool __kmpc_atomic_bool_##n##_cas_cpt(void *, int, type *, type, type, type *);              \
        type __kmpc_atomic_val_##n##_cas_cpt(void *, int, type *, type, type, type *);                \
        NOTE(__kmpc_atomic_bool_##n##_cas(0, GTID, &place, 5, 6));                                       \
        NOTE(__kmpc_atomic_bool_##n##_cas(0, GTID, &place, 5, 7));                                       \
        NOTE(__kmpc_atomic_val_##n##_cas(0, GTID, &place, 6, 8));                                        \
        NOTE(__kmpc_atomic_val_##n##_cas(0, GTID, &place, 6, 9));                                        \
        NOTE(__kmpc_atomic_bool_##n##_cas_cpt(0, GTID, &place, 1, 2, &out)), NOTE(out);                  \
        NOTE(__kmpc_atomic_bool_##n##_cas_cpt(0, GTID, &place, 8, 2, &out)), NOTE(place);                \
        NOTE(__kmpc_atomic_val_##n##_cas_cpt(0, GTID, &place, 1, 3, &out)), NOTE(out);                   \
        NOTE(__kmpc_atomic_val_##n##_cas_cpt(0, GTID, &place, 2, 3, &out)), NOTE(out);                   \
    }

typedef struct { int v[8]; } Bytes;
static void combine(void *to, void *from, void *operand) {
    *(unsigned char *)to = *(unsigned char *)from + *(unsigned char *)operand;
}
static void combine_all(void *to, void *from, void *operand) {
    Bytes sum;
    for (int i = 0; i < 8; i++) sum.v[i] = ((Bytes *)from)->v[i] + ((Bytes *)operand)->v[i];
    memcpy(to, &sum, sizeof sum);
}

static int64_t many;
static long double precise;
static cmplx8 pair;
static Bytes bytes;
static unsigned char byte;

int main(void) {
    all_fixed1(), all_fixed2(), all_fixed4(), all_fixed8();
    all_float4(), all_float8(), all_float10(), all_cmplx4(), all_cmplx8(), all_cmplx10();
    COMPARE(1, int8_t) COMPARE(2, int16_t) COMPARE(4, int32_t) COMPARE(8, int64_t)
    printf("compare %.17g %d\n", digest, (int)calls);
    void __kmpc_atomic_1(void *, int, void *, void *, void (*)(void *, void *, void *));
    void __kmpc_atomic_32(void *, int, void *, void *, void (*)(void *, void *, void *));
    long seen = 0;
#pragma omp parallel for reduction(+ : seen) schedule(static, 1)
    for (int i = 0; i < 200; i++) {
        Bytes operand = {{i, 1, 2, 3, 4, 5, 6, -i}};
        unsigned char one = 1;
        __kmpc_atomic_fixed8_add(0, GTID, &many, (int64_t)i);
        __kmpc_atomic_float10_sub(0, GTID, &precise, (long double)i / 4);
        __kmpc_atomic_cmplx8_add(0, GTID, &pair, 1 + I * i);
        __kmpc_atomic_1(0, GTID, &byte, &one, combine);
        __kmpc_atomic_32(0, GTID, &bytes, &operand, combine_all);
        seen += __kmpc_atomic_fixed8_add_cpt(0, GTID, &many, (int64_t)1, 1) > 0;
    }
    printf("%ld %Lg %g%+gi %d %d %d %d %ld\n", (long)many, precise, creal(pair), cimag(pair), byte, bytes.v[0], bytes.v[6],
           bytes.v[7], seen);
    return 0;
}
