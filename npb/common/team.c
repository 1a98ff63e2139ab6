/* Allocation for the benchmarks: page aligned, left untouched so that the first writer places each page. */
#include "team.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void *allocate(size_t count, size_t size)
{
    if (count > (SIZE_MAX - PAGE_BYTES) / size) {
        fprintf(stderr, "npb: %zu objects of %zu bytes do not fit into the address space\n", count, size);
        exit(2);
    }
    const size_t bytes = (count * size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *memory = aligned_alloc(PAGE_BYTES, bytes);

    if (memory == NULL) {
        fprintf(stderr, "npb: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return memory;
}

struct contribution *team_contributions(void)
{
    return allocate((size_t)omp_get_max_threads(), sizeof(struct contribution));
}
