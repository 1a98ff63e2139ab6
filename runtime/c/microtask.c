/* Calls of outlined parallel regions, and the variadic entries that start them.
 *
 * An outlined region takes (int32 *gtid, int32 *tid, args...) where every argument is a pointer or a 64-bit
 * integer. In the System V x86-64 and the AArch64 conventions the caller owns the argument area, so passing
 * more arguments than the callee declares is harmless: three call shapes cover all counts. */
#include "internal.h"

#include <stdarg.h>

typedef uintptr_t W;

#define W8 W, W, W, W, W, W, W, W
#define W64 W8, W8, W8, W8, W8, W8, W8, W8
#define A8(i) a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7]
#define A64(i) A8(i), A8(i + 8), A8(i + 16), A8(i + 24), A8(i + 32), A8(i + 40), A8(i + 48), A8(i + 56)

enum { MAX_ARGS = 256 };

/* Returns 0 if there are more arguments than any call shape takes. */
int dsm_rt_call_microtask(void (*microtask)(), int32_t *gtid, int32_t *tid, size_t argc, const uintptr_t *argv) {
    if (argc > MAX_ARGS) return 0;
    W a[MAX_ARGS];
    size_t shape = argc <= 8 ? 8 : argc <= 64 ? 64 : MAX_ARGS;
    for (size_t i = 0; i < shape; i++) a[i] = i < argc ? argv[i] : 0;
    if (argc <= 8)
        ((void (*)(int32_t *, int32_t *, W8))microtask)(gtid, tid, A8(0));
    else if (argc <= 64)
        ((void (*)(int32_t *, int32_t *, W64))microtask)(gtid, tid, A64(0));
    else
        ((void (*)(int32_t *, int32_t *, W64, W64, W64, W64))microtask)(gtid, tid, A64(0), A64(64), A64(128),
                                                                        A64(192));
    return 1;
}

/* The variadic arguments go through an array of exactly their number; clang counts them in `argc`. */
#define COLLECT(argc, last)                                                                                        \
    uintptr_t args[(argc) > 0 ? (argc) : 1];                                                                       \
    va_list list;                                                                                                  \
    va_start(list, last);                                                                                          \
    for (int32_t i = 0; i < (argc); i++) args[i] = va_arg(list, uintptr_t);                                        \
    va_end(list)

void __kmpc_fork_call(void *loc, int32_t argc, void (*microtask)(), ...) {
    COLLECT(argc, microtask);
    dsm_rt_fork(loc, microtask, (size_t)argc, args);
}

void __kmpc_fork_teams(void *loc, int32_t argc, void (*microtask)(), ...) {
    COLLECT(argc, microtask);
    dsm_rt_fork_teams(loc, microtask, (size_t)argc, args);
}
