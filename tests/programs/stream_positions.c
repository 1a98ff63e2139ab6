/* Threads take turns with streams that one of them opened: each finds them where the one before has left them. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 300000, TURNS = 60 };

static unsigned char expected(long at) { return (unsigned char)(at * 7 + at / 251); }

/* Reads some bytes, each turn in another way; says how many were wrong. `at` is where the stream is. */
static int read_some(FILE *file, int turn, long *at) {
    unsigned char bytes[5000];
    size_t count = 0;
    int wrong = 0;
    switch (turn % 6) {
    case 0:
        count = fread(bytes, 1, sizeof bytes, file);
        break;
    case 1:
        for (; count < 37; count++) bytes[count] = (unsigned char)getc(file);
        break;
    case 2: {
        /* One byte back before a longer read, and one behind it. */
        int byte = getc(file);
        ungetc(byte, file);
        count = fread(bytes, 1, 10, file);
        ungetc(bytes[--count], file);
        break;
    }
    case 3:
        wrong += fseek(file, 5, SEEK_CUR) != 0;
        *at += 5;
        count = fread(bytes, 1, 100, file);
        break;
    case 4:
        wrong += ftell(file) != *at;
        count = fread(bytes, 7, 3, file) * 7;
        break;
    case 5: {
        char buffer[64];
        /* As raw bytes: the file has line ends where it has them. */
        for (int i = 0; i < 3 && fgets(buffer, 2, file); i++) bytes[count++] = (unsigned char)buffer[0];
        break;
    }
    }
    for (size_t i = 0; i < count; i++) wrong += bytes[i] != expected(*at + (long)i);
    *at += (long)count;
    return wrong;
}

int main(void) {
    char name[] = "dsm-positions-XXXXXX";
    FILE *file = fdopen(mkstemp(name), "w+");
    if (!file) return 1;
    for (long i = 0; i < BYTES; i++) putc(expected(i), file);
    rewind(file);

    long at = 0;
    int wrong = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int turn = 0; turn < TURNS; turn++) {
#pragma omp ordered
        wrong += read_some(file, turn, &at);
    }
    wrong += ftell(file) != at;
    printf("wrong %d\n", wrong);

    /* Until the end, which all see. */
    long sum = 0, rest = 0;
    int ends = 0;
#pragma omp parallel reduction(+ : ends)
    {
        for (int more = 1; more;) {
#pragma omp critical
            {
                int byte = getc(file);
                more = byte >= 0;
                if (more) sum += byte, rest++;
                for (int i = 0; i < 5000 && more && (byte = getc(file)) >= 0; i++) sum += byte, rest++;
            }
        }
        ends += feof(file) != 0;
    }
    long right = 0;
    for (long i = at; i < BYTES; i++) right += expected(i);
    printf("rest %s, ends %s\n", sum == right && rest == BYTES - at ? "right" : "wrong", ends == omp_get_max_threads() ? "right" : "wrong");

    /* Who wants to read what comes behind the end later has it forgotten. */
    int more = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int turn = 0; turn < 8; turn++) {
#pragma omp ordered
        {
            clearerr(file);
            if (turn % 4 == 1) {
                int other = dup(fileno(file));
                more -= pwrite(other, "x", 1, BYTES + turn / 4) != 1;
                close(other);
            }
            int byte = getc(file);
            more += turn % 4 == 1 ? byte == 'x' : byte < 0;
        }
    }
    printf("more %d\n", more);

    /* What is written in turns stays in order: by bytes, by lines, between reads, and without a buffer. */
    FILE *unbuffered = tmpfile();
    setvbuf(unbuffered, NULL, _IONBF, 0);
    FILE *both[] = {file, unbuffered};
    for (int f = 0; f < 2; f++) {
        rewind(both[f]);
        if (ftruncate(fileno(both[f]), 0)) return 2;
#pragma omp parallel for ordered schedule(static, 1)
        for (int turn = 0; turn < TURNS; turn++) {
#pragma omp ordered
            {
                for (int i = 0; i < 20; i++) putc('a' + i, both[f]);
                fprintf(both[f], " %d\n", turn);
                if (turn % 5 == 4) fflush(both[f]);
            }
        }
        rewind(both[f]);
        int lines = 0, number;
        char letters[32];
#pragma omp parallel for ordered schedule(static, 1)
        for (int turn = 0; turn < TURNS; turn++) {
#pragma omp ordered
            lines += fscanf(both[f], "%31s %d", letters, &number) == 2 && number == turn && !strcmp(letters, "abcdefghijklmnopqrst");
        }
        printf("lines %d\n", lines);
    }
    fclose(unbuffered);
    fclose(file);
    remove(name);

    /* That a device is full is seen by whoever flushes. */
    FILE *full = fopen("/dev/full", "w");
    int failed = 0;
#pragma omp parallel reduction(+ : failed)
    {
#pragma omp critical
        failed += fprintf(full, "x") < 0 || fflush(full) != 0;
    }
    printf("full %s\n", failed == omp_get_max_threads() ? "right" : "wrong");

    /* From a pipe, nobody takes what others read. */
    FILE *pipe = popen("seq 1 5000", "r");
    long total = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 1000; i++) {
#pragma omp ordered
        for (int k = 0; k < 5; k++) {
            int number = 0;
            if (fscanf(pipe, "%d", &number) == 1) total += (long)number * (5 * i + k + 1);
        }
    }
    printf("total %ld\n", total);
    return pclose(pipe) != 0;
}
