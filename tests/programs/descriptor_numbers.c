//@ flags: -D_GNU_SOURCE
// Numbers that nobody has opened, streams on descriptors, and what a child of fork does with its parent's.
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2], read_end[2];
static long random_now;

static void must(int good, int line) {
    if (!good) {
        fprintf(stderr, "line %d\n", line);
        abort();
    }
}
#define MUST(x) must((x) ? 1 : 0, __LINE__)

// A program that wants no files of whoever started it closes all that there may be.
static void close_all(void) {
    char byte;
    for (int number = 64; number < 20000; number += 61) {
        errno = 0;
        MUST(close(number) == -1 && errno == EBADF);
        errno = 0;
        MUST(read(number, &byte, 1) == -1 && errno == EBADF);
        errno = 0;
        MUST(fcntl(number, F_GETFD) == -1 && errno == EBADF);
    }
}

// The stream has the descriptor that it was opened on.
static void stream_on_descriptor(int i) {
    char name[] = "dsm-numbers-XXXXXX";
    int file = mkstemp(name);
    MUST(file >= 0);
    FILE *stream = fdopen(file, "w+");
    MUST(stream && fileno(stream) == file);
    MUST(fprintf(stream, "%d", i) > 0 && fflush(stream) == 0);
    MUST(fsync(file) == 0 && lseek(file, 0, SEEK_CUR) > 0);
    MUST(fdopen(file, "no mode") == NULL && errno == EINVAL);
    MUST(fcntl(file, F_GETFD) >= 0);
    MUST(fclose(stream) == 0);
    MUST(fcntl(file, F_GETFD) == -1 && errno == EBADF);
    MUST(unlink(name) == 0);
}

int main(void) {
    close_all();
    stream_on_descriptor(0);
#pragma omp parallel
    for (int i = 0; i < omp_get_num_threads(); i++) {
        if (i == omp_get_thread_num()) {
            close_all();
            stream_on_descriptor(i);
        }
#pragma omp barrier
    }
    MUST(pipe(ends) == 0);
    srand(7);
    random_now = rand();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        // The numbers go on to mean the parent's files to other threads, whose random numbers go on where they were.
        close(ends[0]);
        for (int i = 0; i < 10; i++) rand();
        FILE *own = fopen("/dev/null", "w");
        fclose(own);
        _exit(write(ends[1], "from the child", 14) == 14 ? 0 : 1);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        char text[15] = "";
        MUST(read(ends[0], text, 14) == 14);
        printf("%s %ld\n", text, random_now + rand());
        fflush(stdout);
        MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
    }
    MUST(close(ends[0]) == -1 && errno == EBADF);
    return 0;
}
