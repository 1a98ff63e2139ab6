/*
 * Ranking by buckets, arranged for memory that is near to one thread and far from the others.
 *
 * 1. Each thread counts its own keys by bucket and writes them, bucket after bucket, into its own part of
 *    `is_bucketed`. All writes of this step, the random ones included, go to the thread's own memory.
 * 2. The buckets are dealt out in contiguous runs with about equally many keys. A thread reads the keys of its run,
 *    which are one contiguous piece of every thread's part, bucket by bucket: the counters of one fit into the
 *    first-level cache.
 */
#include "ranking.h"

#include "random.h"

#include <stdbool.h>

int is_keys[KEYS];
int is_rank[MAX_KEY];
int is_bucketed[KEYS];

void keys_draw(struct span keys)
{
    uint64_t state = random_skip(RANDOM_SEED, 4 * (uint64_t)keys.lo);

    for (int i = keys.lo; i < keys.hi; i++) {
        uint64_t sum = 0;
        for (int draw = 0; draw < 4; draw++) {
            state = random_next(state);
            sum += state;
        }
        /* The sum lies in (0, 4) at a scale of 2^46; the key is its share of MAX_KEY. */
        is_keys[i] = (int)(sum >> (RANDOM_BITS + 2 - LOG_MAX_KEY));
        is_bucketed[i] = 0;
    }
}

void keys_fill_buckets(struct span keys, struct directory *directory)
{
    int next[BUCKETS];

    for (int b = 0; b < BUCKETS; b++)
        next[b] = 0;
    for (int i = keys.lo; i < keys.hi; i++)
        next[is_keys[i] >> LOG_BUCKET_WIDTH]++;

    int position = keys.lo;
    for (int b = 0; b < BUCKETS; b++) {
        const int count = next[b];
        next[b] = position;
        directory->begin[b] = position;
        position += count;
    }
    directory->begin[BUCKETS] = position;

    for (int i = keys.lo; i < keys.hi; i++) {
        const int key = is_keys[i];
        is_bucketed[next[key >> LOG_BUCKET_WIDTH]++] = key;
    }
}

/* Those whose middle key lies in the member's share of all keys: the same limits whoever computes them. */
void keys_deal_buckets(const struct member *self, const struct directory *directories, struct ranker *ranker)
{
    int total[BUCKETS];

    for (int b = 0; b < BUCKETS; b++)
        total[b] = 0;
    for (int t = 0; t < self->size; t++) {
        const int *begin = directories[t].begin;
        for (int b = 0; b < BUCKETS; b++)
            total[b] += begin[b + 1] - begin[b];
    }

    const struct span share = span_of(KEYS, self->rank, self->size);
    const bool last = self->rank == self->size - 1;
    int before = 0;
    ranker->buckets = (struct span){BUCKETS, BUCKETS};
    ranker->smaller = KEYS;
    for (int b = 0; b < BUCKETS; b++) {
        const int middle = before + total[b] / 2;
        if (middle >= share.lo && ranker->buckets.lo == BUCKETS) {
            ranker->buckets.lo = b;
            ranker->smaller = before;
        }
        if (middle >= share.hi && !last) {
            ranker->buckets.hi = b;
            break;
        }
        before += total[b];
    }
}

/* Ranks the keys of one bucket, below which there are `smaller` keys. Returns the number up to and including it. */
static int rank_bucket(int team, const struct directory *directories, int bucket, int smaller)
{
    const int first = bucket << LOG_BUCKET_WIDTH;
    int count[1 << LOG_BUCKET_WIDTH];

    for (int k = 0; k < 1 << LOG_BUCKET_WIDTH; k++)
        count[k] = 0;
    for (int t = 0; t < team; t++) {
        const int end = directories[t].begin[bucket + 1];
        for (int i = directories[t].begin[bucket]; i < end; i++)
            count[is_bucketed[i] - first]++;
    }
    for (int k = 0; k < 1 << LOG_BUCKET_WIDTH; k++) {
        smaller += count[k];
        is_rank[first + k] = smaller;
    }
    return smaller;
}

void keys_rank_buckets(int team, const struct directory *directories, const struct ranker *ranker)
{
    int smaller = ranker->smaller;

    for (int b = ranker->buckets.lo; b < ranker->buckets.hi; b++)
        smaller = rank_bucket(team, directories, b, smaller);
}

void keys_place(int team, const struct directory *directories, struct span buckets)
{
    for (int t = 0; t < team; t++) {
        const int end = directories[t].begin[buckets.hi];
        for (int i = directories[t].begin[buckets.lo]; i < end; i++) {
            const int key = is_bucketed[i];
            is_keys[--is_rank[key]] = key;
        }
    }
}

long keys_misplaced(struct span keys)
{
    long misplaced = 0;

    for (int i = keys.lo + 1; i < keys.hi; i++)
        misplaced += is_keys[i - 1] > is_keys[i];
    return misplaced;
}
