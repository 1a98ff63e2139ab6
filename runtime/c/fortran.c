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
__attribute__((weak)) extern void *_FortranAioBeginFlush(int32_t unit, const char *file, int line);
__attribute__((weak)) extern int32_t _FortranAioEndIoStatement(void *cookie);

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

int32_t dsm_rt_fortran_end_io(void *cookie) {
    return _FortranAioEndIoStatement ? _FortranAioEndIoStatement(cookie) : 0;
}

void dsm_rt_fortran_flush(int32_t unit) {
    if (_FortranAioBeginFlush && _FortranAioEndIoStatement)
        _FortranAioEndIoStatement(_FortranAioBeginFlush(unit, NULL, 0));
}
