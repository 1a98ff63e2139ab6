// realloc growth and shrinking, calloc zeroes recycled memory, aligned allocation, large blocks,
// zero sizes, free(NULL), strdup; each block used by several threads.
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    long bad = 0, sum = 0;
    int *grown[16] = {0};
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 16; i++) {
        int capacity = 0;
        for (int n = 0; n < 3000; n++) {
            if (n == capacity) grown[i] = realloc(grown[i], sizeof(int) * (size_t)(capacity = capacity ? capacity * 2 : 3));
            grown[i][n] = n * i;
        }
    }
#pragma omp parallel for schedule(static, 1) reduction(+ : bad, sum)
    for (int k = 0; k < 16; k++) {
        int i = 15 - k;
        for (int n = 0; n < 3000; n++) bad += grown[i][n] != n * i, sum += grown[i][n];
        grown[i] = realloc(grown[i], 40 * sizeof(int));
        for (int n = 0; n < 40; n++) bad += grown[i][n] != n * i;
    }
    for (int i = 0; i < 16; i++) free(grown[i]);
    printf("realloc %ld %ld\n", bad, sum);

    bad = 0;
#pragma omp parallel for reduction(+ : bad) schedule(dynamic, 3)
    for (int i = 0; i < 600; i++) {
        size_t n = (size_t)(i * 37 % 5000 + 1);
        unsigned char *dirty = malloc(n);
        memset(dirty, 0xAB, n);
        free(dirty);
        unsigned char *clean = calloc(n, 1);
        for (size_t k = 0; k < n; k++) bad += clean[k] != 0;
        memset(clean, 0xCD, n);
        free(clean);
    }
    long *big = calloc(1 << 19, sizeof *big);
#pragma omp parallel for reduction(+ : bad)
    for (int i = 0; i < 1 << 19; i++) bad += big[i] != 0, big[i] = i;
    big = realloc(big, sizeof *big << 20);
#pragma omp parallel for reduction(+ : bad) schedule(static, 4096)
    for (int i = 0; i < 1 << 19; i++) bad += big[i] != i;
    free(big);
    printf("calloc %ld\n", bad);

    bad = 0;
#pragma omp parallel for reduction(+ : bad)
    for (int i = 0; i < 200; i++) {
        size_t align = (size_t)16 << (i % 9);
        void *a = aligned_alloc(align, align * 3), *b = NULL;
        bad += posix_memalign(&b, align, (size_t)i + 1) != 0;
        void *c = memalign(align, 10);
        bad += (uintptr_t)a % align || (uintptr_t)b % align || (uintptr_t)c % align;
        bad += malloc_usable_size(b) < (size_t)i + 1;
        memset(a, i, align * 3);
        memset(b, i, (size_t)i + 1);
        free(a), free(b), free(c);
        free(NULL);
        free(malloc(0));
        char *s = strdup("some text"), *t = strndup(s, 4);
        bad += strcmp(t, "some") != 0;
        free(realloc(s, 500));
        free(t);
    }
    printf("aligned %ld\n", bad);
    return 0;
}
