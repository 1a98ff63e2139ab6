/*
 * IS, the integer sort kernel (RNR-94-007, section 2.2.4): ranks small integer keys ten times, changing two keys
 * before each, and checks some ranks; at the end the last ranking has to sort the keys.
 *
 * Two barriers an iteration. The changed keys belong to thread 0, and so does checking: it reads ranks that no
 * thread writes again before thread 0 has come to the next barrier.
 */
#include "params.h"
#include "ranking.h"
#include "report.h"
#include "result.h"

static const struct span all_keys = {0, KEYS}, all_buckets = {0, BUCKETS};

/* Ranks all keys; the ranks are visible to all members on return. */
static void rank_keys(const struct member *self, struct directory *directories, struct ranker *ranker)
{
    keys_fill_buckets(ranker->keys, &directories[self->rank]);
#pragma omp barrier
    keys_deal_buckets(self, directories, ranker);
    keys_rank_buckets(self->size, directories, ranker);
#pragma omp barrier
}

/* Sorts the keys last ranked. Returns the number of the member's keys that are out of order. */
static long sort_keys(const struct member *self, const struct directory *directories, const struct ranker *ranker)
{
    keys_place(self->size, directories, ranker->buckets);
#pragma omp barrier
    const int before = ranker->keys.lo > 0 ? 1 : 0;
    return keys_misplaced((struct span){ranker->keys.lo - before, ranker->keys.hi});
}

static int step(const struct member *self, struct directory *directories, struct ranker *ranker, int iteration)
{
    int probe_key[PROBES] = {0};
    const bool checks = self->rank == 0;

    if (checks) {
        is_change_keys(all_keys, iteration);
        is_probe_keys(all_keys, probe_key);
    }
    rank_keys(self, directories, ranker);
    return checks ? is_probes_passed(iteration, probe_key, all_buckets) : 0;
}

/* The run as one member of the team sees it. Returns the number of probes passed; *seconds is set by member 0. */
static int run(const struct member *self, struct directory *directories, double *seconds, long *misplaced)
{
    struct ranker ranker = {.keys = team_span(self, KEYS)};
    const bool speaks = self->rank == 0;
    int passed = 0;

    keys_draw(ranker.keys);
#pragma omp barrier
    step(self, directories, &ranker, 1); /* untimed: touches all code and data */
#pragma omp barrier
    const double start = wall_seconds();
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        if (speaks)
            is_iteration(iteration);
        passed += step(self, directories, &ranker, iteration);
    }
#pragma omp barrier
    if (speaks)
        *seconds = wall_seconds() - start;
    *misplaced = sort_keys(self, directories, &ranker);
    return passed;
}

int main(void)
{
    struct directory *directories = allocate((size_t)omp_get_max_threads(), sizeof *directories);
    double seconds = 0.0;
    long misplaced = 0;
    int passed = 0, threads = 1;

    is_heading(omp_get_max_threads());
#pragma omp parallel reduction(+ : passed, misplaced)
    {
        const struct member self = team_member(NULL);
        double elapsed = 0.0;

        passed += run(&self, directories, &elapsed, &misplaced);
        if (self.rank == 0) {
            threads = self.size;
            seconds = elapsed;
        }
    }
    return is_result(passed, misplaced, seconds, threads);
}
