// One thread allocates, another frees, inside of one region: the memory is used again although all threads never come together.
//@ env: DSM_HEAP=32M
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 5000, LARGE = 60, SLOTS = 8 };

static char *queue[SLOTS];
static long head, tail;

static void put(char *p) {
    for (int done = 0; !done;) {
        #pragma omp critical
        if (tail - head < SLOTS) {
            queue[tail++ % SLOTS] = p;
            done = 1;
        }
    }
}

static char *get(void) {
    char *p = NULL;
    while (!p) {
        #pragma omp critical
        if (head < tail) p = queue[head++ % SLOTS];
    }
    return p;
}

static size_t bytes(long i) { return i < SMALL ? 7990 + i % 3 : 1 << 20; }

int main(void) {
    long sum = 0, bad = 0;
    #pragma omp parallel num_threads(2)
    for (long i = 0; i < SMALL + LARGE; i++) {
        if (omp_get_thread_num() == 0) {
            char *p = malloc(bytes(i));
            if (!p) {
                printf("no memory at %ld\n", i);
                exit(1);
            }
            memset(p, (int)(i % 100), bytes(i));
            put(p);
        } else {
            char *p = get();
            for (size_t k = 0; k < bytes(i); k += 499) bad += p[k] != i % 100;
            sum += p[bytes(i) - 1];
            free(p);
        }
    }
    printf("%ld %ld\n", sum, bad);
}
