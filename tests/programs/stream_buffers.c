// Buffers of the program behind streams, next to data that other threads write; streams in memory of the program.
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    _Alignas(4096) char full[1024];
    long counts[64];
    char line[256], small[16], usual[BUFSIZ];
    char memory[600];
    long more[64];
} g;

static void show(const char *name) {
    FILE *file = fopen(name, "r");
    char line[200];
    unsigned long hash = 0, lines = 0;
    while (fgets(line, sizeof line, file)) {
        lines++;
        for (char *c = line; *c; c++) hash = hash * 31 + (unsigned char)*c;
    }
    fclose(file);
    printf("%s: %lu lines, %lx\n", strrchr(name, '_'), lines, hash);
    remove(name);
}

static void fill(FILE *file, const char *what) {
#pragma omp parallel num_threads(4)
    for (int round = 0; round < 30; round++) {
        int me = omp_get_thread_num();
        if (me == 0) fprintf(file, "%s %d before\n", what, round);
#pragma omp barrier
        if (me == 1)
            for (int i = 0; i < 64; i++) g.counts[i] += i, g.more[i]++;
        if (me == 3) fprintf(file, "%s %d from another thread\n", what, round);
#pragma omp barrier
        if (me == 0) fprintf(file, "%s %d after %ld\n", what, round, g.counts[3]);
#pragma omp barrier
    }
}

static void test(const char *what, FILE *(*set)(FILE *)) {
    char name[80];
    snprintf(name, sizeof name, "/tmp/dsm_%d_%s", getpid(), what);
    FILE *file = set(fopen(name, "w"));
    fill(file, what);
    printf("closed %d, ", fclose(file));
    show(name);
    // A buffer may serve a stream for reading next, and be used for something else behind that.
    memset(&g.full, 'x', sizeof g.full);
}

static FILE *full(FILE *f) { return setvbuf(f, g.full, _IOFBF, sizeof g.full), f; }
static FILE *by_line(FILE *f) { return setvbuf(f, g.line, _IOLBF, sizeof g.line), f; }
static FILE *none(FILE *f) { return setvbuf(f, NULL, _IONBF, 0), f; }
static FILE *usual(FILE *f) { return setbuf(f, g.usual), f; }
static FILE *small(FILE *f) { return setbuffer(f, g.small, sizeof g.small), f; }
static FILE *line_only(FILE *f) { return setlinebuf(f), f; }
static FILE *allocated(FILE *f) { return setvbuf(f, malloc(5000), _IOFBF, 5000), f; }

int main(void) {
    static char out[300];
    setvbuf(stdout, out, _IOLBF, sizeof out);
    test("full", full);
    test("line", by_line);
    test("none", none);
    test("usual", usual);
    test("small", small);
    test("lineonly", line_only);
    test("allocated", allocated);

    // Another thread than the one that opened it sets the buffer.
    char name[80];
    snprintf(name, sizeof name, "/tmp/dsm_%d_other", getpid());
    FILE *file = fopen(name, "w");
    int result = -1;
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 3) result = setvbuf(file, g.full, _IOFBF, 512);
    fill(file, "other");
    fclose(file);
    printf("%d ", result);
    show(name);

    // Streams in memory.
    FILE *memory = fmemopen(g.memory, sizeof g.memory, "w");
#pragma omp parallel num_threads(4)
    for (int turn = 0; turn < 4; turn++) {
#pragma omp barrier
        if (turn == omp_get_thread_num()) fprintf(memory, "thread %d;", turn);
        if (turn == omp_get_thread_num()) g.more[turn] = turn;
    }
    fflush(memory);
    static char seen[4][100];
#pragma omp parallel num_threads(4)
    strncpy(seen[omp_get_thread_num()], g.memory, 99);
    printf("%d %d %s %ld\n", strcmp(seen[0], seen[3]), strcmp(seen[0], seen[2]), seen[3], ftell(memory));
    fclose(memory);
    strcpy(g.memory, "12 3.5 word\nanother line\n");
    memory = fmemopen(g.memory, sizeof g.memory, "r+");
    int number = 0;
    double fraction = 0;
    char word[20] = "", line[40] = "";
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 2) {
        if (fscanf(memory, "%d %lf %19s\n", &number, &fraction, word) != 3) number = -1;
        fgets(line, sizeof line, memory);
    }
    printf("%d %.1f %s %s", number, fraction, word, line);
    fseek(memory, 0, SEEK_SET);
    fputs("AB", memory);
    fclose(memory);
    printf("%s", g.memory);
    memory = fmemopen(g.memory, 100, "a");
    fputs("appended", memory);
    fclose(memory);
    printf("%s\n", g.memory);
    char tiny[4] = "zzz";
    memory = fmemopen(tiny, sizeof tiny, "w+");
    setvbuf(memory, NULL, _IONBF, 0);
    int written = fputs("abcdef", memory) >= 0 && fflush(memory) == 0;
    fclose(memory);
    printf("%d %.4s|\n", written, tiny);
    memory = fmemopen(NULL, 50, "w+");
    fputs("inside", memory);
    rewind(memory);
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 3) fgets(line, sizeof line, memory);
    fclose(memory);
    printf("%s\n", line);
    return 0;
}
