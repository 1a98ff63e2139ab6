/* Calls of outlined parallel regions, and the variadic entries that start them.
 *
 * An outlined region takes (int32 *gtid, int32 *tid, args...) where every argument is a pointer or a 64-bit
 * integer. In the System V x86-64 and the AArch64 conventions the caller owns the argument area, so passing
 * more arguments than the callee declares is harmless: call shapes cover small counts. On x86-64 a loop puts any number of them on the stack. */
#include "internal.h"

#include <stdarg.h>

typedef uintptr_t W;

#define W8 W, W, W, W, W, W, W, W
#define W64 W8, W8, W8, W8, W8, W8, W8, W8
#define A8(i) a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7]
#define A64(i) A8(i), A8(i + 8), A8(i + 16), A8(i + 24), A8(i + 32), A8(i + 40), A8(i + 48), A8(i + 56)

#ifdef __x86_64__
enum { MAX_ARGS = 64 };

/* The first four arguments go to registers behind the two numbers, the others to the stack in order, which is kept aligned to 16 bytes. */
void dsm_rt_call_with_words(void (*microtask)(), int32_t *gtid, int32_t *tid, size_t argc, const uintptr_t *argv);
__asm__(".text\n"
        ".hidden dsm_rt_call_with_words\n"
        ".globl dsm_rt_call_with_words\n"
        ".type dsm_rt_call_with_words, @function\n"
        "dsm_rt_call_with_words:\n"
        "  .cfi_startproc\n"
        "  pushq %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  movq %rdi, %r11\n"
        "  movq %rsi, %rdi\n"
        "  movq %rdx, %rsi\n"
        "  testb $1, %cl\n"
        "  je 1f\n"
        "  pushq $0\n"
        "1: cmpq $4, %rcx\n"
        "  jbe 2f\n"
        "  pushq -8(%r8,%rcx,8)\n"
        "  decq %rcx\n"
        "  jmp 1b\n"
        "2: movq (%r8), %rdx\n"
        "  movq 8(%r8), %rcx\n"
        "  movq 24(%r8), %r9\n"
        "  movq 16(%r8), %r8\n"
        "  callq *%r11\n"
        "  leave\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size dsm_rt_call_with_words, .-dsm_rt_call_with_words\n");
#else
enum { MAX_ARGS = 256 };
#endif

/* Returns 0 if there are more arguments than any call shape takes. */
int dsm_rt_call_microtask(void (*microtask)(), int32_t *gtid, int32_t *tid, size_t argc, const uintptr_t *argv) {
    if (argc > MAX_ARGS) {
#ifdef __x86_64__
        dsm_rt_call_with_words(microtask, gtid, tid, argc, argv);
        return 1;
#else
        return 0;
#endif
    }
    W a[MAX_ARGS];
    size_t shape = argc <= 8 ? 8 : argc <= 64 ? 64 : MAX_ARGS;
    for (size_t i = 0; i < shape; i++) a[i] = i < argc ? argv[i] : 0;
    if (argc <= 8)
        ((void (*)(int32_t *, int32_t *, W8))microtask)(gtid, tid, A8(0));
#ifdef __x86_64__
    else
        ((void (*)(int32_t *, int32_t *, W64))microtask)(gtid, tid, A64(0));
#else
    else if (argc <= 64)
        ((void (*)(int32_t *, int32_t *, W64))microtask)(gtid, tid, A64(0));
    else
        ((void (*)(int32_t *, int32_t *, W64, W64, W64, W64))microtask)(gtid, tid, A64(0), A64(64), A64(128),
                                                                        A64(192));
#endif
    return 1;
}

/* The variadic arguments go through an array of exactly their number; clang counts them in `argc`. */
#define COLLECT(argc, last)                                                                                        \
    uintptr_t args[(argc) > 0 ? (argc) : 1];                                                                       \
    va_list list;                                                                                                  \
    va_start(list, last);                                                                                          \
    for (int32_t i = 0; i < (argc); i++) args[i] = va_arg(list, uintptr_t);                                        \
    va_end(list)

/* As the entry points of entries.c do it. */
#define NOTE_CALL()                                                                                                \
    if (__builtin_expect(dsm_rt_calls_are_noted, 0))                                                                \
    dsm_rt_note_call((uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa())

void __kmpc_fork_call(void *loc, int32_t argc, void (*microtask)(), ...) {
    COLLECT(argc, microtask);
    NOTE_CALL();
    dsm_rt_fork(loc, microtask, (size_t)argc, args);
}

void __kmpc_fork_teams(void *loc, int32_t argc, void (*microtask)(), ...) {
    COLLECT(argc, microtask);
    NOTE_CALL();
    dsm_rt_fork_teams(loc, microtask, (size_t)argc, args);
}
