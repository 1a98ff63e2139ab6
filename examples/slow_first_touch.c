// Slow on purpose: serial first touch. `dsm-run --profile` says so, and -DMENDED does what it says.
//
// The initial thread fills a table whose parts are then used by all threads, each its own, in an order that no range check covers. All blocks are in process 0,
// so that the others fetch them one by one. Mended, the threads fill what they are going to use.
#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 64, PART = 1 << 15, N = PARTS * PART };

static void fill(unsigned *part) {
    for (int i = 0; i < PART; i++) part[i] = 1;
}

// Visits the elements of a part in a scattered order: the multiplier is odd, so each is visited once.
static void update(unsigned *part, unsigned *sum) {
    for (unsigned i = 0; i < PART; i++) {
        unsigned at = i * 20011u % PART;
        part[at] += i;
        *sum += part[at];
    }
}

int main(void) {
    unsigned *table = malloc(N * sizeof *table);
    if (!table) return 1;
#ifdef MENDED
#pragma omp parallel for schedule(static)
#endif
    for (int p = 0; p < PARTS; p++) fill(table + (size_t)p * PART);
    unsigned sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int p = 0; p < PARTS; p++) update(table + (size_t)p * PART, &sum);
    unsigned part = PART + (unsigned)PART / 2 * (PART - 1);
    int wrong = sum != PARTS * part;
    puts(wrong ? "WRONG" : "verified");
    free(table);
    return wrong;
}
