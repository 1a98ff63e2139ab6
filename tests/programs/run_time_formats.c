/* Formats and argument lists that only the call knows: strings of all threads through wrappers of printf and scanf. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { N = 64, WIDTH = 200 };

static char names[N][WIDTH];
static char out[N][2 * WIDTH];
static const char *formats[3] = {"%s-%d", "%2$d:%1$s", "%.5s/%d"};

static int format_into(char *to, size_t size, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(to, size, format, list);
    va_end(list);
    return length;
}

static int append(char *to, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsprintf(to + strlen(to), format, list);
    va_end(list);
    return length;
}

static int parse(const char *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int count = vsscanf(text, format, list);
    va_end(list);
    return count;
}

static unsigned hash(const char *text) {
    unsigned h = 5381;
    while (*text) h = h * 33 + (unsigned char)*text++;
    return h;
}

int main(void) {
    unsigned total = 0, again = 0;
    int numbers[N];
    char heads[N][WIDTH];
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < N; i++) {
            memset(names[i], 'a' + (i + round) % 26, 20 + i);
            names[i][20 + i] = 0;
        }
        /* Each thread prints what another one wrote. */
#pragma omp parallel for schedule(static, 1) reduction(+ : total)
        for (int i = 0; i < N; i++) {
            const char *other = names[(i + 1 + round) % N];
            format_into(out[i], sizeof out[i], "%s|%*d|%.*s", other, 6, i, 7, other);
            append(out[i], "+%s+%ld", names[(i + 7) % N], (long)i);
            total += hash(out[i]);
        }
#pragma omp parallel for schedule(static, 1) reduction(+ : again)
        for (int i = 0; i < N; i++) {
            char *text;
            int length = asprintf(&text, formats[(i + round) % 3], names[(i + 5) % N], i);
            char copy[3 * WIDTH];
            sprintf(copy, formats[round], out[(i + 3) % N], i);
            again += hash(text) + hash(copy) + (unsigned)length;
            free(text);
        }
        printf("round %d: %u %u\n", round, total, again);
    }
    /* Input without a width, into memory of another thread's. */
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < N; i++) sprintf(out[i], "%d %s", i * i, names[i]);
    int parsed = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : parsed)
    for (int i = 0; i < N; i++) {
        int j = (i + 9) % N;
        parsed += parse(out[j], "%d %[a-z]", &numbers[j], heads[j]);
    }
    unsigned sum = 0;
    for (int i = 0; i < N; i++) sum += (unsigned)numbers[i] + hash(heads[i]);
    printf("parsed %d, sum %u, wide %ls\n", parsed, sum, L"text");
    return 0;
}
