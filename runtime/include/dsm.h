/* What a program can tell the runtime of dsm-cc, if it wants to. The compiler finds this file by itself. With any other compiler the
 * functions are there too: they accept what they would accept and do nothing. */
#ifndef DSM_H
#define DSM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DSM_OK = 0,
    DSM_BAD_SIZE = 1,     /* not a power of two from the line size to 65536 */
    DSM_NOT_SHARED = 2,   /* not, or not all, in one shared object: a global variable or a heap allocation */
    DSM_NOT_SERIAL = 3,   /* called inside a parallel region */
    DSM_NOT_INITIAL = 4,  /* called by a thread other than the one that runs main */
};

#ifdef __DSM__

/* Marks a variable as private: static, global or local, of any type. Each process has its own, with the initial value that is written
 * there; threads of a process share it as the language says. It is not checked, nor kept coherent, and a local one stays on the
 * native stack, so no other process may be given its address. Other source files that use a global one should see the mark too, but need
 * not. */
#define DSM_PRIVATE __attribute__((annotate("dsm_private")))

/* The pointer, as one to private memory: what is accessed through the result is not checked. That has to be true of all of it, as
 * it is of private variables and of memory that uninstrumented libraries allocate. */
#define dsm_private(pointer) ((__typeof__(pointer))__dsm_private((void *)(pointer)))
void *__dsm_private(void *) __attribute__((const, nothrow));

/* States what a function that dsm-cc does not compile reads and writes through its arguments, so that this is checked before each call:
 *     double sum(const double *a, long n) DSM_EFFECTS("reads(arg0, arg1*8)");
 * Effects, separated by commas: reads(argI, LENGTH), writes(argI, LENGTH), keeps(argI) if the function keeps the address, calls if it calls
 * functions of the program, or harmless alone. LENGTH: bytes, a product of at most two arguments and numbers, or string. */
#define DSM_EFFECTS(effects) __attribute__((annotate("dsm:" effects)))

/* Makes `bytes` the unit of coherence of the `len` bytes at `ptr`, and of what lies in the same 4096 bytes. To be called in the
 * serial part of the program, at any time; the contents stay. Returns DSM_OK or why it is not possible. */
int dsm_set_block(void *ptr, size_t len, size_t bytes);

/* Unit of coherence at `ptr`; 0 if that is private memory. */
size_t dsm_block_size(const void *ptr);

/* A sentence for a result of dsm_set_block. */
const char *dsm_error(int code);

#else

#define DSM_PRIVATE
#define dsm_private(pointer) (pointer)
#define DSM_EFFECTS(effects)

static inline int dsm_set_block(void *ptr, size_t len, size_t bytes)
{
    (void)ptr;
    (void)len;
    return bytes >= 64 && bytes <= 65536 && (bytes & (bytes - 1)) == 0 ? DSM_OK : DSM_BAD_SIZE;
}

static inline size_t dsm_block_size(const void *ptr)
{
    (void)ptr;
    return 0;
}

static inline const char *dsm_error(int code) { return code == DSM_OK ? "success" : "not a power of two from 64 to 65536"; }

#endif

#ifdef __cplusplus
}
#endif

#endif
