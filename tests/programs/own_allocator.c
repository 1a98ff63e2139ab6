//@ flags: -fno-builtin
// A program with its own malloc, from a static pool: its threads share what it allocates, and libraries free what they are given.
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char pool[1 << 22];
static _Atomic size_t used;
static _Atomic int frees;

void *malloc(size_t n)
{
    size_t k = (n + 31) & ~15ul, o = atomic_fetch_add(&used, k);
    if (o + k > sizeof pool) return 0;
    *(size_t *)(pool + o) = n;
    return pool + o + 16;
}

static int of_pool(void *p) { return (char *)p >= pool && (char *)p < pool + sizeof pool; }

void free(void *p)
{
    if (p && of_pool(p)) atomic_fetch_add(&frees, 1);
}

void *calloc(size_t a, size_t b)
{
    void *p = malloc(a * b);
    if (p) memset(p, 0, a * b);
    return p;
}

void *realloc(void *p, size_t n)
{
    void *q = malloc(n);
    if (p && q) memcpy(q, p, ((size_t *)p)[-2] < n ? ((size_t *)p)[-2] : n);
    return q;
}

int main(void)
{
    char *s[64];
    int inside = 0;
#pragma omp parallel for num_threads(4) reduction(+ : inside)
    for (int i = 0; i < 64; i++) {
        s[i] = malloc(100);
        snprintf(s[i], 100, "string %d", i);
        if (i % 2) s[i] = realloc(s[i], 200);
        strcat(s[i], " with more");
        int *zeros = calloc(10, sizeof *zeros);
        inside += of_pool(s[i]) && zeros[9] == 0;
        free(zeros);
    }
    long h = 0;
    for (int i = 0; i < 64; i++)
        for (char *c = s[i]; *c; c++) h = h * 31 + *c;
    char *copy = strdup("a copy");
    int own = of_pool(copy);
    free(copy);
    FILE *file = tmpfile();
    fprintf(file, "a line of text\n");
    rewind(file);
    char *line = NULL;
    size_t space = 0;
    long length = getline(&line, &space, file);
    free(line);
    fclose(file);
    for (int i = 0; i < 64; i++) free(s[i]);
    printf("%ld %d %d %ld %d\n", h, inside, own, length, frees >= 130);
    return 0;
}
