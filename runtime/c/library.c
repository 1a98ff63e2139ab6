/* Functions of the C library that are others of it with a condition, as `_FORTIFY_SOURCE` has them, or with fixed arguments. */
#include "internal.h"

#include <fenv.h>

int __dsm_open(const char *path, int flags, uint32_t mode);
int __dsm_openat(int directory, const char *path, int flags, uint32_t mode);
void *__dsm_getcwd(void *buffer, uint64_t size);
void *__dsm_realpath(void *path, void *resolved);

/* The C library's message for a buffer that is too small. */
_Noreturn void __chk_fail(void);

/* PATH_MAX. */
#define PATH_BYTES 4096

void *__dsm_getcwd_chk(void *buffer, size_t len, size_t space) {
    if (len > space) __chk_fail();
    return __dsm_getcwd(buffer, len);
}

void *__dsm_realpath_chk(void *path, void *resolved, size_t space) {
    if (space < PATH_BYTES) __chk_fail();
    return __dsm_realpath(path, resolved);
}

/* Calls with flags that the compiler did not know; the C library's ends the program if they ask for a mode. */
int __open64_2(const char *path, int flags);

#define NEEDS_MODE(flags) (((flags) & 0100) || ((flags) & 020200000) == 020200000)

int __dsm_open_2(const char *path, int flags) {
    return NEEDS_MODE(flags) ? __open64_2(path, flags) : __dsm_open(path, flags, 0);
}

int __openat64_2(int directory, const char *path, int flags);

int __dsm_openat_2(int directory, const char *path, int flags) {
    return NEEDS_MODE(flags) ? __openat64_2(directory, path, flags) : __dsm_openat(directory, path, flags, 0);
}

void *__dsm_get_current_dir_name(void) { return __dsm_getcwd(NULL, 0); }

void *__dsm_canonicalize_file_name(void *path) { return __dsm_realpath(path, NULL); }

/* `FE_DFL_ENV` and its like are no addresses: none of them has an object's first page behind it. */
static void load_environment(const fenv_t *environment) {
    if ((uintptr_t)environment < (uintptr_t)-4096) dsm_rt_load(environment, sizeof *environment);
}

int __dsm_fesetenv(const fenv_t *environment) {
    load_environment(environment);
    return fesetenv(environment);
}

int __dsm_feupdateenv(const fenv_t *environment) {
    load_environment(environment);
    return feupdateenv(environment);
}
