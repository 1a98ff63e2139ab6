//! What is known of the OpenMP entry points: which pointers other threads can reach through, which memory the
//! runtime reads or writes itself, which entries synchronise.
//!
//! LLVM's own attributes of these functions do not serve: for a machine with one memory, `copyprivate` does not
//! capture its buffer although other threads read it. Whatever is not listed here captures and synchronises.

use crate::llvm::Value;

use super::facts::Kind;

/// Knowledge about one entry.
pub struct Entry {
    /// Bit i is set if argument i is not reachable by others through the call.
    pub uncaptured: u32,
    /// Memory that the entry touches: (read or write, argument, bytes).
    pub touches: &'static [(Kind, u32, u64)],
    /// True if it may acquire.
    pub syncs: bool,
}

/// True of names that this table is responsible for.
pub fn is_openmp(name: &str) -> bool {
    name.starts_with("__kmpc_")
        || name.starts_with("omp_")
        || name.starts_with("ompc_")
        || name.starts_with("kmp_")
        || name.starts_with("__tgt_")
}

const ALL: u32 = u32::MAX;

/// Pointer arguments `{last, lower, upper, stride}` with these widths.
macro_rules! bounds {
    ($first:expr, $width:expr) => {
        &[
            (Kind::Store, $first, 4),
            (Kind::Store, $first + 1, $width),
            (Kind::Store, $first + 2, $width),
            (Kind::Store, $first + 3, $width),
        ]
    };
}

/// The table; `None` for an entry that is not listed.
pub fn entry(name: &str) -> Option<Entry> {
    let known = |uncaptured, touches, syncs| Some(Entry { uncaptured, touches, syncs });
    match name {
        "__kmpc_global_thread_num"
        | "__kmpc_bound_thread_num"
        | "__kmpc_global_num_threads"
        | "__kmpc_bound_num_threads"
        | "__kmpc_in_parallel"
        | "__kmpc_push_num_threads"
        | "__kmpc_push_proc_bind"
        | "__kmpc_push_num_teams"
        | "__kmpc_for_static_fini"
        | "__kmpc_begin"
        | "__kmpc_end" => known(ALL, &[], false),
        "__kmpc_for_static_init_4" | "__kmpc_for_static_init_4u" => known(ALL, bounds!(3, 4), false),
        "__kmpc_for_static_init_8" | "__kmpc_for_static_init_8u" => known(ALL, bounds!(3, 8), false),
        "__kmpc_dispatch_next_4" | "__kmpc_dispatch_next_4u" => known(ALL, bounds!(2, 4), true),
        "__kmpc_dispatch_next_8" | "__kmpc_dispatch_next_8u" => known(ALL, bounds!(2, 8), true),
        "__kmpc_dispatch_init_4"
        | "__kmpc_dispatch_init_4u"
        | "__kmpc_dispatch_init_8"
        | "__kmpc_dispatch_init_8u"
        | "__kmpc_dispatch_deinit"
        // The end of an iteration of an ordered loop waits for the turn, without having executed an ordered region.
        | "__kmpc_dispatch_fini_4"
        | "__kmpc_dispatch_fini_8"
        | "__kmpc_dispatch_fini_4u"
        | "__kmpc_dispatch_fini_8u" => known(ALL, &[], true),
        "__kmpc_barrier"
        | "__kmpc_cancel_barrier"
        | "__kmpc_flush"
        | "__kmpc_serialized_parallel"
        | "__kmpc_end_serialized_parallel"
        | "__kmpc_single"
        | "__kmpc_end_single"
        | "__kmpc_master"
        | "__kmpc_end_master"
        | "__kmpc_masked"
        | "__kmpc_end_masked"
        | "__kmpc_ordered"
        | "__kmpc_end_ordered"
        | "__kmpc_critical"
        | "__kmpc_critical_with_hint"
        | "__kmpc_end_critical"
        | "__kmpc_end_reduce"
        | "__kmpc_end_reduce_nowait"
        | "__kmpc_omp_taskwait"
        | "__kmpc_omp_taskyield"
        | "__kmpc_taskgroup"
        | "__kmpc_end_taskgroup"
        | "__kmpc_doacross_fini" => known(ALL, &[], true),
        // Reads the vector of iteration numbers.
        "__kmpc_doacross_post" | "__kmpc_doacross_wait" => known(ALL, &[], true),
        // The variable is a key and the source of the copies, which the runtime makes with checks of its own, or by the program's constructor.
        "__kmpc_threadprivate_cached" => known(ALL, &[], true),
        "__kmpc_threadprivate_register" => known(ALL, &[], false),
        _ if name.starts_with("omp_get_") || name.starts_with("omp_in_") => known(ALL, &[], false),
        _ if name.starts_with("omp_") => known(ALL, &[], true),
        _ => None,
    }
}

/// Bytes of the copy of a threadprivate variable that a call returns; `None` of other calls.
pub fn threadprivate_bytes(call: Value) -> Option<i64> {
    let asks = call.called_function().is_some_and(|f| f.name() == "__kmpc_threadprivate_cached");
    if asks { call.operand(3).int().filter(|&bytes| bytes > 0) } else { None }
}

/// Argument that is the function run by the team, and its leading thread number parameters.
pub fn microtask_argument(name: &str) -> Option<(u32, u32)> {
    match name {
        "__kmpc_fork_call" | "__kmpc_fork_teams" | "__kmpc_fork_call_if" => Some((2, 2)),
        _ => None,
    }
}
