/* OpenMP entry points whose caller is noted: for tools (`codeptr_ra` of OMPT), and for fetching ahead, which has a history for each place of synchronisation.
 *
 * The function behind the entry point X is `dsm_rt_X`, in Rust, which cannot ask for its return address. While callers are noted, X notes
 * where it was called from; else it costs a comparison and a jump. All arguments pass through as they are, those on the stack too. */
#include "internal.h"

/* Not 0 while callers are noted. */
uint8_t dsm_rt_calls_are_noted;

/* The thread's last call of one of these: return address, and the stack pointer of the caller. */
__thread uintptr_t dsm_rt_last_call[2] __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Part of a program that brings its own tool. */
__attribute__((weak)) void *ompt_start_tool(unsigned version, const char *runtime);

void *dsm_rt_start_tool(void) { return (void *)ompt_start_tool; }

const uintptr_t *dsm_rt_call(void) { return dsm_rt_last_call; }

void dsm_rt_note_call(uintptr_t address, uintptr_t frame) {
    dsm_rt_last_call[0] = address;
    dsm_rt_last_call[1] = frame;
}

#define BEGIN(name) ".globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " #name ", .-" #name "\n"

#if defined(__x86_64__)
#define ENTRY(name)                                                                                                    \
    __asm__(".text\n" BEGIN(name) "cmpb $0, dsm_rt_calls_are_noted(%rip)\n"                                             \
                                  "je dsm_rt_" #name "\n"                                                              \
                                  "movq dsm_rt_last_call@gottpoff(%rip), %r11\n"                                       \
                                  "movq (%rsp), %r10\n"                                                                \
                                  "movq %r10, %fs:(%r11)\n"                                                            \
                                  "leaq 8(%rsp), %r10\n"                                                               \
                                  "movq %r10, %fs:8(%r11)\n"                                                           \
                                  "jmp dsm_rt_" #name "\n" END(name));
#elif defined(__aarch64__)
#define ENTRY(name)                                                                                                    \
    __asm__(".text\n" BEGIN(name) "adrp x16, dsm_rt_calls_are_noted\n"                                                  \
                                  "ldrb w16, [x16, :lo12:dsm_rt_calls_are_noted]\n"                                     \
                                  "cbz w16, 1f\n"                                                                      \
                                  "mrs x17, tpidr_el0\n"                                                               \
                                  "adrp x16, :gottprel:dsm_rt_last_call\n"                                             \
                                  "ldr x16, [x16, :gottprel_lo12:dsm_rt_last_call]\n"                                  \
                                  "add x16, x16, x17\n"                                                                \
                                  "mov x17, sp\n"                                                                      \
                                  "stp x30, x17, [x16]\n"                                                              \
                                  "1: b dsm_rt_" #name "\n" END(name));
#else
#error "entry points are written for x86-64 and AArch64"
#endif

/* An OpenMP routine with its Fortran name. */
#define ROUTINE(name) ENTRY(name) ENTRY(name##_)
/* A lock routine, which compilers may also call with a source position. */
#define LOCK(name) ROUTINE(omp_##name) ENTRY(__kmpc_##name)
/* For the four types of loop variables. */
#define LOOP(name) ENTRY(name##_4) ENTRY(name##_4u) ENTRY(name##_8) ENTRY(name##_8u)

ENTRY(__kmpc_fork_call_if)
ENTRY(__kmpc_serialized_parallel)
ENTRY(__kmpc_end_serialized_parallel)

ENTRY(__kmpc_barrier)
ENTRY(__kmpc_cancel_barrier)
ENTRY(__kmpc_cancel)
ENTRY(__kmpc_cancellationpoint)
ENTRY(__kmpc_single)
ENTRY(__kmpc_end_single)
ENTRY(__kmpc_copyprivate)
ENTRY(__kmpc_master)
ENTRY(__kmpc_end_master)
ENTRY(__kmpc_masked)
ENTRY(__kmpc_end_masked)
ENTRY(__kmpc_scope)
ENTRY(__kmpc_end_scope)
ENTRY(__kmpc_flush)
ENTRY(__kmpc_error)
ENTRY(__kmpc_reduce)
ENTRY(__kmpc_end_reduce)
ENTRY(__kmpc_reduce_nowait)
ENTRY(__kmpc_end_reduce_nowait)

LOOP(__kmpc_for_static_init)
LOOP(__kmpc_dist_for_static_init)
ENTRY(__kmpc_for_static_fini)
ENTRY(__kmpc_distribute_static_fini)
LOOP(__kmpc_dispatch_init)
LOOP(__kmpc_dist_dispatch_init)
LOOP(__kmpc_dispatch_next)
ENTRY(__kmpc_ordered)
ENTRY(__kmpc_end_ordered)

ENTRY(__kmpc_critical)
ENTRY(__kmpc_critical_with_hint)
ENTRY(__kmpc_end_critical)
ENTRY(__kmpc_atomic_start)
ENTRY(__kmpc_atomic_end)
LOCK(init_lock)
LOCK(init_lock_with_hint)
LOCK(destroy_lock)
LOCK(set_lock)
LOCK(unset_lock)
LOCK(test_lock)
LOCK(init_nest_lock)
LOCK(init_nest_lock_with_hint)
LOCK(destroy_nest_lock)
LOCK(set_nest_lock)
LOCK(unset_nest_lock)
LOCK(test_nest_lock)

ENTRY(__kmpc_omp_task)
ENTRY(__kmpc_omp_task_parts)
ENTRY(__kmpc_omp_task_with_deps)
ENTRY(__kmpc_omp_task_begin_if0)
ENTRY(__kmpc_omp_task_complete_if0)
ENTRY(__kmpc_omp_taskwait)
ENTRY(__kmpc_omp_taskwait_deps_51)
ENTRY(__kmpc_omp_wait_deps)
ENTRY(__kmpc_omp_taskyield)
ENTRY(__kmpc_taskgroup)
ENTRY(__kmpc_end_taskgroup)
ENTRY(__kmpc_taskloop)
ENTRY(__kmpc_taskloop_5)

ENTRY(omp_control_tool)
