// Files written and read by main through shared buffers: stdio and plain system calls.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 5000 };
static int numbers[N], again[N];
static char path[64] = "dsm-file-io-XXXXXX";

int main(void) {
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    char *text = malloc(N * 8);
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < N; i++) {
        numbers[i] = i * i;
        snprintf(text + i * 8, 8, "%07d", i);
        text[i * 8 + 7] = '\n';
    }
    if (write(fd, text, N * 8) != N * 8) return 2;
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size != N * 8) return 3;
    close(fd);
    FILE *f = fopen(path, "r+b");
    char *line = NULL;
    size_t space = 0;
    long sum = 0;
    while (getline(&line, &space, f) > 0) sum += atoi(line);
    free(line);
    rewind(f);
    fwrite(numbers, sizeof *numbers, N, f);
    fseek(f, 400, SEEK_SET);
    if (fread(again + 100, sizeof *again, N - 100, f) != N - 100) return 4;
    fclose(f);
    fd = open(path, O_RDONLY);
    if (pread(fd, again, 400, 0) != 400) return 5;
    close(fd);
    unlink(path);
    int same = 0;
#pragma omp parallel for reduction(+ : same) schedule(static, 7)
    for (int i = 0; i < N; i++) same += again[i] == numbers[N - 1 - (N - 1 - i)];
    // Read into a buffer that another thread wrote last.
    int p[2];
    if (pipe(p) != 0) return 6;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 8; i++) memset(text + i * 500, 'a' + i, 500);
    if (write(p[1], "from the pipe", 14) != 14 || read(p[0], text + 1000, 14) != 14) return 7;
    int letters = 0;
#pragma omp parallel for reduction(+ : letters) schedule(static, 100)
    for (int i = 0; i < 4000; i++) letters += text[i];
    printf("%ld %d %d %s\n", sum, same, letters, text + 1000);
    free(text);
    return 0;
}
