/*
 * The right-hand side of MG: of one random number per interior point, in memory order, the ten largest mark the
 * points that become +1, the ten smallest those that become -1.
 *
 * The extremes of all points are among those of any parts, so each member of a team can draw the numbers of its planes,
 * and set the points in its own planes when it has the extremes of the others. All numbers differ: the sequence does
 * not repeat within 2^44 steps.
 */
#include "grid.h"

#include "random.h"

struct extremes charge_none(void)
{
    struct extremes set;

    for (int c = 0; c < CHARGES; c++) {
        set.largest[c] = (struct candidate){0, -1};
        set.smallest[c] = (struct candidate){UINT64_MAX, -1};
    }
    return set;
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

struct extremes charge_draw(struct grid v, struct span planes)
{
    const long plane = (long)v.n * v.n, first = (planes.lo - 1) * plane, past = (planes.hi - 1) * plane;
    uint64_t state = random_skip(RANDOM_SEED, (uint64_t)first), low = UINT64_MAX, high = 0;
    struct extremes set = charge_none();

    for (long point = first; point < past; point++) {
        state = random_next(state);
        if (state > high || state < low) {
            offer_large(set.largest, (struct candidate){state, point});
            offer_small(set.smallest, (struct candidate){state, point});
            high = set.largest[0].number;
            low = set.smallest[0].number;
        }
    }
    return set;
}

void charge_merge(struct extremes *set, const struct extremes *other)
{
    for (int c = 0; c < CHARGES; c++) {
        offer_large(set->largest, other->largest[c]);
        offer_small(set->smallest, other->smallest[c]);
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

void charge_place(struct grid v, struct span planes, const struct extremes *set)
{
    grid_zero(v, planes);
    place(v, planes, set->smallest, -1.0);
    place(v, planes, set->largest, +1.0);
}
