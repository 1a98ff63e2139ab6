/* What one linked file says about its instrumented code: the program, or a shared library. The runtime reads it. */
#ifndef DSM_IMAGE_H
#define DSM_IMAGE_H

#include <stdint.h>

/* Of the linker script; absent where there is nothing, or where the user links by hand. */
#define DSM_OWN(type, name) __attribute__((weak, visibility("hidden"))) extern type name
DSM_OWN(const char, __dsm_ctors_start)[];
DSM_OWN(const char, __dsm_ctors_end)[];
DSM_OWN(const char, __dsm_dtors_start)[];
DSM_OWN(const char, __dsm_dtors_end)[];
DSM_OWN(const char, __dsm_threadprivate_start)[];
DSM_OWN(const char, __dsm_threadprivate_end)[];
DSM_OWN(const char, __dsm_globals_start)[];
DSM_OWN(const char, __dsm_globals_end)[];
/* Of the objects. */
DSM_OWN(const uint32_t, __dsm_line_shift);
DSM_OWN(const uint32_t, __dsm_uses_tasks);
DSM_OWN(const uint32_t, __dsm_mprotect);

/* Keeps the section of shared data in place, and writable, if no object has any. */
__attribute__((section(".dsm.data.first"), used)) static char dsm_first[8] = {1};

struct dsm_image {
    const uint32_t *line_shift, *uses_tasks, *mprotect;
    const char *globals[2], *ctors[2], *dtors[2], *threadprivates[2];
};

#define DSM_IMAGE                                                                                                  \
    {                                                                                                              \
        &__dsm_line_shift, &__dsm_uses_tasks, &__dsm_mprotect, {__dsm_globals_start, __dsm_globals_end},           \
            {__dsm_ctors_start, __dsm_ctors_end}, {__dsm_dtors_start, __dsm_dtors_end},                            \
            {__dsm_threadprivate_start, __dsm_threadprivate_end},                                                  \
    }

#endif
