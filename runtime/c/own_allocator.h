/* The program's own allocation functions, if it has any; the pass has given them these names. */
#ifndef DSM_OWN_ALLOCATOR_H
#define DSM_OWN_ALLOCATOR_H

#include <stddef.h>

#define OWN(name) __dsm_program_##name
#define FUNCTION(type, name, ...) __attribute__((weak)) extern type OWN(name)(__VA_ARGS__)

FUNCTION(void *, malloc, size_t);
FUNCTION(void *, calloc, size_t, size_t);
FUNCTION(void *, realloc, void *, size_t);
FUNCTION(void, free, void *);
FUNCTION(void *, aligned_alloc, size_t, size_t);
FUNCTION(void *, memalign, size_t, size_t);
FUNCTION(int, posix_memalign, void *, size_t, size_t);
FUNCTION(size_t, malloc_usable_size, void *);
FUNCTION(void *, _Znwm, size_t);
FUNCTION(void *, _Znam, size_t);
FUNCTION(void *, _ZnwmRKSt9nothrow_t, size_t, const void *);
FUNCTION(void *, _ZnamRKSt9nothrow_t, size_t, const void *);
FUNCTION(void *, _ZnwmSt11align_val_t, size_t, size_t);
FUNCTION(void, _ZdlPv, void *);
FUNCTION(void, _ZdaPv, void *);
FUNCTION(void *, _ZnwmSt11align_val_tRKSt9nothrow_t, size_t, size_t, const void *);
FUNCTION(void, _ZdlPvSt11align_val_t, void *, size_t);
FUNCTION(void, _ZdlPvmSt11align_val_t, void *, size_t, size_t);

#endif
