// The counterpart of operations.c with MPI: all processes add to a counter and a histogram at process 0 by one-sided operations.
//
//     operations_mpi NAME...     prints a line for each: its name, and the nanoseconds that an operation of a process takes
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BINS = 1 << 16 };

static const double least_seconds = 0.2;
static const long one = 1;

static unsigned bin(unsigned *random) { return (*random = *random * 1664525u + 1013904223u) >> 16; }

static void operate(const char *name, long n, int rank, MPI_Win window) {
    unsigned random = rank;
    long old;
    for (long i = 0; i < n; i++) {
        if (!strcmp(name, "counter-fetch")) {
            MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
            MPI_Win_flush(0, window);
        } else {
            MPI_Aint at = strcmp(name, "histogram-add") ? 0 : bin(&random);
            MPI_Accumulate(&one, 1, MPI_LONG, 0, at, 1, MPI_LONG, MPI_SUM, window);
        }
    }
    MPI_Win_flush_all(window);
}

int main(int argc, char **argv) {
    int rank, size;
    long *bins;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(rank ? 0 : BINS * sizeof *bins, sizeof *bins, MPI_INFO_NULL, MPI_COMM_WORLD, &bins, &window);
    MPI_Win_lock_all(0, window);
    for (int t = 1; t < argc; t++) {
        double seconds = 0;
        for (long n = 100; seconds < least_seconds; n *= 2) {
            if (rank == 0) memset(bins, 0, BINS * sizeof *bins);
            MPI_Win_sync(window);
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            operate(argv[t], n, rank, window);
            MPI_Barrier(MPI_COMM_WORLD);
            seconds = MPI_Wtime() - start;
            MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            MPI_Win_sync(window);
            long all = 0;
            for (int i = 0; rank == 0 && i < BINS; i++) all += bins[i];
            if (rank == 0 && all != n * size) {
                fprintf(stderr, "%ld of %ld operations were done\n", all, n * size);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            if (rank == 0 && seconds >= least_seconds) printf("%s %.1f\n", argv[t], seconds / n * 1e9);
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
