/* Memory that the library allocates or fills for the program: lines, tokens, mapped files, scattered buffers. */
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { N = 1 << 16, LINES = 40 };

static char *lines[LINES];
static size_t sizes[LINES];

int main(void) {
    char name[] = "dsm-library-XXXXXX";
    int descriptor = mkstemp(name);
    if (descriptor < 0) return 1;
    for (int i = 0; i < N; i++) dprintf(descriptor, "%c", i % 61 == 60 ? '\n' : 'a' + i % 26);

    /* A mapped file, read by all. */
    char *mapped = mmap(NULL, N, PROT_READ, MAP_PRIVATE, descriptor, 0);
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += mapped[i];
    printf("file %ld, unmapped %d\n", sum, munmap(mapped, N));

    /* Anonymous memory, written by all, read by others. */
    int *pages = mmap(NULL, N * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sum = 0;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < N; i++) pages[i] += i;
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += pages[N - 1 - i] ^ 5;
    }
    printf("pages %ld\n", sum);

    /* Scattered reads into what others have written. */
    static char parts[4][512];
    lseek(descriptor, 0, SEEK_SET);
    for (int i = 0; i < 8; i++) {
        struct iovec list[4];
        for (int j = 0; j < 4; j++) list[j] = (struct iovec){parts[(i + j) % 4], 100 + (size_t)j};
        if (readv(descriptor, list, 4) != 406) printf("short read\n");
#pragma omp parallel for schedule(static, 1)
        for (int j = 0; j < 4; j++) parts[(j + i) % 4][50 + i] ^= 1;
    }
    unsigned hash = 0;
    for (int i = 0; i < 4 * 512; i++) hash = hash * 31 + (unsigned char)parts[i / 512][i % 512];
    printf("parts %u\n", hash);

    /* Lines are kept in the buffers that getline gave. */
    lseek(descriptor, 0, SEEK_SET);
    FILE *file = fdopen(descriptor, "r");
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < LINES; i++) {
#pragma omp ordered
        if (getline(&lines[i], &sizes[i], file) < 0) printf("no line\n");
    }
    hash = 0;
    for (int i = 0; i < LINES; i++) {
        for (char *c = lines[i]; *c; c++) hash = hash * 31 + (unsigned char)*c;
        lines[i] = realloc(lines[i], sizes[i] + 1000);
    }
    printf("lines %u\n", hash);

    /* Tokens of strings that another thread wrote. */
    int tokens = 0;
#pragma omp parallel for reduction(+ : tokens) schedule(static, 1)
    for (int i = 0; i < LINES; i++) {
        char *text = lines[(i + 1) % LINES], *rest, *token;
        if (i % 2) {
            for (token = strtok_r(text, "aeiou", &rest); token; token = strtok_r(NULL, "aeiou", &rest)) tokens += (int)strlen(token);
        } else {
            while ((token = strsep(&text, "xyz"))) tokens += (int)strlen(token) * 7;
        }
    }
    printf("tokens %d\n", tokens);
    for (int i = 0; i < LINES; i++) free(lines[i]);
    char *path = realpath("/usr/../usr/bin/..", NULL);
    int same = 0;
#pragma omp parallel reduction(+ : same)
    same += strcmp(path, "/usr") != 0;
    printf("path %s %d\n", path, same);
    free(path);
    fclose(file);
    remove(name);
    return 0;
}
