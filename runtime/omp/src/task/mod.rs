//! Explicit tasks.
//!
//! A task is deferred into the deques of its region's threads in the creating process ([`pool`]) and run there, or given to a process with a thread that
//! waits ([`steal`], [`export`]). In a region of one thread, in final tasks and with many tasks queued it runs at once. All tasks are run as tied ones.
//! [`node`] holds the bookkeeping, [`depend`] and [`reduction`] what their names say.

mod blocks;
pub mod counters;
pub mod depend;
pub mod deque;
pub mod export;
pub mod node;
pub mod node_ref;
mod pace;
pub mod pool;
pub mod reduction;
pub mod service;
pub mod steal;
pub mod taskloop;

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::Loc;
use super::contention;
use super::frame::{self, Frame};
use super::get;
use super::ompt::abi::SyncKind;
use super::ompt::{self, thread::yielding, wait::Waiting};
use crate::image;
use crate::operations::signal;
use node::{Memory, Node, Routine, Task, flags};
use node_ref::{Allocation, NodeRef};

/// Whether the program has tasks. If not, barriers need not look for them.
pub fn expected() -> bool {
    static EXPECTED: OnceLock<bool> = OnceLock::new();
    *EXPECTED.get_or_init(image::uses_tasks)
}

/// The task that the frame's thread runs.
pub fn current(frame: &Frame) -> NodeRef {
    frame.task.borrow_mut().get_or_insert_with(|| Node::implicit(frame)).clone()
}

/// Runs `look` on the current task, if the thread has anything to do with tasks.
pub fn with_current<T>(frame: &Frame, look: impl FnOnce(&NodeRef) -> T) -> Option<T> {
    frame.task.borrow().as_ref().map(look)
}

/// End of an implicit task. Whether the threads of its team have met at a barrier: all tasks of the region have ended then. Where none has been made, there is no need to.
pub fn end_implicit(frame: &Frame) -> bool {
    let team = frame.team();
    let meets = team.size > 1 && team.meets();
    if meets {
        team.barrier();
    } else if team.size == 1 {
        pool::help(frame, || team.pool.is_empty());
    }
    if let Some(node) = frame.task.take() {
        node.end();
    }
    meets
}

/// Makes a task descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_alloc(
    _loc: Loc,
    _gtid: i32,
    task_flags: i32,
    bytes: usize,
    shareds: usize,
    routine: Option<Routine>,
) -> *mut Task {
    signal::assert_allowed("a task");
    let frame = frame::current();
    // flang finds the shareds behind the descriptor, at the next multiple of a pointer as in libomp.
    let memory = Memory { bytes: bytes.next_multiple_of(8), shareds, shared: steal::is_wide(frame) };
    // SAFETY: sizes and routine are the compiler's.
    unsafe { make(frame, task_flags as u32, memory, routine.unwrap_or(nothing)) }
}

/// The routine of a task that only has dependences.
unsafe extern "C" fn nothing(_gtid: i32, _task: *mut Task) -> i32 {
    0
}

/// A descriptor with its node.
///
/// # Safety
/// Sizes and routine are the compiler's.
unsafe fn make(frame: &Frame, task_flags: u32, memory: Memory, routine: Routine) -> *mut Task {
    let (parent, group) = {
        let mut current = frame.task.borrow_mut();
        let parent = current.get_or_insert_with(|| Node::implicit(frame));
        (parent.for_child(), parent.group())
    };
    let allocation = Allocation::new(if memory.shared { 0 } else { memory.bytes + memory.shareds });
    let task = if memory.shared { node::allocate(memory) } else { allocation.descriptor() };
    let node = allocation.fill(Node::new(frame, Some(parent), group, task, task_flags, Some(memory)));
    // SAFETY: as the caller says; the descriptor is new.
    unsafe {
        node::fill(task, memory, routine);
        node::name(task, node);
    }
    task
}

/// As `__kmpc_omp_task_alloc`; there is no device but the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_target_task_alloc(
    loc: Loc,
    gtid: i32,
    task_flags: i32,
    bytes: usize,
    shareds: usize,
    routine: Option<Routine>,
    _device: i64,
) -> *mut Task {
    // SAFETY: as for the function called.
    unsafe { __kmpc_omp_task_alloc(loc, gtid, task_flags, bytes, shareds, routine) }
}

