/* What the runtime wants from the program's image. All of it is weak: a program may lack constructors, and a
 * missing user `main` deserves a better message than the linker's. */
#include "internal.h"

__attribute__((weak)) extern int __dsm_user_main(int, char **, char **);
__attribute__((weak, visibility("hidden"))) extern const char __dsm_ctors_start[];
__attribute__((weak, visibility("hidden"))) extern const char __dsm_ctors_end[];
__attribute__((weak, visibility("hidden"))) extern const char __dsm_threadprivate_start[];
__attribute__((weak, visibility("hidden"))) extern const char __dsm_threadprivate_end[];
__attribute__((weak, visibility("hidden"))) extern const char __dsm_dtors_start[];
__attribute__((weak, visibility("hidden"))) extern const char __dsm_dtors_end[];
__attribute__((weak, visibility("hidden"))) extern char __dsm_globals_start[];
__attribute__((weak, visibility("hidden"))) extern char __dsm_globals_end[];
__attribute__((weak, visibility("hidden"))) extern const uint32_t __dsm_line_shift;

__attribute__((weak, visibility("hidden"))) extern const uint32_t __dsm_uses_tasks;

int dsm_rt_has_user_main(void) { return __dsm_user_main != NULL; }

int dsm_rt_user_main(int argc, char **argv, char **envp) { return __dsm_user_main(argc, argv, envp); }

const void *dsm_rt_ctors_start(void) { return __dsm_ctors_start; }

const void *dsm_rt_ctors_end(void) { return __dsm_ctors_end; }

const void *dsm_rt_threadprivate_start(void) { return __dsm_threadprivate_start; }

const void *dsm_rt_threadprivate_end(void) { return __dsm_threadprivate_end; }

const void *dsm_rt_dtors_start(void) { return __dsm_dtors_start; }

const void *dsm_rt_dtors_end(void) { return __dsm_dtors_end; }

char *dsm_rt_globals_start(void) { return __dsm_globals_start; }

char *dsm_rt_globals_end(void) { return __dsm_globals_end; }

/* Whether any instrumented object makes tasks. */
int32_t dsm_rt_uses_tasks(void) { return &__dsm_uses_tasks != NULL; }

/* 0 if the program has no instrumented object. */
uint32_t dsm_rt_line_shift(void) { return &__dsm_line_shift ? __dsm_line_shift : 0; }
