/* The parts of flang's runtime library that this one works with. Weak: only Fortran programs have them. */
#include "internal.h"

/* Where the library's allocatables, pointers and function results come from, by kind; kind 0 is ordinary memory. */
struct allocator {
    void *(*allocate)(size_t bytes, int64_t *stream);
    void (*deallocate)(void *object);
};
__attribute__((weak)) extern struct allocator _ZN7Fortran7runtime17allocatorRegistryE[];
__attribute__((weak)) extern void _FortranAProgramStart(int, char **, char **, const void *);
__attribute__((weak)) extern void _FortranAProgramEndStatement(void);

void dsm_rt_fortran_set_allocator(void *(*allocate)(size_t, int64_t *), void (*deallocate)(void *)) {
    struct allocator *registry = _ZN7Fortran7runtime17allocatorRegistryE;
    if (registry) registry[0] = (struct allocator){allocate, deallocate};
}

void dsm_rt_fortran_start(int argc, char **argv, char **envp) {
    if (_FortranAProgramStart) _FortranAProgramStart(argc, argv, envp, NULL);
}

void dsm_rt_fortran_close(void) {
    if (_FortranAProgramEndStatement) _FortranAProgramEndStatement();
}
