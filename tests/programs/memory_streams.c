//@ flags: -D_GNU_SOURCE
// Streams into memory, written by several threads and read by others.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t length;

int main(void) {
    FILE *f = open_memstream(&text, &length);
    if (!f) return 1;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 100; i++) {
#pragma omp ordered
        fprintf(f, "line %d of the text\n", i);
    }
    fflush(f);
    int lines = 0, right = 0;
#pragma omp parallel for reduction(+ : lines) schedule(static, 7)
    for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
    fputs("!", f);
    fclose(f);
#pragma omp parallel num_threads(4) reduction(+ : right)
    right += strlen(text) == length && strncmp(text, "line 0", 6) == 0 && text[length - 1] == '!';
    printf("%d %zu %d %.20s\n", lines, length, right, text);
    free(text);
    f = open_memstream(&text, &length);
    fclose(f);
    printf("%zu %zu\n", length, strlen(text));
    free(text);
    return 0;
}
