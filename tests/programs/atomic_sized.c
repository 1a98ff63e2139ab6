//@ libs: -latomic
// The functions of libatomic with the size in their names, as GNU tools and handwritten code call them.
#include <stdio.h>

typedef unsigned char u1;
typedef unsigned short u2;
typedef unsigned int u4;
typedef unsigned long u8;
typedef unsigned __int128 u16;

#define DECLARE(n)                                                  \
    u##n __atomic_load_##n(const volatile void *, int);             \
    void __atomic_store_##n(volatile void *, u##n, int);            \
    u##n __atomic_exchange_##n(volatile void *, u##n, int);         \
    _Bool __atomic_compare_exchange_##n(volatile void *, void *, u##n, int, int);
#define FETCH(n, op)                                                \
    u##n __atomic_fetch_##op##_##n(volatile void *, u##n, int);     \
    u##n __atomic_##op##_fetch_##n(volatile void *, u##n, int);
#define ALL(n)                                                                                                  \
    DECLARE(n) FETCH(n, add) FETCH(n, sub) FETCH(n, and) FETCH(n, or) FETCH(n, xor) FETCH(n, nand)              \
    static u##n word##n[8], guard##n, hits##n;                                                                  \
    static void step##n(int i) {                                                                                \
        __atomic_fetch_add_##n(&word##n[0], (u##n)i, 5);                                                        \
        __atomic_sub_fetch_##n(&word##n[1], (u##n)i, 4);                                                        \
        __atomic_fetch_or_##n(&word##n[2], (u##n)((u##n)1 << i % (8 * n)), 0);                                  \
        __atomic_xor_fetch_##n(&word##n[3], (u##n)i, 3);                                                        \
        __atomic_and_fetch_##n(&word##n[4], (u##n) ~((u##n)1 << i % 7), 2);                                     \
        __atomic_add_fetch_##n(&word##n[6], 3, 0);                                                              \
        while (__atomic_exchange_##n(&guard##n, 1, 2)) {                                                        \
        }                                                                                                       \
        hits##n++;                                                                                              \
        __atomic_store_##n(&guard##n, 0, 3);                                                                    \
        u##n old = __atomic_load_##n(&word##n[5], 0);                                                           \
        while (!__atomic_compare_exchange_##n(&word##n[5], &old, (u##n)(old * 1 + i), 5, 0)) {                  \
        }                                                                                                       \
    }                                                                                                           \
    static void alone##n(void) {                                                                                \
        word##n[4] = (u##n)~0;                                                                                  \
        for (int op = 0; op < 3; op++) {                                                                        \
            u##n a = __atomic_fetch_nand_##n(&word##n[7], 0x5a, 5), b = __atomic_nand_fetch_##n(&word##n[7], 7, 5);   \
            u##n c = __atomic_or_fetch_##n(&word##n[7], 16, 0), d = __atomic_fetch_xor_##n(&word##n[7], 3, 0);        \
            u##n e = __atomic_fetch_sub_##n(&word##n[7], 9, 0), f = __atomic_fetch_and_##n(&word##n[7], 0x7f, 0);     \
            printf("%lx %lx %lx %lx %lx %lx\n", (u8)a, (u8)b, (u8)c, (u8)d, (u8)e, (u8)f);                      \
        }                                                                                                       \
    }                                                                                                           \
    static void show##n(void) {                                                                                 \
        for (int k = 0; k < 8; k++) printf("%lx.%lx ", (u8)((u16)word##n[k] >> 64), (u8)word##n[k]);            \
        printf("%lu\n", (u8)hits##n);                                                                           \
    }

ALL(1)
ALL(2)
ALL(4)
ALL(8)
ALL(16)

int main(void) {
    alone1(), alone2(), alone4(), alone8(), alone16();
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 120; i++) step1(i), step2(i), step4(i), step8(i), step16(i);
    show1(), show2(), show4(), show8(), show16();
    return 0;
}
