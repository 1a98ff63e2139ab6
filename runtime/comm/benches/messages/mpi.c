// The exchanges of this benchmark by MPI_Send and MPI_Recv: each thread of process 0 with a thread of process 1, on a communicator of their own.
// SIZES, THREADS and TIME (seconds) are defined by whoever compiles it.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { READ, WRITE, END };
enum { MOST_THREADS = 8, MOST_BYTES = 64 << 20 };
static const int sizes[] = {SIZES}, counts_of_threads[] = {THREADS};
static MPI_Comm comms[MOST_THREADS];
static char *buffers[MOST_THREADS];
static atomic_int counts, over;
static atomic_long done;
static int operation, bytes;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void pause_for(double seconds) {
    struct timespec t = {0, (long)(seconds * 1e9)};
    nanosleep(&t, NULL);
}

static void *serve(void *argument) {
    long me = (long)argument;
    for (;;) {
        MPI_Status status;
        MPI_Recv(buffers[me], MOST_BYTES, MPI_BYTE, 0, MPI_ANY_TAG, comms[me], &status);
        if (status.MPI_TAG == END) return NULL;
        int reply = status.MPI_TAG == READ ? *(int *)buffers[me] : 8;
        MPI_Send(buffers[me], reply, MPI_BYTE, 0, 0, comms[me]);
    }
}

static void *ask(void *argument) {
    long me = (long)argument;
    while (!over) {
        if (operation == READ) *(int *)buffers[me] = bytes;
        MPI_Send(buffers[me], operation == READ ? 8 : bytes, MPI_BYTE, 1, operation, comms[me]);
        MPI_Recv(buffers[me], operation == READ ? bytes : 8, MPI_BYTE, 1, 0, comms[me], MPI_STATUS_IGNORE);
        done += counts;
    }
    return NULL;
}

// Threads that wait for messages poll: there are no more than the cell needs.
static void start(int threads, pthread_t *all, void *(*run)(void *)) {
    for (long i = 0; i < threads; i++) pthread_create(&all[i], NULL, run, (void *)i);
}

static void end(int threads, pthread_t *all) {
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
}

static void measure(int threads) {
    pthread_t all[MOST_THREADS];
    counts = over = 0;
    done = 0;
    start(threads, all, ask);
    pause_for(TIME / 10);
    counts = 1;
    double begin = now();
    pause_for(TIME);
    long count = done;
    double elapsed = now() - begin;
    over = 1;
    end(threads, all);
    for (int i = 0; i < threads; i++) MPI_Send(buffers[i], 0, MPI_BYTE, 1, END, comms[i]);
    printf("%s %d %d %f\n", operation == READ ? "Read" : "Write", bytes, threads, elapsed * 1e6 * threads / (count ? count : 1));
}

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MOST_THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        buffers[i] = calloc(1, MOST_BYTES);
    }
    for (operation = READ; operation <= WRITE; operation++)
        for (unsigned size = 0; size < sizeof sizes / sizeof *sizes; size++)
            for (unsigned t = 0; t < sizeof counts_of_threads / sizeof *counts_of_threads; t++) {
                pthread_t all[MOST_THREADS];
                int threads = counts_of_threads[t];
                bytes = sizes[size];
                MPI_Barrier(MPI_COMM_WORLD);
                if (rank == 0) {
                    measure(threads);
                } else {
                    start(threads, all, serve);
                    end(threads, all);
                }
            }
    MPI_Finalize();
    return 0;
}
