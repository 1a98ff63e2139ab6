// Array-section reductions and user-declared reductions on structures.
#include <stdio.h>

typedef struct {
    long count;
    int low, high;
    double sum;
} Range;

static void range_add(Range *a, const Range *b) {
    a->count += b->count;
    a->sum += b->sum;
    if (b->low < a->low) a->low = b->low;
    if (b->high > a->high) a->high = b->high;
}

#pragma omp declare reduction(range : Range : range_add(&omp_out, &omp_in))                                  \
    initializer(omp_priv = (Range){0, 1 << 30, -(1 << 30), 0})

enum { N = 3000, BINS = 40 };
static int input[N];
static long global_bins[BINS];

static void histogram(long *bins, int n) {
#pragma omp parallel for reduction(+ : bins[0 : n])
    for (int i = 0; i < N; i++) bins[input[i] % n] += input[i];
}

int main(void) {
    for (int i = 0; i < N; i++) input[i] = (i * 7919 + 13) % 1009;
    int counts[BINS] = {0};
    unsigned char bits[8] = {0};
#pragma omp parallel for reduction(+ : counts, global_bins) reduction(| : bits[ : 8])
    for (int i = 0; i < N; i++) {
        counts[input[i] % BINS]++;
        global_bins[(input[i] * 3) % BINS] += i;
        bits[input[i] & 7] |= (unsigned char)(1 << (input[i] % 5));
    }
    for (int i = 0; i < BINS; i++) printf("%d/%ld ", counts[i], global_bins[i]);
    for (int i = 0; i < 8; i++) printf("%x ", bits[i]);
    puts("");
    histogram(global_bins, 17);
    for (int i = 0; i < BINS; i++) printf("%ld ", global_bins[i]);
    puts("");
    Range r = {0, 1 << 30, -(1 << 30), 0};
#pragma omp parallel for reduction(range : r)
    for (int i = 0; i < N; i++) {
        Range one = {1, input[i], input[i], input[i]};
        range_add(&r, &one);
    }
    printf("%ld %d %d %.1f\n", r.count, r.low, r.high, r.sum);
    return 0;
}
