/* Mappings that grow, shrink, lose their contents, are replaced, and are set aside first. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 64, PAGE = 4096, N = PAGES * PAGE / 8 };

static long sum(const long *p, size_t n) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += p[i];
    return sum;
}

static void fill(long *p, size_t from, size_t to) {
#pragma omp parallel for
    for (size_t i = from; i < to; i++) p[i] = i;
}

static long *map(size_t pages, int protection) {
    void *p = mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) exit(1);
    return p;
}

int main(void) {
    const int both = PROT_READ | PROT_WRITE;
    for (int round = 0; round < 2; round++) {
        long *p = map(PAGES, both);
        fill(p, 0, N);
        p = mremap(p, PAGES * PAGE, 4 * PAGES * PAGE, MREMAP_MAYMOVE);
        if (p == MAP_FAILED) return 1;
        printf("%ld %ld\n", sum(p, N), sum(p + N, 3 * N));
        fill(p, N, 4 * N);
        printf("%ld\n", sum(p, 4 * N));
        p = mremap(p, 4 * PAGES * PAGE, 2 * PAGES * PAGE, 0);
        printf("%ld\n", sum(p, 2 * N));
        /* What was cut off is gone. */
        p = mremap(p, 2 * PAGES * PAGE, 3 * PAGES * PAGE, MREMAP_MAYMOVE);
        printf("%ld\n", sum(p, 3 * N));
        /* The middle loses its contents. */
        madvise(p + N, PAGES * PAGE, MADV_DONTNEED);
        madvise(p, PAGE, MADV_WILLNEED);
        printf("%ld %ld\n", sum(p, 3 * N), p[N] + p[2 * N - 1] + p[2 * N]);
        fill(p, 0, 3 * N);
        /* By a thread that did not map it. */
#pragma omp parallel num_threads(4)
#pragma omp for schedule(static, 1)
        for (int t = 0; t < 4; t++) madvise((char *)p + t * 8 * PAGE, 4 * PAGE, MADV_DONTNEED);
        printf("%ld\n", sum(p, 3 * N));
        long *q = mmap(p + N, PAGES * PAGE, both, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        printf("%d %ld\n", q == p + N, sum(p, 3 * N));
        fill(p, N, N + 100);
        printf("%ld\n", sum(p, 3 * N));
        munmap(p, 3 * PAGES * PAGE);
        /* Address space first, memory later, as allocators do it. */
        long *arena = map(16 * PAGES, PROT_NONE);
        mprotect(arena, PAGES * PAGE, both);
        mprotect(arena + 4 * N, PAGES * PAGE, both);
        fill(arena, 0, N);
        fill(arena + 4 * N, 0, N);
        printf("%ld %ld\n", sum(arena, N), sum(arena + 4 * N, N));
        munmap(arena, 16 * PAGES * PAGE);
        /* A page in front of which nobody may go is memory again when it is given back. */
        long *guarded = map(2, both);
        mprotect(guarded, PAGE, PROT_NONE);
        guarded[600] = 5;
        munmap(guarded, 2 * PAGE);
        long *again = map(2, both);
        again[0] = 7;
        printf("%ld %ld\n", sum(again, 1024), again[600]);
        munmap(again, 2 * PAGE);
    }
}
