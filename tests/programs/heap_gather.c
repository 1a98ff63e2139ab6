/* Indirect accesses to allocations of the heap: a loop over them has a version for when all of the allocation is valid. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 60000, ROWS = 4000, WIDTH = 5, ROUNDS = 6 };

static int *at;

static long gather(const long *p, int rows, int first) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int row = 0; row < rows; row++) {
        long of_row = 0;
        for (int k = 0; k < WIDTH; k++) of_row += p[at[row * WIDTH + k] + first] * (k + 1);
        sum += of_row;
    }
    return sum;
}

static void scatter(long *p, int rows) {
#pragma omp parallel for
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < WIDTH; k++) p[at[row * WIDTH + k]] += row + k;
}

/* All that a thread reads it has read before, but others have stored to it since. */
static void rounds(void) {
    long *p = malloc(N * sizeof *p);
#pragma omp parallel for
    for (int i = 0; i < N; i++) p[i] = i;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++) p[i] += i % 7 + round;
        printf("round %d: %ld\n", round, gather(p, ROWS, 0));
        scatter(p, ROWS);
    }
    long sum = 0;
    for (int i = 0; i < N; i++) sum += p[i] * (i % 3 + 1);
    printf("after: %ld\n", sum);
    free(p);
}

/* The same address is another allocation, which reaches further, or less far. */
static void again(void) {
    for (int times = 1; times <= 4; times++) {
        int size = N / 4 * times;
        long *p = malloc(size * sizeof *p);
#pragma omp parallel for schedule(static, 1000)
        for (int i = 0; i < size; i++) p[i] = 3L * i + times;
        long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static, 512)
        for (int row = 0; row < ROWS; row++)
            for (int k = 0; k < WIDTH; k++) sum += p[(at[row * WIDTH + k] + row) % size];
        printf("size %d: %ld\n", size, sum);
        free(p);
    }
}

/* The address behind the last page of an allocation, which may be the first one of another. */
static long gather_back(const long *end, int rows) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < WIDTH; k++) sum += end[-1 - at[row * WIDTH + k]] * (k + 1);
    return sum;
}

static void behind(void) {
    enum { ARRAYS = 5, WHOLE = 120 * 4096 / sizeof(long) };
    long *of[ARRAYS];
    for (int array = 0; array < ARRAYS; array++) {
        of[array] = malloc(WHOLE * sizeof(long));
#pragma omp parallel for
        for (int i = 0; i < WHOLE; i++) of[array][i] = i;
    }
    /* Mostly the next one follows in memory. */
    for (int array = 0; array < ARRAYS - 1; array++) {
        long *p = of[array], *next = of[array + 1], *volatile end = p + WHOLE, most = 0;
#pragma omp parallel for schedule(static, 777)
        for (int i = 0; i < WHOLE; i++) p[i] += i;
        /* All threads have all of that. */
#pragma omp parallel reduction(max : most)
        for (int i = 0; i < WHOLE; i++) most = next[i] > most ? next[i] : most;
        printf("behind %d: %ld %ld\n", array, gather_back(end, ROWS), most);
    }
    for (int array = 0; array < ARRAYS; array++) free(of[array]);
}

/* Addresses before the allocation that is meant, which lie in another one. */
static void shifted(void) {
    long *before = malloc(N * sizeof *before), *p = malloc(N * sizeof *p);
    long *volatile from_one = p - 1;
#pragma omp parallel for
    for (int i = 0; i < N; i++) before[i] = p[i] = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for schedule(static, 777)
        for (int i = 0; i < N; i++) p[i] += i + round;
        printf("shifted %d: %ld\n", round, gather(from_one, ROWS, 1));
    }
    printf("before: %ld\n", before[0] + before[N - 1]);
    free(before);
    free(p);
}

/* Allocations of each thread that the others read, more of them than are listed in the end. */
static void by_all(void) {
    enum { MOST = 64 };
    long *of[MOST], sum = 0;
    int threads = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        of[me] = malloc(N * sizeof **of);
        for (int i = 0; i < N; i++) of[me][i] = (long)i * i % 1000;
#pragma omp barrier
        const long *p = of[(me + 1) % threads];
        long mine = 0;
        for (int row = 0; row < ROWS; row++)
            for (int k = 0; k < WIDTH; k++) mine += p[at[row * WIDTH + k]];
        if (me == 0) sum = mine;
    }
    printf("by all: %ld\n", sum);
    for (int i = 0; i < threads; i++) free(of[i]);
    long **many = malloc(700 * sizeof *many);
    for (int i = 0; i < 700; i++) {
        many[i] = malloc(70000);
        many[i][i] = i;
    }
    sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 700; i++) {
        const long *p = many[i];
        for (int k = 0; k < 400; k++) sum += k == i % 400 ? p[at[k] % 1 + i] : 0;
    }
    printf("many: %ld\n", sum);
    for (int i = 0; i < 700; i++) free(many[i]);
    free(many);
}

int main(void) {
    at = malloc(ROWS * WIDTH * sizeof *at);
    /* No two of them are the same. */
    for (int i = 0; i < ROWS * WIDTH; i++) at[i] = (int)((long)i * 7919 % 59999);
    rounds();
    again();
    shifted();
    behind();
    by_all();
    free(at);
    return 0;
}
