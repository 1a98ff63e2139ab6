// Signals: functions run where the data is, in order for each sender, and what they did is there for who waits. The argument is the number of signals of a thread.
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, WORDS = 512 };

// Of each thread, at whatever process its block has its home.
struct place {
    long last[MOST], sum, out_of_order, processes;
} __attribute__((aligned(4096)));

static struct place places[MOST];
static long plain[MOST][WORDS], seen[MOST];
static dsm_fifo *names;

struct argument {
    long sender, number;
};

static void count(void *place, const void *given, size_t bytes) {
    struct place *here = place;
    struct argument argument;
    if (bytes != sizeof argument) abort();
    memcpy(&argument, given, sizeof argument);
    // By operations, as the home may move: then two processes run functions for a place at the same time.
    if (dsm_fetch_swap(&here->last[argument.sender], argument.number) >= argument.number) dsm_add(&here->out_of_order, 1);
    dsm_add(&here->sum, argument.number);
}

// Ordinary loads see what the sender has stored, and who waits sees what is stored here.
static void copy(void *place, const void *given, size_t bytes) {
    long sender, sum = 0;
    (void)place;
    memcpy(&sender, given, bytes);
    for (int i = 0; i < WORDS; i++) sum += plain[sender][i];
    seen[sender] = sum;
}

static void name(void *place, const void *given, size_t bytes) {
    int here = dsm_process();
    if (place || bytes) abort();
    (void)given;
    dsm_fifo_push(names, &here);
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1000;
    int wrong = 0, processes = dsm_processes();
    names = dsm_fifo_create(MOST, sizeof(int));
    dsm_register(count);
    dsm_register(copy);
    dsm_register(count);
    dsm_register(name);
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        places[me].sum = 0;
#pragma omp barrier
        for (long i = 1; i <= n; i++) {
            struct argument argument = {me, i};
            dsm_signal(&places[(me + 1) % threads], count, &argument, sizeof argument);
        }
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < WORDS; i++) plain[me][i] = round + i;
            long sender = me;
            dsm_handle handle = dsm_signal(&places[(me + round) % threads], copy, &sender, sizeof sender);
            if (round % 2)
                while (!dsm_test(handle))
                    ;
            else
                dsm_wait(handle);
            wrong += seen[me] != (long)round * WORDS + WORDS * (WORDS - 1) / 2;
        }
        dsm_flush();
#pragma omp barrier
        wrong += places[me].sum != n * (n + 1) / 2 || places[me].out_of_order != 0;
#pragma omp single
        for (int i = 0; i < processes; i++) dsm_signal_process(i, name, NULL, 0);
        dsm_flush();
    }
    int found = 0, who;
    for (int i = 0; i < processes && dsm_fifo_pop(names, &who) == DSM_OK; i++) found |= 1 << who;
    wrong += found != (1 << processes) - 1;
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
