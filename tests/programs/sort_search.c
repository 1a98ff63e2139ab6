// qsort and bsearch on shared arrays: the library calls back into compiled code.
#include "mix.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int key;
    char name[12];
} Record;

static int calls;

static int by_key(const void *a, const void *b) {
#pragma omp atomic
    calls++;
    const Record *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const Record *)a)->name, ((const Record *)b)->name);
}

static int by_pointer(const void *a, const void *b) {
    return by_key(*(Record *const *)a, *(Record *const *)b);
}

enum { PARTS = 6, N = 400 };
static Record part[PARTS][N];

int main(void) {
    Record **all = malloc(sizeof(Record *) * PARTS * N);
    int found = 0;
    // First touched by one thread, sorted by a second, searched by a third.
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int p = 0; p < PARTS; p++)
            for (int i = 0; i < N; i++) {
                part[p][i].key = (i * 7919 + p * 31) % 10007;
                snprintf(part[p][i].name, sizeof part[p][i].name, "n%d", part[p][i].key);
            }
#pragma omp for schedule(static, 1)
        for (int k = 0; k < PARTS; k++) qsort(part[PARTS - 1 - k], N, sizeof(Record), k % 2 ? by_key : by_name);
#pragma omp for schedule(static, 1)
        for (int k = 0; k < PARTS; k++)
            for (int i = 0; i < N; i++) all[k * N + i] = &part[(k + 2) % PARTS][i];
#pragma omp single
        qsort(all, PARTS * N, sizeof *all, by_pointer);
#pragma omp for reduction(+ : found) schedule(dynamic, 100)
        for (int key = 0; key < 10007; key++) {
            Record wanted = {key, ""}, *w = &wanted;
            Record **hit = bsearch(&w, all, PARTS * N, sizeof *all, by_pointer);
            found += hit != NULL && (*hit)->key == key;
        }
    }
    unsigned long h = 0;
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < N; i++) h = mix(h, (unsigned long)part[p][i].key);
    for (int i = 0; i < PARTS * N; i++) h = mix(h, (unsigned long)all[i]->key);
    printf("%d %016lx %d\n", found, h, calls > 0);
    free(all);
    return 0;
}
