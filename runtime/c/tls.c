/* Thread-local words that compiled code reads directly; stable Rust has no way to define them. */
#include "internal.h"

/* Top of the thread's shared stack; compiled code moves it down and up again. */
__thread char *__dsm_shared_sp __attribute__((tls_model("initial-exec"), visibility("default")));

char *dsm_rt_shared_sp(void) { return __dsm_shared_sp; }

void dsm_rt_set_shared_sp(char *top) { __dsm_shared_sp = top; }
