/* What a program can tell the runtime of dsm-cc, if it wants to. The compiler finds this file by itself. With any other compiler the
 * functions are there too: they accept what they would accept and do nothing. */
#ifndef DSM_H
#define DSM_H

#include <stddef.h>
#ifndef __DSM__
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DSM_OK = 0,
    DSM_BAD_SIZE = 1,     /* not a power of two from the line size to 65536 */
    DSM_NOT_SHARED = 2,   /* not, or not all, in one shared object: a global variable or a heap allocation */
    DSM_NOT_SERIAL = 3,   /* called inside a parallel region */
    DSM_NOT_INITIAL = 4,  /* called by a thread other than the one that runs main */
    DSM_FULL = 5,         /* the queue has no space */
    DSM_EMPTY = 6,        /* the queue has no element */
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

/* A sentence for a result of a function that returns one of these. */
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

/* --- Relocatable arrays and placement ------------------------------------------------------------------------------------------------------
 *
 * A relocatable array has elements of one size in pages, each of which is at one process. Any thread of any process gets and puts elements
 * wherever they are, and moves pages to its process. What a put has written is there for every get that begins when the put has returned; gets
 * and puts of the same elements at the same time may see each other in part. Elements are zero before they are put, and a page is at the
 * process that was first to put to it or to own it. What is wrong ends the program with a message. */
typedef struct dsm_array dsm_array;

#ifdef __DSM__

/* An array of `count` elements; a page holds a power of two of bytes from 64 to 1 GiB. From 4096 on, the memory of pages that move is given back. */
dsm_array *dsm_array_create(size_t count, size_t element_bytes, size_t page_bytes);

/* Ends the array. Nobody uses it any more. */
void dsm_array_destroy(dsm_array *array);

/* Copies elements [index, index + count) to memory of the program, or from it. */
void dsm_array_get(dsm_array *array, size_t index, size_t count, void *into);
void dsm_array_put(dsm_array *array, size_t index, size_t count, const void *from);

/* Moves the pages of elements [index, index + count) to the caller's process. Others go on getting and putting meanwhile. */
void dsm_array_own(dsm_array *array, size_t index, size_t count);

/* The process where an element is now; -1 if nobody has put to its page or owned it yet. */
int dsm_array_location(dsm_array *array, size_t index);

/* Number of elements. */
size_t dsm_array_count(dsm_array *array);

/* The caller's process, and the number of processes: 0 to one less. */
int dsm_process(void);
int dsm_processes(void);

/* Makes a process the home of the blocks of a global variable or heap allocation, or of a part of it; what they contain stays. The thread that runs main names any process, outside of
 * parallel regions; other threads, and inside of regions, name their own. */
void dsm_place(void *pointer, size_t bytes, int process);

#else

struct dsm_array {
    size_t count, element_bytes;
    unsigned char *elements;
};

static inline void dsm_array_check(int right, const char *message)
{
    if (!right) {
        fprintf(stderr, "dsm: error: %s\n", message);
        exit(1);
    }
}

static inline dsm_array *dsm_array_create(size_t count, size_t element_bytes, size_t page_bytes)
{
    dsm_array *array = (dsm_array *)malloc(sizeof *array);
    dsm_array_check(count > 0 && element_bytes > 0 && element_bytes <= page_bytes && page_bytes >= 64 && page_bytes <= (size_t)1 << 30
                        && (page_bytes & (page_bytes - 1)) == 0,
                    "dsm_array_create: an array has elements, and a page is a power of two from 64 bytes to 1 GiB that holds one");
    dsm_array_check(array && (array->elements = (unsigned char *)calloc(count, element_bytes)) != 0, "dsm_array_create: no memory");
    array->count = count;
    array->element_bytes = element_bytes;
    return array;
}

static inline void dsm_array_destroy(dsm_array *array)
{
    free(array->elements);
    free(array);
}

static inline void dsm_array_own(dsm_array *array, size_t index, size_t count)
{
    dsm_array_check(index <= array->count && count <= array->count - index, "the range is not in the array; check index and count");
}

static inline void dsm_array_get(dsm_array *array, size_t index, size_t count, void *into)
{
    dsm_array_own(array, index, count);
    if (count > 0)
        memcpy(into, array->elements + index * array->element_bytes, count * array->element_bytes);
}

static inline void dsm_array_put(dsm_array *array, size_t index, size_t count, const void *from)
{
    dsm_array_own(array, index, count);
    if (count > 0)
        memcpy(array->elements + index * array->element_bytes, from, count * array->element_bytes);
}

static inline int dsm_array_location(dsm_array *array, size_t index)
{
    dsm_array_own(array, index, 1);
    return 0;
}

static inline size_t dsm_array_count(dsm_array *array) { return array->count; }

static inline int dsm_process(void) { return 0; }

static inline int dsm_processes(void) { return 1; }

static inline void dsm_place(void *pointer, size_t bytes, int process)
{
    (void)pointer;
    dsm_array_check(bytes > 0 && process == 0, "dsm_place: there is process 0 alone, and a range has bytes");
}

#endif

/* --- End of relocatable arrays and placement ---------------------------------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#include "dsm_operations.h"

#endif
