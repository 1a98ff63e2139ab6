/* Latency of operations on relocatable arrays from process 0, in ns: of single elements and of pages that are at the last process, of own ones, of loads from a
 * plain shared array, and of moving pages. Prints a line for each: name and median of some rounds. */
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 17, PAGE = 4096, TIMES = 20000, ROUNDS = 9, LARGE = 64 << 20 };

static dsm_array *remote, *own;
static long *plain;
static long sum;

static unsigned next(unsigned *random)
{
    *random = *random * 1103515245 + 12345;
    return *random >> 8;
}

static void get_remote(long times)
{
    unsigned random = 1;
    long value;
    for (long i = 0; i < times; i++) {
        dsm_array_get(remote, next(&random) % COUNT, 1, &value);
        sum += value;
    }
}

static void put_remote(long times)
{
    unsigned random = 2;
    for (long i = 0; i < times; i++)
        dsm_array_put(remote, next(&random) % COUNT, 1, &i);
}

static void get_page(long times)
{
    unsigned random = 3;
    static long page[PAGE / sizeof(long)];
    for (long i = 0; i < times; i++) {
        dsm_array_get(remote, next(&random) % (COUNT * sizeof(long) / PAGE) * (PAGE / sizeof(long)), PAGE / sizeof(long), page);
        sum += page[0];
    }
}

static void get_own(long times)
{
    unsigned random = 4;
    long value;
    for (long i = 0; i < times; i++) {
        dsm_array_get(own, next(&random) % COUNT, 1, &value);
        sum += value;
    }
}

static void put_own(long times)
{
    unsigned random = 5;
    for (long i = 0; i < times; i++)
        dsm_array_put(own, next(&random) % COUNT, 1, &i);
}

static void load_plain(long times)
{
    unsigned random = 6;
    for (long i = 0; i < times; i++)
        sum += plain[next(&random) % COUNT];
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*run)(long), long times)
{
    double ns[ROUNDS];
    run(times / 10);
    for (int round = 0; round < ROUNDS; round++) {
        double start = omp_get_wtime();
        run(times);
        ns[round] = (omp_get_wtime() - start) * 1e9 / times;
    }
    qsort(ns, ROUNDS, sizeof *ns, compare);
    printf("%s %.1f\n", name, ns[ROUNDS / 2]);
}

/* Moves a large array to process 0 and back; ns for 4096 bytes of it. */
static void move(const char *name, size_t page_bytes)
{
    size_t count = LARGE / sizeof(long);
    dsm_array *array = dsm_array_create(count, sizeof(long), page_bytes);
    long *part = malloc(1 << 20);
    double best = 1e30;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
        if (omp_get_thread_num() == omp_get_num_threads() - 1) {
            for (size_t i = 0; round == 0 && i < count; i += (1 << 20) / sizeof(long)) {
                for (size_t k = 0; k < (1 << 20) / sizeof(long); k++)
                    part[k] = i + k;
                dsm_array_put(array, i, (1 << 20) / sizeof(long), part);
            }
            dsm_array_own(array, 0, count);
        }
        double start = omp_get_wtime();
        dsm_array_own(array, 0, count);
        double time = omp_get_wtime() - start;
        best = time < best ? time : best;
    }
    printf("%s %.1f\n", name, best * 1e9 / (LARGE / 4096));
    free(part);
    dsm_array_destroy(array);
}

int main(void)
{
    remote = dsm_array_create(COUNT, sizeof(long), PAGE);
    own = dsm_array_create(COUNT, sizeof(long), PAGE);
    plain = malloc(COUNT * sizeof *plain);
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1)
        dsm_array_own(remote, 0, COUNT);
    dsm_array_own(own, 0, COUNT);
    for (long i = 0; i < COUNT; i++)
        plain[i] = i;
    put_remote(COUNT);
    measure("get", get_remote, TIMES);
    measure("put", put_remote, TIMES);
    measure("get-page", get_page, TIMES / 10);
    measure("get-own", get_own, TIMES);
    measure("put-own", put_own, TIMES);
    measure("load", load_plain, TIMES);
    move("own-4K", 4096);
    move("own-64K", 65536);
    return sum == 42;
}
