/* The keys of IS and their ranking by a team. */
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

/* The keys of each member's share, bucket after bucket, as its directory says. */
extern int is_bucketed[KEYS];

/*
 * After ranking, is_rank[k] is the number of keys <= k. The keys a thread is to rank come from every thread's part
 * of the bucketed keys.
 */
extern int is_rank[MAX_KEY];

/* Draws the keys of the span: sums of four uniform numbers. */
void keys_draw(struct span keys);

/* Step 1. Leaves in `directory` where each bucket lies. */
void keys_fill_buckets(struct span keys, struct directory *directory);

/* Sets the buckets of a member and the number of keys below them. They are disjoint, and complete over the team. */
void keys_deal_buckets(const struct member *self, const struct directory *directories, struct ranker *ranker);

/* Step 2. */
void keys_rank_buckets(int team, const struct directory *directories, const struct ranker *ranker);

/* Moves the keys of some buckets to their ranks, which uses is_rank up. All of them done, is_keys is sorted. */
void keys_place(int team, const struct directory *directories, struct span buckets);

/* Number of keys in the span that are smaller than the one before, the first excepted. */
long keys_misplaced(struct span keys);

#endif
