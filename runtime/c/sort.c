/* qsort, lsearch and their relatives: the comparison is a function of the program, which may synchronise, so nothing that was
 * valid before it was called needs to be afterwards.
 *
 * The sort is the merge sort of the GNU C library up to 2.36 (msort.c; Knuth, vol. 3, 5.2.4): stable, and with its
 * sequence of comparisons. The comparison gets addresses of the program's elements, as other threads may look at them; elements
 * move between them and private memory, each after a check. Large elements stay where they are while pointers to them are
 * sorted. In a single process the C library does it all.
 *
 * In C because the comparison may leave by an exception or longjmp, which Rust frames do not allow; the private memory is lost
 * then, as in the C library. */
#define _GNU_SOURCE
#include "internal.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Elements up to this size are moved at each merge, bytes. */
enum { LARGEST_MOVED = 32 };

typedef int (*Comparison)(const void *, const void *);
typedef int (*ComparisonWith)(const void *, const void *, void *);

typedef struct {
    size_t size;
    ComparisonWith order;
    void *argument;
} Sort;

/* Sorts elements; there is space for as many at `scratch`. */
static void merge(const Sort *sort, char *at, size_t count, char *scratch) {
    if (count < 2) return;
    size_t size = sort->size, left = count / 2, right = count - left;
    char *x = at, *y = at + left * size, *to = scratch;
    merge(sort, x, left, scratch);
    merge(sort, y, right, scratch);
    while (left > 0 && right > 0) {
        char **from = sort->order(x, y, sort->argument) <= 0 ? &x : &y;
        if (from == &x) left--;
        else right--;
        dsm_rt_load_element(*from, size);
        memcpy(to, *from, size);
        to += size;
        *from += size;
    }
    if (left > 0) {
        dsm_rt_load(x, left * size);
        memcpy(to, x, left * size);
    }
    dsm_rt_store(at, (long)((count - right) * size));
    memcpy(at, scratch, (count - right) * size);
}

/* The same with pointers in private memory. */
static void merge_pointers(const Sort *sort, char **at, size_t count, char **scratch) {
    if (count < 2) return;
    size_t half = count / 2, i = 0, j = half, merged = 0;
    merge_pointers(sort, at, half, scratch);
    merge_pointers(sort, at + half, count - half, scratch);
    while (i < half && j < count)
        scratch[merged++] = at[sort->order(at[i], at[j], sort->argument) <= 0 ? i++ : j++];
    memcpy(scratch + merged, at + i, (half - i) * sizeof *at);
    memcpy(at, scratch, (merged + half - i) * sizeof *at);
}

/* Sorts large elements: pointers first. */
static void sort_large(const Sort *sort, char *base, size_t count, char *copy, char **pointers) {
    size_t size = sort->size;
    for (size_t i = 0; i < count; i++) pointers[i] = base + i * size;
    merge_pointers(sort, pointers, count, pointers + count);
    dsm_rt_load(base, count * size);
    for (size_t i = 0; i < count; i++) memcpy(copy + i * size, pointers[i], size);
    dsm_rt_store(base, (long)(count * size));
    memcpy(base, copy, count * size);
}

static void sort_shared(char *base, size_t count, size_t size, ComparisonWith order, void *argument) {
    Sort sort = {size, order, argument};
    char *copy = malloc(count * size);
    char **pointers = size > LARGEST_MOVED ? malloc(2 * count * sizeof *pointers) : NULL;
    if (!copy || (size > LARGEST_MOVED && !pointers)) dsm_rt_no_memory_to_sort(count * size);
    /* For comparisons that make nothing valid themselves. */
    dsm_rt_store(base, (long)(count * size));
    if (pointers) sort_large(&sort, base, count, copy, pointers);
    else merge(&sort, base, count, copy);
    free(pointers);
    free(copy);
}

static int plain(const void *x, const void *y, void *order) { return ((Comparison)order)(x, y); }

void __dsm_qsort_r(void *base, size_t count, size_t size, ComparisonWith order, void *argument) {
    if (!dsm_rt_sorts_shared(base, count, size, (uintptr_t)__builtin_return_address(0)))
        qsort_r(base, count, size, order, argument);
    else
        sort_shared(base, count, size, order, argument);
}

void __dsm_qsort(void *base, size_t count, size_t size, Comparison order) {
    if (!dsm_rt_sorts_shared(base, count, size, (uintptr_t)__builtin_return_address(0)))
        qsort(base, count, size, order);
    else
        sort_shared(base, count, size, plain, (void *)order);
}

/* The C library reads the number first, and after that nothing but the comparison reads. */
void *__dsm_lfind(const void *key, const void *base, size_t *count, size_t size, Comparison order) {
    dsm_rt_load(count, sizeof *count);
    dsm_rt_load(base, *count * size);
    return lfind(key, base, count, size, order);
}

/* What is not found goes to the end, when all comparisons are done. */
void *__dsm_lsearch(const void *key, void *base, size_t *count, size_t size, Comparison order) {
    char *found = __dsm_lfind(key, base, count, size, order);
    if (found) return found;
    dsm_rt_store((char *)count, sizeof *count);
    found = (char *)base + *count * size;
    dsm_rt_load(key, size);
    dsm_rt_store(found, (long)size);
    memmove(found, key, size);
    ++*count;
    return found;
}
