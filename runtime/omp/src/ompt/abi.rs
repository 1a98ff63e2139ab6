//! Types and values of the tools interface, as OpenMP 5.2 gives them (chapter 19 and appendix; `omp-tools.h` of compilers).

use std::ffi::{c_char, c_int, c_void};

/// `ompt_data_t *`: a word that a tool keeps with a thread, a region or a task.
pub type Data = *mut u64;

/// An address in the program, `codeptr_ra`; null if there is none.
pub type CodePointer = *const c_void;

/// `ompt_frame_t`: where a task leaves and enters the runtime.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Frame {
    /// In the runtime's frame that called the task's code.
    pub exit: usize,
    /// The frame of the task's code that called the runtime; 0 while it is not inside.
    pub enter: usize,
    /// See [`frame_flag`].
    pub exit_flags: c_int,
    /// See [`frame_flag`].
    pub enter_flags: c_int,
}

/// `ompt_frame_flag_t`.
pub mod frame_flag {
    use std::ffi::c_int;
    /// The runtime's frame, by its canonical frame address.
    pub const RUNTIME_CFA: c_int = 0x10;
    /// The runtime's frame, by an address inside.
    pub const RUNTIME_ADDRESS: c_int = 0x30;
}

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct StartToolResult {
    /// Attaches the tool; 0 if it does not want to.
    pub initialize: Option<unsafe extern "C" fn(Lookup, c_int, Data) -> c_int>,
    /// Detaches it.
    pub finalize: Option<unsafe extern "C" fn(Data)>,
    /// Handed to both.
    pub tool_data: u64,
}

/// `ompt_start_tool`.
pub type StartTool = unsafe extern "C" fn(u32, *const c_char) -> *mut StartToolResult;

/// `ompt_function_lookup_t`.
pub type Lookup = unsafe extern "C" fn(*const c_char) -> *const c_void;

/// `ompt_scope_endpoint_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Endpoint {
    /// The construct begins.
    Begin = 1,
    /// It ends.
    End = 2,
}

/// `ompt_thread_t`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum ThreadKind {
    /// A thread that runs an initial task.
    Initial = 1,
    /// A thread of a team's pool.
    Worker = 2,
    /// A thread of the runtime that never runs user code.
    Other = 3,
}

/// `ompt_sync_region_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum SyncKind {
    /// A barrier directive.
    Explicit = 3,
    /// A barrier that the implementation needs.
    Implementation = 4,
    /// `taskwait`.
    Taskwait = 5,
    /// `taskgroup`.
    Taskgroup = 6,
    /// A reduction.
    Reduction = 7,
    /// The barrier at the end of a worksharing construct.
    Workshare = 8,
    /// The barrier at the end of a region.
    Parallel = 9,
}

/// `ompt_work_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum WorkKind {
    /// Sections.
    Sections = 2,
    /// The thread that runs a single block.
    SingleExecutor = 3,
    /// Another one.
    SingleOther = 4,
    /// A distribute loop.
    Distribute = 6,
    /// A loop of tasks.
    Taskloop = 7,
    /// A scope.
    Scope = 8,
    /// A loop with a static schedule.
    LoopStatic = 10,
    /// A loop with a dynamic schedule.
    LoopDynamic = 11,
    /// A loop with a guided schedule.
    LoopGuided = 12,
    /// A loop whose schedule the runtime chooses.
    LoopOther = 13,
}

/// `ompt_dispatch_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum DispatchKind {
    /// Sections.
    Section = 2,
    /// Iterations of a loop.
    LoopChunk = 3,
    /// Iterations of a distribute loop.
    DistributeChunk = 5,
}

/// `ompt_dispatch_chunk_t`.
#[repr(C)]
pub struct DispatchChunk {
    /// First iteration.
    pub start: u64,
    /// Number of iterations.
    pub iterations: u64,
}

/// `ompt_mutex_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum MutexKind {
    /// A lock.
    Lock = 1,
    /// A lock that is not waited for.
    TestLock = 2,
    /// A nest lock.
    NestLock = 3,
    /// A nest lock that is not waited for.
    TestNestLock = 4,
    /// A critical section.
    Critical = 5,
    /// An atomic operation.
    Atomic = 6,
    /// An ordered region.
    Ordered = 7,
}

/// `ompt_task_flag_t`.
pub mod task_flag {
    /// The initial task of a thread.
    pub const INITIAL: u32 = 0x1;
    /// A thread's part of a region.
    pub const IMPLICIT: u32 = 0x2;
    /// A task construct's.
    pub const EXPLICIT: u32 = 0x4;
    /// A taskwait with dependences.
    pub const TASKWAIT: u32 = 0x10;
    /// Run where it is made.
    pub const UNDEFERRED: u32 = 0x0800_0000;
    /// It may go on in another thread.
    pub const UNTIED: u32 = 0x1000_0000;
    /// Its descendants are part of it.
    pub const FINAL: u32 = 0x2000_0000;
    /// It may have the environment of the task that makes it.
    pub const MERGEABLE: u32 = 0x4000_0000;
}

