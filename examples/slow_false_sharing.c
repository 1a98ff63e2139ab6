// Slow on purpose: false sharing. `dsm-run --profile` says so, and -DMENDED does what it says.
//
// Each thread counts in bins of its own. Those of all threads lie side by side, so that every block of memory holds bins of several processes, which take it from
// each other or merge it at every barrier, although nobody is interested in what the others write. Mended, the bins of a thread have blocks to themselves.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 64, BINS = 1024, ROUNDS = 40 };

#ifdef MENDED
static _Alignas(8192) long bins[THREADS][BINS];
#define BIN(thread, i) bins[thread][i]
#else
static _Alignas(8192) long bins[BINS][THREADS];
#define BIN(thread, i) bins[i][thread]
#endif

static void count(int thread) {
    for (int i = 0; i < BINS; i++) BIN(thread, i) += thread + i;
}

int main(void) {
    int team = 0;
#pragma omp parallel num_threads(omp_get_max_threads() < THREADS ? omp_get_max_threads() : THREADS)
    {
#pragma omp single
        team = omp_get_num_threads();
        for (int round = 0; round < ROUNDS; round++) {
            count(omp_get_thread_num());
#pragma omp barrier
        }
    }
    int wrong = 0;
    for (int thread = 0; thread < team; thread++)
        for (int i = 0; i < BINS; i++) wrong += BIN(thread, i) != (long)(thread + i) * ROUNDS;
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
