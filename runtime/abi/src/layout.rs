//! Fixed addresses and symbol names.
//!
//! ```text
//! 0x0000_0000_7000_0000  state table (2^47 >> line_shift bytes, at most 2 TiB), reserved without commit
//! 0x0000_0300_0000_0000  shared region: heap arenas, then shared stacks, of all processes (at most 1 TiB)
//! 0x0000_0400_0000_0000  views of the peers' segments (shm transport)
//! 0x0000_6000_0000_0000  what is private to a process: a range for each (at most 16 TiB)
//! ```
//! The table's base is below 2^31 so that x86-64 code can use it as a displacement.

/// Address of the state byte of address 0.
pub const STATE_BASE: u64 = 0x7000_0000;
/// User addresses are below this power of two.
pub const ADDRESS_BITS: u32 = 47;
/// First address of the shared region.
pub const SHARED_BASE: u64 = 0x300_0000_0000;
/// First address behind the largest shared region.
pub const SHARED_END: u64 = 0x400_0000_0000;
/// Tools such as valgrind keep a program below this power of two. A single process fits there: a shorter table, and
/// the shared region at [`COMPACT_BASE`].
pub const COMPACT_ADDRESS_BITS: u32 = 37;
/// Shared region of a process in a small address space.
pub const COMPACT_BASE: u64 = 0x8_0000_0000;
/// First address behind it.
pub const COMPACT_END: u64 = 0x10_0000_0000;
/// First address of the peers' views.
pub const PEER_BASE: u64 = 0x400_0000_0000;
/// First of the ranges, one for each process, in which the system places the memory that is private to a process; above them are
/// libraries and the initial thread's stack, below them the program.
pub const PRIVATE_BASE: u64 = 0x6000_0000_0000;
/// Bytes of all ranges together.
pub const PRIVATE_RANGES_BYTES: u64 = 0x1000_0000_0000;

/// Output sections that hold the writable globals of instrumented code, page aligned by the driver's
/// linker script.
pub const DATA_SECTION: &str = ".dsm.data";
/// See [`DATA_SECTION`]; takes common symbols as well.
pub const BSS_SECTION: &str = ".dsm.bss";
/// Sections of large globals where the code model tells them from others: the linker script puts them behind those.
pub const LARGE_DATA_SECTION: &str = ".dsm.data.large";
/// See [`LARGE_DATA_SECTION`].
pub const LARGE_BSS_SECTION: &str = ".dsm.bss.large";
/// Section with [`constructor records`](CTOR_RECORD_SIZE).
pub const CTOR_SECTION: &str = ".dsm.ctors";
/// Section with records of destructors, of the same kind; process 0 runs them at the end, greatest priority first.
pub const DTOR_SECTION: &str = ".dsm.dtors";
/// Size of a constructor record: `{u64 priority, fn()}`; process 0 runs them, smallest priority first.
pub const CTOR_RECORD_SIZE: usize = 16;
/// Section of threadprivate variables without thread-local storage: {address, bytes} of each, perhaps repeatedly.
pub const THREADPRIVATE_SECTION: &str = ".dsm.threadprivate";
/// Bytes of such a record.
pub const THREADPRIVATE_RECORD_SIZE: usize = 16;

/// Linker script symbols: first byte and first byte behind the shared globals, page aligned.
pub const GLOBALS_START: &str = "__dsm_globals_start";
/// See [`GLOBALS_START`].
pub const GLOBALS_END: &str = "__dsm_globals_end";
/// Linker script symbols around the constructor records.
pub const CTORS_START: &str = "__dsm_ctors_start";
/// See [`CTORS_START`].
pub const CTORS_END: &str = "__dsm_ctors_end";
/// Linker script symbols around the destructor records.
pub const DTORS_START: &str = "__dsm_dtors_start";
/// See [`DTORS_START`].
pub const DTORS_END: &str = "__dsm_dtors_end";
/// Hidden weak constant `u32` in every instrumented object: its line shift.
pub const LINE_SHIFT_SYMBOL: &str = "__dsm_line_shift";
/// Hidden weak constant `u32` in every instrumented object whose accesses the protection of pages checks.
pub const MPROTECT_SYMBOL: &str = "__dsm_mprotect";
/// Hidden weak constant `u32` in every instrumented object that makes tasks.
pub const USES_TASKS_SYMBOL: &str = "__dsm_uses_tasks";
/// What the names of functions end in that the pass copied, before a number.
pub const COPY_SUFFIX: &str = ".dsm";
/// What the names of functions begin with that the pass makes to call a library function with checks, wherever its address was taken.
pub const CHECKED_PREFIX: &str = "__dsm_checked_";
/// What the program's `main` is renamed to; always `int (int, char **, char **)`.
pub const USER_MAIN: &str = "__dsm_user_main";
/// What the names of the program's own allocation functions begin with, before the usual names.
pub const OWN_ALLOCATOR_PREFIX: &str = "__dsm_program_";
/// A symbol of the runtime that a program with such functions refers to.
pub const OWN_ALLOCATOR_SYMBOL: &str = "__dsm_own_allocator";
/// Thread-local `char *` (initial-exec): top of the thread's shared stack, which grows down.
pub const SHARED_STACK_POINTER: &str = "__dsm_shared_sp";

/// Thread-local number of 32 bits (initial-exec): atomic loads that the thread executes by itself before the next one is a call.
pub const LOADS_LEFT: &str = "__dsm_loads_left";

/// Variable, of 32 bits, that is not 0 in a job of one process.
pub const SINGLE_PROCESS: &str = "__dsm_single_process";

/// 64-bit words of a window: first byte and end of memory that is known to be valid.
pub const WINDOW_WORDS: u64 = 2;
/// Words of a window of walks, which remembers the last one as well.
pub const WALK_WINDOW_WORDS: u64 = 7;

/// Alignment of the shared stack pointer between frames, bytes.
pub const STACK_ALIGN: u64 = 16;
