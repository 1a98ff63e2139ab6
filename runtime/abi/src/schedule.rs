//! What the pass says of worksharing loops, in the argument of `__kmpc_for_static_init_*` that is the kind of schedule.

/// Modifier bit: the program cannot tell which thread executes which chunk. LLVM uses the two above it, for monotonic and nonmonotonic.
pub const ANY_THREAD: i32 = 1 << 28;
