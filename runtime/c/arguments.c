/* Functions that take or parse lists of arguments. */
#define _GNU_SOURCE
#include "internal.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPEN (-1)

typedef int (*Parser)(int, char *const *, const char *, const struct option *, int *);

static int parse(Parser parser, int count, char **arguments, const char *shorts, const struct option *longs, int *index) {
    /* It brings the arguments into another order. */
    dsm_rt_store((char *)arguments, (long)((size_t)count * sizeof *arguments));
    for (int i = 0; i < count; i++) dsm_rt_load_string(arguments[i], OPEN);
    dsm_rt_load_string(shorts, OPEN);
    for (const struct option *option = longs; option; option++) {
        dsm_rt_load(option, sizeof *option);
        if (option->name == NULL) break;
        dsm_rt_load_string(option->name, OPEN);
        if (option->flag) dsm_rt_store((char *)option->flag, sizeof *option->flag);
    }
    if (index) dsm_rt_store((char *)index, sizeof *index);
    dsm_rt_validate_environment();
    return parser(count, arguments, shorts, longs, index);
}

int __dsm_getopt_long(int count, char **arguments, const char *shorts, const struct option *longs, int *index) {
    return parse(getopt_long, count, arguments, shorts, longs, index);
}

int __dsm_getopt_long_only(int count, char **arguments, const char *shorts, const struct option *longs, int *index) {
    return parse(getopt_long_only, count, arguments, shorts, longs, index);
}

/* ---- programs ---- */

static size_t count(va_list list) {
    size_t arguments = 0;
    while (va_arg(list, char *)) arguments++;
    return arguments;
}

/* `first` and the list up to its null pointer. */
static void collect(char **out, const char *first, va_list list) {
    char *argument = (char *)first;
    do {
        if (argument) dsm_rt_load_string(argument, OPEN);
        *out++ = argument;
    } while (argument && (argument = va_arg(list, char *), 1));
}

#define COLLECT(first)                                                                                                                     \
    va_list list;                                                                                                                          \
    va_start(list, first);                                                                                                                 \
    size_t length = first ? count(list) + 2 : 1;                                                                                           \
    va_end(list);                                                                                                                          \
    char *arguments[length];                                                                                                               \
    va_start(list, first);                                                                                                                 \
    collect(arguments, first, list);                                                                                                       \
    dsm_rt_load_string(path, OPEN)

int __dsm_execl(const char *path, const char *first, ...) {
    COLLECT(first);
    va_end(list);
    return execv(path, arguments);
}

int __dsm_execlp(const char *path, const char *first, ...) {
    COLLECT(first);
    va_end(list);
    return execvp(path, arguments);
}

int __dsm_execle(const char *path, const char *first, ...) {
    COLLECT(first);
    char **environment = va_arg(list, char **);
    va_end(list);
    for (char **at = environment; at; at++) {
        dsm_rt_load(at, sizeof *at);
        if (*at == NULL) break;
        dsm_rt_load_string(*at, OPEN);
    }
    return execve(path, arguments, environment);
}
