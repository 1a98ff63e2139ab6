// Atomic update, read, write and capture on every integer width; neighbours are updated by all.
#include <stdio.h>

static signed char c8[64];
static unsigned char u8[64];
static short s16[64];
static unsigned short u16[64];
static int i32[64];
static unsigned u32[64];
static long i64[64];
static unsigned long u64[64];
static int seen[4000];

#define UPDATE(A, T)                                                                                         \
    do {                                                                                                     \
        _Pragma("omp atomic") A[k] += (T)i;                                                                  \
        _Pragma("omp atomic") A[(k + 1) & 63] -= (T)(i / 2);                                                 \
        _Pragma("omp atomic") A[(k + 2) & 63] ^= (T)(i << 1);                                                \
        _Pragma("omp atomic") A[(k + 2) & 63] ^= (T)(i >> 3);                                                \
    } while (0)
#define SUM(A)                                                                                               \
    do {                                                                                                     \
        long h = 0;                                                                                          \
        for (int i = 0; i < 64; i++) h = h * 31 + (long)A[i];                                                \
        printf(#A " %ld\n", h);                                                                              \
    } while (0)

int main(void) {
    // Updates of one element use one kind of operator each, so that their order does not matter.
#pragma omp parallel for schedule(static, 3)
    for (int i = 0; i < 1280; i++) {
        int k = i * 3 % 63 / 3 * 3;
        UPDATE(c8, signed char);
        UPDATE(u8, unsigned char);
        UPDATE(s16, short);
        UPDATE(u16, unsigned short);
        UPDATE(i32, int);
        UPDATE(u32, unsigned);
        UPDATE(i64, long);
        UPDATE(u64, unsigned long);
    }
    SUM(c8);
    SUM(u8);
    SUM(s16);
    SUM(u16);
    SUM(i32);
    SUM(u32);
    SUM(i64);
    SUM(u64);

    int ticket = 0, high = 0, product = 1, any = 0, all = ~0;
    short small = 0;
    unsigned char wrap = 0;
#pragma omp parallel for
    for (int i = 0; i < 2000; i++) {
        int mine;
#pragma omp atomic capture
        mine = ticket++;
        seen[mine]++;
#pragma omp atomic capture
        {
            small += 3;
            mine = small;
        }
        seen[2000 + (unsigned short)mine % 2000] += mine > 6000;
#pragma omp atomic
        any |= i;
#pragma omp atomic
        all &= ~(i & 1024);
#pragma omp atomic
        wrap = wrap + 7;
        if (i % 200 == 0) {
#pragma omp atomic
            product = 3 * product;
        }
#pragma omp atomic compare
        if (high < i) { high = i; }
    }
    int once = 0;
    for (int i = 0; i < 2000; i++) once += seen[i] == 1;
    printf("%d %d %d %d %d %d %d %d\n", ticket, once, small, any, all, wrap, product, high);
    int value = 0, copies = 0;
#pragma omp parallel
    {
#pragma omp single
        {
#pragma omp atomic write
            value = 12345;
        }
        int mine;
#pragma omp atomic read
        mine = value;
#pragma omp atomic
        copies += mine != 12345;
    }
    printf("%d %d\n", value, copies);
    return 0;
}
