/* Entries that name the place of their call when what they do is not possible. */
#include "internal.h"

#define SITE ((uintptr_t)__builtin_return_address(0))

uint32_t __dsm_fork(void) { return (uint32_t)dsm_rt_fork_process(SITE); }

void *__dsm_dlopen(void *path, uint32_t flags) { return dsm_rt_dlopen(path, (int)flags, SITE); }
