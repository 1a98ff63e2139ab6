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

#include <stdio.h>

static const int probe_index[PROBES] = PROBE_INDEX;
static const int probe_rank[PROBES] = PROBE_RANK;
static const int probe_drift[PROBES] = PROBE_DRIFT;

/* Replaces the two keys that change in this iteration, and reads the keys whose ranks will be checked. */
static void prepare(int iteration, int probe_key[PROBES])
{
    is_keys[iteration] = iteration;
    is_keys[iteration + ITERATIONS] = MAX_KEY - iteration;
    for (int i = 0; i < PROBES; i++)
        probe_key[i] = is_keys[probe_index[i]];
}

/* Partial verification: returns how many of the probed keys have the rank they must have. */
static int check(int iteration, const int probe_key[PROBES])
{
    int passed = 0;

    for (int i = 0; i < PROBES; i++) {
        const int key = probe_key[i];
        if (key > 0 && is_rank[key - 1] == probe_rank[i] + probe_drift[i] * iteration)
            passed++;
        else
            printf("Failed partial verification: iteration %d, test key %d\n", iteration, i);
    }
    return passed;
}

static int step(const struct member *self, struct directory *directories, struct ranker *ranker, int iteration)
{
    int probe_key[PROBES] = {0};
    const bool checks = self->rank == 0;

    if (checks)
        prepare(iteration, probe_key);
    keys_rank(self, directories, ranker);
    return checks ? check(iteration, probe_key) : 0;
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
    if (speaks && NPB_CLASS != 'S')
        printf("\n   iteration\n");
#pragma omp barrier
    const double start = wall_seconds();
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        if (speaks && NPB_CLASS != 'S')
            printf("        %d\n", iteration);
        passed += step(self, directories, &ranker, iteration);
    }
#pragma omp barrier
    if (speaks)
        *seconds = wall_seconds() - start;
    *misplaced = keys_sort(self, directories, &ranker);
    return passed;
}

int main(void)
{
    struct directory *directories = allocate((size_t)omp_get_max_threads(), sizeof *directories);
    double seconds = 0.0;
    long misplaced = 0;
    int passed = 0, threads = 1;

    report_heading("IS");
    printf(" Size:  %ld  (class %c)\n", (long)KEYS, NPB_CLASS);
    printf(" Iterations:  %d\n", ITERATIONS);
    printf(" Number of available threads:  %d\n\n", omp_get_max_threads());

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
    if (misplaced != 0)
        printf("Full_verify: number of keys out of sort: %ld\n", misplaced);
    return report_result(&(struct report){
        .name = "IS",
        .count = KEYS,
        .iterations = ITERATIONS,
        .seconds = seconds,
        .mops = 1e-6 * KEYS * ITERATIONS / seconds,
        .operation = "keys ranked",
        .threads = threads,
        .verified = misplaced == 0 && passed == PROBES * ITERATIONS,
    });
}
