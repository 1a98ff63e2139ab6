// Plain loads at random between atomic operations: compare-and-swap loops on counters, bits, pointers, floating-point numbers and bytes, and loads of what other threads change.
#include "mix.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 6000, STEPS = 30000, PARTS = 24 };

static int counts[COUNT];
static uint64_t bits[COUNT];
static double sums[COUNT];
static char bytes[COUNT];
static int *places[COUNT];
static int depths[COUNT];
static struct {
    short left, right;
} pairs[COUNT];

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void set_bit(uint64_t *words, unsigned bit) {
    uint64_t old;
    do {
        old = words[bit / 64];
    } while (!__sync_bool_compare_and_swap(&words[bit / 64], old, old | (uint64_t)1 << bit % 64));
}

static void add(double *to, double what) {
    double old = *to, new = old + what;
    uint64_t before, after;
    for (;;) {
        memcpy(&before, &old, 8);
        memcpy(&after, &new, 8);
        uint64_t found = __sync_val_compare_and_swap((uint64_t *)to, before, after);
        if (found == before) return;
        memcpy(&old, &found, 8);
        new = old + what;
    }
}

int main(void) {
    unsigned long hash = 0;
    for (int i = 0; i < COUNT; i++) depths[i] = -1;
    long found = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : found)
    for (int part = 0; part < PARTS; part++) {
        unsigned state = part * 7919u + 1;
        for (int step = 0; step < STEPS / PARTS; step++) {
            unsigned i = next(&state) % COUNT, j = next(&state) % COUNT;
            int old;
            do {
                old = counts[i];
            } while (!__sync_bool_compare_and_swap(&counts[i], old, old + 1));
            set_bit(bits, i * 64 + j % 64);
            add(&sums[j], 1 + step % 3);
            char byte;
            do {
                byte = bytes[j];
            } while (!__sync_bool_compare_and_swap(&bytes[j], byte, (char)(byte + 3)));
            if (places[i] == NULL) __sync_bool_compare_and_swap(&places[i], NULL, &counts[i]);
            if (places[i] != &counts[i]) found += 1000000;
            if (depths[j] == -1 && __sync_bool_compare_and_swap(&depths[j], -1, (int)j)) found++;
            if (depths[j] != (int)j) found += 1000000;
            // An own store, with an atomic operation behind it, is there afterwards.
            if (i % PARTS == (unsigned)part) {
                pairs[i].left++;
                __sync_fetch_and_add(&counts[j], 2);
                pairs[i].right = pairs[i].left;
                __sync_fetch_and_add(&counts[j], -2);
                if (pairs[i].right != pairs[i].left) found += 1000000;
            }
        }
    }
    for (int i = 0; i < COUNT; i++) {
        hash = mix(hash, (unsigned long)counts[i] * 31 + bits[i]);
        hash = mix(hash, (unsigned long)sums[i] * 7 + (unsigned char)bytes[i]);
        hash = mix(hash, (unsigned long)(places[i] != NULL) + (unsigned long)(depths[i] + 1) + (unsigned long)pairs[i].right);
    }
    printf("%ld %lu\n", found, hash);
    return 0;
}
