/* Entries of the checks before stores, which pass on where the store is: race reports name the place. */
#include "internal.h"

#define PLACE ((uintptr_t)__builtin_return_address(0))

void __dsm_store_miss(void *addr, uint64_t len) { dsm_rt_store_miss(addr, len, PLACE); }

void __dsm_store_window(void *addr, uint64_t len, void *window) { dsm_rt_store_window(addr, len, window, PLACE); }

void __dsm_store_walk(void *addr, uint64_t len, uint64_t step, uint64_t count, void *window) {
    dsm_rt_store_walk(addr, len, step, count, window, PLACE);
}

void __dsm_overwrite_window(void *addr, uint64_t len, void *window) {
    dsm_rt_overwrite_window(addr, len, window, PLACE);
}

void __dsm_overwrite_range(void *addr, uint64_t len) { dsm_rt_overwrite_range(addr, len, PLACE); }

void __dsm_store_range(void *addr, uint64_t len) { dsm_rt_store_range(addr, len, PLACE); }
