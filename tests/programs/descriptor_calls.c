//@ flags: -D_GNU_SOURCE
// All that the system does with open files, whichever thread opened them: waiting, sockets, mappings, locks, standard output elsewhere.
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static char name[64] = "dsm-descriptors-XXXXXX", text[4096], other[64];
static struct pollfd polled[2];
static int ends[2], pair[2], event, made, file;
static struct iovec parts[2];
static struct stat status;

static void must(int good, int line) {
    if (!good) {
        fprintf(stderr, "line %d\n", line);
        abort();
    }
}
#define MUST(x) must((x) ? 1 : 0, __LINE__)

// One thread after the other; what one leaves the next one uses.
static void turn(int i) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fd_set set;
    struct timeval now = {5, 0};
    int waiting = 0;
    char *map;
    switch (i) {
    case 0:
        MUST((file = mkstemp(name)) >= 0 && pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        MUST(write(file, "0123456789", 10) == 10);
        break;
    case 1:
        MUST(fstat(file, &status) == 0 && S_ISREG(status.st_mode) && lseek(file, 2, SEEK_SET) == 2);
        printf("%ld %d\n", (long)status.st_size, isatty(file));
        break;
    case 2:
        MUST((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR && fcntl(file, F_SETFL, O_APPEND) == 0 && fcntl(file, F_SETLK, &lock) == 0);
        parts[0] = (struct iovec){text, 3};
        parts[1] = (struct iovec){other, 5};
        MUST(readv(file, parts, 2) == 8);
        printf("%.3s %.5s\n", text, other);
        break;
    case 3:
        MUST(fcntl(file, F_GETFL) & O_APPEND);
        dprintf(file, "%s", "end");
        MUST(writev(file, parts, 2) == 8 && fsync(file) == 0 && fchmod(file, 0600) == 0);
        break;
    case 4:
        map = mmap(NULL, 21, PROT_READ, MAP_PRIVATE, file, 0);
        MUST(map != MAP_FAILED);
        printf("%.21s\n", map);
        munmap(map, 21);
        MUST((made = dup(file)) >= 0 && close(file) == 0);
        break;
    case 5:
        MUST(lseek(made, 4, SEEK_SET) == 4 && read(made, text, 4) == 4);
        printf("%.4s %d\n", text, (int)lseek(file, 0, SEEK_CUR));
        MUST(close(made) == 0 && unlink(name) == 0);
        break;
    case 6:
        MUST(send(pair[0], "message", 7, 0) == 7 && write(ends[1], "pipe", 4) == 4);
        break;
    case 7:
        MUST(ioctl(pair[1], FIONREAD, &waiting) == 0);
        polled[0] = (struct pollfd){.fd = pair[1], .events = POLLIN};
        polled[1] = (struct pollfd){.fd = ends[0], .events = POLLIN | POLLOUT};
        MUST(poll(polled, 2, 5000) == 2 && polled[0].revents == POLLIN && polled[1].revents == POLLIN);
        printf("%d %d\n", waiting, polled[0].fd == pair[1]);
        break;
    case 8:
        if (ends[0] < FD_SETSIZE) {
            FD_ZERO(&set);
            FD_SET(ends[0], &set);
            MUST(select(ends[0] + 1, &set, NULL, NULL, &now) == 1 && FD_ISSET(ends[0], &set));
        }
        MUST(read(ends[0], text, 64) == 4 && recv(pair[1], other, 64, 0) == 7);
        printf("%.4s %.7s\n", text, other);
        break;
    case 9:
        MUST(shutdown(pair[0], SHUT_WR) == 0 && close(ends[1]) == 0 && (event = eventfd(0, 0)) >= 0);
        break;
    case 10: {
        // All copies of the other end are gone.
        struct epoll_event wanted = {.events = EPOLLIN, .data.u32 = 17}, got;
        int all = epoll_create1(0);
        MUST(read(ends[0], text, 64) == 0 && recv(pair[1], other, 64, 0) == 0 && eventfd_write(event, 5) == 0);
        MUST(epoll_ctl(all, EPOLL_CTL_ADD, event, &wanted) == 0 && epoll_wait(all, &got, 1, 5000) == 1);
        printf("%u\n", got.data.u32);
        close(all);
        break;
    }
    case 11: {
        eventfd_t count = 0;
        MUST(eventfd_read(event, &count) == 0);
        printf("%d %d\n", (int)count, close(event) | close(ends[0]) | close(pair[0]) | close(pair[1]));
        break;
    }
    }
}

int main(void) {
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 12; i++) {
#pragma omp ordered
        turn(i);
    }
    // A thread that waits for another keeps nobody else from using files.
    MUST(pipe(ends) == 0 && (file = open("/dev/zero", O_RDONLY)) >= 0);
#pragma omp parallel num_threads(3)
    {
        int me = omp_get_thread_num();
        if (me == 0) MUST(read(ends[0], text, 5) == 5);
        if (me == 2) MUST(read(file, other, 8) == 8 && other[7] == 0 && write(ends[1], "later", 5) == 5);
    }
    printf("%.5s\n", text);
    // A server and its client.
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM, 0), length = snprintf(address.sun_path + 1, 64, "dsm-test-%d", getpid());
    length += 1 + sizeof(sa_family_t);
    MUST(bind(server, (struct sockaddr *)&address, length) == 0 && listen(server, 4) == 0);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            int client = accept(server, NULL, NULL);
            MUST(client >= 0 && read(client, text, 64) == 5 && write(client, "answer", 6) == 6);
            close(client);
        } else {
            int client = socket(AF_UNIX, SOCK_STREAM, 0);
            MUST(connect(client, (struct sockaddr *)&address, length) == 0 && write(client, "asked", 5) == 5);
            MUST(read(client, other, 64) == 6);
            close(client);
        }
    }
    close(server);
    printf("%.5s %.6s\n", text, other);
    // The descriptor of a stream, whoever opened it.
    static FILE *stream;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 6; i++) {
#pragma omp ordered
        {
            if (i % 3 == 0) MUST((stream = tmpfile()) && fputs("stream", stream) >= 0 && fflush(stream) == 0);
            if (i % 3 == 1) MUST(fstat(fileno(stream), &status) == 0 && pread(fileno(stream), text, 6, 0) == 6);
            if (i % 3 == 2) printf("%d %.6s %d\n", (int)status.st_size, text, fclose(stream));
        }
    }
    // Standard output elsewhere for a while.
    fflush(stdout);
    int before = dup(1), elsewhere = memfd_create("output", 0);
    MUST(before >= 0 && elsewhere >= 0 && dup2(elsewhere, 1) == 1);
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 8; i++) {
#pragma omp ordered
        printf("line %d\n", i);
    }
    fflush(stdout);
    MUST(dup2(before, 1) == 1);
    close(before);
    memset(text, 0, sizeof text);
    MUST(pread(elsewhere, text, sizeof text, 0) == 56);
#pragma omp parallel num_threads(4)
#pragma omp single
    printf("%s", text);
    printf("%d %d\n", close(elsewhere), close(elsewhere));
    return 0;
}
