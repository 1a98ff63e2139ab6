/* Memory that one thread allocates and nobody has stored to moves to the first thread that stores to it, whether others store beside it or not. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096 / sizeof(long), PAGES = 2048, LENGTH = PAGES * PAGE };

static long zeros[LENGTH];

/* What is not zero, and the sum of the others with their places. */
static unsigned long checksum(const long *values) {
    unsigned long sum = 0, count = 0;
    for (int i = 0; i < LENGTH; i++) {
        count += values[i] != 0;
        sum += values[i] * (unsigned long)(i + 1);
    }
    return sum * 31 + count;
}

/* One store in a page, each by the thread that has the page. */
static void apart(long *values) {
#pragma omp parallel for schedule(static)
    for (int page = 0; page < PAGES; page++)
        values[page * PAGE + page * 7 % PAGE] = page + 1;
}

/* All threads store to all pages, at different places, every second one from the last page on. */
static void side_by_side(long *values) {
#pragma omp parallel
    for (int i = 0; i < PAGES; i++) {
        int page = omp_get_thread_num() % 2 ? PAGES - 1 - i : i;
#pragma omp for schedule(static, 1) nowait
        for (int place = 0; place < 64; place++)
            values[page * PAGE + place * 8] = page * 64 + place + 1;
    }
}

int main(void) {
    for (int round = 0; round < 3; round++) {
        long *values = calloc(LENGTH, sizeof *values);
        apart(values);
        printf("%d apart %lu\n", round, checksum(values));
        free(values);
        values = calloc(LENGTH, sizeof *values);
        side_by_side(values);
        printf("%d side by side %lu\n", round, checksum(values));
        apart(values);
        printf("%d again %lu\n", round, checksum(values));
        free(values);
    }
    side_by_side(zeros);
    printf("global %lu\n", checksum(zeros));
    return 0;
}
