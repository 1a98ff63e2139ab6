/* Thread-local words that compiled code reads directly; stable Rust has no way to define them. */
#include "internal.h"

/* Top of the thread's shared stack; compiled code moves it down and up again. */
__thread char *__dsm_shared_sp __attribute__((tls_model("initial-exec"), visibility("default")));

/* Number of atomic loads that the thread executes by itself before the next one is a call; 0 in jobs of several processes. */
__thread uint32_t __dsm_loads_left __attribute__((tls_model("initial-exec"), visibility("default")));

uint32_t dsm_rt_loads_left(void) { return __dsm_loads_left; }

void dsm_rt_set_loads_left(uint32_t count) { __dsm_loads_left = count; }

char *dsm_rt_shared_sp(void) { return __dsm_shared_sp; }

void dsm_rt_set_shared_sp(char *top) { __dsm_shared_sp = top; }
