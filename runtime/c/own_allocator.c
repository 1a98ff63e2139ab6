/* What libraries call in a program with an allocator of its own. The program's memory is shared, and libraries use theirs without checks: they keep
 * the C library's. What they are given to free or to resize may be the program's. A reference that the pass leaves where it finds such an
 * allocator pulls this object in. */
#include "own_allocator.h"
#include "internal.h"

void *__libc_realloc(void *, size_t);
void __libc_free(void *);

char __dsm_own_allocator;

void free(void *object) {
    if (OWN(free) && dsm_rt_is_shared(object))
        OWN(free)(object);
    else
        __libc_free(object);
}

void *realloc(void *object, size_t bytes) {
    if (OWN(realloc) && dsm_rt_is_shared(object)) return OWN(realloc)(object, bytes);
    return __libc_realloc(object, bytes);
}
