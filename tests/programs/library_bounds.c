/* Bounds far behind the object: library functions stop where their strings, their texts or their files end. */
#define _GNU_SOURCE
#include <limits.h>
#include <omp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char global[1000];
static char path[] = "/tmp/library_bounds.XXXXXX";

static int print(char *to, size_t size, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(to, size, format, list);
    va_end(list);
    return length;
}

static long strings(char *text, char *space, size_t most, int thread) {
    const char *format = thread < 8 ? "%s|%d" : "%d";
    char *own = space + 200 * thread;
    long sum = strnlen(text, most) + ((char *)memchr(text, 0, most) - text) + ((char *)rawmemchr(text, 'w') - text);
    sum += 10 * (strncmp(text, "hello worle", most) < 0) + 100 * (strncasecmp(text, "HELLO WORLD", most) == 0);
    sum += snprintf(own, most, "%s %d", text, 12345);
    sum += snprintf(own + 50, most / 2, format, text, thread % 2);
    sum += print(own + 100, most, format, text, thread % 2);
    strncat(own, text, most);
    sum += (char *)memccpy(own + 150, text, ' ', most) - (own + 150);
    char *copy = strndup(text, most);
    sum += strlen(copy) + strlen(own);
    free(copy);
    return sum;
}

static long files(char *space, int thread) {
    char *own = space + 4096 + 200 * thread;
    long sum = 0;
    FILE *file = fopen(path, "r");
    while (fgets(own, INT_MAX, file)) sum += strlen(own);
    rewind(file);
    sum += fread(own, 1, 1 << 30, file);
    fclose(file);
    int descriptor = fileno(file = fopen(path, "r"));
    sum += read(descriptor, own, 1 << 30) + pread(descriptor, own, 1 << 30, 5) + own[0];
    fclose(file);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[0], "sent", 4) == 4) sum += recv(ends[1], own, 1 << 30, 0);
    close(ends[0]);
    close(ends[1]);
    time_t start = 0;
    struct tm tm;
    sum += strftime(own, 1 << 30, "%Y", gmtime_r(&start, &tm)) + own[3];
    return sum;
}

/* Strings without an end, in front of memory that nobody may touch. */
static void unterminated(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *end = pages + 4096, to[64] = "abc", wide[64];
    mprotect(end, 4096, PROT_NONE);
    memset(pages, 'x', 4096);
    strncat(to, end - 6, 6);
    printf("%s\n", to);
    strncpy(to, end - 4, 4);
    to[4] = 0;
    printf("%s %.4s %.*s %zu\n", to, end - 4, 3, end - 3, strnlen(end - 6, 6));
    snprintf(wide, sizeof wide, "%.5s", end - 5);
    char *copy = strndup(end - 7, 7);
    printf("%s %s %d\n", wide, copy, strncmp(end - 3, "xxy", 100) < 0);
    printf("%d\n", (int)((char *)memchr(end - 1, 'x', 100) - end));
    free(copy);
    munmap(pages, 8192);
}

int main(void) {
    char *text = malloc(32), *space = malloc(100000);
    int descriptor = mkstemp(path);
    if (descriptor < 0 || write(descriptor, "first line\nsecond line\n", 23) != 23) return 1;
    close(descriptor);
    strcpy(text, "hello world");
    long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        int thread = omp_get_thread_num();
        sum += strings(text, space, SIZE_MAX / 2, thread) + strings(text, space, INT_MAX, thread);
        sum += files(space, thread);
#pragma omp critical
        sum += strings(text, global, INT_MAX, 0);
    }
    printf("%ld %s %s\n", sum, space + 250, space + 200);
    unlink(path);
    unterminated();
    return 0;
}
