// Each operation, by all threads: what comes out does not depend on their order. The argument is the number of additions of a thread.
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 3000, LENGTH = 1500, MOST = 64 };

static long counter, tickets, order[MOST];
static int histogram[BINS];
static double sum;
static float short_sum;
static unsigned char bytes[MOST], all_bits = 255;
static short least = 30000;
static unsigned greatest;
static signed char greatest_signed = -100;
static unsigned long parity;
static char range[MOST][LENGTH];

static int check(int holds, const char *what) {
    if (!holds) fprintf(stderr, "thread %d: %s\n", omp_get_thread_num(), what);
    return !holds;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 10000;
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        unsigned random = me + 1;
        long binned = 0;
        // What is read before is a copy that the operations make old.
        for (int i = 0; i < BINS; i++) binned += histogram[i];
        wrong += check(counter + binned == 0, "not empty");
#pragma omp barrier
        for (long i = 0; i < n; i++) {
            dsm_add(&counter, 1);
            random = random * 1664525u + 1013904223u;
            dsm_add(&histogram[random % BINS], 1);
        }
        for (int i = 0; i < 100; i++) {
            dsm_add(&sum, 0.5);
            dsm_add(&short_sum, 1.0f);
        }
        dsm_or(&bytes[me], (unsigned char)(1 << me % 8));
        dsm_and(&all_bits, (unsigned char)~(1 << me % 8));
        dsm_xor(&parity, 1UL << me);
        dsm_min(&least, (short)-me);
        dsm_max(&greatest, 4000000000u + me);
        dsm_max(&greatest_signed, (signed char)(-50 + me));
        for (long i = 1; i <= 1000; i++) dsm_swap(&order[me], i);
        dsm_cas(&order[me], 1000L, -5L);
        dsm_cas(&order[me], 7L, 8L);
#pragma omp barrier
        binned = 0;
        for (int i = 0; i < BINS; i++) binned += histogram[i];
        wrong += check(counter == n * threads, "counter");
        wrong += check(binned == n * threads, "histogram");
        wrong += check(sum == 50.0 * threads && short_sum == 100.0f * threads, "sums");
        wrong += check(bytes[me] == 1 << me % 8 && !(all_bits & 1 << me % 8), "bits");
        wrong += check(parity == (1UL << threads) - 1, "parity");
        wrong += check(least == 1 - threads && greatest == 3999999999u + threads, "least and greatest");
        wrong += check(greatest_signed == -51 + threads, "greatest of signed numbers");
        wrong += check(order[me] == -5, "order of a thread");
#pragma omp barrier
        long last = -1, ticket;
        for (int i = 0; i < 100; i++) {
            ticket = dsm_fetch_add(&tickets, 1);
            wrong += check(ticket > last, "tickets");
            last = ticket;
        }
        wrong += check(dsm_fetch_cas(&order[me], -5L, 9L) == -5, "cas that succeeds");
        wrong += check(dsm_fetch_cas(&order[me], -5L, 8L) == 9, "cas that fails");
        dsm_add(&order[me], 1);
        wrong += check(dsm_fetch_swap(&order[me], 3L) == 10, "behind what was posted");
        dsm_read(&last, &order[me], sizeof last);
        wrong += check(last == 3, "read of a word");
        for (int round = 0; round < 20; round++) {
            char mine[LENGTH - 7], back[LENGTH - 7];
            memset(mine, me + round + 1, sizeof mine);
            dsm_write(range[me] + 3, mine, sizeof mine);
            dsm_fence();
            dsm_add(&range[me][3], (char)1);
            dsm_read(back, range[me] + 3, sizeof back);
            mine[0]++;
            wrong += check(!memcmp(back, mine, sizeof mine), "read of a range");
        }
        // Stored by this thread, and released by nobody yet.
        range[me][LENGTH - 1] = 77;
        char whole[LENGTH];
        dsm_read(whole, range[me], LENGTH);
        wrong += check(whole[0] == 0 && whole[4] == me + 20 && whole[LENGTH - 1] == 77, "own stores");
#pragma omp barrier
        wrong += check(tickets == 100L * threads, "last ticket");
        for (int other = 0; other < threads; other++)
            wrong += check(range[other][3] == other + 21 && range[other][LENGTH - 5] == other + 20 &&
                               range[other][LENGTH - 1] == 77, "ranges of others");
        // A team of this process alone, and a variable that ends without a word.
        int local = 0;
        dsm_add(&local, 5);
        wrong += check(local == 5, "local variable");
    }
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
