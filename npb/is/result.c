/* The verification of IS: some ranks after each iteration, the order of all keys at the end. */
#include "result.h"

#include "ranking.h"
#include "report.h"

#include <stdio.h>

static const int probe_index[PROBES] = PROBE_INDEX;
static const int probe_rank[PROBES] = PROBE_RANK;
static const int probe_drift[PROBES] = PROBE_DRIFT;

static bool within(struct span span, int index)
{
    return index >= span.lo && index < span.hi;
}

void is_heading(int threads)
{
    report_heading("IS");
    printf(" Size:  %ld  (class %c)\n", (long)KEYS, NPB_CLASS);
    printf(" Iterations:  %d\n", ITERATIONS);
    printf(" Number of available threads:  %d\n\n", threads);
    if (NPB_CLASS != 'S')
        printf("\n   iteration\n");
}

void is_iteration(int iteration)
{
    if (NPB_CLASS != 'S')
        printf("        %d\n", iteration);
}

void is_change_keys(struct span keys, int iteration)
{
    if (within(keys, iteration))
        is_keys[iteration] = iteration;
    if (within(keys, iteration + ITERATIONS))
        is_keys[iteration + ITERATIONS] = MAX_KEY - iteration;
}

void is_probe_keys(struct span keys, int probe_key[PROBES])
{
    for (int i = 0; i < PROBES; i++)
        probe_key[i] = within(keys, probe_index[i]) ? is_keys[probe_index[i]] : 0;
}

int is_probes_passed(int iteration, const int probe_key[PROBES], struct span buckets)
{
    int passed = 0;

    for (int i = 0; i < PROBES; i++) {
        const int below = probe_key[i] - 1;
        if (below < 0 || !within(buckets, below >> LOG_BUCKET_WIDTH))
            continue;
        if (is_rank[below] == probe_rank[i] + probe_drift[i] * iteration)
            passed++;
        else
            printf("Failed partial verification: iteration %d, test key %d\n", iteration, i);
    }
    return passed;
}

int is_result(int passed, long misplaced, double seconds, int threads)
{
    if (passed != PROBES * ITERATIONS)
        printf("Partial verification: %d of %d ranks are right\n", passed, PROBES * ITERATIONS);
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
