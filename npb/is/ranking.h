/* The keys of IS and their ranking by a team of threads. */
#ifndef IS_RANKING_H
#define IS_RANKING_H

#include "params.h"
#include "team.h"

/* Where the keys of each bucket begin in a thread's part of the bucketed keys; the last entry is the end. */
struct directory {
    _Alignas(PAGE_BYTES) int begin[BUCKETS + 1];
};

/* What a thread keeps between the steps: its share of the keys, and of the buckets after the last ranking. */
struct ranker {
    struct span keys;
    struct span buckets;
    int smaller; /* number of keys below those of its buckets */
};

extern int is_keys[KEYS];

/*
 * After ranking, is_rank[k] is the number of keys <= k. The keys a thread is to rank come from every thread's part
 * of the bucketed keys.
 */
extern int is_rank[MAX_KEY];

/* Draws the keys of the span: sums of four uniform numbers. */
void keys_draw(struct span keys);

/* Ranks all keys. Called by every member of the team; the ranks are visible to all on return. */
void keys_rank(const struct member *self, struct directory *directories, struct ranker *ranker);

/*
 * Moves the keys last ranked to their ranks, which sorts is_keys and uses is_rank up. Returns the number of the
 * thread's keys that are out of order.
 */
long keys_sort(const struct member *self, const struct directory *directories, const struct ranker *ranker);

#endif
