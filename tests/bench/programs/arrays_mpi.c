/* Latency of MPI_Get and MPI_Put of eight bytes and of a page, with the flush that completes them, from rank 0 to the last rank: what arrays.c is compared with. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 17, PAGE = 512, TIMES = 20000, ROUNDS = 9 };

static MPI_Win window;
static int target;
static long page[PAGE];

static unsigned next(unsigned *random)
{
    *random = *random * 1103515245 + 12345;
    return *random >> 8;
}

static void get(long times)
{
    unsigned random = 1;
    for (long i = 0; i < times; i++) {
        MPI_Get(page, 1, MPI_LONG, target, next(&random) % COUNT, 1, MPI_LONG, window);
        MPI_Win_flush(target, window);
    }
}

static void put(long times)
{
    unsigned random = 2;
    for (long i = 0; i < times; i++) {
        MPI_Put(&i, 1, MPI_LONG, target, next(&random) % COUNT, 1, MPI_LONG, window);
        MPI_Win_flush(target, window);
    }
}

static void get_page(long times)
{
    unsigned random = 3;
    for (long i = 0; i < times; i++) {
        MPI_Get(page, PAGE, MPI_LONG, target, next(&random) % (COUNT / PAGE) * PAGE, PAGE, MPI_LONG, window);
        MPI_Win_flush(target, window);
    }
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
        double start = MPI_Wtime();
        run(times);
        ns[round] = (MPI_Wtime() - start) * 1e9 / times;
    }
    qsort(ns, ROUNDS, sizeof *ns, compare);
    printf("%s %.1f\n", name, ns[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    int rank;
    long *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &target);
    target--;
    MPI_Win_allocate(COUNT * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (long i = 0; i < COUNT; i++)
        memory[i] = i;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    if (rank == 0) {
        measure("get", get, TIMES);
        measure("put", put, TIMES);
        measure("get-page", get_page, TIMES / 10);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
