//! Places where threads wait for each other: barriers, `taskwait`, task groups, reductions.

use super::abi::{Endpoint, State, SyncKind};
use super::thread::Doing;
use super::{Call, callbacks, code_pointer, ident, ident_flags, is_active, task_data};
use crate::Loc;
use crate::frame::Frame;

/// The kind of a barrier that the compiler put at `loc`.
fn barrier_kind(loc: Loc) -> SyncKind {
    let flags = ident_flags(loc);
    if flags & ident::EXPLICIT_BARRIER != 0 {
        SyncKind::Explicit
    } else if flags & ident::IMPLICIT_BARRIER != 0 {
        SyncKind::Workshare
    } else {
        SyncKind::Implementation
    }
}

fn state(kind: SyncKind) -> State {
    match kind {
        SyncKind::Explicit => State::WaitBarrierExplicit,
        SyncKind::Implementation => State::WaitBarrierImplementation,
        SyncKind::Taskwait => State::WaitTaskwait,
        SyncKind::Taskgroup => State::WaitTaskgroup,
        SyncKind::Reduction => State::WorkReduction,
        SyncKind::Workshare => State::WaitBarrierWorkshare,
        SyncKind::Parallel => State::WaitBarrierParallel,
    }
}

type Callback = fn(SyncKind, Endpoint, super::abi::Data, super::abi::Data, super::abi::CodePointer);

fn tell(callback: Callback, kind: SyncKind, endpoint: Endpoint, call: &Call) {
    callback(kind, endpoint, call.frame.team().tool.data(), task_data(call.frame), call.at);
}

/// A thread waits as long as this lives.
pub struct Waiting<'a> {
    kind: SyncKind,
    call: Call<'a>,
    _doing: Doing,
}

impl<'a> Waiting<'a> {
    /// A barrier that the compiler put at `loc`; nothing if no tool is attached.
    #[inline]
    pub fn at_barrier(frame: &'a Frame, loc: Loc) -> Option<Waiting<'a>> {
        is_active().then(|| Waiting::begin(frame, barrier_kind(loc), true))
    }

    /// A wait of that kind.
    #[inline]
    pub fn at(frame: &'a Frame, kind: SyncKind) -> Option<Waiting<'a>> {
        is_active().then(|| Waiting::begin(frame, kind, true))
    }

    /// The end of a task group, which [`group_begins`] began.
    #[inline]
    pub fn at_end_of_group(frame: &'a Frame) -> Option<Waiting<'a>> {
        is_active().then(|| Waiting::begin(frame, SyncKind::Taskgroup, false))
    }

    #[cold]
    fn begin(frame: &'a Frame, kind: SyncKind, begins_here: bool) -> Waiting<'a> {
        let call = Call::noted(frame);
        if begins_here {
            tell(callbacks::sync_region, kind, Endpoint::Begin, &call);
        }
        tell(callbacks::sync_region_wait, kind, Endpoint::Begin, &call);
        Waiting { kind, call, _doing: Doing::begin(state(kind), 0) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        tell(callbacks::sync_region_wait, self.kind, Endpoint::End, &self.call);
        tell(callbacks::sync_region, self.kind, Endpoint::End, &self.call);
    }
}

/// Begin of a task group.
#[inline]
pub fn group_begins(frame: &Frame) {
    if let Some(call) = Call::begin(frame) {
        tell(callbacks::sync_region, SyncKind::Taskgroup, Endpoint::Begin, &call);
    }
}

/// A thread begins or ends combining.
#[inline]
pub fn reduction(frame: &Frame, endpoint: Endpoint) {
    if is_active() {
        let region = frame.team().tool.data();
        callbacks::reduction(SyncKind::Reduction, endpoint, region, task_data(frame), code_pointer());
    }
}
