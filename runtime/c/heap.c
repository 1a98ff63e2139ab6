/* Allocation entries that want to know who calls: block sizes and race reports go by the place of the call. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>

#define SITE ((uintptr_t)__builtin_return_address(0))

void *__dsm_malloc(uint64_t size) { return dsm_rt_malloc(size, SITE); }

void *__dsm_calloc(uint64_t count, uint64_t size) { return dsm_rt_calloc(count, size, SITE); }

void *__dsm_realloc(void *old, uint64_t size) { return dsm_rt_realloc(old, size, SITE); }

void *__dsm_reallocarray(void *old, uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes)) return dsm_rt_realloc(old, bytes, SITE);
    errno = ENOMEM;
    return NULL;
}

#define PAGE 4096

void *__dsm_valloc(uint64_t size) { return dsm_rt_aligned_alloc(PAGE, size, SITE); }

void *__dsm_pvalloc(uint64_t size) { return dsm_rt_aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE, SITE); }

void *__dsm_aligned_alloc(uint64_t align, uint64_t size) { return dsm_rt_aligned_alloc(align, size, SITE); }

uint32_t __dsm_posix_memalign(void *out, uint64_t align, uint64_t size) {
    return dsm_rt_posix_memalign(out, align, size, SITE);
}

void *__dsm_strdup(void *s) { return dsm_rt_strndup(s, UINT64_MAX, SITE); }

void *__dsm_strndup(void *s, uint64_t n) { return dsm_rt_strndup(s, n, SITE); }

/* std::get_new_handler and std::__throw_bad_alloc. Weak: a C program has none. */
__attribute__((weak)) extern void (*_ZSt15get_new_handlerv(void))(void);
__attribute__((weak, noreturn)) extern void _ZSt17__throw_bad_allocv(void);

/* As the C++ library's: the program's handler may free memory, throw, or not return. */
static void *allocate_or_throw(uint64_t size, uint64_t align, uintptr_t site) {
    for (;;) {
        void *object = dsm_rt_new(size, align, site);
        if (object) return object;
        void (*handler)(void) = _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : NULL;
        if (handler)
            handler();
        else if (_ZSt17__throw_bad_allocv)
            _ZSt17__throw_bad_allocv();
        else
            abort();
    }
}

void *__dsm_new(uint64_t size) { return allocate_or_throw(size, 16, SITE); }

void *__dsm_new_aligned(uint64_t size, uint64_t align) { return allocate_or_throw(size, align, SITE); }
