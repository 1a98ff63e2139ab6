// String and conversion functions of libc reading and writing shared memory.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 64 };
static char name[N][48], upper[N][48], joined[N * 12];
static long number[N];

int main(void) {
    char **heap = malloc(N * sizeof *heap);
    long bad = 0;
#pragma omp parallel reduction(+ : bad)
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < N; i++) {
            sprintf(name[i], "item-%03d:%x", i * 7 % N, i);
            heap[i] = malloc(32);
            strcpy(heap[i], name[i]);
            strcat(heap[i], "/");
            strncat(heap[i], "suffix", 3);
        }
#pragma omp for schedule(static, 1)
        for (int k = 0; k < N; k++) {
            int i = N - 1 - k, id = -1;
            unsigned hex = 99;
            for (size_t c = 0; c <= strlen(name[i]); c++) upper[i][c] = (char)toupper(name[i][c]);
            bad += sscanf(name[i], "item-%d:%x", &id, &hex) != 2 || id != i * 7 % N || hex != (unsigned)i;
            number[i] = strtol(name[i] + 5, NULL, 10) * 1000 + atoi(strrchr(heap[i], '-') + 1);
            bad += strncmp(name[i], heap[i], strlen(name[i])) != 0 || strcmp(name[i], heap[i]) >= 0;
            bad += strchr(heap[i], ':') - heap[i] != 8 || strstr(heap[i], "/suf") == NULL;
            bad += strspn(name[i], "emit") != 4 || strcspn(name[i], ":") != 8;
        }
#pragma omp single
        {
            for (int i = 0; i < N; i++) strncat(joined, upper[(i * 5) % N], 9);
            char *save = NULL, copy[sizeof joined];
            strcpy(copy, joined);
            int pieces = 0;
            for (char *p = strtok_r(copy, "-", &save); p; p = strtok_r(NULL, "-", &save)) pieces++;
            bad += pieces != N + 1;
        }
#pragma omp for schedule(static, 5)
        for (int i = 0; i < N; i++) free(heap[N - 1 - i]);
    }
    free(heap);
    long sum = 0;
    for (int i = 0; i < N; i++) sum = sum * 3 % 1000003 + number[i];
    printf("bad %ld sum %ld\n%.60s\n", bad, sum, joined);
    struct tm when = {.tm_year = 100, .tm_mon = 1, .tm_mday = 29};
    static char date[40];
    strftime(date, sizeof date, "%Y-%m-%d", &when);
    double d = strtod("2.5e3xyz", NULL);
    printf("%s %.1f %s\n", date, d, strerror(2));
    return 0;
}
