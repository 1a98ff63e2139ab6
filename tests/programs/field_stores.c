// Structures of two fields, stored to at random places behind atomic operations that release: the fields one by one, and copied as one number, which may lie in two lines.
#include "mix.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = 499, EDGES = 24000 };

struct edge { int to, weight; };
struct half { short to, weight; };
struct wide { double to, weight; };

static int ends[EDGES][2], first[VERTICES + 1];
static int next_edge[VERTICES], next_half[VERTICES], next_wide[VERTICES], next_field[VERTICES];

static int weight(int u, int v) { return u * 7 + v * 3 + 1; }

#define CHECK(array, name)                                                        \
    for (int u = 0; u < VERTICES; u++) {                                          \
        long sum = 0, wrong = 0;                                                  \
        for (int i = first[u]; i < first[u + 1]; i++) {                           \
            sum += (long)(array)[i].to * (array)[i].to;                           \
            wrong += (array)[i].weight != weight(u, (int)(array)[i].to);          \
        }                                                                         \
        total = (total * 31 + sum) % 1000000007, bad += wrong;                    \
    }                                                                             \
    printf(name " %ld %ld\n", total, bad)

int main(void) {
    unsigned random = 12345;
    for (int i = 0; i < EDGES; i++)
        for (int end = 0; end < 2; end++) {
            random = random * 1103515245u + 12345u;
            ends[i][end] = (random >> 8) % VERTICES;
        }
    for (int i = 0; i < EDGES; i++) first[ends[i][0] + 1]++;
    for (int u = 0; u < VERTICES; u++) first[u + 1] += first[u];
    // Aligned to the fields only: every eighth edge lies in two lines of 64 bytes.
    char *memory = malloc(EDGES * sizeof(struct edge) + 64), *others = malloc(EDGES * sizeof(struct edge) + 64);
    struct edge *edges = (struct edge *)(memory + 4), *fields = (struct edge *)(others + 4);
    struct half *halves = malloc(EDGES * sizeof *halves);
    struct wide *wides = malloc(EDGES * sizeof *wides);
    for (int u = 0; u < VERTICES; u++) next_edge[u] = next_half[u] = next_wide[u] = next_field[u] = first[u];
#pragma omp parallel for schedule(dynamic, 64)
    for (int i = 0; i < EDGES; i++) {
        int u = ends[i][0], v = ends[i][1];
        struct edge edge = {v, weight(u, v)};
        memcpy(&edges[__sync_fetch_and_add(&next_edge[u], 1)], &edge, sizeof edge);
    }
#pragma omp parallel for schedule(static, 3)
    for (int i = 0; i < EDGES; i++) {
        int u = ends[i][0], v = ends[i][1], at = __sync_fetch_and_add(&next_field[u], 1);
        fields[at].to = v;
        fields[at].weight = weight(u, v);
    }
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < EDGES; i++) {
        int u = ends[i][0], v = ends[i][1], at = __sync_fetch_and_add(&next_half[u], 1);
        halves[at].weight = (short)weight(u, v);
        halves[at].to = (short)v;
    }
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < EDGES; i++) {
        int u = ends[i][0], v = ends[i][1], at = __sync_fetch_and_add(&next_wide[u], 1);
        wides[at].to = v;
        wides[at].weight = weight(u, v);
    }
    long total = 0, bad = 0;
    CHECK(edges, "edges");
    CHECK(fields, "fields");
    CHECK(halves, "halves");
    CHECK(wides, "wides");
    free(memory);
    free(others);
    free(halves);
    free(wides);
    return 0;
}
