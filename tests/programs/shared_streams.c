/* Streams opened by the initial thread are used by all threads, and standard output keeps its order. */
//@ stdin: one two three four five six seven eight\nnine ten\n
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 24 };

static FILE *log_file;
static char words[16][16];

int main(void) {
    char name[] = "dsm-streams-XXXXXX";
    int descriptor = mkstemp(name);
    log_file = fdopen(descriptor, "w+");
    if (!log_file) return 1;
    fprintf(log_file, "begin\n");

    /* Ordered output of all threads, to a file that one of them opened and to standard output. */
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < LINES; i++) {
#pragma omp ordered
        {
            fprintf(log_file, "line %d of %s\n", i, "many");
            printf("half %d,", i);
            printf(" whole %d\n", i);
        }
    }
    fprintf(log_file, "end\n");

    /* Any thread may go back and read. */
    static char text[LINES + 2][64];
#pragma omp parallel
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < LINES + 2; i++) {
#pragma omp ordered
            {
                if (i == 0) rewind(log_file);
                if (!fgets(text[i], sizeof text[i], log_file)) strcpy(text[i], "nothing\n");
            }
        }
    }
    int wrong = 0;
    for (int i = 0; i < LINES; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "line %d of many\n", i);
        wrong += strcmp(text[i + 1], expected) != 0;
    }
    printf("%s%swrong %d\n", text[0], text[LINES + 1], wrong);

    /* The last thread closes what the first opened. */
    int closed = -1;
#pragma omp parallel
    {
        if (omp_get_thread_num() == omp_get_num_threads() - 1) {
            fseek(log_file, 0, SEEK_END);
            printf("size %ld\n", ftell(log_file));
            closed = fclose(log_file);
        }
    }
    printf("closed %d\n", closed);
    remove(name);

    /* Each thread opens a file of its own, all of them are read by the initial one. */
    FILE *own[64] = {0};
    int count = 0;
#pragma omp parallel
    {
#pragma omp single
        count = omp_get_num_threads();
        FILE *file = tmpfile();
        for (int i = 0; i < 100; i++) fprintf(file, "%d\n", i);
        own[omp_get_thread_num()] = file;
    }
    long sum = 0;
    for (int t = 0; t < count; t++) {
        rewind(own[t]);
        int value;
        while (fscanf(own[t], "%d", &value) == 1) sum += value;
        fclose(own[t]);
    }
    printf("mean %ld\n", sum / count);

    /* Standard input belongs to all of them. */
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 10; i++) {
#pragma omp ordered
        if (scanf("%15s", words[i]) != 1) strcpy(words[i], "?");
    }
    for (int i = 0; i < 10; i++) printf("%s ", words[i]);
    printf("\n");

    /* Standard output that goes elsewhere does so for all threads. */
    char other[] = "dsm-streams-XXXXXX";
    close(mkstemp(other));
    fflush(stdout);
    if (!freopen(other, "w", stdout)) return 2;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < LINES; i++) {
#pragma omp ordered
        printf("%d\n", i);
    }
    fclose(stdout);
    FILE *back = fopen(other, "r");
    int next = 0;
    for (int value; fscanf(back, "%d", &value) == 1 && value == next;) next++;
    fclose(back);
    remove(other);
    return next == LINES ? 0 : 3;
}
