// Rings of queues, one queue for all, and a mailbox with a flag. The argument is the number of elements of a thread.
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, LENGTH = 360 };

struct element {
    int from, number;
    double half;
};

static dsm_fifo *queues[MOST];
static long sum, taken;
static struct {
    int contents[LENGTH];
    long number;
} mailbox[MOST];

// Each thread pushes to the next one's queue, and finds what the one before it has pushed in order.
static int ring(int me, int threads, int n) {
    int sent = 0, wrong = 0, received = 0;
    while (sent < n || received < n) {
        struct element out = {me, sent, sent * 0.5}, in;
        if (sent < n && dsm_fifo_push(queues[(me + 1) % threads], &out) == DSM_OK) sent++;
        int result = dsm_fifo_pop(queues[me], &in);
        wrong += result != DSM_OK && result != DSM_EMPTY;
        if (result == DSM_OK) {
            wrong += in.from != (me + threads - 1) % threads || in.number != received || in.half != received * 0.5;
            received++;
        }
    }
    return wrong;
}

// All push to one queue and pop from it, until all has been popped.
static void share(int me, int threads, int n) {
    int sent = 0;
    long own = 0, all = 0;
    while (all < (long)threads * n) {
        struct element out = {me, sent + 1, 0}, in;
        if (sent < n && dsm_fifo_push(queues[0], &out) == DSM_OK) sent++;
        if (dsm_fifo_pop(queues[0], &in) == DSM_OK) {
            own += in.number;
            dsm_add(&taken, 1);
        }
        dsm_read(&all, &taken, sizeof all);
    }
    dsm_add(&sum, own);
}

// The first thread writes to the mailboxes of all others, who wait for their flags.
static int receive(int me, int threads) {
    int wrong = 0;
    for (long number = 1; number <= 20; number++) {
        if (me == 0) {
            int contents[LENGTH];
            for (int i = 0; i < LENGTH; i++) contents[i] = number * 1000 + i;
            for (int to = 1; to < threads; to++) {
                long seen;
                do dsm_read(&seen, &mailbox[to].number, sizeof seen);
                while (seen != 0);
                dsm_write_flag(mailbox[to].contents, contents, sizeof contents, &mailbox[to].number, number);
            }
            dsm_flush();
        } else {
            long seen;
            int contents[LENGTH];
            do dsm_read(&seen, &mailbox[me].number, sizeof seen);
            while (seen != number);
            dsm_read(contents, mailbox[me].contents, sizeof contents);
            for (int i = 0; i < LENGTH; i++) wrong += contents[i] != number * 1000 + i;
            (void)dsm_fetch_swap(&mailbox[me].number, 0);
        }
    }
    return wrong;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        struct element none;
        queues[me] = dsm_fifo_create(me + 1, sizeof(struct element));
#pragma omp barrier
        wrong += ring(me, threads, n);
#pragma omp barrier
        share(me, threads, n);
#pragma omp barrier
        wrong += sum != (long)threads * n * (n + 1) / 2;
        wrong += dsm_fifo_pop(queues[0], &none) != DSM_EMPTY;
        wrong += receive(me, threads);
#pragma omp barrier
        // The queue of another process, perhaps.
        dsm_fifo_destroy(queues[(me + 1) % threads]);
    }
    dsm_fifo *one = dsm_fifo_create(1, 1);
    char byte = 3;
    wrong += dsm_fifo_push(one, &byte) != DSM_OK || dsm_fifo_push(one, &byte) != DSM_FULL;
    byte = 0;
    wrong += dsm_fifo_pop(one, &byte) != DSM_OK || byte != 3;
    dsm_fifo_destroy(one);
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
