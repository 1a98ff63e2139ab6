// Bundles are one: what one of them has stored, no other one has torn. The argument is the number of rounds.
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

// In one block, whatever the size of blocks: aligned to the smallest.
struct record {
    long last, same, count, greatest;
    double sum;
    int small;
} __attribute__((aligned(64)));

static struct record records[3];

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    int wrong = 0;
    for (long round = 0; round < rounds; round++) {
#pragma omp parallel reduction(+ : wrong)
        {
            int me = omp_get_thread_num(), threads = omp_get_num_threads();
            struct record *mine = &records[round % 3];
            dsm_handle handle;
            for (int i = 0; i < 20; i++) {
                long value = 1000 * me + i;
                dsm_bundle_begin();
                dsm_swap(&mine->last, value);
                dsm_swap(&mine->same, value);
                dsm_add(&mine->count, 1);
                dsm_max(&mine->greatest, value);
                dsm_add(&mine->sum, 0.5);
                dsm_add(&mine->small, 2);
                dsm_bundle_end();
                // Beside other posted operations, each test sends a request at most.
                dsm_add(&records[(round + 1) % 3].count, 1);
                handle = dsm_posted();
                dsm_add(&records[(round + 1) % 3].count, -1);
                if (i % 5 == 0)
                    while (!dsm_test(handle))
                        ;
                if (i % 5 == 1) dsm_wait(handle);
                // What is done stays done.
                if (i % 5 < 2) wrong += !dsm_test(handle);
            }
            // What the bundles of a thread have done is there once the handle says so.
            handle = dsm_posted();
            dsm_wait(handle);
            long count;
            dsm_read(&count, &mine->count, sizeof count);
            wrong += count < 20 || count > 20 * threads;
#pragma omp barrier
            long total = 20 * threads;
            wrong += mine->last != mine->same || mine->count != total || mine->greatest != 1000 * (threads - 1) + 19;
            wrong += mine->sum != 0.5 * total || mine->small != 2 * total;
#pragma omp barrier
#pragma omp single
            *mine = (struct record){0};
        }
    }
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
