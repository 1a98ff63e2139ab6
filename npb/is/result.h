/* What IS prints, and its verification. */
#ifndef IS_RESULT_H
#define IS_RESULT_H

#include "params.h"
#include "team.h"

void is_heading(int threads);
void is_iteration(int iteration);

/* Replaces the two keys that change in an iteration, of those in the span. */
void is_change_keys(struct span keys, int iteration);

/* The keys whose ranks will be checked; 0 for those outside the span. */
void is_probe_keys(struct span keys, int probe_key[PROBES]);

/* Partial verification: how many of the probed keys have the rank they must have, of those ranked in these buckets. */
int is_probes_passed(int iteration, const int probe_key[PROBES], struct span buckets);

/* The result. Returns the exit status. `passed` counts probes, `misplaced` keys that are not sorted in the end. */
int is_result(int passed, long misplaced, double seconds, int threads);

#endif
