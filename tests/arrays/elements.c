/* Elements of relocatable arrays are what was put last, wherever their pages are and while they move. */
#include <dsm.h>
#include <string.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 3000, ROUNDS = 20 };

struct element {
    long number, round, check;
};

static void expect(int right, const char *what)
{
    if (!right) {
        printf("WRONG: %s\n", what);
        exit(1);
    }
}

/* Each thread puts its own elements again and again, gets those of others and moves pages. */
static void exchange(size_t page_bytes)
{
    dsm_array *array = dsm_array_create(COUNT, sizeof(struct element), page_bytes);
    expect(dsm_array_count(array) == COUNT && dsm_array_location(array, 0) <= 0, "nobody has put anything yet");
    struct element zero;
    dsm_array_get(array, COUNT - 1, 1, &zero);
    expect(zero.number == 0 && zero.check == 0, "elements are zero at first");
    long wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        long me = omp_get_thread_num(), threads = omp_get_num_threads();
        long first = COUNT * me / threads, end = COUNT * (me + 1) / threads;
        struct element mine[8], seen[40];
        unsigned random = 12345 + me;
        for (long round = 1; round <= ROUNDS; round++) {
            for (long i = first; i < end; i += 8) {
                long n = end - i < 8 ? end - i : 8;
                for (long k = 0; k < n; k++)
                    mine[k] = (struct element){i + k, round, 7 * (i + k) + round};
                dsm_array_put(array, i, n, mine);
            }
            for (int times = 0; times < 20; times++) {
                random = random * 1103515245 + 12345;
                long at = (random >> 8) % (COUNT - 40);
                if (times % 7 == 0)
                    dsm_array_own(array, at, 1 + random % 40);
                dsm_array_get(array, at, 40, seen);
                for (long k = 0; k < 40; k++) {
                    long mine = at + k >= first && at + k < end;
                    /* Others may be putting: what is there is of this round, of one close to it or, word by word, of both. */
                    wrong += mine ? seen[k].check != 7 * (at + k) + round : seen[k].number != 0 && seen[k].number != at + k;
                }
            }
        }
#pragma omp barrier
        for (long i = 0; i < COUNT; i += 40) {
            dsm_array_get(array, i, 40, seen);
            for (long k = 0; k < 40; k++)
                wrong += seen[k].number != i + k || seen[k].round != ROUNDS || seen[k].check != 7 * (i + k) + ROUNDS;
        }
    }
    expect(wrong == 0, "elements are those that were put last");
    dsm_array_destroy(array);
}

/* A process has all pages that it owns when nobody else moves them. */
static void gather(void)
{
    dsm_array *array = dsm_array_create(5000, sizeof(double), 4096);
#pragma omp parallel for
    for (long i = 0; i < 5000; i++) {
        double value = 0.5 * i;
        dsm_array_put(array, i, 1, &value);
    }
    int last = dsm_processes() - 1;
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        expect(dsm_process() == last, "the last thread is in the last process");
        dsm_array_own(array, 0, 5000);
    }
    double *all = malloc(5000 * sizeof *all);
    dsm_array_get(array, 0, 5000, all);
    for (long i = 0; i < 5000; i++)
        expect(all[i] == 0.5 * i && dsm_array_location(array, i) == last, "pages are where they were moved to, with their contents");
    dsm_array_own(array, 1000, 1000);
    expect(dsm_array_location(array, 1500) == 0 && dsm_array_location(array, 0) == last, "some pages have come back");
    dsm_array_get(array, 0, 5000, all);
    for (long i = 0; i < 5000; i++)
        expect(all[i] == 0.5 * i, "contents came back");
    free(all);
    dsm_array_destroy(array);
}

/* Arrays that follow others in the same place are new. */
static void reuse(void)
{
    for (int i = 0; i < 20; i++) {
        dsm_array *array = dsm_array_create(1000 + i, 8, 4096);
        long value = 0;
        dsm_array_get(array, 500, 1, &value);
        expect(value == 0, "a new array is zero");
        long number = i + 1;
#pragma omp parallel
#pragma omp single
        dsm_array_put(array, 500, 1, &number);
        dsm_array_get(array, 500, 1, &value);
        expect(value == number, "it has what was put");
        dsm_array_destroy(array);
    }
}

/* Homes of ordinary memory go to each process in turn; contents stay. */
static long table[20000];

static void place(void)
{
    long *heap = malloc(20000 * sizeof *heap);
    for (int turn = 0; turn < 3; turn++)
        for (int process = 0; process < dsm_processes(); process++) {
#pragma omp parallel for
            for (long i = 0; i < 20000; i++) {
                table[i] += i;
                heap[i] = table[i] + 1;
            }
            dsm_place(table, sizeof table, process);
            dsm_place(heap + 100, 15000 * sizeof *heap, process);
            long turns = turn * dsm_processes() + process + 1, wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
            for (long i = 0; i < 20000; i++)
                wrong += table[19999 - i] != turns * (19999 - i) || heap[i] != turns * i + 1;
            expect(wrong == 0, "contents stay when homes move");
        }
    free(heap);
}

/* Threads bring homes to their processes, beside others; functions for signals run where the homes are. */
enum { SLICE = 8192, MOST = 16 };
static long slices[MOST][SLICE] __attribute__((aligned(65536)));
static int where[MOST];

static void tell_process(void *place, const void *argument, size_t bytes)
{
    int slice;
    memcpy(&slice, argument, bytes);
    where[slice] = place == &slices[slice][100] ? dsm_process() : -1;
}

/* A region of its own for each turn: over a network a process that has stored to a slice behind the same region before is expected to do so again, and may have the home first. */
#define BRING(turn) \
    static long bring_##turn(void) \
    { \
        long wrong = 0; \
        _Pragma("omp parallel num_threads(MOST) reduction(+ : wrong)") \
        { \
            int slice = (omp_get_thread_num() + 5 * turn) % MOST; \
            for (long i = 0; i < SLICE; i += 3) \
                slices[slice][i] += i; \
            dsm_place(slices[slice], sizeof slices[slice], dsm_process()); \
            for (long i = 1; i < SLICE; i += 3) \
                slices[slice][i] += i; \
            dsm_wait(dsm_signal(&slices[slice][100], tell_process, &slice, sizeof slice)); \
            wrong += where[slice] != dsm_process(); \
            _Pragma("omp barrier") \
            for (long i = 0; i < SLICE; i++) \
                wrong += slices[(slice + 3) % MOST][i] != (i % 3 == 2 ? 0 : (turn + 1) * i); \
        } \
        return wrong; \
    }
BRING(0)
BRING(1)
BRING(2)

static void bring(void)
{
    dsm_register(tell_process);
    expect(bring_0() == 0, "homes come to the process that asks");
    expect(bring_1() == 0, "homes come to the process that asks next");
    expect(bring_2() == 0, "homes come to the process that asks last");
}

int main(void)
{
    exchange(64);
    exchange(1024);
    exchange(8192);
    gather();
    reuse();
    place();
    bring();
    printf("verified\n");
}
