/* Functions that cross between the C and the Rust half of the runtime. None of them is part of the ABI. */
#ifndef DSM_INTERNAL_H
#define DSM_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* 1 while a tool is attached (entries.c); what a thread called last. */
extern uint8_t dsm_rt_calls_are_noted __attribute__((visibility("hidden")));
void dsm_rt_note_call(uintptr_t address, uintptr_t frame);

/* Implemented in Rust. */
int dsm_rt_start(int argc, char **argv, char **envp);
void dsm_rt_before_constructors(void);
void dsm_rt_fork(void *loc, void (*microtask)(), size_t argc, const uintptr_t *argv);
void dsm_rt_fork_teams(void *loc, void (*microtask)(), size_t argc, const uintptr_t *argv);
int dsm_rt_free_shared(void *object);
/* Make valid: a string of at most `bound` bytes, one of wide characters, and memory that is about to be written. `bound` -1: none. */
void dsm_rt_load_string(const char *string, long bound);
void dsm_rt_load_wide_string(const char *string, long bound);
void dsm_rt_store(char *memory, long bytes);
void dsm_rt_load(const void *memory, size_t bytes);
void dsm_rt_load_element(const void *element, size_t bytes);
_Bool dsm_rt_sorts_shared(void *base, size_t count, size_t size, uintptr_t site);
_Noreturn void dsm_rt_no_memory_to_sort(size_t bytes);
void *__dsm_malloc(uint64_t bytes);
void *__dsm_new(uint64_t bytes);
void __dsm_delete(void *object);
void dsm_rt_load_miss(void *addr, uint64_t len, uintptr_t pc);
void dsm_rt_load_range(void *addr, uint64_t len, uintptr_t pc);
void dsm_rt_load_window(void *addr, uint64_t len, void *window, uintptr_t pc);
void dsm_rt_load_walk(void *addr, uint64_t len, uint64_t step, uint64_t count, void *window, uintptr_t pc);
void dsm_rt_load_grid(void *addr, uint64_t len, uint64_t step, uint64_t count, uint64_t outer_step, uint64_t outer_count, uintptr_t pc);
void dsm_rt_store_grid(void *addr, uint64_t len, uint64_t step, uint64_t count, uint64_t outer_step, uint64_t outer_count, uintptr_t pc);
void dsm_rt_overwrite_grid(void *addr, uint64_t len, uint64_t step, uint64_t count, uint64_t outer_step, uint64_t outer_count, uintptr_t pc);
uint32_t dsm_rt_load_ready(void *addr, uint64_t len, uint64_t step, uint64_t count, uint64_t outer_step, uint64_t outer_count, uint64_t uses, uintptr_t pc);
uint32_t dsm_rt_store_ready(void *addr, uint64_t len, uint64_t step, uint64_t count, uint64_t outer_step, uint64_t outer_count, uint64_t uses, uintptr_t pc);
void dsm_rt_store_miss(void *addr, uint64_t len, uintptr_t pc);
uint64_t dsm_rt_load_value_miss(void *addr, uint64_t len, uintptr_t pc);
void dsm_rt_store_value_miss(void *addr, uint64_t len, uint64_t value, uintptr_t pc);
void dsm_rt_store_range(void *addr, uint64_t len, uintptr_t pc);
void dsm_rt_load_hint(void *addr, uint64_t len, uintptr_t pc);
void dsm_rt_store_hint(void *addr, uint64_t len, uintptr_t pc);
void dsm_rt_overwrite_range(void *addr, uint64_t len, uintptr_t pc);
void dsm_rt_store_window(void *addr, uint64_t len, void *window, uintptr_t pc);
void dsm_rt_store_walk(void *addr, uint64_t len, uint64_t step, uint64_t count, void *window, uintptr_t pc);
void dsm_rt_overwrite_window(void *addr, uint64_t len, void *window, uintptr_t pc);
void *dsm_rt_malloc(uint64_t size, uintptr_t site);
void *dsm_rt_calloc(uint64_t count, uint64_t size, uintptr_t site);
void *dsm_rt_realloc(void *old, uint64_t size, uintptr_t site);
void *dsm_rt_aligned_alloc(uint64_t align, uint64_t size, uintptr_t site);
uint32_t dsm_rt_posix_memalign(void *out, uint64_t align, uint64_t size, uintptr_t site);
void *dsm_rt_strndup(void *s, uint64_t n, uintptr_t site);
void *dsm_rt_new(uint64_t size, uint64_t align, uintptr_t site);
void dsm_rt_thread_begins(uint32_t stack);
int dsm_rt_once_begin(int *once);
void dsm_rt_once_end(int *once, int done);
int dsm_rt_fork_process(uintptr_t site);
void *dsm_rt_dlopen(const char *path, int flags, uintptr_t site);
uint32_t __dsm_mutex_lock(void *mutex);
uint32_t __dsm_mutex_unlock(void *mutex);
void __dsm_atomic_rmw(void *object, void *value, void *old, uint32_t size, uint32_t operation, uint32_t order);
void __dsm_library_atomic_load(size_t size, void *object, void *out, int order);
void __dsm_library_atomic_store(size_t size, void *object, const void *value, int order);
void __dsm_library_atomic_exchange(size_t size, void *object, const void *value, void *out, int order);
_Bool __dsm_library_atomic_compare_exchange(size_t size, void *object, void *expected, const void *desired, int success, int failure);

