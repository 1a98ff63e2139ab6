// Steps of the protocol between two processes of one thread each, and the same bytes through a socket between them.
//
//     hosts NAME      prints the name and nanoseconds: of a step, or of all of a transfer
#include <fcntl.h>
#include <string.h>

#include "connection.h"

enum { BLOCK = 4096, WORDS = BLOCK / sizeof(long), MISSES = 2000, CACHED = 1024, STEPS = 5000, LARGE = 64 << 20, TIMES = 3 };

static double begin, seconds;
static omp_lock_t lock;
static long counter;

static void *blocks(size_t count) {
    static void *data;
#pragma omp single
    expect((data = aligned_alloc(BLOCK, count * BLOCK)) != NULL, "memory");
    return data;
}

static void start(void) {
    if (omp_get_thread_num() == 0) begin = omp_get_wtime();
}

static void stop(void) {
    if (omp_get_thread_num() == 0) seconds += omp_get_wtime() - begin;
}

// A block that is about to be used in an order that nobody foresees.
static size_t scattered(size_t i, size_t count) { return i * 769 % count; }

// Thread 0 reads a word of each block that thread 1 has stored to; the word says which block is next.
static double read_miss(void) {
    for (int t = 0; t < TIMES; t++) {
        long *data = blocks(MISSES);
        if (omp_get_thread_num() == 1)
            for (size_t i = 0; i < MISSES; i++)
                data[scattered(i, MISSES) * WORDS] = scattered((i + 1) % MISSES, MISSES);
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
            long at = 0;
            start();
            for (int i = 0; i < MISSES; i++) at = data[at * WORDS];
            stop();
            expect(at == 0, "a cycle");
        }
#pragma omp barrier
    }
    return MISSES * TIMES;
}

// The same of a block that thread 0 has had before.
static double read_again(void) {
    volatile long *data = blocks(CACHED);
    for (int i = 0; i < CACHED; i++) {
        if (omp_get_thread_num() == 1) data[i * WORDS] = i;
    }
#pragma omp barrier
    for (int i = 0; i < CACHED; i++) {
        if (omp_get_thread_num() == 0) expect(data[i * WORDS] == i, "a copy");
    }
#pragma omp barrier
    for (int i = 0; i < CACHED; i++) {
        size_t block = scattered(i, CACHED);
        if (omp_get_thread_num() == 1) data[block * WORDS] = -i;
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
            start();
            long value = data[block * WORDS];
            stop();
            expect(value == -i, "a copy");
        }
#pragma omp barrier
    }
    return CACHED;
}

static long sum_of(const long *data, size_t bytes) {
    long sum = 0;
    for (size_t i = 0; i < bytes / sizeof *data; i++) sum += data[i];
    return sum;
}

// Thread 0 reads all that thread 1 has stored, into memory that it has used before, or has not.
static double transfer(int used) {
    for (int t = 0; t < TIMES; t++) {
        long *data = blocks(LARGE / BLOCK);
        for (int thread = !used; thread < 2; thread++) {
            if (omp_get_thread_num() == thread)
                for (size_t i = 0; i < LARGE / sizeof *data; i++) data[i] = thread;
#pragma omp barrier
        }
        if (omp_get_thread_num() == 0) {
            start();
            long sum = sum_of(data, LARGE);
            stop();
            expect(sum == LARGE / sizeof *data, "a sum");
        }
#pragma omp barrier
    }
    return TIMES;
}

static double bulk(void) { return transfer(1); }
static double bulk_first(void) { return transfer(0); }

static double barriers(void) {
#pragma omp barrier
    start();
    for (int i = 0; i < STEPS; i++) {
#pragma omp barrier
    }
    stop();
    return STEPS;
}

// While each process has copies of blocks that nobody stores to.
static double barriers_with_copies(void) {
    volatile long *data = blocks(2 * CACHED);
    int me = omp_get_thread_num();
    for (int i = 0; i < CACHED; i++) data[(me * CACHED + i) * WORDS] = i;
#pragma omp barrier
    for (int i = 0; i < CACHED; i++) expect(data[((1 - me) * CACHED + i) * WORDS] == i, "a copy");
    return barriers();
}

// From one thread to the other, which stores to the same block.
static double lock_hand_off(void) {
    int me = omp_get_thread_num();
#pragma omp barrier
    start();
    for (int turns = 0; turns < STEPS;) {
        omp_set_lock(&lock);
        if (counter % 2 == me) counter++, turns++;
        omp_unset_lock(&lock);
    }
#pragma omp barrier
    stop();
    expect(counter == 2 * STEPS, "counter");
    return 2 * STEPS;
}

static void receive(int end, char *into, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t now = recv(end, into + done, bytes - done, 0);
        if (now > 0) done += now;
    }
}

static void transmit(int end, const char *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t now = send(end, from + done, bytes - done, 0);
        if (now > 0) done += now;
    }
}

enum { REQUEST = 32 };

// Thread 0 sends a few bytes, and thread 1 `bytes` back, so often; all of them go into the same memory.
static void exchanges(int end, char *message, size_t bytes, int times) {
    char request[REQUEST] = {0};
    for (int i = 0; i < times; i++) {
        if (omp_get_thread_num() == 0) {
            transmit(end, request, REQUEST);
            receive(end, message, bytes);
        } else {
            receive(end, request, REQUEST);
            transmit(end, message, bytes);
        }
    }
}

static double exchange(size_t bytes, int times, int awake) {
    int end = connection();
    char *message = calloc(1, bytes);
    if (awake) fcntl(end, F_SETFL, O_NONBLOCK);
    start();
    exchanges(end, message, bytes, times);
    stop();
    close(end);
    free(message);
    return times;
}

// What `transfer` does, through a socket.
static double exchange_large(int used) {
    int end = connection();
    for (int t = 0; t < TIMES; t++) {
        long *message = malloc(LARGE);
        expect(message != NULL, "memory");
        if (used || omp_get_thread_num() == 1)
            for (size_t i = 0; i < LARGE / sizeof *message; i++) message[i] = omp_get_thread_num();
#pragma omp barrier
        start();
        exchanges(end, (char *)message, LARGE, 1);
        long sum = omp_get_thread_num() == 0 ? sum_of(message, LARGE) : 0;
        stop();
        expect(omp_get_thread_num() == 1 || sum == LARGE / sizeof *message, "a sum");
        free(message);
    }
    close(end);
    return TIMES;
}

static double word(void) { return exchange(8, STEPS, 0); }
static double word_awake(void) { return exchange(8, STEPS, 1); }
static double block(void) { return exchange(BLOCK, STEPS, 0); }
static double block_awake(void) { return exchange(BLOCK, STEPS, 1); }
static double large(void) { return exchange_large(1); }
static double large_first(void) { return exchange_large(0); }

static const struct {
    const char *name;
    double (*run)(void);
} operations[] = {
    {"read-miss", read_miss}, {"read-again", read_again}, {"bulk", bulk}, {"bulk-first", bulk_first},
    {"barrier", barriers}, {"barrier-copies", barriers_with_copies}, {"lock", lock_hand_off},
    {"word", word}, {"word-awake", word_awake}, {"block", block}, {"block-awake", block_awake},
    {"large", large}, {"large-first", large_first},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i].name, argv[1])) continue;
        double times = 0;
        omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
        {
            expect(omp_get_num_threads() == 2, "a team of two");
            double count = operations[i].run();
            if (omp_get_thread_num() == 0) times = count;
        }
        printf("%s %.1f\n", argv[1], seconds * 1e9 / times);
        return 0;
    }
    fprintf(stderr, "usage: hosts NAME\n");
    return 1;
}
