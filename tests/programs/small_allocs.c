// 100 000 small allocations made by all threads and freed by others, with contents checked.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100000 };
static unsigned char *block[COUNT];

static size_t size_of(int i) {
    return 1 + (size_t)i * 7919 % 120;
}

int main(void) {
    long bad = 0, misaligned = 0;
#pragma omp parallel for reduction(+ : misaligned) schedule(static, 1)
    for (int i = 0; i < COUNT; i++) {
        size_t n = size_of(i);
        block[i] = malloc(n);
        misaligned += (uintptr_t)block[i] % 16 != 0;
        for (size_t k = 0; k < n; k++) block[i][k] = (unsigned char)(i + (int)k);
    }
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for reduction(+ : bad) schedule(dynamic, 97)
        for (int i = 0; i < COUNT; i++) {
            size_t n = size_of(i);
            for (size_t k = 0; k < n; k++) bad += block[i][k] != (unsigned char)(i + (int)k + round);
        }
        // Half are freed by another thread than the one that allocated them, and allocated anew.
#pragma omp parallel for schedule(static, 1) reduction(+ : misaligned)
        for (int k = 0; k < COUNT; k++) {
            int i = COUNT - 1 - k;
            size_t n = size_of(i);
            if (i % 2 == round % 2) {
                free(block[i]);
                block[i] = malloc(n);
                misaligned += (uintptr_t)block[i] % 16 != 0;
            }
            for (size_t b = 0; b < n; b++) block[i][b] = (unsigned char)(i + (int)b + round + 1);
        }
    }
#pragma omp parallel for schedule(static, 501)
    for (int i = 0; i < COUNT; i++) free(block[(i * 7L + 3) % COUNT]);
    printf("bad %ld misaligned %ld\n", bad, misaligned);
    return 0;
}
