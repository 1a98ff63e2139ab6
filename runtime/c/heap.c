/* Allocation entries that want to know who calls: block sizes and race reports go by the place of the call.
 *
 * A program may have an allocator of its own, whose functions the pass has given other names: then the entries lead there. */
#define _GNU_SOURCE
#include "internal.h"
#include "own_allocator.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SITE ((uintptr_t)__builtin_return_address(0))

int dsm_rt_own_allocator(void) { return OWN(malloc) || OWN(free); }

void *dsm_rt_allocate(uint64_t size, uintptr_t site) { return OWN(malloc) ? OWN(malloc)(size) : dsm_rt_malloc(size, site); }

void *__dsm_malloc(uint64_t size) { return dsm_rt_allocate(size, SITE); }

void *__dsm_calloc(uint64_t count, uint64_t size) {
    return OWN(calloc) ? OWN(calloc)(count, size) : dsm_rt_calloc(count, size, SITE);
}

void __dsm_free(void *object) {
    if (OWN(free) && dsm_rt_is_shared(object))
        OWN(free)(object);
    else
        dsm_rt_free(object);
}

static void *resize(void *old, uint64_t size, uintptr_t site) {
    int own = OWN(realloc) && (!old || dsm_rt_is_shared(old));
    return own ? OWN(realloc)(old, size) : dsm_rt_realloc(old, size, site);
}

void *__dsm_realloc(void *old, uint64_t size) { return resize(old, size, SITE); }

void *__dsm_reallocarray(void *old, uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes)) return resize(old, bytes, SITE);
    errno = ENOMEM;
    return NULL;
}

#define PAGE 4096

static void *aligned(uint64_t align, uint64_t size, uintptr_t site) {
    void *(*own)(size_t, size_t) = OWN(aligned_alloc) ? OWN(aligned_alloc) : OWN(memalign);
    return own ? own(align, size) : dsm_rt_aligned_alloc(align, size, site);
}

void *__dsm_valloc(uint64_t size) { return aligned(PAGE, size, SITE); }

void *__dsm_pvalloc(uint64_t size) { return aligned(PAGE, (size + PAGE - 1) / PAGE * PAGE, SITE); }

void *__dsm_aligned_alloc(uint64_t align, uint64_t size) { return aligned(align, size, SITE); }

uint32_t __dsm_posix_memalign(void *out, uint64_t align, uint64_t size) {
    if (OWN(posix_memalign)) return (uint32_t)OWN(posix_memalign)(out, align, size);
    return dsm_rt_posix_memalign(out, align, size, SITE);
}

/* CPU_ALLOC. */
void *__dsm_sched_cpualloc(uint64_t count) { return dsm_rt_allocate(CPU_ALLOC_SIZE(count), SITE); }

void __dsm_sched_cpufree(void *set) { __dsm_free(set); }

void *__dsm_strdup(void *s) { return dsm_rt_strndup(s, UINT64_MAX, SITE); }

void *__dsm_strndup(void *s, uint64_t n) { return dsm_rt_strndup(s, n, SITE); }

void *dsm_shared(size_t bytes) {
    void *object = __dsm_malloc(bytes);
    if (object) dsm_rt_store(object, (long)bytes);
    return object;
}

void *dsm_copied(const void *from, size_t bytes) {
    void *to = dsm_shared(bytes);
    return to ? memcpy(to, from, bytes) : NULL;
}

/* std::get_new_handler and std::__throw_bad_alloc. Weak: a C program has none. */
__attribute__((weak)) extern void (*_ZSt15get_new_handlerv(void))(void);
__attribute__((weak, noreturn)) extern void _ZSt17__throw_bad_allocv(void);

/* As the C++ library's: the program's handler may free memory, throw, or not return. */
static void *allocate_or_throw(void *(*allocate)(uint64_t, uint64_t, uintptr_t), uint64_t size, uint64_t align, uintptr_t site) {
    for (;;) {
        void *object = allocate(size, align, site);
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

static void *private_memory(uint64_t size, uint64_t align, uintptr_t site) {
    (void)align, (void)site;
    return malloc(size ? size : 1);
}

void *dsm_shared_new(size_t bytes) {
    void *object = __dsm_new(bytes);
    dsm_rt_store(object, (long)bytes);
    return object;
}

void *dsm_private_new(size_t size) { return allocate_or_throw(private_memory, size, 16, 0); }

/* The program's operators; the library's own of an array, of a size or that does not throw call others of the program's. */
void *__dsm_new(uint64_t size) { return OWN(_Znwm) ? OWN(_Znwm)(size) : allocate_or_throw(dsm_rt_new, size, 16, SITE); }

void *__dsm_new_array(uint64_t size) {
    void *(*own)(size_t) = OWN(_Znam) ? OWN(_Znam) : OWN(_Znwm);
    return own ? own(size) : allocate_or_throw(dsm_rt_new, size, 16, SITE);
}

void *__dsm_new_nothrow(uint64_t size) {
    static char nothrow;
    if (OWN(_ZnwmRKSt9nothrow_t)) return OWN(_ZnwmRKSt9nothrow_t)(size, &nothrow);
    return OWN(_Znwm) ? OWN(_Znwm)(size) : dsm_rt_malloc(size, SITE);
}

void *__dsm_new_array_nothrow(uint64_t size) {
    static char nothrow;
    if (OWN(_ZnamRKSt9nothrow_t)) return OWN(_ZnamRKSt9nothrow_t)(size, &nothrow);
    return OWN(_Znam) ? OWN(_Znam)(size) : __dsm_new_nothrow(size);
}

void *__dsm_new_aligned(uint64_t size, uint64_t align) {
    return OWN(_ZnwmSt11align_val_t) ? OWN(_ZnwmSt11align_val_t)(size, align) : allocate_or_throw(dsm_rt_new, size, align, SITE);
}

void __dsm_delete(void *object) {
    if (OWN(_ZdlPv) && dsm_rt_is_shared(object))
        OWN(_ZdlPv)(object);
    else
        __dsm_free(object);
}

void __dsm_delete_array(void *object) {
    if (OWN(_ZdaPv) && dsm_rt_is_shared(object))
        OWN(_ZdaPv)(object);
    else
        __dsm_delete(object);
}

void *__dsm_new_aligned_nothrow(uint64_t size, uint64_t align) {
    static char nothrow;
    if (OWN(_ZnwmSt11align_val_tRKSt9nothrow_t)) return OWN(_ZnwmSt11align_val_tRKSt9nothrow_t)(size, align, &nothrow);
    return OWN(_ZnwmSt11align_val_t) ? OWN(_ZnwmSt11align_val_t)(size, align) : dsm_rt_new(size, align, SITE);
}

void __dsm_delete_aligned(void *object, uint64_t align) {
    if (OWN(_ZdlPvSt11align_val_t) && dsm_rt_is_shared(object))
        OWN(_ZdlPvSt11align_val_t)(object, align);
    else
        __dsm_free(object);
}

void __dsm_delete_sized_aligned(void *object, uint64_t size, uint64_t align) {
    if (OWN(_ZdlPvmSt11align_val_t) && dsm_rt_is_shared(object))
        OWN(_ZdlPvmSt11align_val_t)(object, size, align);
    else
        __dsm_delete_aligned(object, align);
}
