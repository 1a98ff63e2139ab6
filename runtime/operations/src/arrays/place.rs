//! Homes of ordinary shared memory go where the program says (`dsm_place`), and who is who.
//!
//! Process 0 calls it in the serial part, where all other processes wait for a region and hold nothing unpublished. A message like that of a region has the
//! process make the range readable, hence current; with a second one all begin the blocks anew, with that process as their home.
//!
//! Elsewhere a thread brings the homes to its own process, one after the other, as atomic operations do that the processor has no instruction for.

use std::ffi::c_int;
use std::ops::Range;
use std::pin::pin;

use dsm_coherence::{Extent, Rank};

use crate::job::{child, die};
use crate::memory::Shared;
use crate::memory::fabric::run;
use crate::memory::threads;
use crate::posted::deferred;
use crate::sync::regions;
use crate::{check, memory, sync};

/// First word of the messages, where a region has its function.
pub const MESSAGE: u64 = 1;
const FETCH: u64 = 0;
const ADOPT: u64 = 1;

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_process() -> c_int {
    sync::rank() as c_int
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_processes() -> c_int {
    sync::size() as c_int
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_place(address: usize, bytes: usize, process: c_int) {
    let refuse = |why: String| -> ! { die(&format!("dsm_place: {why}")) };
    let range = check_arguments(address, bytes, process).unwrap_or_else(|why| refuse(why));
    let Some(shared) = memory::shared() else { return };
    if sync::rank() != 0 || regions::is_active() || !threads::is_initial() {
        return bring(shared, &range, process as u32).unwrap_or_else(|why| refuse(why));
    }
    let home = process as u64;
    if home == 0 {
        check::readable(range.start, range.len());
    } else {
        sync::tell_others(&[MESSAGE, FETCH, range.start as u64, range.end as u64, home, 0]);
    }
    let version = shared.coherence.clock() + 1;
    adopt(&range, home, version);
    sync::tell_others(&[MESSAGE, ADOPT, range.start as u64, range.end as u64, home, version]);
}

/// The blocks of a range, as addresses; why it cannot be placed.
fn check_arguments(address: usize, bytes: usize, process: c_int) -> Result<Range<usize>, String> {
    let size = sync::size();
    if !(0..size as c_int).contains(&process) {
        return Err(format!("there is no process {process}; processes are 0 to {}", size - 1));
    }
    let geometry = memory::get().geometry();
    let last = bytes.checked_sub(1).and_then(|n| address.checked_add(n));
    let whole = |last| move |part: Range<usize>| part.contains(&address) && part.contains(&last);
    let arenas = (0..size).map(|rank| geometry.arena(rank));
    let Some(last) = last.filter(|last| geometry.globals().ranges().chain(arenas).any(whole(*last))) else {
        return Err(format!(
            "{bytes} bytes at {address:#x} are not in one global variable or heap allocation; only these have homes that can be moved"
        ));
    };
    let end = geometry.block(last);
    let first = geometry.address(geometry.block(address));
    Ok(first..geometry.address(end) + geometry.block_bytes(end))
}

/// Brings the homes of a range to this process, while others may use it.
fn bring(shared: &Shared, range: &Range<usize>, process: u32) -> Result<(), String> {
    let rank = sync::rank();
    if process != rank {
        return Err(format!(
            "inside a parallel region process {rank} brings homes to itself alone, not to process {process}; have a thread there call it, as a function for dsm_signal_process may, or call it \
             outside of regions by the thread that runs main"
        ));
    }
    child::assert_of_job();
    for block in memory::get().geometry().extents(range.start, range.end - 1).flat_map(Extent::blocks) {
        let _drained = deferred::drain(Extent::single(block));
        run(pin!(shared.coherence.critical(block, async {})));
    }
    Ok(())
}

/// The other processes' part.
pub fn follow(message: &[u64]) {
    let [_, step, start, end, home, version] = *message else { unreachable!("process 0 sends six words") };
    let range = start as usize..end as usize;
    if step == ADOPT {
        adopt(&range, home, version);
    } else if home == u64::from(sync::rank()) {
        check::readable(range.start, range.len());
    }
    sync::join(sync::size());
}

fn adopt(range: &Range<usize>, home: u64, version: u64) {
    let geometry = memory::get().geometry();
    let coherence = &memory::shared().expect("a job of several processes").coherence;
    coherence.adopt(geometry.extents(range.start, range.end - 1), Rank(home as u32), version);
}
