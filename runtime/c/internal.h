/* Functions that cross between the C and the Rust half of the runtime. None of them is part of the ABI. */
#ifndef DSM_INTERNAL_H
#define DSM_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* Implemented in Rust. */
int dsm_rt_start(int argc, char **argv, char **envp);
void dsm_rt_fork(void *loc, void (*microtask)(), size_t argc, const uintptr_t *argv);
void dsm_rt_fork_teams(void *loc, void (*microtask)(), size_t argc, const uintptr_t *argv);

/* Implemented in C. */
int dsm_rt_call_microtask(void (*microtask)(), int32_t *gtid, int32_t *tid, size_t argc, const uintptr_t *argv);
int dsm_rt_user_main(int argc, char **argv, char **envp);
int dsm_rt_has_user_main(void);
void dsm_rt_set_shared_sp(char *top);
const void *dsm_rt_ctors_start(void);
const void *dsm_rt_ctors_end(void);
char *dsm_rt_globals_start(void);
char *dsm_rt_globals_end(void);
uint32_t dsm_rt_line_shift(void);

#endif
