// As heap_pipeline, but handed over by atomic operations only, and by barriers only.
//@ env: DSM_HEAP=32M
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 6000, BYTES = 7990, SLOTS = 8, BATCHES = 40, BATCH = 200 };

static char *_Atomic slot[SLOTS];
static char *batch[BATCH];

static char *make(long i) {
    char *p = malloc(BYTES);
    if (!p) {
        printf("no memory at %ld\n", i);
        exit(1);
    }
    memset(p, (int)(i % 100), BYTES);
    return p;
}

static int take(char *p, long i) {
    int bad = 0;
    for (int k = 0; k < BYTES; k += 499) bad += p[k] != i % 100;
    free(p);
    return bad;
}

int main(void) {
    long bad = 0;
#pragma omp parallel num_threads(2) reduction(+ : bad)
    {
        int me = omp_get_thread_num();
        for (long i = 0; i < ITEMS; i++) {
            char *_Atomic *at = &slot[i % SLOTS];
            if (me == 0) {
                char *p = make(i);
                while (atomic_load_explicit(at, memory_order_acquire)) sched_yield();
                atomic_store_explicit(at, p, memory_order_release);
            } else {
                char *p;
                while (!(p = atomic_load_explicit(at, memory_order_acquire))) sched_yield();
                bad += take(p, i);
                atomic_store_explicit(at, NULL, memory_order_release);
            }
        }
        for (long i = 0; i < BATCHES; i++) {
            for (int k = 0; me == 0 && k < BATCH; k++) batch[k] = make(i + k);
#pragma omp barrier
            for (int k = 0; me == 1 && k < BATCH; k++) bad += take(batch[k], i + k);
#pragma omp barrier
        }
    }
    printf("%ld\n", bad);
    return 0;
}
