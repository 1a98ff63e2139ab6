//! Barriers, single, masked, flush, cancellation and what else is a call or two.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::Ordering;

use super::frame::{self, Frame};
use super::ompt::abi::{Endpoint, WorkKind};
use super::ompt::{wait::Waiting, work};
use super::{Loc, task};
use crate::profile::{self, Wait};
use crate::{config, sync, trace};

/// Kinds of cancellation.
const CANCEL_PARALLEL: u32 = 1;
const CANCEL_TASKGROUP: u32 = 4;

/// Number of the calling thread; only handed back to the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_thread_num(_loc: Loc) -> i32 {
    frame::current().tid as i32
}

/// Threads of the program.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_num_threads(_loc: Loc) -> i32 {
    super::threads_in_job() as i32
}

/// Number of the calling thread in its team.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_thread_num(_loc: Loc) -> i32 {
    frame::current().tid as i32
}

/// Threads of the team.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_num_threads(_loc: Loc) -> i32 {
    frame::current().team().size as i32
}

/// Whether the thread is in an active region.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_in_parallel(_loc: Loc) -> i32 {
    i32::from(frame::current().active_level > 0)
}

/// Start of a program; nothing is left to do.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_begin(_loc: Loc, _flags: i32) {}

/// End of a program; nothing is left to do.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end(_loc: Loc) {}

/// Regions may always start.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_ok_to_fork(_loc: Loc) -> i32 {
    1
}

/// Trip count of an offloaded loop: no use for it.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_target_tripcount_mapper(_loc: Loc, _device: i64, _trip: u64) {}

/// See [`__kmpc_push_target_tripcount_mapper`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_target_tripcount(_device: i64, _trip: u64) {}

/// Barrier.
#[unsafe(export_name = "dsm_rt___kmpc_barrier")]
pub extern "C" fn __kmpc_barrier(loc: Loc, _gtid: i32) {
    barrier(frame::current(), loc);
}

/// A barrier that the compiler put at `loc`.
pub(super) fn barrier(frame: &Frame, loc: Loc) {
    let since = profile::now();
    let _traced = trace::barrier(loc);
    let waiting = Waiting::at_barrier(frame, loc);
    frame.team().barrier();
    frame.has_met();
    drop(waiting);
    profile::waited(Wait::Barrier, loc as u64, since);
}

/// Barrier at which a pending cancellation takes effect: 1 if the construct is to be left.
#[unsafe(export_name = "dsm_rt___kmpc_cancel_barrier")]
pub extern "C" fn __kmpc_cancel_barrier(loc: Loc, gtid: i32) -> i32 {
    __kmpc_barrier(loc, gtid);
    let frame = frame::current();
    let team = frame.team();
    let request = team.cancel_request();
    if request == 0 || request == CANCEL_TASKGROUP {
        return 0;
    }
    frame.dispatch.borrow_mut().end(frame);
    team.barrier();
    team.set_cancel_request(0);
    team.barrier();
    1
}

/// Requests the cancellation of the innermost construct of the kind: 1 if it is to be left now.
#[unsafe(export_name = "dsm_rt___kmpc_cancel")]
pub extern "C" fn __kmpc_cancel(_loc: Loc, _gtid: i32, kind: i32) -> i32 {
    if !config::get().cancellation {
        return 0;
    }
    let frame = frame::current();
    if kind as u32 == CANCEL_TASKGROUP {
        let group = task::with_current(frame, |node| node.group()).flatten();
        if let Some(group) = &group {
            group.cancel();
            work::cancel(frame, CANCEL_TASKGROUP, true);
        }
        return i32::from(group.is_some());
    }
    let pending = frame.team().cancel_request();
    if pending == 0 || kind as u32 == CANCEL_PARALLEL {
        frame.team().set_cancel_request(kind as u32);
    }
    work::cancel(frame, kind as u32, true);
    1
}

/// Whether the innermost construct of the kind has been cancelled.
#[unsafe(export_name = "dsm_rt___kmpc_cancellationpoint")]
pub extern "C" fn __kmpc_cancellationpoint(_loc: Loc, _gtid: i32, kind: i32) -> i32 {
    if !config::get().cancellation {
        return 0;
    }
    let frame = frame::current();
    if kind as u32 == CANCEL_TASKGROUP {
        let cancelled = task::with_current(frame, |node| node.group().is_some_and(|g| g.is_cancelled()));
        return i32::from(detects(frame, CANCEL_TASKGROUP, cancelled == Some(true)));
    }
    let pending = frame.team().cancel_request();
    i32::from(detects(frame, kind as u32, pending == kind as u32))
}

