//@ flags: -D_GNU_SOURCE
// Files and pipes that one thread has opened and others use: reading and writing in parts larger than a message, at offsets, at the file's own position, while
// another thread waits.
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART = 100000, MOST = 16 };
static char name[64], part[MOST][PART], back[MOST][PART];
static int file, made, ends[2], pair[2], threads;

static void must(int good, int line) {
    if (!good) {
        fprintf(stderr, "line %d: errno %d\n", line, errno);
        abort();
    }
}
#define MUST(x) must((x) ? 1 : 0, __LINE__)

static char letter(int thread, long i) { return 'a' + (thread * 7 + i) % 26; }

static void read_whole(int from, char *to, long bytes) {
    for (long done = 0; done < bytes;) {
        long count = read(from, to + done, bytes - done);
        MUST(count > 0);
        done += count;
    }
}

// Every thread writes its part of a file that `owner` has opened, and reads that of the next one.
static void parts(int owner) {
    int closer = threads - 1 - owner;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), next = (me + 1) % threads;
        if (me == owner) {
            strcpy(name, "dsm-shared-XXXXXX");
            MUST((file = mkstemp(name)) >= 0);
        }
        for (long i = 0; i < PART; i++) part[me][i] = letter(me, i);
#pragma omp barrier
        MUST(pwrite(file, part[me], PART, (long)me * PART) == PART);
#pragma omp barrier
        MUST(pread(file, back[me], PART, (long)next * PART) == PART);
        for (long i = 0; i < PART; i++) MUST(back[me][i] == letter(next, i));
        struct stat status;
        MUST(fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == (long)threads * PART);
        MUST(pread(file, back[me], PART, (long)threads * PART - 10) == 10 && isatty(file) == 0);
        MUST(pread(file, back[me], 1, -1) == -1 && errno == EINVAL);
#pragma omp barrier
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < threads; i++) {
#pragma omp ordered
            {
                // One position for all.
                MUST(lseek(file, 0, SEEK_CUR) == (long)i * PART);
                MUST(read(file, back[me], PART) == PART && back[me][PART - 1] == letter(i, PART - 1));
            }
        }
        if (me == closer) {
            char *map = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE, file, 4096);
            MUST(map != MAP_FAILED && map[0] == letter(0, 4096) && map[3 * 4096 - 1] == letter(0, 4 * 4096 - 1));
            munmap(map, 3 * 4096);
            MUST(fsync(file) == 0 && ftruncate(file, 5) == 0 && lseek(file, -2, SEEK_END) == 3);
            MUST((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR && fcntl(file, F_SETFL, O_APPEND) == 0);
            MUST((made = dup(file)) >= 0 && close(file) == 0);
        }
#pragma omp barrier
        if (me != closer) MUST(read(file, back[me], 1) == -1 && errno == EBADF);
#pragma omp barrier
        if (me == owner) {
            MUST(write(made, "end", 3) == 3 && lseek(made, 0, SEEK_SET) == 0);
            MUST(read(made, back[me], PART) == 8 && memcmp(back[me] + 5, "end", 3) == 0);
            MUST(close(made) == 0 && unlink(name) == 0);
        }
    }
}

// What one end sends arrives at the other, while both wait for each other.
static void channels(int owner) {
    int other = threads - 1 - owner;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        if (me == owner) MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        for (long i = 0; i < PART; i++) part[me][i] = letter(me, i);
#pragma omp barrier
        if (me == other) {
            read_whole(ends[0], back[me], PART);
            MUST(back[me][PART - 1] == letter(owner, PART - 1) && write(pair[0], part[me], PART) == PART);
            MUST(close(pair[0]) == 0 && close(ends[0]) == 0);
        } else if (me == owner) {
            MUST(write(ends[1], part[me], PART) == PART);
            read_whole(pair[1], back[me], PART);
            MUST(back[me][PART - 1] == letter(other, PART - 1) && read(pair[1], back[me], 5) == 0);
        }
#pragma omp barrier
        if (me == other) MUST(write(ends[1], "x", 1) == -1 && errno == EPIPE);
#pragma omp barrier
        if (me == owner) MUST(close(ends[1]) == 0 && close(pair[1]) == 0 && pipe2(ends, O_NONBLOCK) == 0);
#pragma omp barrier
        if (me == other) {
            MUST(read(ends[0], back[me], 1) == -1 && errno == EAGAIN);
            long sent = 0, count;
            while ((count = write(ends[1], part[me], PART)) > 0) sent += count;
            MUST(sent >= 65536 && errno == EAGAIN && close(ends[0]) == 0 && close(ends[1]) == 0);
        }
    }
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    threads = omp_get_max_threads() < MOST ? omp_get_max_threads() : MOST;
    omp_set_num_threads(threads);
    for (int i = 0; i < 2; i++) {
        parts(i == 0 ? 0 : threads - 1);
        puts("parts");
        if (threads > 1) channels(i == 0 ? 0 : threads - 1);
    }
    return 0;
}
