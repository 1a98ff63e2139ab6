/* Locals that other threads reach through what a library function returned or stored: ends of numbers, found characters, tokens. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RESULTS = 22, LENGTH = 64 };

static const char *results[RESULTS];
static char seen[4][RESULTS][LENGTH];
static int used;

__attribute__((noinline)) static void fill(char *line, const char *text) { strcpy(line, text); }

static void keep(const char *result) { results[used++] = result; }

static int by_row(const void *x, const void *y) { return strcmp(x, y); }

static void check(const char *what) {
#pragma omp parallel num_threads(4)
    for (int i = 0; i < used; i++) strncpy(seen[omp_get_thread_num()][i], results[i], LENGTH - 1);
    for (int i = 0; i < used; i++) {
        int same = 0;
        for (int t = 0; t < 4; t++) same += strcmp(seen[t][i], seen[0][i]) == 0;
        printf("%s %d %s %d\n", what, i, seen[0][i], same);
    }
    used = 0;
}

static void numbers(void) {
    char a[LENGTH], b[LENGTH], c[LENGTH], d[LENGTH];
    char *end;
    fill(a, "123 behind a long");
    fill(b, "1.5e3 behind a double");
    fill(c, "0x1fz behind hexadecimal");
    fill(d, "77 behind none");
    long sum = strtol(a, &end, 10);
    keep(end);
    sum += (long)strtod(b, &end);
    keep(end);
    sum += (long)strtoull(c, &end, 16);
    keep(end);
    /* Nothing of this one is kept. */
    sum += strtol(d, NULL, 10);
    check("numbers");
    printf("%ld\n", sum);
}

static void found(void) {
    char a[LENGTH], b[LENGTH], c[LENGTH], d[LENGTH], e[2][LENGTH], f[LENGTH], g[LENGTH], h[LENGTH], i[LENGTH];
    fill(a, "path/of/a.file");
    fill(b, "here is a word in a text");
    fill(c, "some bytes, and more");
    fill(e[0], "alpha row");
    fill(e[1], "beta row");
    keep(strrchr(a, '/'));
    keep(strstr(b, "word"));
    keep(memchr(c, ',', sizeof c));
    keep(strpbrk(b, "xyz"));
    keep(bsearch("beta row", e, 2, LENGTH, by_row));
    *(char *)mempcpy(d, "copied", 6) = 0;
    keep(stpcpy(d + 6, " and more") - 4);
    struct in_addr address = {htonl(0x7f000001)};
    keep(inet_ntop(AF_INET, &address, f, sizeof f));
    keep(getcwd(g, sizeof g));
    struct tm tm = {.tm_year = 100, .tm_mday = 1};
    keep(asctime_r(&tm, h));
    FILE *file = tmpfile();
    fputs("a line of a file\nmore", file);
    rewind(file);
    keep(fgets(i, sizeof i, file));
    check("found");
    fclose(file);
}

static void tokens(void) {
    char a[LENGTH], b[LENGTH], c[LENGTH];
    char *rest, *go_on = c;
    fill(a, "one two three");
    fill(b, "four:five:six");
    fill(c, "seven;eight;nine");
    keep(strtok(a, " "));
    keep(strtok(NULL, " "));
    keep(strtok_r(b, ":", &rest));
    keep(rest);
    keep(strsep(&go_on, ";"));
    keep(go_on);
    check("tokens");
}

static pthread_key_t key;

static void keys(void) {
    char a[LENGTH];
    fill(a, "value of a key");
    pthread_setspecific(key, a);
    keep(pthread_getspecific(key));
    check("keys");
}

static void streams(void) {
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    fputs("text of a stream", file);
    fflush(file);
    long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    sum += size + text[5];
    printf("%ld\n", sum);
    fclose(file);
    free(text);
}

int main(void) {
    pthread_key_create(&key, NULL);
    if (chdir("/") != 0) return 1;
    for (int round = 0; round < 2; round++) {
        numbers();
        found();
        tokens();
        keys();
        streams();
    }
}
