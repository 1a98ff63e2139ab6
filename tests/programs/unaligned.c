// Accesses that straddle lines and pages: unaligned words, packed records, memory from an odd offset.
#include "mix.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct __attribute__((packed)) {
    char c;
    double d;
    int i;
    short s;
    uint64_t w;
} Packed; // 23 bytes

static Packed packed[1000];

int main(void) {
    unsigned char *raw = calloc(1, 70000);
    unsigned long h = 0;
#pragma omp parallel
    for (int round = 0; round < 6; round++) {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 1000; i++) {
            packed[i].c++;
            packed[i].d += i * 0.5;
            packed[i].i ^= i + round;
            packed[i].s = (short)(packed[i].s + packed[i].c);
            packed[i].w = packed[i].w * 3 + (uint64_t)packed[i].i;
        }
        // 8-byte words at 9-byte distance: each straddles a 64-byte line or a page at some index.
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 7000; i++) {
            uint64_t v;
            memcpy(&v, raw + 1 + i * 9, 8);
            v += packed[(i * 7) % 1000].w;
            memcpy(raw + 1 + i * 9, &v, 8);
        }
#pragma omp for schedule(static, 2)
        for (int i = 0; i < 7000; i++) raw[9 + i * 9] += (unsigned char)(i + round);
    }
    for (int i = 0; i < 64000; i++) h = mix(h, raw[i]);
    for (int i = 0; i < 1000; i++) h = mix(h, packed[i].w + (unsigned long)packed[i].s + (unsigned long)packed[i].d);
    printf("%zu %016lx\n", sizeof(Packed), h);
    free(raw);
    return 0;
}
