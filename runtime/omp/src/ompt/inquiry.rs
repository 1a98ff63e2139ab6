//! What a tool may ask, from a callback or elsewhere.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::abi::{Data, Frame as TaskFrame, MUTEX_IMPLEMENTATION, State, task_flag};
use super::task::flags_of;
use super::{TaskRecord, callbacks, thread, tool};
use crate::affinity;
use crate::frame::{self, Frame};
use crate::task::node::Node;

macro_rules! functions {
    ($($name:ident: $function:path;)*) => {
        /// `ompt_function_lookup_t`: a function of the interface by its name; null if there is none.
        pub unsafe extern "C" fn lookup(name: *const c_char) -> *const c_void {
            // SAFETY: the tool passes a string.
            match unsafe { CStr::from_ptr(name) }.to_bytes() {
                $(name if name == stringify!($name).as_bytes() => $function as *const c_void,)*
                _ => std::ptr::null(),
            }
        }
    };
}

functions! {
    ompt_enumerate_states: enumerate_states;
    ompt_enumerate_mutex_impls: enumerate_mutex_implementations;
    ompt_set_callback: callbacks::set_callback;
    ompt_get_callback: callbacks::get_callback;
    ompt_get_state: get_state;
    ompt_get_parallel_info: get_parallel_info;
    ompt_get_task_info: get_task_info;
    ompt_get_task_memory: get_task_memory;
    ompt_get_thread_data: get_thread_data;
    ompt_get_unique_id: get_unique_id;
    ompt_finalize_tool: tool::finalize_tool;
    ompt_get_num_procs: get_num_procs;
    ompt_get_num_places: get_num_places;
    ompt_get_place_proc_ids: get_place_proc_ids;
    ompt_get_place_num: get_place_num;
    ompt_get_partition_place_nums: get_partition_place_nums;
    ompt_get_proc_id: get_proc_id;
    ompt_get_target_info: get_target_info;
    ompt_get_num_devices: get_num_devices;
}

/// Writes where the tool wants something.
///
/// # Safety
/// `place` is null or valid.
unsafe fn answer<T>(place: *mut T, value: impl FnOnce() -> T) {
    if !place.is_null() {
        // SAFETY: as the caller says.
        unsafe { place.write(value()) };
    }
}

unsafe extern "C" fn enumerate_states(current: c_int, next: *mut c_int, name: *mut *const c_char) -> c_int {
    let all = State::ALL;
    // Tools begin with the state that no thread of OpenMP is in.
    let at = if current == State::Undefined as c_int {
        Some(0)
    } else {
        all.iter().position(|(state, _)| *state as c_int == current).map(|at| at + 1)
    };
    let Some((state, text)) = at.and_then(|at| all.get(at)) else { return 0 };
    // SAFETY: the tool's places.
    unsafe {
        answer(next, || *state as c_int);
        answer(name, || text.as_ptr());
    }
    1
}

unsafe extern "C" fn enumerate_mutex_implementations(
    current: c_int,
    next: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    const NONE: c_int = 0;
    if current != NONE {
        return 0;
    }
    // SAFETY: the tool's places.
    unsafe {
        answer(next, || MUTEX_IMPLEMENTATION.0 as c_int);
        answer(name, || MUTEX_IMPLEMENTATION.1.as_ptr());
    }
    1
}

unsafe extern "C" fn get_state(wait: *mut u64) -> c_int {
    let (state, waits_for) = thread::state();
    // SAFETY: the tool's place.
    unsafe { answer(wait, || waits_for) };
    state as c_int
}

extern "C" fn get_thread_data() -> Data {
    thread::data()
}

extern "C" fn get_unique_id() -> u64 {
    thread::unique_id()
}

/// What the two functions below say: there is such a region or task.
const AVAILABLE: c_int = 2;

/// The frames of the calling thread's tasks, innermost first. In processes other than 0 the one around a region of all processes is
/// that of the thread that serves them.
fn frames() -> impl Iterator<Item = &'static Frame> {
    // SAFETY: a frame around a running region lives as long as the region.
    std::iter::successors(frame::existing(), |frame| match unsafe { frame.parent.as_ref() } {
        None if frame.level > 0 => tool::initial_frame(),
        parent => parent,
    })
}

fn level(ancestor: c_int) -> Option<usize> {
    usize::try_from(ancestor).ok()
}

unsafe extern "C" fn get_parallel_info(ancestor: c_int, data: *mut Data, size: *mut c_int) -> c_int {
    let Some(frame) = level(ancestor).and_then(|level| frames().nth(level)) else { return 0 };
    // SAFETY: the tool's places.
    unsafe {
        answer(data, || frame.team().tool.data());
        answer(size, || frame.team().size as c_int);
    }
    AVAILABLE
}

/// A task of the calling thread: an explicit one, or a frame's own.
enum Task {
    Explicit(&'static Node, &'static Frame),
    Implicit(&'static Frame),
}

impl Task {
    fn record(&self) -> &TaskRecord {
        match self {
            Task::Explicit(node, _) => node.record(),
            Task::Implicit(frame) => &frame.tool,
        }
    }

