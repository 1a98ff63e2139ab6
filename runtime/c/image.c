/* Where the program's shared globals are, and how it was compiled. Weak: a program without instrumented code has none. */
#include "internal.h"

__attribute__((weak, visibility("hidden"))) extern char __dsm_globals_start[];
__attribute__((weak, visibility("hidden"))) extern char __dsm_globals_end[];
__attribute__((weak, visibility("hidden"))) extern const uint32_t __dsm_line_shift;

char *dsm_rt_globals_start(void) { return __dsm_globals_start; }

char *dsm_rt_globals_end(void) { return __dsm_globals_end; }

uint32_t dsm_rt_line_shift(void) { return &__dsm_line_shift ? __dsm_line_shift : 0; }
