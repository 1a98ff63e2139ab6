/* What of the C++ library the runtime touches. All of it is weak: a C program has none. */
#include "internal.h"

__attribute__((weak)) extern char __libc_single_threaded;

/* std::ios_base::Init: the object whose constructor opens std::cout and its relatives, whose destructor flushes them. */
__attribute__((weak)) void _ZNSt8ios_base4InitC1Ev(void *);
__attribute__((weak)) void _ZNSt8ios_base4InitD1Ev(void *);

void dsm_rt_cxx_streams(int open) {
    static char init[8];
    if (open && _ZNSt8ios_base4InitC1Ev) _ZNSt8ios_base4InitC1Ev(init);
    if (!open && _ZNSt8ios_base4InitD1Ev) _ZNSt8ios_base4InitD1Ev(init);
}

/* libstdc++ takes the plain way of counting references if the process has one thread. */
void dsm_rt_cxx_threads(void) {
    if (&__libc_single_threaded) __libc_single_threaded = 0;
}

/* operator delete in libraries; a program that replaces it has the last word. The further arguments are not used. */
#define DELETE(name) \
    __attribute__((weak, visibility("default"))) void name(void *object) { dsm_rt_delete(object); }

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
