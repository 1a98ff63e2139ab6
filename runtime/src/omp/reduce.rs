//! Reductions: the threads of a process combine first, then one of them per process combines into the variable.
//!
//! The first local thread waits for the others and applies the compiler's function in the order of their numbers.

use std::ffi::c_void;

use parking_lot::Mutex;

use super::Loc;
use super::event::{Event, blocked};
use super::frame::{self, Frame};
use super::ompt::abi::Endpoint;
use super::ompt::wait::{self, Waiting};
use crate::sync;

/// Combines the second list of private copies into the first.
pub type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// In-process rendezvous of a team's reduction.
#[derive(Default)]
pub struct Gather {
    lists: Mutex<Vec<(u32, usize)>>,
    arrived: Event,
    done: Event,
}

/// Combines inside the process; true for the thread that goes on with the result.
fn gather(frame: &Frame, list: *mut c_void, combine: Combine) -> bool {
    let team = frame.team();
    if team.local == 1 {
        return true;
    }
    let gather = &team.gather;
    if frame.tid != team.first {
        let done = gather.done.load();
        gather.lists.lock().push((frame.tid, list as usize));
        gather.arrived.bump();
        blocked(|| gather.done.wait(|now| now != done));
        return false;
    }
    let mut others = loop {
        let seen = gather.arrived.load();
        let mut lists = gather.lists.lock();
        if lists.len() as u32 == team.local - 1 {
            break std::mem::take(&mut *lists);
        }
        drop(lists);
        blocked(|| gather.arrived.wait(|now| now != seen));
    };
    others.sort_unstable();
    for (_, other) in others {
        // SAFETY: the compiler's function for these lists; the other threads keep theirs until `done`.
        unsafe { combine(list, other as *mut c_void) };
    }
    gather.done.bump();
    true
}

fn begin(frame: &Frame, list: *mut c_void, combine: Combine, lock: *const c_void) -> bool {
    wait::reduction(frame, Endpoint::Begin);
    if !gather(frame, list, combine) {
        wait::reduction(frame, Endpoint::End);
        return false;
    }
    if frame.team().distributed() {
        sync::lock(lock as u64);
        frame.reduction_locked.set(true);
    }
    true
}

fn end(frame: &Frame, lock: *const c_void) {
    if frame.reduction_locked.replace(false) {
        sync::unlock(lock as u64);
    }
    wait::reduction(frame, Endpoint::End);
}

/// The barrier that a reduction implies.
fn barrier(frame: &Frame, loc: Loc) {
    let _waiting = Waiting::at_barrier(frame, loc);
    frame.team().barrier();
}

/// Begin of a reduction with an implied barrier: 1 for threads that combine into the variables.
#[unsafe(export_name = "dsm_rt___kmpc_reduce")]
pub extern "C" fn __kmpc_reduce(
    loc: Loc,
    _gtid: i32,
    _count: i32,
    _bytes: u64,
    list: *mut c_void,
    combine: Combine,
    lock: *const c_void,
) -> i32 {
    let frame = frame::current();
    if begin(frame, list, combine, lock) {
        return 1;
    }
    // The others meet the combining threads, which come from `__kmpc_end_reduce`.
    barrier(frame, loc);
    0
}

/// End of such a reduction, for threads that got 1.
#[unsafe(export_name = "dsm_rt___kmpc_end_reduce")]
pub extern "C" fn __kmpc_end_reduce(loc: Loc, _gtid: i32, lock: *const c_void) {
    let frame = frame::current();
    end(frame, lock);
    barrier(frame, loc);
}

/// Begin of a reduction without barrier: 1 for threads that combine into the variables.
#[unsafe(export_name = "dsm_rt___kmpc_reduce_nowait")]
pub extern "C" fn __kmpc_reduce_nowait(
    _loc: Loc,
    _gtid: i32,
    _count: i32,
    _bytes: u64,
    list: *mut c_void,
    combine: Combine,
    lock: *const c_void,
) -> i32 {
    i32::from(begin(frame::current(), list, combine, lock))
}

/// End of such a reduction, for threads that got 1.
#[unsafe(export_name = "dsm_rt___kmpc_end_reduce_nowait")]
pub extern "C" fn __kmpc_end_reduce_nowait(_loc: Loc, _gtid: i32, lock: *const c_void) {
    end(frame::current(), lock);
}
