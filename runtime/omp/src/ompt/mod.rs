//! The tools interface of OpenMP (OMPT): a tool is told what the threads of its process do.
//!
//! Each process finds and starts its own instance of the tool ([`tool`]), which asks for events ([`callbacks`]) and may ask questions
//! ([`inquiry`]). To its tool a process is a whole OpenMP program: its own thread is an initial thread, and in each process that
//! takes part in a region that thread begins and ends the region, with the code pointer that process 0 sent along. Numbers of threads and
//! team sizes are those of the whole team.
//!
//! The constructs call what stands in [`region`], [`wait`], [`work`], [`mutex`] and [`task`]. Without a tool that is one test of a byte that never
//! changes. The words that a tool keeps with threads, regions and tasks lie on native stacks and the C heap, thus in memory of the process, as tools, which are
//! not instrumented, need it. Callbacks run while the thread counts as being in user code, so that a tool may be instrumented, too.

pub mod abi;
mod callbacks;
mod inquiry;
pub mod mutex;
pub mod region;
pub mod task;
pub mod thread;
pub mod tool;
pub mod wait;
pub mod work;

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::call_site::{self, Reader};
use super::frame::Frame;
use super::task::node::Node;
use super::{Loc, get};
use abi::{CodePointer, Data, frame_flag};

/// Whether a tool is attached.
#[inline(always)]
pub fn is_active() -> bool {
    Reader::Tool.is_there()
}

/// Where the thread called the runtime last.
fn code_pointer() -> CodePointer {
    call_site::last().0
}

/// What a tool keeps with a region in this process, and what it is told of it.
#[derive(Default)]
pub struct RegionRecord {
    data: AtomicU64,
    flags: AtomicU32,
    at: AtomicUsize,
}

impl RegionRecord {
    /// The tool's word.
    pub fn data(&self) -> Data {
        self.data.as_ptr()
    }

    /// The construct's place in the program.
    pub fn code_pointer(&self) -> CodePointer {
        self.at.load(Ordering::Relaxed) as CodePointer
    }
}

/// What a tool keeps with a task, and what it may ask of it. Changed by the thread that runs the task.
pub struct TaskRecord {
    data: AtomicU64,
    frames: Cell<abi::Frame>,
    /// The explicit task that was interrupted for it; null if that was an implicit one.
    interrupted: Cell<*const Node>,
    /// The program says that the thread that makes it runs it at once.
    undeferred: Cell<bool>,
}

impl Default for TaskRecord {
    fn default() -> TaskRecord {
        TaskRecord {
            data: AtomicU64::new(0),
            frames: Cell::default(),
            interrupted: Cell::new(std::ptr::null()),
            undeferred: Cell::new(false),
        }
    }
}

impl TaskRecord {
    /// The tool's word.
    pub fn data(&self) -> Data {
        self.data.as_ptr()
    }

    /// The task's code is about to run; `frame` lies in the frame of the runtime that calls it.
    pub fn leave_runtime(&self, frame: usize) {
        let exit_flags = frame_flag::RUNTIME_ADDRESS;
        self.frames.set(abi::Frame { exit: frame, exit_flags, ..self.frames.get() });
    }

    fn enter_runtime(&self, frame: usize) {
        let enter_flags = if frame == 0 { 0 } else { frame_flag::RUNTIME_CFA };
        self.frames.set(abi::Frame { enter: frame, enter_flags, ..self.frames.get() });
    }
}

/// Calls `with` on the record of the task that the thread of `frame` runs.
fn with_current<T>(frame: &Frame, with: impl FnOnce(&TaskRecord) -> T) -> T {
    // SAFETY: nobody changes the task of a frame while its thread, or one below it, is in here.
    match unsafe { &*frame.task.as_ptr() }.as_deref() {
        Some(Node { tool: Some(record), task, .. }) if !task.is_null() => with(record),
        _ => with(&frame.tool),
    }
}

/// The tool's word of the task that the thread of `frame` runs.
fn task_data(frame: &Frame) -> Data {
    with_current(frame, TaskRecord::data)
}

/// A call by the program; while it lives, the task is inside the runtime.
pub struct Call<'a> {
    frame: &'a Frame,
    /// Where it came from.
    pub at: CodePointer,
    /// The caller's frame.
    stack: usize,
    outer: usize,
}

impl<'a> Call<'a> {
    /// The call that the thread is in, if a tool is attached.
    #[inline]
    pub fn begin(frame: &'a Frame) -> Option<Call<'a>> {
        is_active().then(|| Call::noted(frame))
    }

    #[cold]
    fn noted(frame: &'a Frame) -> Call<'a> {
        let (at, stack) = call_site::last();
        let outer = with_current(frame, |task| {
            let outer = task.frames.get().enter;
            task.enter_runtime(stack);
            outer
        });
        Call { frame, at, stack, outer }
    }

    /// The task stays inside the runtime, for the program, until [`Call::leave`].
    fn stay(self) {
        std::mem::forget(self);
    }

    /// The thread's task, which stayed, is outside again.
    fn leave(frame: &Frame) {
        with_current(frame, |task| task.enter_runtime(0));
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        with_current(self.frame, |task| task.enter_runtime(self.outer));
    }
}

/// Bits that compilers put into source positions.
mod ident {
    pub const EXPLICIT_BARRIER: u32 = 0x20;
    pub const IMPLICIT_BARRIER: u32 = 0x40;
    pub const SECTIONS: u32 = 0x400;
    pub const DISTRIBUTE: u32 = 0x800;
}

/// The bits of a source position.
fn ident_flags(loc: Loc) -> u32 {
    if loc.is_null() {
        return 0;
    }
    // SAFETY: compilers pass null or an `ident_t`, whose second word they are.
    unsafe { get(loc.cast::<u32>().add(1)) }
}
