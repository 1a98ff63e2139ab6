// Memory larger than DRAM: external merge sort (Knuth, The Art of Computer Programming, 5.4) without a word about files.
//
//     dsm-run -n 2 --memory 16M --spill . ./larger_than_memory
//
// The keys and the sorted keys take 32 MB. Runs that fit into memory are sorted; then each thread merges what lies in its range of values out of all runs. Both steps go through their
// data in order, which is what the pager reads ahead and writes behind.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 1 << 21, RUNS = 32, RUN = KEYS / RUNS, MOST = 64 };

static uint64_t keys[KEYS], sorted[KEYS];

static uint64_t random_of(uint64_t x) {
    x = (x + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 27;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The first key of a run that is not less.
static long lower_bound(int run, uint64_t value) {
    long low = (long)run * RUN, high = low + RUN;
    while (low < high) {
        long middle = (low + high) / 2;
        if (keys[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Merges the keys of all runs from some places up to others, to a place of its own.
static void merge(long *next, const long *end, uint64_t *to) {
    for (;;) {
        int least = -1;
        for (int run = 0; run < RUNS; run++)
            if (next[run] < end[run] && (least < 0 || keys[next[run]] < keys[next[least]])) least = run;
        if (least < 0) return;
        *to++ = keys[next[least]++];
    }
}

int main(void) {
    uint64_t before = 0, after = 0;
    int parts = omp_get_max_threads() < MOST ? omp_get_max_threads() : MOST;
#pragma omp parallel for reduction(+ : before)
    for (long i = 0; i < KEYS; i++) before += keys[i] = random_of(i);
    double start = omp_get_wtime();
#pragma omp parallel for
    for (int run = 0; run < RUNS; run++) qsort(keys + (long)run * RUN, RUN, sizeof *keys, by_value);
    double sorted_runs = omp_get_wtime();
#pragma omp parallel for num_threads(parts)
    for (int part = 0; part < parts; part++) {
        long first[RUNS], end[RUNS], to = 0;
        for (int run = 0; run < RUNS; run++) {
            first[run] = lower_bound(run, UINT64_MAX / parts * part);
            end[run] = part == parts - 1 ? (long)(run + 1) * RUN : lower_bound(run, UINT64_MAX / parts * (part + 1));
            to += first[run] - (long)run * RUN;
        }
        merge(first, end, sorted + to);
    }
    double merged = omp_get_wtime();
    int wrong = 0;
#pragma omp parallel for reduction(+ : after, wrong)
    for (long i = 0; i < KEYS; i++) {
        after += sorted[i];
        wrong += i && sorted[i - 1] > sorted[i];
    }
    printf("%d runs sorted in %.2f s, merged in %.2f s\n", RUNS, sorted_runs - start, merged - sorted_runs);
    int right = !wrong && before == after;
    puts(right ? "verified" : "WRONG");
    return !right;
}