    fn frame(&self) -> &'static Frame {
        match self {
            Task::Explicit(_, frame) | Task::Implicit(frame) => frame,
        }
    }

    fn flags(&self) -> u32 {
        match self {
            Task::Explicit(node, _) => flags_of(node),
            Task::Implicit(frame) if frame.level == 0 => task_flag::INITIAL,
            Task::Implicit(frame) if frame.team().size == 1 => task_flag::IMPLICIT | task_flag::UNDEFERRED,
            Task::Implicit(_) => task_flag::IMPLICIT,
        }
    }
}

/// The tasks that a frame's thread runs, the one that runs now first.
fn tasks_of(frame: &'static Frame) -> impl Iterator<Item = Task> {
    // SAFETY: a thread changes its frame's task only while no region below it runs, and the interrupted tasks live until they go on.
    let current =
        unsafe { &*frame.task.as_ptr() }.as_deref().filter(|node| node.is_explicit() && node.tool.is_some());
    // SAFETY: as above.
    let explicit = std::iter::successors(current, |node| unsafe { node.record().interrupted.get().as_ref() });
    explicit.map(move |node| Task::Explicit(node, frame)).chain(std::iter::once(Task::Implicit(frame)))
}

fn task(ancestor: c_int) -> Option<Task> {
    frames().flat_map(tasks_of).nth(level(ancestor)?)
}

unsafe extern "C" fn get_task_info(
    ancestor: c_int,
    flags: *mut c_int,
    data: *mut Data,
    frames: *mut *const TaskFrame,
    region: *mut Data,
    thread: *mut c_int,
) -> c_int {
    let Some(task) = task(ancestor) else { return 0 };
    // SAFETY: the tool's places.
    unsafe {
        answer(flags, || task.flags() as c_int);
        answer(data, || task.record().data());
        answer(frames, || task.record().frames.as_ptr().cast_const());
        answer(region, || task.frame().team().tool.data());
        answer(thread, || task.frame().tid as c_int);
    }
    AVAILABLE
}

/// The memory of an explicit task's private variables is one block.
unsafe extern "C" fn get_task_memory(address: *mut *mut c_void, bytes: *mut usize, block: c_int) -> c_int {
    const NO_MORE: c_int = 0;
    let memory = match task(0) {
        Some(Task::Explicit(node, _)) if block == 0 => node.memory.map(|memory| (node.task, memory)),
        _ => None,
    };
    // SAFETY: the tool's places.
    unsafe {
        answer(address, || memory.map_or(std::ptr::null_mut(), |(task, _)| task.cast()));
        answer(bytes, || memory.map_or(0, |(_, memory)| memory.bytes + memory.shareds));
    }
    NO_MORE
}

extern "C" fn get_num_procs() -> c_int {
    crate::processors() as c_int
}

extern "C" fn get_num_places() -> c_int {
    affinity::places().len() as c_int
}

/// What the functions on places and processors say to a thread that is none of OpenMP.
const UNKNOWN: c_int = -1;

fn is_of_openmp() -> bool {
    !thread::data().is_null()
}

extern "C" fn get_place_num() -> c_int {
    if is_of_openmp() { affinity::place_number() } else { UNKNOWN }
}

/// Writes as many of `numbers` as there is space for; gives how many there are.
unsafe fn list(numbers: impl ExactSizeIterator<Item = c_int>, space: c_int, out: *mut c_int) -> c_int {
    let count = numbers.len() as c_int;
    for (i, number) in numbers.take(space.max(0) as usize).enumerate() {
        // SAFETY: the tool's array has so many places.
        unsafe { out.add(i).write(number) };
    }
    count
}

unsafe extern "C" fn get_place_proc_ids(place: c_int, space: c_int, out: *mut c_int) -> c_int {
    let Some(processors) = level(place).and_then(|place| affinity::places().get(place)) else { return 0 };
    // SAFETY: as the tool promises.
    unsafe { list(processors.iter().map(|&p| p as c_int), space, out) }
}

unsafe extern "C" fn get_partition_place_nums(space: c_int, out: *mut c_int) -> c_int {
    if !is_of_openmp() {
        return 0;
    }
    let partition = affinity::partition();
    // SAFETY: as the tool promises.
    unsafe { list((partition.start as c_int)..(partition.end as c_int), space, out) }
}

extern "C" fn get_proc_id() -> c_int {
    if !is_of_openmp() {
        return UNKNOWN;
    }
    // SAFETY: no arguments.
    unsafe { libc::sched_getcpu() }
}

/// No thread is in a target region: there is no device but the host.
extern "C" fn get_target_info(_device: *mut u64, _target: *mut u64, _operation: *mut u64) -> c_int {
    0
}

extern "C" fn get_num_devices() -> c_int {
    0
}