/// A task is about to be submitted.
fn begin(node: &Node) {
    if node.flags & flags::PRIORITY != 0 {
        // SAFETY: a live descriptor, filled by now.
        let wanted = unsafe { get(&raw const (*node.task).data2) };
        node.priority.store(pool::priority(wanted), Ordering::Relaxed);
    }
    counters::MADE.add(1);
}

/// A task is ready, or the next part of an untied one that the thread runs.
#[unsafe(export_name = "dsm_rt___kmpc_omp_task")]
pub unsafe extern "C" fn __kmpc_omp_task(_loc: Loc, _gtid: i32, task: *mut Task) -> i32 {
    let frame = frame::current();
    // Not by the descriptor: that of a task from another process names a node there.
    let running = with_current(frame, |node| (node.task == task).then(|| node.clone())).flatten();
    if let Some(node) = running {
        pool::resubmit(frame, &node);
        return 0;
    }
    // SAFETY: the compiler hands over a descriptor it has filled.
    let node = unsafe { node::take(task) };
    begin(&node);
    let _call = ompt::task::created(frame, &node);
    pool::enqueue(frame, node);
    0
}

/// See [`__kmpc_omp_task`].
#[unsafe(export_name = "dsm_rt___kmpc_omp_task_parts")]
pub unsafe extern "C" fn __kmpc_omp_task_parts(loc: Loc, gtid: i32, task: *mut Task) -> i32 {
    // SAFETY: as for the function called.
    unsafe { __kmpc_omp_task(loc, gtid, task) }
}

/// A task with dependences is ready once these are fulfilled.
#[unsafe(export_name = "dsm_rt___kmpc_omp_task_with_deps")]
pub unsafe extern "C" fn __kmpc_omp_task_with_deps(
    _loc: Loc,
    _gtid: i32,
    task: *mut Task,
    count: i32,
    list: *const depend::Item,
    count2: i32,
    list2: *const depend::Item,
) -> i32 {
    let frame = frame::current();
    // SAFETY: the compiler hands over a descriptor it has filled, and lists of these lengths.
    let node = unsafe { node::take(task) };
    begin(&node);
    // Others make it ready.
    pool::await_end(frame, &node);
    let parent = current(frame);
    // SAFETY: as above.
    let items = unsafe { depend::items([(count, list), (count2, list2)]) };
    let _call = ompt::task::created_with(frame, &node, || depend::described(&items));
    parent.extras().dependences().lock().add(&node, &items);
    pool::submit(frame, node);
    0
}

/// Begin of a task whose `if` clause is false; the compiler calls the routine itself.
#[unsafe(export_name = "dsm_rt___kmpc_omp_task_begin_if0")]
pub unsafe extern "C" fn __kmpc_omp_task_begin_if0(_loc: Loc, _gtid: i32, task: *mut Task) {
    let frame = frame::current();
    // SAFETY: a live descriptor, not submitted.
    let node = unsafe { node::take(task) };
    begin(&node);
    pool::await_event(frame, &node);
    node.included.store(true, Ordering::Relaxed);
    pool::with_limit_above(&node, |limit| node.begin_below(limit));
    ompt::task::begins_inline(frame, &node);
    let icv = frame.icv.get();
    // The program may have changed them since the task was made.
    if icv != node.icv {
        *node.extras().interrupted.lock() = Some(icv);
    }
    // The reference that this was is there again when the task ends.
    std::mem::forget(frame.task.replace(Some(node)));
}

/// End of such a task.
#[unsafe(export_name = "dsm_rt___kmpc_omp_task_complete_if0")]
pub unsafe extern "C" fn __kmpc_omp_task_complete_if0(_loc: Loc, _gtid: i32, _task: *mut Task) {
    let frame = frame::current();
    let Some(node) = frame.task.take() else { return };
    let interrupted = node.existing_extras().and_then(|extras| extras.interrupted.lock().take());
    let icv = interrupted.unwrap_or(node.icv);
    contention::end(&frame.icv.replace(icv), &icv);
    // SAFETY: the begin of the task, on this thread, forgot a reference to its parent.
    frame.task.replace(node.parent.as_ref().map(|parent| unsafe { parent.duplicate() }));
    ompt::task::ends_inline(frame, &node);
    pool::finish(frame, &node);
    node.drop_by_maker();
}