/* What a debugger calls, see debugger.rs. */
const char *dsm_rt_debug_job(void);
const char *dsm_rt_debug_block(uintptr_t address);
const uint64_t *dsm_rt_debug_read(uintptr_t address, uintptr_t bytes);

/* Whether an address is in the memory that the program's processes share, as far as it is set up. */
int dsm_rt_is_shared(const void *address);
/* Writable memory for an exception; null if no other process can ask for it. */
void *dsm_rt_exception(size_t bytes);
/* Private memory for the native stack of a context whose own stack the program has at `base`. */
char *dsm_rt_context_stack(const void *base, size_t bytes);
/* Its size. */
size_t dsm_rt_context_bytes(size_t bytes);
void dsm_rt_free(void *object);
/* Whether the job has several processes. */
int dsm_rt_several_processes(void);
/* How many functions of std::filesystem the thread is in: what they allocate lies on the shared heap. */
extern _Thread_local unsigned dsm_filesystem_depth;
/* Memory of the C library for libstdc++; it does not return null. And what all processes are to have, or null. */
void *dsm_private_new(size_t size);
void *dsm_rt_library_new(size_t size, uintptr_t site);
void *dsm_rt_locale_new(size_t size);
int dsm_rt_is_common(uint64_t address);
/* Writable memory of the shared heap, and a copy there of private memory; NULL if there is none left. */
void *dsm_shared(size_t bytes);
void *dsm_copied(const void *from, size_t bytes);
/* The first, for a function of libstdc++; it does not return null. */
void *dsm_shared_new(size_t bytes);
void __dsm_load_range(void *address, uint64_t bytes);
/* Makes the strings of the environment readable, which the C library looks at. */
void dsm_rt_validate_environment(void);
/* Makes readable what a thrown pointer of the type points to, as far as libstdc++ reads it to find a handler. */
void dsm_load_thrown(const void *type, void *thrown);
void __dsm_store_range(void *address, uint64_t bytes);
void __dsm_overwrite_range(void *address, uint64_t bytes);

/* Implemented in C. */
void __dsm_free(void *object);
void __dsm_delete(void *object);
void *__dsm_new_nothrow(uint64_t bytes);
/* Whether the program has an allocator of its own, whose memory has to be told from that of libraries. */
int dsm_rt_own_allocator(void);
void *dsm_rt_allocate(uint64_t size, uintptr_t site);
int dsm_rt_call_microtask(void (*microtask)(), int32_t *gtid, int32_t *tid, size_t argc, const uintptr_t *argv);
int dsm_rt_user_main(int argc, char **argv, char **envp);
void dsm_rt_set_user_main(int (*function)(int, char **, char **));
const char *dsm_rt_launcher(void);
void dsm_rt_set_shared_sp(char *top);
void *dsm_rt_thread(void *start);
char *dsm_rt_shared_sp(void);
void dsm_rt_cxx_streams(int open);
void dsm_rt_cxx_threads(void);
const struct dsm_image *dsm_rt_program_image(void);
void dsm_rt_fortran_set_allocator(void *(*allocate)(size_t, int64_t *), void (*deallocate)(void *));
void dsm_rt_fortran_start(int argc, char **argv, char **envp);
void dsm_rt_fortran_close(void);
void dsm_rt_fortran_flush(int32_t unit);

#endif