/// `ompt_task_status_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum TaskStatus {
    /// It has ended.
    Complete = 1,
    /// It lets others run.
    Yield = 2,
    /// It was cancelled.
    Cancel = 3,
    /// Its code has ended; it waits for an event.
    Detach = 4,
    /// It ends by the event, or in another process.
    LateFulfil = 6,
    /// It is interrupted.
    Switch = 7,
    /// A taskwait with dependences ends.
    TaskwaitComplete = 8,
}

/// `ompt_parallel_flag_t`.
pub mod parallel_flag {
    /// The program calls the region's code.
    pub const INVOKER_PROGRAM: u32 = 0x1;
    /// The runtime calls it.
    pub const INVOKER_RUNTIME: u32 = 0x2;
    /// A league of teams.
    pub const LEAGUE: u32 = 0x4000_0000;
    /// A team.
    pub const TEAM: u32 = 0x8000_0000;
}

/// `ompt_dependence_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dependence {
    /// Address of the variable, or an iteration.
    pub variable: u64,
    /// See [`dependence`].
    pub kind: c_int,
}

/// `ompt_dependence_type_t`.
pub mod dependence {
    use std::ffi::c_int;
    /// `in`.
    pub const IN: c_int = 1;
    /// `out`.
    pub const OUT: c_int = 2;
    /// `inout`.
    pub const INOUT: c_int = 3;
    /// `mutexinoutset`.
    pub const MUTEX_INOUT_SET: c_int = 4;
    /// `doacross(source:)`.
    pub const SOURCE: c_int = 5;
    /// `doacross(sink:)`.
    pub const SINK: c_int = 6;
    /// `inoutset`.
    pub const INOUT_SET: c_int = 7;
    /// `inout` of all memory.
    pub const INOUT_ALL_MEMORY: c_int = 35;
}

/// `ompt_cancel_flag_t`.
pub mod cancel_flag {
    /// The region.
    pub const PARALLEL: c_int = 0x1;
    /// Sections.
    pub const SECTIONS: c_int = 0x2;
    /// A loop.
    pub const LOOP: c_int = 0x4;
    /// A task group.
    pub const TASKGROUP: c_int = 0x8;
    /// A thread asks for it.
    pub const ACTIVATED: c_int = 0x10;
    /// A thread sees it.
    pub const DETECTED: c_int = 0x20;
    /// A task does not run because of it.
    pub const DISCARDED_TASK: c_int = 0x40;
    use std::ffi::c_int;
}

/// `ompt_set_result_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum SetResult {
    /// There is no such event.
    Error = 0,
    /// It does not happen.
    Never = 1,
    /// It is told for some of the constructs.
    Sometimes = 3,
    /// It is told whenever it happens.
    Always = 5,
}

/// `ompt_state_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(i32)]
pub enum State {
    /// Outside of regions.
    #[default]
    WorkSerial = 0x000,
    /// In a region.
    WorkParallel = 0x001,
    /// Combining.
    WorkReduction = 0x002,
    /// At the end of a region.
    WaitBarrierParallel = 0x011,
    /// At the end of a worksharing construct.
    WaitBarrierWorkshare = 0x012,
    /// At a barrier directive.
    WaitBarrierExplicit = 0x014,
    /// At a barrier of the implementation.
    WaitBarrierImplementation = 0x015,
    /// At a `taskwait`.
    WaitTaskwait = 0x020,
    /// At the end of a task group.
    WaitTaskgroup = 0x021,
    /// For a lock.
    WaitLock = 0x041,
    /// For a critical section.
    WaitCritical = 0x042,
    /// For an atomic operation.
    WaitAtomic = 0x043,
    /// For its turn in an ordered loop.
    WaitOrdered = 0x044,
    /// A thread of the pool without work.
    Idle = 0x100,
    /// Not a thread of OpenMP.
    Undefined = 0x102,
}

impl State {
    /// The states that a thread of OpenMP may be in, with their names.
    pub const ALL: &[(State, &std::ffi::CStr)] = &[
        (State::WorkSerial, c"ompt_state_work_serial"),
        (State::WorkParallel, c"ompt_state_work_parallel"),
        (State::WorkReduction, c"ompt_state_work_reduction"),
        (State::WaitBarrierParallel, c"ompt_state_wait_barrier_implicit_parallel"),
        (State::WaitBarrierWorkshare, c"ompt_state_wait_barrier_implicit_workshare"),
        (State::WaitBarrierExplicit, c"ompt_state_wait_barrier_explicit"),
        (State::WaitBarrierImplementation, c"ompt_state_wait_barrier_implementation"),
        (State::WaitTaskwait, c"ompt_state_wait_taskwait"),
        (State::WaitTaskgroup, c"ompt_state_wait_taskgroup"),
        (State::WaitLock, c"ompt_state_wait_lock"),
        (State::WaitCritical, c"ompt_state_wait_critical"),
        (State::WaitAtomic, c"ompt_state_wait_atomic"),
        (State::WaitOrdered, c"ompt_state_wait_ordered"),
        (State::Idle, c"ompt_state_idle"),
    ];
}

/// How all locks are made, as tools name it: waiting threads have turns.
pub const MUTEX_IMPLEMENTATION: (u32, &std::ffi::CStr) = (2, c"kmp_mutex_impl_queuing");