/// Waits for child tasks.
#[unsafe(export_name = "dsm_rt___kmpc_omp_taskwait")]
pub extern "C" fn __kmpc_omp_taskwait(_loc: Loc, _gtid: i32) -> i32 {
    let frame = frame::current();
    let _waiting = Waiting::at(frame, SyncKind::Taskwait);
    let waits = |node: &NodeRef| node.has_children().then(|| node.clone());
    if let Some(node) = with_current(frame, waits).flatten() {
        pool::help_within(frame, &node, || !node.has_children());
    }
    0
}

/// Waits for the tasks that the dependences name.
#[unsafe(export_name = "dsm_rt___kmpc_omp_taskwait_deps_51")]
pub unsafe extern "C" fn __kmpc_omp_taskwait_deps_51(
    _loc: Loc,
    _gtid: i32,
    count: i32,
    list: *const depend::Item,
    count2: i32,
    list2: *const depend::Item,
    _nowait: i32,
) {
    let frame = frame::current();
    let parent = current(frame);
    let wait = NodeRef::new(Node::new(frame, Some(parent.clone()), None, std::ptr::null_mut(), 0, None));
    // SAFETY: the compiler passes lists of these lengths.
    let items = unsafe { depend::items([(count, list), (count2, list2)]) };
    ompt::task::wait_begins(frame, &wait, || depend::described(&items));
    parent.extras().dependences().lock().add(&wait, &items);
    pool::help_within(frame, &parent, || wait.blockers.load(Ordering::SeqCst) == 1);
    let mut links = wait.extras().links.lock();
    links.done = true;
    debug_assert!(links.successors.is_empty(), "the thread that makes siblings waits");
    ompt::task::wait_ends(&wait);
}

/// See [`__kmpc_omp_taskwait_deps_51`].
#[unsafe(export_name = "dsm_rt___kmpc_omp_wait_deps")]
pub unsafe extern "C" fn __kmpc_omp_wait_deps(
    loc: Loc,
    gtid: i32,
    count: i32,
    list: *const depend::Item,
    count2: i32,
    list2: *const depend::Item,
) {
    // SAFETY: as for the function called.
    unsafe { __kmpc_omp_taskwait_deps_51(loc, gtid, count, list, count2, list2, 0) };
}

/// A place where the thread may take another task.
#[unsafe(export_name = "dsm_rt___kmpc_omp_taskyield")]
pub extern "C" fn __kmpc_omp_taskyield(_loc: Loc, _gtid: i32, _end_part: i32) -> i32 {
    let frame = frame::current();
    if let Some(node) = with_current(frame, NodeRef::clone)
        && !yielding(|| pool::run_one(frame, &node))
    {
        super::event::blocked(std::thread::yield_now);
    }
    0
}

/// Begin of a task group.
#[unsafe(export_name = "dsm_rt___kmpc_taskgroup")]
pub extern "C" fn __kmpc_taskgroup(_loc: Loc, _gtid: i32) {
    let frame = frame::current();
    ompt::wait::group_begins(frame);
    frame.task.borrow_mut().get_or_insert_with(|| Node::implicit(frame)).enter_group();
}

/// End of a task group.
#[unsafe(export_name = "dsm_rt___kmpc_end_taskgroup")]
pub extern "C" fn __kmpc_end_taskgroup(_loc: Loc, _gtid: i32) {
    let frame = frame::current();
    let node = current(frame);
    let Some(group) = node.leave_group() else { return };
    let _waiting = Waiting::at_end_of_group(frame);
    pool::help_within(frame, &node, || group.pending.load(Ordering::SeqCst) == 0);
    reduction::finish(&group);
    group.end();
}

/// Affinity hints.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_reg_task_with_affinity(
    _loc: Loc,
    _gtid: i32,
    _task: *mut Task,
    _count: i32,
    _list: *const c_void,
) -> i32 {
    0
}

/// Makes the event of a detached task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_allow_completion_event(_loc: Loc, _gtid: i32, task: *mut Task) -> usize {
    // SAFETY: a live descriptor.
    export::make_event(&unsafe { node::of(task) })
}

/// Ends a detached task.
#[unsafe(no_mangle)]
pub extern "C" fn omp_fulfill_event(event: usize) {
    export::fulfil(event);
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_fulfill_event_(event: *const usize) {
    // SAFETY: a Fortran argument is the address of an integer.
    omp_fulfill_event(unsafe { get(event) });
}
