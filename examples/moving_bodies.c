// Bodies that move between regions of a ring, and with them the work: pages of a relocatable array follow it (`dsm_array_own`).
//
// The bodies of a region are an element of an array. Each thread advances the bodies of some regions, about as many bodies as every other thread, so the regions that
// a thread has shift as the cloud of bodies goes round the ring. After each such change the threads move the pages of their regions to their processes; `moving_bodies stay`
// leaves them where they were first put. Both say how many regions were used away from where they were, and both come to the same bodies.
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS = 256, WIDTH = 1 << 20, MOST = 126, BODIES = 3840, STEPS = 120, BALANCE = 10, PAGE = 8192 };

struct body {
    long position, velocity;
};

// The bodies of a region.
struct region {
    long count;
    struct body bodies[MOST];
};

// Bodies in each region; ordinary shared memory.
static long counts[REGIONS];

static int overflow;

static void add(struct region *region, struct body body) {
    if (region->count == MOST) {
#pragma omp atomic write
        overflow = 1;
        return;
    }
    region->bodies[region->count++] = body;
}

// The first region of a thread: about as many bodies are in front of it as threads of its share have.
static int first_region(int thread, int threads) {
    long before = 0;
    int region = 0;
    while (region < REGIONS && before < (long)BODIES * thread / threads) before += counts[region++];
    return thread == threads ? REGIONS : region;
}

// Bodies of a region push each other a little, and move on. Those that leave go to `leaving`, with their velocity telling where to.
static void advance(struct region *region, long number, struct region *leaving) {
    struct region staying = {0};
    leaving->count = 0;
    for (long i = 0; i < region->count; i++) {
        long push = 0;
        for (long k = 0; k < region->count; k++) push += (region->bodies[k].position - region->bodies[i].position) / (1 << 14);
        struct body body = region->bodies[i];
        body.velocity += push / 512;
        if (body.velocity > WIDTH / 2) body.velocity = WIDTH / 2;
        if (body.velocity < -WIDTH / 2) body.velocity = -WIDTH / 2;
        body.position = (body.position + body.velocity + (long)REGIONS * WIDTH) % ((long)REGIONS * WIDTH);
        add(body.position / WIDTH == number ? &staying : leaving, body);
    }
    *region = staying;
}

static long away;

// Counts regions that are not at the process that is about to use them so often.
static void count_away(dsm_array *array, int first, int end, long times) {
    for (int number = first; number < end; number++)
        if (dsm_array_location(array, number) != dsm_process()) {
#pragma omp atomic
            away += times;
        }
}

// What all bodies together are: the same whatever order they are in.
static unsigned long digest(dsm_array *regions, long *total) {
    unsigned long sum = 0;
    struct region region;
    *total = 0;
    for (long number = 0; number < REGIONS; number++) {
        dsm_array_get(regions, number, 1, &region);
        *total += region.count;
        for (long i = 0; i < region.count; i++)
            sum += (unsigned long)region.bodies[i].position * 2654435761u ^ (unsigned long)region.bodies[i].velocity * 40503u;
    }
    return sum;
}

static unsigned long simulate(int moves) {
    dsm_array *regions = dsm_array_create(REGIONS, sizeof(struct region), PAGE);
    dsm_array *leaving = dsm_array_create(REGIONS, sizeof(struct region), PAGE);
    memset(counts, 0, sizeof counts);
    away = 0;
    double time = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        struct region region, gone;
        unsigned random = 1;
        // A cloud in the first quarter of the ring.
#pragma omp for schedule(static)
        for (long number = 0; number < REGIONS; number++) {
            region.count = 0;
            random = 12345 + number;
            for (long i = 0; number < REGIONS / 4 && i < BODIES * 4 / REGIONS; i++) {
                random = random * 1103515245 + 12345;
                add(&region, (struct body){number * WIDTH + random % WIDTH, WIDTH / 3 + (random >> 8) % (WIDTH / 16)});
            }
            counts[number] = region.count;
            dsm_array_put(regions, number, 1, &region);
        }
        int first = 0, end = 0;
        double start = omp_get_wtime();
        for (int step = 0; step < STEPS; step++) {
            if (step % BALANCE == 0) {
                first = first_region(me, threads);
                end = first_region(me + 1, threads);
                if (moves) {
                    dsm_array_own(regions, first, end - first);
                    dsm_array_own(leaving, first, end - first);
                }
                count_away(regions, first, end, BALANCE);
            }
#pragma omp barrier
            for (long number = first; number < end; number++) {
                dsm_array_get(regions, number, 1, &region);
                advance(&region, number, &gone);
                dsm_array_put(regions, number, 1, &region);
                dsm_array_put(leaving, number, 1, &gone);
            }
#pragma omp barrier
            for (long number = first; number < end; number++) {
                dsm_array_get(regions, number, 1, &region);
                for (int side = -1; side <= 1; side += 2) {
                    dsm_array_get(leaving, (number + side + REGIONS) % REGIONS, 1, &gone);
                    for (long i = 0; i < gone.count; i++)
                        if (gone.bodies[i].position / WIDTH == number) add(&region, gone.bodies[i]);
                }
                dsm_array_put(regions, number, 1, &region);
                counts[number] = region.count;
            }
#pragma omp barrier
        }
#pragma omp master
        time = omp_get_wtime() - start;
    }
    long total;
    unsigned long sum = digest(regions, &total);
    printf("%s: %ld of %d uses of a region were of another process's, %.3f s\n", moves ? "pages follow" : "pages stay", away, REGIONS * STEPS, time);
    dsm_array_destroy(leaving);
    dsm_array_destroy(regions);
    return total == BODIES / (REGIONS / 4) * (REGIONS / 4) && !overflow ? sum : 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return simulate(strcmp(argv[1], "stay") != 0) == 0;
    unsigned long stayed = simulate(0), followed = simulate(1);
    int wrong = stayed == 0 || stayed != followed;
    puts(wrong ? "WRONG" : "verified");
    return wrong;
}
