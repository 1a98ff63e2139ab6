//! Explicit tasks.
//!
//! A task that goes to another process is created there a second time for that process's tool, by the task that waits
//! there. Where it was made it ends as if an event had fulfilled it. The parts of an untied task are told as one.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use super::abi::{CodePointer, Dependence, TaskStatus, cancel_flag, task_flag};
use super::{Call, callbacks, code_pointer, is_active, task_data, thread, with_current};
use crate::frame::Frame;
use crate::task::node::{Node, flags};
use crate::task::node_ref::NodeRef;

/// Flags of a task.
pub fn flags_of(node: &Node) -> u32 {
    let undeferred = node.record().undeferred.get()
        || node.team().size == 1
        || node.parent.as_ref().is_some_and(|parent| parent.is_final);
    let flag = |holds: bool, flag: u32| if holds { flag } else { 0 };
    task_flag::EXPLICIT
        | flag(undeferred, task_flag::UNDEFERRED)
        | flag(node.flags & flags::TIED == 0, task_flag::UNTIED)
        | flag(node.is_final, task_flag::FINAL)
}

fn create(frame: &Frame, node: &Node, task_flags: u32, dependent: bool, at: CodePointer) {
    let frames = with_current(frame, |task| task.frames.get());
    let parent = task_data(frame);
    callbacks::task_create(parent, &frames, node.record().data(), task_flags, c_int::from(dependent), at);
}

/// The thread makes a task, in a call that lasts as long as the result.
#[inline]
pub fn created<'a>(frame: &'a Frame, node: &Node) -> Option<Call<'a>> {
    is_active().then(|| tell_created(frame, node, &[]))
}

/// As [`created`], for a task that the thread runs at once because the program says so.
#[inline]
pub fn created_undeferred<'a>(frame: &'a Frame, node: &Node) -> Option<Call<'a>> {
    is_active().then(|| {
        node.record().undeferred.set(true);
        tell_created(frame, node, &[])
    })
}

#[cold]
fn tell_created<'a>(frame: &'a Frame, node: &Node, list: &[Dependence]) -> Call<'a> {
    let call = Call::noted(frame);
    create(frame, node, flags_of(node), !list.is_empty(), call.at);
    tell_dependences(node, list);
    call
}

/// The thread makes a task whose code the program calls itself, and is about to.
#[inline]
pub fn begins_inline(frame: &Frame, node: &NodeRef) {
    if let Some(call) = created_undeferred(frame, node) {
        tell_begin(frame, node);
        node.record().leave_runtime(call.stack);
        call.stay();
    }
}

/// The program has called the code of such a task.
#[inline]
pub fn ends_inline(frame: &Frame, node: &NodeRef) {
    if is_active() {
        tell_end(frame, node, false);
        Call::leave(frame);
    }
}

/// As [`created`], with these dependences.
#[inline]
pub fn created_with<'a>(
    frame: &'a Frame,
    node: &Node,
    list: impl FnOnce() -> Vec<Dependence>,
) -> Option<Call<'a>> {
    is_active().then(|| tell_created(frame, node, &list()))
}

/// A `taskwait` with dependences, which is a task that does nothing.
#[inline]
pub fn wait_begins(frame: &Frame, node: &Node, list: impl FnOnce() -> Vec<Dependence>) {
    if let Some(call) = Call::begin(frame) {
        let list = list();
        let flags = task_flag::TASKWAIT | task_flag::UNDEFERRED | task_flag::MERGEABLE;
        create(frame, node, flags, !list.is_empty(), call.at);
        tell_dependences(node, &list);
    }
}

/// Such a `taskwait` ends.
#[inline]
pub fn wait_ends(node: &Node) {
    if is_active() {
        callbacks::task_schedule(node.record().data(), TaskStatus::TaskwaitComplete, std::ptr::null_mut());
    }
}

fn tell_dependences(node: &Node, list: &[Dependence]) {
    if !list.is_empty() {
        callbacks::dependences(node.record().data(), list.as_ptr(), list.len() as c_int);
    }
}

/// A task of another process comes to this one.
#[inline]
pub fn adopted(frame: &Frame, node: &Node) {
    if is_active() {
        create(frame, node, flags_of(node), false, std::ptr::null());
    }
}

/// `later` waits for `earlier`.
#[inline]
pub fn depends(earlier: &Node, later: &Node) {
    if is_active() {
        callbacks::task_dependence(earlier.record().data(), later.record().data());
    }
}

/// The thread is about to run a task instead of its current one.
#[inline]
pub fn begins(frame: &Frame, node: &NodeRef) {
    if is_active() {
        tell_begin(frame, node);
    }
}

#[cold]
fn tell_begin(frame: &Frame, node: &NodeRef) {
    // SAFETY: the thread's own frame.
    let current = unsafe { &*frame.task.as_ptr() };
    let interrupted = match current {
        Some(current) if current.is_explicit() => NodeRef::as_ptr(current),
        _ => std::ptr::null(),
    };
    node.record().interrupted.set(interrupted);
    let status = if thread::takes_yield() { TaskStatus::Yield } else { TaskStatus::Switch };
    callbacks::task_schedule(task_data(frame), status, node.record().data());
}

/// The thread goes back to its current task: the code of `node` has run, unless it was cancelled.
#[inline]
pub fn ends(frame: &Frame, node: &NodeRef, cancelled: bool) {
    if is_active() {
        tell_end(frame, node, cancelled);
    }
}

#[cold]
fn tell_end(frame: &Frame, node: &NodeRef, cancelled: bool) {
    let status = if cancelled {
        let flags = cancel_flag::TASKGROUP | cancel_flag::DISCARDED_TASK;
        callbacks::cancel(node.record().data(), flags, std::ptr::null());
        TaskStatus::Cancel
    } else if node.existing_extras().is_some_and(|extras| extras.event.load(Ordering::SeqCst) != 0) {
        TaskStatus::Detach
    } else {
        TaskStatus::Complete
    };
    callbacks::task_schedule(node.record().data(), status, task_data(frame));
}

/// A task ends whose code ran before, or in another process.
#[inline]
pub fn fulfilled(node: &Node) {
    if is_active() {
        callbacks::task_schedule(node.record().data(), TaskStatus::LateFulfil, std::ptr::null_mut());
    }
}

/// `omp_control_tool`: -2 without a tool, -1 if it does not want to know.
pub fn control_tool(command: i32, modifier: i32, argument: *mut u8) -> i32 {
    const NO_TOOL: i32 = -2;
    const NO_CALLBACK: i32 = -1;
    if !is_active() {
        return NO_TOOL;
    }
    let frame = crate::frame::current();
    let _call = Call::begin(frame);
    callbacks::control_tool(command as u64, modifier as u64, argument.cast(), code_pointer())
        .unwrap_or(NO_CALLBACK)
}
