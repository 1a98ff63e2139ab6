// Memory-based operations beside what programs do without them: all threads add to one counter, to a histogram, and push into one queue, which the first thread empties.
//
//     operations [NAME...]       prints a line for each: its name, and the nanoseconds that an operation of a thread takes
//
// Each ends with a barrier, behind which the counts are looked at: nothing may be lost.
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"

enum { BINS = 1 << 16, CAPACITY = 4096, MAIL = 1440 };

static const double least_seconds = 0.2;
static long counter, histogram[BINS], elements[CAPACITY], head, tail;
static omp_lock_t lock;
static dsm_fifo *queue;

static unsigned bin(unsigned *random) { return (*random = *random * 1664525u + 1013904223u) >> 16; }

static void counter_add(long n) {
    for (long i = 0; i < n; i++) dsm_add(&counter, 1);
}

static void counter_fetch(long n) {
    for (long i = 0; i < n; i++) (void)dsm_fetch_add(&counter, 1);
}

static void counter_atomic(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp atomic
        counter++;
    }
}

static void counter_lock(long n) {
    for (long i = 0; i < n; i++) {
        omp_set_lock(&lock);
        counter++;
        omp_unset_lock(&lock);
    }
}

static void histogram_add(long n) {
    unsigned random = omp_get_thread_num();
    for (long i = 0; i < n; i++) dsm_add(&histogram[bin(&random)], 1);
}

static void histogram_atomic(long n) {
    unsigned random = omp_get_thread_num();
    for (long i = 0; i < n; i++) {
        unsigned at = bin(&random);
#pragma omp atomic
        histogram[at]++;
    }
}

static void histogram_lock(long n) {
    unsigned random = omp_get_thread_num();
    for (long i = 0; i < n; i++) {
        unsigned at = bin(&random);
        omp_set_lock(&lock);
        histogram[at]++;
        omp_unset_lock(&lock);
    }
}

// Two threads send each other n messages in turn: into each other's mailbox, which is at the receiver.
static struct mailbox {
    char bytes[MAIL];
    long number;
} *mailboxes[2];

static void mail_write(long n) {
    int me = omp_get_thread_num();
    char message[MAIL] = {0};
    mailboxes[me] = calloc(1, sizeof(struct mailbox));
#pragma omp barrier
    struct mailbox *own = mailboxes[me], *other = mailboxes[1 - me];
    for (long i = 1; i <= n; i++) {
        if (i % 2 == me) {
            dsm_write_flag(other->bytes, message, sizeof message, &other->number, i);
            dsm_flush();
        } else {
            long number;
            do dsm_read(&number, &own->number, sizeof number);
            while (number != i);
            dsm_read(message, own->bytes, sizeof message);
        }
    }
    dsm_add(&counter, n);
#pragma omp barrier
    free(own);
}

// The same through a socket between the two processes, as it is.
static void mail_socket(long n) {
    int me = omp_get_thread_num(), end = connection();
    char message[MAIL] = {0};
    for (long i = 1; i <= n; i++) {
        if (i % 2 == me)
            expect(send(end, message, sizeof message, 0) == sizeof message, "send");
        else
            expect(recv(end, message, sizeof message, MSG_WAITALL) == sizeof message, "recv");
    }
    close(end);
    dsm_add(&counter, n);
#pragma omp barrier
}

// The first thread pops what the others push.
static void queue_push(long n) {
    long element = 0, left = n * (omp_get_num_threads() - 1);
    if (omp_get_thread_num() > 0)
        while (element < n) element += dsm_fifo_push(queue, &element) == DSM_OK;
    else
        for (long seen = 0; seen < left;) seen += dsm_fifo_pop(queue, &element) == DSM_OK;
    dsm_add(&counter, n);
}

static int try_push(long element) {
    omp_set_lock(&lock);
    int appended = tail - head < CAPACITY;
    if (appended) elements[tail++ % CAPACITY] = element;
    omp_unset_lock(&lock);
    return appended;
}

static int try_pop(long *element) {
    omp_set_lock(&lock);
    int there = head < tail;
    if (there) *element = elements[head++ % CAPACITY];
    omp_unset_lock(&lock);
    return there;
}

static void queue_lock(long n) {
    long element = 0, left = n * (omp_get_num_threads() - 1);
    if (omp_get_thread_num() > 0)
        while (element < n) element += try_push(element);
    else
        for (long seen = 0; seen < left;) seen += try_pop(&element);
    dsm_add(&counter, n);
}

static const struct {
    const char *name;
    void (*run)(long n);
} tests[] = {
    {"counter-add", counter_add},       {"counter-fetch", counter_fetch},       {"counter-atomic", counter_atomic},
    {"counter-lock", counter_lock},     {"histogram-add", histogram_add},       {"histogram-atomic", histogram_atomic},
    {"histogram-lock", histogram_lock}, {"queue-push", queue_push},             {"queue-lock", queue_lock},
    {"mail-write", mail_write},         {"mail-socket", mail_socket},
};

// Seconds that n operations of each thread take.
static double run(void (*test)(long), long n) {
    long all = 0;
    int threads = 0;
    counter = 0;
    memset(histogram, 0, sizeof histogram);
    double start = omp_get_wtime();
#pragma omp parallel reduction(+ : threads)
    {
        threads = 1;
        test(n);
    }
    double seconds = omp_get_wtime() - start;
    for (int i = 0; i < BINS; i++) all += histogram[i];
    if (counter + all != n * threads) {
        fprintf(stderr, "%ld of %ld operations were done\n", counter + all, n * threads);
        exit(1);
    }
    return seconds;
}

int main(int argc, char **argv) {
    omp_init_lock(&lock);
    queue = dsm_fifo_create(CAPACITY, sizeof(long));
    for (size_t t = 0; t < sizeof tests / sizeof *tests; t++) {
        int wanted = argc == 1;
        for (int i = 1; i < argc; i++) wanted |= !strcmp(argv[i], tests[t].name);
        if (!wanted) continue;
        long n = 100;
        double seconds;
        while ((seconds = run(tests[t].run, n)) < least_seconds) n *= seconds < least_seconds / 10 ? 8 : 2;
        printf("%s %.1f\n", tests[t].name, seconds / n * 1e9);
    }
    return 0;
}
