#ifndef TABLE_H
#define TABLE_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct functions {
    int (*order)(const char *, const char *);
    size_t (*length)(const char *);
    void *(*copy)(void *, const void *, size_t);
    char *(*find)(const char *, int);
    int (*text)(char *, size_t, const char *, ...);
    int (*read)(const char *, const char *, ...);
    double (*number)(const char *, char **);
    int (*put)(const char *, FILE *);
    int (*print)(const char *, ...);
};
struct memory {
    void *(*get)(size_t);
    void *(*zero)(size_t, size_t);
    void *(*more)(void *, size_t);
    void (*give)(void *);
};

/* Initialised at compile time in the other file. */
extern const struct functions functions;
extern const struct memory memory;
extern int (*const orders[3])(const char *, const char *);
extern void *addresses[4];
int is_plain(int (*order)(const char *, const char *));
#endif
