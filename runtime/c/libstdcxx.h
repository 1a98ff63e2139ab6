/* What stands in front of functions of the shared libstdc++ has in common: layouts of its ABI, which are frozen, and how the library's own is found. */
#ifndef DSM_LIBSTDCXX_H
#define DSM_LIBSTDCXX_H

#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* A std::basic_string. */
struct string {
    char *text;
    size_t length;
    union {
        size_t capacity;
        char local[16];
    };
};

/* The library's function of that name. */
static inline void *library_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found) return found;
    fprintf(stderr, "dsm: error: no shared libstdc++ has %s: link with it (without -static-libstdc++)\n", name);
    abort();
}

#endif
