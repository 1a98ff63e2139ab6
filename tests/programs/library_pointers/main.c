/* Library functions called through pointers: tables, arguments, callbacks of the library, variable arguments, memory. */
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <omp.h>
#include "table.h"

enum { N = 64, LENGTH = 100 };

static char names[N][LENGTH];
static char *keys[N], *sorted[N];
static double values[N][4];
static int (*chosen)(const char *, const char *);

static long count(int (*order)(const char *, const char *), size_t (*length)(const char *)) {
    long equal = 0, bytes = 0;
#pragma omp parallel for reduction(+ : equal, bytes) schedule(static, 1)
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) equal += order(keys[i], keys[j]) == 0;
        bytes += length(keys[i]);
    }
    return equal * 100000 + bytes;
}

/* What calls them is a function of the library, with a pointer of the element's type. */
static int by_text(const void *x, const void *y) { return chosen(*(char *const *)x, *(char *const *)y); }

/* A list handed on through a pointer. */
static int print_into(int (*list)(char *, size_t, const char *, va_list), char *to, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int bytes = list(to, size, format, arguments);
    va_end(arguments);
    return bytes;
}

int main(int argc, char **argv) {
    (void)argv;
    int same = orders[0] == strcmp && functions.order == strcmp && is_plain(strcmp) && !is_plain(strcasecmp);
    same += addresses[0] == (void *)strcmp && (uintptr_t)addresses[1] == (uintptr_t)strlen + 1;
    same += addresses[2] == (void *)free && memory.give == free && addresses[3] == (void *)snprintf;
    printf("same %d\n", same);
    chosen = argc > 5 ? strcasecmp : strcmp;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++) {
            functions.text(names[i], LENGTH, "%s number %d of %-*d|", i % 2 ? "name" : "NAME", i % 7, 3, round);
            keys[i] = names[i];
        }
        printf("%ld %ld %ld\n", count(chosen, functions.length), count(orders[1], strlen), count(orders[2], functions.length));
    }
    /* Written by one thread, read, changed and compared by the next. */
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static, 1)
    for (int i = 0; i < N; i++) {
        char *end;
        int number = 0;
        const char *other = keys[(i + 17) % N];
        functions.text((char *)values[i], 32, "%d.5 rest", i);
        values[i][3] = functions.number((char *)values[i], &end);
        sum += functions.read(other, "%*s number %d", &number) * number + (functions.find(other, '|') - other) + *end;
    }
    for (int i = 0; i < N; i++) sum += (long)values[i][3];
    printf("sum %ld\n", sum);
    memcpy(sorted, keys, sizeof sorted);
    qsort(sorted, N, sizeof *sorted, by_text);
    /* The comparison of the library itself, on rows. */
    qsort(names, N, LENGTH, (int (*)(const void *, const void *))functions.order);
    const char *found = bsearch("name number 3 of 2  |", names, N, LENGTH, (int (*)(const void *, const void *))strcmp);
    printf("%s %s %s\n", names[0], names[N - 1], found ? found : "none");
    /* Memory by pointers is shared, and any thread gives it back. */
    char *blocks[8];
#pragma omp parallel for
    for (int i = 0; i < 8; i++) {
        blocks[i] = i % 2 ? memory.get(100) : memory.zero(10, 10);
        functions.copy(blocks[i], names[i], 22);
        blocks[i] = memory.more(blocks[i], 1000);
        blocks[i][21] = 'a' + i;
        blocks[i][22] = 0;
    }
    long hash = 0;
#pragma omp parallel for schedule(static, 3) reduction(+ : hash)
    for (int i = 0; i < 8; i++)
        for (char *c = blocks[i]; *c; c++) hash += *c * (i + 1L);
    for (int i = 0; i < 8; i++) {
        functions.put(blocks[i] + 21, stdout);
        (i % 2 ? free : memory.give)(blocks[i]);
    }
    functions.print("|%s|%5.2f|%d%c", names[5], 3.25, (int)hash, '\n');
    char text[200];
#pragma omp parallel num_threads(4)
#pragma omp critical
    print_into(vsnprintf, text, sizeof text, "%s %d %.1f %s", names[7], 12, 1.5, names[9]);
    puts(text);
    int (*upper)(int) = toupper;
    printf("%c\n", upper('x'));
    return 0;
}
