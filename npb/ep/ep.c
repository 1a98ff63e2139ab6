/*
 * EP, the embarrassingly parallel kernel (RNR-94-007, section 2.2.1): pairs of Gaussian deviates by the
 * acceptance-rejection method, their sums, and their counts in square annuli.
 *
 * The 2^m pairs are cut into batches, the batches into tiles that stay in the first-level cache. Within a tile
 * the accepted pairs are packed first; logarithms, roots and sums then run over dense arrays without branches.
 */
#include "params.h"
#include "random.h"
#include "report.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#define LOG_BATCH_PAIRS 16
#define BATCHES (1 << (LOG_PAIRS - LOG_BATCH_PAIRS))
#define TILE_PAIRS 512
#define TILES_PER_BATCH ((1 << LOG_BATCH_PAIRS) / TILE_PAIRS)

/* EP starts from a seed of its own. */
#define SEED UINT64_C(271828183)

struct tally {
    double sum_x;
    double sum_y;
    double counts[ANNULI];
};

/* Adds the pairs of one tile to `tally`; returns the random state after it. */
static inline uint64_t tile(uint64_t state, struct tally *tally)
{
    double x[TILE_PAIRS], y[TILE_PAIRS], radius[TILE_PAIRS], factor[TILE_PAIRS];
    int accepted = 0;

    for (int i = 0; i < TILE_PAIRS; i++) {
        const uint64_t first = random_next(state);
        state = random_next(first);
        const double px = 2.0 * random_unit(first) - 1.0;
        const double py = 2.0 * random_unit(state) - 1.0;
        const double square = px * px + py * py;
        x[accepted] = px;
        y[accepted] = py;
        radius[accepted] = square;
        accepted += square <= 1.0;
    }
    for (int i = 0; i < accepted; i++)
        factor[i] = log(radius[i]);
    for (int i = 0; i < accepted; i++) {
        factor[i] = sqrt(-2.0 * factor[i] / radius[i]);
        x[i] *= factor[i];
        y[i] *= factor[i];
        radius[i] = fmax(fabs(x[i]), fabs(y[i]));
    }
    for (int i = 0; i < accepted; i++) {
        tally->sum_x += x[i];
        tally->sum_y += y[i];
        tally->counts[(int)radius[i]] += 1.0;
    }
    return state;
}

static void print_sums(double seconds, const struct tally *total)
{
    double pairs = 0.0;

    for (int l = 0; l < ANNULI; l++)
        pairs += total->counts[l];
    printf("EP Benchmark Results:\n\n");
    printf("CPU Time = %10.4f\n", seconds);
    printf("N = 2^ %4d\n", LOG_PAIRS);
    printf("No. Gaussian Pairs = %14.0f\n", pairs);
    printf("Sums = %25.15e%25.15e\n", total->sum_x, total->sum_y);
    printf("Counts:\n");
    for (int l = 0; l < ANNULI; l++)
        printf("%3d%15.0f\n", l, total->counts[l]);
}

int main(void)
{
    double sum_x = 0.0, sum_y = 0.0, counts[ANNULI] = {0};
    int threads = 1;

    report_heading("EP");
    printf(" Number of random numbers generated: %14.0f\n", ldexp(1.0, LOG_PAIRS + 1));
    printf(" Number of available threads:        %14d\n\n", omp_get_max_threads());

    const double start = wall_seconds();
#pragma omp parallel reduction(+ : sum_x, sum_y, counts[:ANNULI])
    {
        struct tally mine = {0};

#pragma omp single nowait
        threads = omp_get_num_threads();
#pragma omp for schedule(static) nowait
        for (int batch = 0; batch < BATCHES; batch++) {
            uint64_t state = random_skip(SEED, (uint64_t)batch << (LOG_BATCH_PAIRS + 1));
            for (int t = 0; t < TILES_PER_BATCH; t++)
                state = tile(state, &mine);
        }
        sum_x += mine.sum_x;
        sum_y += mine.sum_y;
        for (int l = 0; l < ANNULI; l++)
            counts[l] += mine.counts[l];
    }
    const double seconds = wall_seconds() - start;

    struct tally total = {sum_x, sum_y, {0}};
    for (int l = 0; l < ANNULI; l++)
        total.counts[l] = counts[l];
    print_sums(seconds, &total);
    return report_result(&(struct report){
        .name = "EP",
        .count = 1L << (LOG_PAIRS + 1),
        .seconds = seconds,
        .mops = ldexp(1.0, LOG_PAIRS + 1) / seconds * 1e-6,
        .operation = "Random numbers generated",
        .threads = threads,
        .verified = agrees(sum_x, SUM_X, TOLERANCE) && agrees(sum_y, SUM_Y, TOLERANCE),
    });
}
