/*
 * The right-hand side of MG: of one random number per interior point, in memory order, the ten largest mark the
 * points that become +1, the ten smallest those that become -1.
 *
 * Each thread draws the numbers of its planes and keeps its extremes. The team's extremes are among those, so after
 * one barrier every thread finds them and sets the points in its own planes. All numbers differ: the sequence does
 * not repeat within 2^44 steps.
 */
#include "grid.h"

#include "random.h"

#include <stdint.h>

#define CHARGES 10

/* A random number as an integer and the interior point it belongs to, counted in memory order. */
struct candidate {
    uint64_t number;
    long point;
};

/* The extremes of a set, the one to be displaced next in front. */
struct extremes {
    struct candidate largest[CHARGES];
    struct candidate smallest[CHARGES];
};

/* Where a thread shows its extremes to the others. */
struct finding {
    _Alignas(PAGE_BYTES) struct extremes extremes;
};

static struct finding *found; /* one for each thread */

static void clear(struct extremes *set)
{
    for (int c = 0; c < CHARGES; c++) {
        set->largest[c] = (struct candidate){0, -1};
        set->smallest[c] = (struct candidate){UINT64_MAX, -1};
    }
}

/* Takes `item` in if it is larger than the smallest of the largest so far. */
static void offer_large(struct candidate *list, struct candidate item)
{
    if (item.number <= list[0].number)
        return;
    int c = 1;
    for (; c < CHARGES && list[c].number < item.number; c++)
        list[c - 1] = list[c];
    list[c - 1] = item;
}

/* Takes `item` in if it is smaller than the largest of the smallest so far. */
static void offer_small(struct candidate *list, struct candidate item)
{
    if (item.number >= list[0].number)
        return;
    int c = 1;
    for (; c < CHARGES && list[c].number > item.number; c++)
        list[c - 1] = list[c];
    list[c - 1] = item;
}

/* The extremes of the numbers drawn for the points from `first` up to `past`. */
static void draw(long first, long past, struct extremes *set)
{
    uint64_t state = random_skip(RANDOM_SEED, (uint64_t)first);

    clear(set);
    uint64_t low = UINT64_MAX, high = 0;
    for (long point = first; point < past; point++) {
        state = random_next(state);
        if (state > high || state < low) {
            offer_large(set->largest, (struct candidate){state, point});
            offer_small(set->smallest, (struct candidate){state, point});
            high = set->largest[0].number;
            low = set->smallest[0].number;
        }
    }
}

static void place(struct grid v, struct span planes, const struct candidate *list, double charge)
{
    for (int c = 0; c < CHARGES; c++) {
        const long row = list[c].point / v.n;
        const int k = (int)(row / v.n) + 1, j = (int)(row % v.n) + 1, i = (int)(list[c].point % v.n) + 1;
        if (list[c].point >= 0 && k >= planes.lo && k < planes.hi)
            grid_row(v, k, j)[i] = charge;
    }
}

void grid_charge(struct member *self, struct grid v, struct span planes)
{
    const long plane = (long)v.n * v.n;
    struct extremes mine, all;

    if (self->rank == 0 && found == NULL)
        found = allocate((size_t)self->size, sizeof *found);
    draw((planes.lo - 1) * plane, (planes.hi - 1) * plane, &mine);
#pragma omp barrier
    found[self->rank].extremes = mine;
#pragma omp barrier
    clear(&all);
    for (int t = 0; t < self->size; t++) {
        const struct extremes theirs = found[t].extremes;
        for (int c = 0; c < CHARGES; c++) {
            offer_large(all.largest, theirs.largest[c]);
            offer_small(all.smallest, theirs.smallest[c]);
        }
    }
    grid_zero(v, planes);
    place(v, planes, all.smallest, -1.0);
    place(v, planes, all.largest, +1.0);
#pragma omp barrier
}
