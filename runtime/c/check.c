/* Entries of the checks, which pass on where the access is: race reports and profiles name the place. */
#include "internal.h"

#define PLACE ((uintptr_t)__builtin_return_address(0))

void __dsm_load_miss(void *addr, uint64_t len) { dsm_rt_load_miss(addr, len, PLACE); }

void __dsm_load_range(void *addr, uint64_t len) { dsm_rt_load_range(addr, len, PLACE); }

void __dsm_load_window(void *addr, uint64_t len, void *window) { dsm_rt_load_window(addr, len, window, PLACE); }

void __dsm_load_walk(void *addr, uint64_t len, uint64_t step, uint64_t count, void *window) {
    dsm_rt_load_walk(addr, len, step, count, window, PLACE);
}

void __dsm_store_miss(void *addr, uint64_t len) { dsm_rt_store_miss(addr, len, PLACE); }

uint64_t __dsm_load_value_miss(void *addr, uint64_t len) { return dsm_rt_load_value_miss(addr, len, PLACE); }

void __dsm_store_value_miss(void *addr, uint64_t len, uint64_t value) {
    dsm_rt_store_value_miss(addr, len, value, PLACE);
}

void __dsm_store_window(void *addr, uint64_t len, void *window) { dsm_rt_store_window(addr, len, window, PLACE); }

void __dsm_store_walk(void *addr, uint64_t len, uint64_t step, uint64_t count, void *window) {
    dsm_rt_store_walk(addr, len, step, count, window, PLACE);
}

void __dsm_overwrite_window(void *addr, uint64_t len, void *window) {
    dsm_rt_overwrite_window(addr, len, window, PLACE);
}

void __dsm_overwrite_range(void *addr, uint64_t len) { dsm_rt_overwrite_range(addr, len, PLACE); }

void __dsm_load_hint(void *addr, uint64_t len) { dsm_rt_load_hint(addr, len, PLACE); }

void __dsm_store_hint(void *addr, uint64_t len) { dsm_rt_store_hint(addr, len, PLACE); }

void __dsm_store_range(void *addr, uint64_t len) { dsm_rt_store_range(addr, len, PLACE); }

/* Entries on grids of bytes. */
#define GRID void *addr, uint64_t len, uint64_t step, uint64_t count, uint64_t outer_step, uint64_t outer_count
#define PASSED addr, len, step, count, outer_step, outer_count

void __dsm_load_grid(GRID) { dsm_rt_load_grid(PASSED, PLACE); }

void __dsm_store_grid(GRID) { dsm_rt_store_grid(PASSED, PLACE); }

void __dsm_overwrite_grid(GRID) { dsm_rt_overwrite_grid(PASSED, PLACE); }

uint32_t __dsm_load_ready(GRID, uint64_t uses) { return dsm_rt_load_ready(PASSED, uses, PLACE); }

uint32_t __dsm_store_ready(GRID, uint64_t uses) { return dsm_rt_store_ready(PASSED, uses, PLACE); }
