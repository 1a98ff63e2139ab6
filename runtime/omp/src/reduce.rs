//! Reductions: the threads of a process combine first, then the processes, then one thread combines into the variable.
//!
//! The first local thread waits for the others and applies the compiler's function in the order of their numbers. Where the pass knows that private copies are numbers
//! ([`__dsm_reduction_copies`]), processes send them up a binary tree. Else each process combines into the variable under a lock. Few threads of one process,
//! and teams that run at the same time, combine by atomic operations, where the compiler has made code for that.

use std::ffi::c_void;

use dsm_abi::reduction::{MOST_COPIES, Packing};
use parking_lot::Mutex;

use super::Loc;
use super::constructs::barrier;
use super::event::{Event, blocked};
use super::frame::{self, Frame};
use super::ompt::abi::Endpoint;
use super::ompt::wait;
use crate::profile::{self, Wait};
use crate::sync;
use crate::sync::reduction::{self, Message};

/// Combines the second list of private copies into the first.
pub type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// What a thread knows of its reduction.
#[derive(Clone, Copy, Default)]
pub struct Reduction {
    /// Bytes of the private copies of the next one, if copies of them will do.
    bytes: Option<&'static [u64]>,
    /// Whether the one in progress holds the lock of all processes.
    locked: bool,
}

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

/// Copies the private copies of a list.
///
/// # Safety
/// The list has an address for each of them.
unsafe fn pack(packing: &Packing<'_>, list: *const c_void) -> Message {
    let mut message = Message::default();
    for (index, (bytes, start)) in packing.bytes.iter().zip(packing.starts).enumerate() {
        // SAFETY: the caller's promise; they fit.
        unsafe {
            let from = *list.cast::<*const u8>().add(index);
            std::ptr::copy_nonoverlapping(from, message.0[start..].as_mut_ptr().cast(), *bytes as usize);
        }
    }
    message
}

/// A list of the copies in a message.
fn list_of(packing: &Packing<'_>, message: &mut Message) -> [*mut u64; MOST_COPIES] {
    let first = message.0.as_mut_ptr();
    packing.starts.map(|start| first.wrapping_add(start))
}

/// Combines what the processes have; true for the one that goes on with the result.
fn gather_processes(frame: &Frame, list: *mut c_void, combine: Combine, packing: &Packing<'_>) -> bool {
    let take = |message: &mut Message| {
        let mut other = list_of(packing, message);
        sync::user_threads_enter();
        // SAFETY: the compiler's function for such lists.
        unsafe { combine(list, other.as_mut_ptr().cast()) };
        sync::user_threads_leave();
    };
    blocked(|| {
        reduction::receive(frame.team().participants, packing.words, take);
        if sync::rank() == 0 {
            return true;
        }
        // SAFETY: the pass has declared the sizes of this list.
        reduction::send(&unsafe { pack(packing, list) }, packing.words);
        false
    })
}

fn begin(frame: &Frame, loc: Loc, list: *mut c_void, combine: Combine, lock: *const c_void) -> bool {
    wait::reduction(frame, Endpoint::Begin);
    let bytes = frame.reduction.take().bytes;
    let packing = bytes.and_then(Packing::of).filter(|_| frame.team().distributed());
    let since = profile::now();
    let mut goes_on = gather(frame, list, combine);
    if goes_on && let Some(packing) = &packing {
        goes_on = gather_processes(frame, list, combine, packing);
    }
    profile::waited(Wait::Barrier, loc as u64, since);
    let has_others = frame.team().distributed() || frame.team().has_peers;
    if goes_on && packing.is_none() && has_others {
        sync::lock(lock as u64);
        frame.reduction.set(Reduction { bytes: None, locked: true });
    }
    if !goes_on {
        wait::reduction(frame, Endpoint::End);
    }
    goes_on
}

/// Flag of a place: the compiler has code that combines by atomic operations.
const HAS_ATOMICS: u32 = 0x10;
/// Threads up to which that takes less time than a rendezvous; libomp's bound.
const FEW: u32 = 4;

/// What the entries return to the thread that combines its list into the variables under mutual exclusion.
const COMBINE: i32 = 1;
/// And to those that combine by atomic operations.
const COMBINE_ATOMICALLY: i32 = 2;

/// Whether the threads of the team combine by atomic operations: few, of one process, or teams of a league.
fn combines_by_atomics(frame: &Frame, loc: Loc) -> bool {
    let team = frame.team();
    // SAFETY: the compiler's description of a place, whose second word are flags.
    let has_atomics = || !loc.is_null() && unsafe { *loc.cast::<u32>().add(1) } & HAS_ATOMICS != 0;
    let are_few = !team.distributed() && team.local > 1 && team.local <= FEW;
    (are_few || team.has_peers) && has_atomics()
}

fn end(frame: &Frame, lock: *const c_void) {
    if frame.reduction.take().locked {
        sync::unlock(lock as u64);
    }
    wait::reduction(frame, Endpoint::End);
}

/// See the list of entries.
///
/// # Safety
/// There are `count` sizes, for the life of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_reduction_copies(bytes: *mut u8, count: u32) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u64>(), count as usize) };
    frame::current().reduction.set(Reduction { bytes: Some(bytes), locked: false });
}

/// Begin of a reduction with an implied barrier: how the thread combines into the variables, or 0.
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
    if combines_by_atomics(frame, loc) {
        frame.reduction.take();
        wait::reduction(frame, Endpoint::Begin);
        return COMBINE_ATOMICALLY;
    }
    if begin(frame, loc, list, combine, lock) {
        return COMBINE;
    }
    // The barrier of the combining threads is in `__kmpc_end_reduce`.
    barrier(frame, loc);
    0
}

/// End of such a reduction, for threads that combine.
#[unsafe(export_name = "dsm_rt___kmpc_end_reduce")]
pub extern "C" fn __kmpc_end_reduce(loc: Loc, _gtid: i32, lock: *const c_void) {
    let frame = frame::current();
    end(frame, lock);
    barrier(frame, loc);
}

/// Begin of a reduction without barrier: how the thread combines into the variables, or 0.
#[unsafe(export_name = "dsm_rt___kmpc_reduce_nowait")]
pub extern "C" fn __kmpc_reduce_nowait(
    loc: Loc,
    _gtid: i32,
    _count: i32,
    _bytes: u64,
    list: *mut c_void,
    combine: Combine,
    lock: *const c_void,
) -> i32 {
    let frame = frame::current();
    if combines_by_atomics(frame, loc) {
        frame.reduction.take();
        // No call marks its end.
        wait::reduction(frame, Endpoint::Begin);
        wait::reduction(frame, Endpoint::End);
        return COMBINE_ATOMICALLY;
    }
    if begin(frame, loc, list, combine, lock) { COMBINE } else { 0 }
}

/// End of such a reduction, for the thread that combines.
#[unsafe(export_name = "dsm_rt___kmpc_end_reduce_nowait")]
pub extern "C" fn __kmpc_end_reduce_nowait(_loc: Loc, _gtid: i32, lock: *const c_void) {
    end(frame::current(), lock);
}
