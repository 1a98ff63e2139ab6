//! Worksharing constructs and what else is told where it stands.

use std::ffi::{CStr, c_int};

use super::abi::{Dependence, DispatchChunk, DispatchKind, Endpoint, WorkKind, cancel_flag, dependence};
use super::{callbacks, code_pointer, ident, ident_flags, is_active, task_data, thread};
use crate::Loc;
use crate::frame::{self, Frame};

/// A thread begins or ends its part of a construct; `count`: iterations, sections, 1 for blocks.
#[inline]
pub fn tell(frame: &Frame, kind: WorkKind, endpoint: Endpoint, count: u64) {
    if is_active() {
        tell_work(frame, kind, endpoint, count);
    }
}

/// As [`tell`], of the calling thread's innermost region.
#[inline]
pub fn tell_here(kind: WorkKind, endpoint: Endpoint, count: u64) {
    if is_active() {
        tell_work(frame::current(), kind, endpoint, count);
    }
}

#[cold]
fn tell_work(frame: &Frame, kind: WorkKind, endpoint: Endpoint, count: u64) {
    callbacks::work(kind, endpoint, frame.team().tool.data(), task_data(frame), count, code_pointer());
}

/// A single block: the executor begins it, the others are through with it.
#[inline]
pub fn single(frame: &Frame, is_executor: bool) {
    if is_active() {
        tell_single(frame, is_executor);
    }
}

#[cold]
fn tell_single(frame: &Frame, is_executor: bool) {
    if is_executor {
        tell_work(frame, WorkKind::SingleExecutor, Endpoint::Begin, 1);
    } else {
        tell_work(frame, WorkKind::SingleOther, Endpoint::Begin, 1);
        tell_work(frame, WorkKind::SingleOther, Endpoint::End, 1);
    }
}

/// Begin or end of a masked block.
#[inline]
pub fn masked(endpoint: Endpoint) {
    if is_active() {
        let frame = frame::current();
        callbacks::masked(endpoint, frame.team().tool.data(), task_data(frame), code_pointer());
    }
}

/// What the compiler shares out at `loc` by a static schedule.
fn static_kind(loc: Loc) -> WorkKind {
    let flags = ident_flags(loc);
    if flags & ident::SECTIONS != 0 {
        WorkKind::Sections
    } else if flags & ident::DISTRIBUTE != 0 {
        WorkKind::Distribute
    } else {
        WorkKind::LoopStatic
    }
}

/// A loop of `trip` iterations, from whose iteration `first` on the thread has `count`.
#[inline]
pub fn static_begins(frame: &Frame, loc: Loc, trip: u64, first: u64, count: u64) {
    if is_active() {
        tell_static(frame, loc, trip, first, count);
    }
}

#[cold]
fn tell_static(frame: &Frame, loc: Loc, trip: u64, first: u64, count: u64) {
    let kind = static_kind(loc);
    tell_work(frame, kind, Endpoint::Begin, trip);
    if count > 0 {
        tell_chunk(frame, kind, code_pointer() as u64, first, count);
    }
}

/// The thread is through with such a loop.
#[inline]
pub fn static_ends(loc: Loc) {
    if is_active() {
        tell_work(frame::current(), static_kind(loc), Endpoint::End, 0);
    }
}

/// A thread is handed `count` iterations of a loop.
#[inline]
pub fn chunk(frame: &Frame, kind: WorkKind, first: u64, count: u64) {
    if is_active() {
        tell_chunk(frame, kind, 0, first, count);
    }
}

/// `section` stands for the code of a section.
#[cold]
fn tell_chunk(frame: &Frame, kind: WorkKind, section: u64, first: u64, count: u64) {
    let chunk = DispatchChunk { start: first, iterations: count };
    let iterations = &raw const chunk as u64;
    let (kind, instance) = match kind {
        WorkKind::Sections => (DispatchKind::Section, section),
        WorkKind::Distribute => (DispatchKind::DistributeChunk, iterations),
        _ => (DispatchKind::LoopChunk, iterations),
    };
    callbacks::dispatch(frame.team().tool.data(), task_data(frame), kind, instance);
}

/// An iteration of a doacross loop is reported, or waited for.
#[inline]
pub fn doacross(frame: &Frame, is_source: bool, values: impl Iterator<Item = i64>) {
    if is_active() {
        let kind = if is_source { dependence::SOURCE } else { dependence::SINK };
        let list: Vec<_> = values.map(|value| Dependence { variable: value as u64, kind }).collect();
        callbacks::dependences(task_data(frame), list.as_ptr(), list.len() as c_int);
    }
}

/// A flush was executed.
#[inline]
pub fn flush() {
    if is_active() {
        callbacks::flush(thread::data(), code_pointer());
    }
}

/// An error directive was met; 1 warns, 2 ends the program.
pub fn error(severity: i32, message: &CStr) {
    if is_active() {
        callbacks::error(severity, message.as_ptr(), message.count_bytes(), code_pointer());
    }
}

/// A construct of a kind of `__kmpc_cancel` is to be left: because the thread asks for it, or another one has.
#[inline]
pub fn cancel(frame: &Frame, kind: u32, is_request: bool) {
    if is_active() {
        let construct = match kind {
            1 => cancel_flag::PARALLEL,
            2 => cancel_flag::LOOP,
            3 => cancel_flag::SECTIONS,
            _ => cancel_flag::TASKGROUP,
        };
        let how = if is_request { cancel_flag::ACTIVATED } else { cancel_flag::DETECTED };
        callbacks::cancel(task_data(frame), construct | how, code_pointer());
    }
}
