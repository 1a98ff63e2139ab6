// A stand-in for a program of dsm-cc: speaks the launcher's protocol without the runtime.
// victim MODE RANK VALUE: process RANK does what MODE says; the others wait for the program's orderly end.
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size, threads, page_file;
static _Atomic unsigned *page;
// To each process that is not reached by a memory file: for requests, for serving them, for waits, for serving them.
static int sockets[64][4], connected[64];

static void read_job(void) {
    const char *job = getenv("DSM_JOB");
    int used = 0, segments = 0;
    if (!job || sscanf(job, "5:%d:%d:%d:%*d-%*d:%d:%n", &rank, &size, &threads, &page_file, &used) != 4) exit(99);
    for (char *at = (char *)job + used; *at; segments++) {
        int fds[4], count = 0;
        do fds[count++] = strtol(at, &at, 10);
        while (*at++ == '+' && count < 4);
        struct stat file;
        if (count == 1 ? fstat(*fds, &file) || !S_ISREG(file.st_mode) || file.st_size != 0 : count != 4) exit(98);
        if (segments == rank && count != 1) exit(94);
        connected[segments] = count == 4;
        memcpy(sockets[segments], fds, sizeof fds);
        if (!at[-1]) at--;
    }
    struct stat file;
    if (segments != size || fstat(page_file, &file) || file.st_size < 65536) exit(97);
    page = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, page_file, 0);
    if (page == MAP_FAILED) exit(96);
}

static void say(const char *text) {
    char line[200];
    int length = snprintf(line, sizeof line, "%s %d %d\n", text, rank, (int)getpid());
    if (write(1, line, length) != length) exit(95);
}

// The environment as it should be: nothing blocked, addresses fixed, the others without input.
static void look(void) {
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, 0, &blocked);
    int count = 0;
    for (int signal = 1; signal < 65; signal++) count += sigismember(&blocked, signal) == 1;
    int fixed = (personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0;
    char input[16];
    long length = read(0, input, sizeof input);
    printf("rank %d size %d threads %d blocked %d fixed %d input %ld at %p\n", rank, size, threads, count, fixed,
           length, (void *)&page);
}

static void talk(void) {
    for (int i = 0; i < 2000; i++) {
        char line[100];
        int length = snprintf(line, sizeof line, "line %d of %d\n", i, rank), half = length / 2;
        FILE *stream = i % 2 ? stderr : stdout;
        fwrite(line, 1, half, stream);
        fflush(stream);
        fwrite(line + half, 1, length - half, stream);
    }
    printf("no newline");
    fflush(0);
}

static void hear(int peer, int socket, char expected) {
    char byte;
    if (read(sockets[peer][socket], &byte, 1) != 1 || byte != expected) exit(93);
}

static void tell(int peer, int socket, char byte) {
    if (write(sockets[peer][socket], &byte, 1) != 1) exit(92);
}

// Every process hears from those that it is connected to by each connection. Then `who` closes its ends, which they take for its end.
static void meet(int who) {
    char line[200];
    int length = sprintf(line, "rank %d is connected to", rank);
    for (int peer = 0; peer < size; peer++)
        for (int i = 0; connected[peer] && i < 4; i++) tell(peer, i, 10 * rank + i);
    for (int peer = 0; peer < size; peer++) {
        for (int i = 0; connected[peer] && i < 4; i++) hear(peer, i, 10 * peer + (i ^ 1));
        if (connected[peer]) length += sprintf(line + length, " %d", peer);
    }
    puts(line);
    fflush(0);
    char byte;
    for (int peer = 0; rank == who && peer < size; peer++)
        for (int i = 0; connected[peer] && i < 4; i++) close(sockets[peer][i]);
    for (int i = 0; connected[who] && i < 4; i++)
        if (read(sockets[who][i], &byte, 1) != 0) exit(90);
    // The first process ends the job when those connected to it have seen the same.
    for (int peer = 1; rank == 0 && peer < size; peer++)
        if (peer != who && connected[peer]) hear(peer, 1, 99);
    if (connected[0] && rank != who) tell(0, 0, 99);
}

static void flood(void) {
    for (long i = 0;; i++) printf("line %ld\n", i);
}

static int finish(int status) {
    page[0] = 1;
    return status;
}

int main(int argc, char **argv) {
    read_job();
    const char *mode = argc > 1 ? argv[1] : "";
    int who = argc > 2 ? atoi(argv[2]) : 0, value = argc > 3 ? atoi(argv[3]) : 0;
    if (!strcmp(mode, "stubborn"))
        for (int signal = 1; signal < 16; signal++) sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, 0);
    if (!strcmp(mode, "talk")) talk();
    if (!strcmp(mode, "look")) look();
    if (!strcmp(mode, "meet")) meet(who);
    if (!strcmp(mode, "flood") && rank == who) flood();
    if (!strcmp(mode, "args") && rank == 0)
        for (int i = 0; i < argc; i++) printf("%s\n", argv[i]);
    if (!strcmp(mode, "stray") && rank == who && fork() == 0) {
        setsid();
        if (fork() == 0) say("stray");
        pause();
    }
    fflush(0);
    if (!strcmp(mode, "run") || !strcmp(mode, "stubborn") || !strcmp(mode, "stray")) {
        say("ready");
        for (;;) pause();
    }
    if (!strcmp(mode, "exit") && rank == who) _exit(value);
    if (!strcmp(mode, "raise") && rank == who) raise(value);
    if (!strcmp(mode, "late") && rank == who) return finish(value);
    if (rank == 0 && strcmp(mode, "exit") && strcmp(mode, "raise") && strcmp(mode, "flood"))
        return finish(value);
    while (!page[0] || !strcmp(mode, "late") || !strcmp(mode, "flood")) usleep(1000);
    return 0;
}
