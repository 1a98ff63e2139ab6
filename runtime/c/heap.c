/* Allocation entries that want to know who calls: block sizes and race reports go by the place of the call. */
#include "internal.h"

#define SITE ((uintptr_t)__builtin_return_address(0))

void *__dsm_malloc(uint64_t size) { return dsm_rt_malloc(size, SITE); }

void *__dsm_calloc(uint64_t count, uint64_t size) { return dsm_rt_calloc(count, size, SITE); }

void *__dsm_realloc(void *old, uint64_t size) { return dsm_rt_realloc(old, size, SITE); }

void *__dsm_aligned_alloc(uint64_t align, uint64_t size) { return dsm_rt_aligned_alloc(align, size, SITE); }

uint32_t __dsm_posix_memalign(void *out, uint64_t align, uint64_t size) {
    return dsm_rt_posix_memalign(out, align, size, SITE);
}

void *__dsm_strdup(void *s) { return dsm_rt_strndup(s, UINT64_MAX, SITE); }

void *__dsm_strndup(void *s, uint64_t n) { return dsm_rt_strndup(s, n, SITE); }

void *__dsm_new(uint64_t size) { return dsm_rt_new(size, 16, SITE); }

void *__dsm_new_aligned(uint64_t size, uint64_t align) { return dsm_rt_new(size, align, SITE); }
