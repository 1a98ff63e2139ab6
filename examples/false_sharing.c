// False sharing: threads write different words of the same memory block.
//
// Each thread counts in its own counter. In the first layout the counters are neighbours, so that one
// block of memory holds the counters of several threads: every process that writes the block must merge
// its bytes with those of the others, although nobody is interested in them. In the second layout each
// counter has a block to itself. The results are equal, the costs are not.
//
// Nothing is lost in either: writes are merged byte by byte, not block by block.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 64, ROUNDS = 400, PAD = 8192 / sizeof(long) };

static long neighbours[THREADS];
static long apart[THREADS][PAD];

static double count(long *counter, int distance, int *team) {
    double start = omp_get_wtime();
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp single
        *team = omp_get_num_threads();
        for (int round = 0; round < ROUNDS; round++) {
            if (me < THREADS) counter[me * distance] += me + 1;
            // Here every thread's writes become visible to all: this is where the merging happens.
#pragma omp barrier
        }
    }
    return omp_get_wtime() - start;
}

int main(void) {
    int team = 0;
    double together = count(neighbours, 1, &team);
    double separate = count(&apart[0][0], PAD, &team);
    printf("%d threads, %d barriers: counters in one block %.1f ms, in blocks of their own %.1f ms\n", team, ROUNDS,
           together * 1e3, separate * 1e3);
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        long expected = i < team ? (i + 1L) * ROUNDS : 0;
        wrong += neighbours[i] != expected || apart[i][0] != expected;
    }
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
