/* makecontext and its relatives: each context has a shared stack of its own.
 *
 * The memory that the program gives a context as its stack is shared, so it becomes the context's shared stack; the native stack is private
 * memory. Who switches leaves the top of its shared stack on its native stack. */
#include "internal.h"

#include <stdarg.h>
#include <ucontext.h>

enum { ARGUMENTS = 16 };

typedef long L;

/* At the lowest address of the native stack. */
struct start {
    void (*function)();
    char *shared_top;
    void *link;
    L arguments[ARGUMENTS];
};

static void begin(unsigned low, unsigned high) {
    struct start *start = (struct start *)((uintptr_t)high << 32 | low);
    L *a = start->arguments;
    dsm_rt_set_shared_sp(start->shared_top);
    ((void (*)(L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L))start->function)(
        a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
    /* The C library goes on there. */
    if (start->link) __dsm_load_range(start->link, sizeof(ucontext_t));
}

void __dsm_makecontext(ucontext_t *context, void (*function)(), int count, ...) {
    __dsm_store_range(context, sizeof *context);
    stack_t given = context->uc_stack;
    char *native = dsm_rt_context_stack(given.ss_sp, given.ss_size);
    struct start *start = (struct start *)native;
    *start = (struct start){function, NULL, context->uc_link, {0}};
    start->shared_top = (char *)(((uintptr_t)given.ss_sp + given.ss_size) & ~(uintptr_t)15);
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count && i < ARGUMENTS; i++) start->arguments[i] = va_arg(list, L);
    va_end(list);
    size_t kept = (sizeof *start + 63) & ~(size_t)63;
    context->uc_stack.ss_sp = native + kept;
    context->uc_stack.ss_size = dsm_rt_context_bytes(given.ss_size) - kept;
    makecontext(context, (void (*)(void))begin, 2, (unsigned)(uintptr_t)start, (unsigned)((uintptr_t)start >> 32));
    context->uc_stack = given;
}

int __dsm_swapcontext(ucontext_t *from, ucontext_t *to) {
    __dsm_store_range(from, sizeof *from);
    __dsm_load_range(to, sizeof *to);
    char *shared = dsm_rt_shared_sp();
    int status = swapcontext(from, to);
    dsm_rt_set_shared_sp(shared);
    return status;
}

int __dsm_setcontext(ucontext_t *to) {
    __dsm_load_range(to, sizeof *to);
    return setcontext(to);
}
