// Data of three times the memory, in globals, heap and a file, that threads of all processes store to, side by side in blocks, and in turns.
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 3 << 20, BINS = 1 << 20, ROUNDS = 3 };

static long words[WORDS];      // 24 MB
static int bins[BINS];         // 4 MB

static void fail(const char *what, long at) {
    printf("%s %ld\n", what, at);
    exit(1);
}

int main(void) {
    long *heap = malloc(sizeof words);
    for (int round = 1; round <= ROUNDS; round++) {
        // Each thread has every so manieth word: all store to all blocks.
#pragma omp parallel
        {
            int thread = omp_get_thread_num(), threads = omp_get_num_threads();
            for (long i = thread; i < WORDS; i += threads) words[i] += i + round;
        }
        // Parts, which move from thread to thread.
#pragma omp parallel
        {
            long threads = omp_get_num_threads(), part = (omp_get_thread_num() + round) % threads;
            for (long i = WORDS / threads * part; i < (part == threads - 1 ? WORDS : WORDS / threads * (part + 1)); i++)
                heap[i] = words[WORDS - 1 - i] - round;
        }
#pragma omp parallel for schedule(dynamic, 4096)
        for (long i = 0; i < BINS; i++) {
            int *bin = &bins[(unsigned)i * 2654435761u % BINS];
#pragma omp atomic
            ++*bin;
        }
    }
    long sum = ROUNDS * (ROUNDS + 1) / 2;
    for (long i = 0; i < WORDS; i++)
        if (words[i] != ROUNDS * i + sum) fail("words", i);
    for (long i = 0; i < WORDS; i++)
        if (heap[i] != words[WORDS - 1 - i] - ROUNDS) fail("heap", i);
    for (long i = 0; i < BINS; i++)
        if (bins[i] != ROUNDS) fail("bins", i);
    // The system reads and writes data that is on disk.
    int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(file, words, sizeof words) != (ssize_t)sizeof words) fail("write", 0);
#pragma omp parallel for
    for (long i = 0; i < WORDS; i++) words[i] = -1;
    lseek(file, 0, SEEK_SET);
    if (read(file, heap, sizeof words) != (ssize_t)sizeof words) fail("read", 0);
#pragma omp parallel for
    for (long i = 0; i < WORDS; i++)
        if (heap[i] != ROUNDS * i + sum || words[i] != -1) fail("file", i);
    unlink("data");
    puts("verified");
    return 0;
}