/// Tells if the thread finds that a construct of the kind has been `cancelled`.
fn detects(frame: &Frame, kind: u32, cancelled: bool) -> bool {
    if cancelled {
        work::cancel(frame, kind, false);
    }
    cancelled
}

/// 1 for the one thread that runs the block.
#[unsafe(export_name = "dsm_rt___kmpc_single")]
pub extern "C" fn __kmpc_single(_loc: Loc, _gtid: i32) -> i32 {
    let frame = frame::current();
    let team = frame.team();
    if team.size == 1 {
        work::single(frame, true);
        return 1;
    }
    let first = team.begins_single(frame.next_single());
    work::single(frame, first);
    i32::from(first)
}

/// End of a single block.
#[unsafe(export_name = "dsm_rt___kmpc_end_single")]
pub extern "C" fn __kmpc_end_single(_loc: Loc, _gtid: i32) {
    work::tell_here(WorkKind::SingleExecutor, Endpoint::End, 1);
}

/// 1 for the primary thread.
#[unsafe(export_name = "dsm_rt___kmpc_master")]
pub extern "C" fn __kmpc_master(_loc: Loc, _gtid: i32) -> i32 {
    is_masked_to(0)
}

/// End of a master block.
#[unsafe(export_name = "dsm_rt___kmpc_end_master")]
pub extern "C" fn __kmpc_end_master(_loc: Loc, _gtid: i32) {
    work::masked(Endpoint::End);
}

/// 1 for the thread with the number `filter`.
#[unsafe(export_name = "dsm_rt___kmpc_masked")]
pub extern "C" fn __kmpc_masked(_loc: Loc, _gtid: i32, filter: i32) -> i32 {
    is_masked_to(filter)
}

/// 1 if the calling thread has the number `filter` and thus runs a masked block.
fn is_masked_to(filter: i32) -> i32 {
    let chosen = frame::current().tid as i32 == filter;
    if chosen {
        work::masked(Endpoint::Begin);
    }
    i32::from(chosen)
}

/// End of a masked block.
#[unsafe(export_name = "dsm_rt___kmpc_end_masked")]
pub extern "C" fn __kmpc_end_masked(_loc: Loc, _gtid: i32) {
    work::masked(Endpoint::End);
}

/// Begin of a scope construct.
#[unsafe(export_name = "dsm_rt___kmpc_scope")]
pub extern "C" fn __kmpc_scope(_loc: Loc, _gtid: i32, _reserved: *mut c_void) {
    work::tell_here(WorkKind::Scope, Endpoint::Begin, 1);
}

/// End of a scope construct.
#[unsafe(export_name = "dsm_rt___kmpc_end_scope")]
pub extern "C" fn __kmpc_end_scope(_loc: Loc, _gtid: i32, _reserved: *mut c_void) {
    work::tell_here(WorkKind::Scope, Endpoint::End, 1);
}

/// Flush: publishes own writes and acquires those of others.
#[unsafe(export_name = "dsm_rt___kmpc_flush")]
pub extern "C" fn __kmpc_flush(_loc: Loc) {
    std::sync::atomic::fence(Ordering::SeqCst);
    sync::flush();
    work::flush();
}

/// The error directive; severity 2 ends the program.
#[unsafe(export_name = "dsm_rt___kmpc_error")]
pub unsafe extern "C" fn __kmpc_error(_loc: Loc, severity: i32, message: *const c_char) {
    // SAFETY: the compiler passes a constant string, or null.
    let text = if message.is_null() { c"error directive" } else { unsafe { CStr::from_ptr(message) } };
    work::error(severity, text);
    let text = text.to_string_lossy();
    if severity == 1 {
        eprintln!("OMP: Warning: {text}");
        return;
    }
    eprintln!("OMP: Error: {text}");
    // SAFETY: ends the program as `exit` does in C.
    unsafe { libc::exit(1) }
}
