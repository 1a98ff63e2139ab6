//! Another block size for memory in use (`dsm_set_block`).
//!
//! Process 0 calls it in the serial part, where all other processes wait for a region and hold nothing unpublished. It makes the range readable,
//! hence current, changes its own tables, and becomes the home of the new blocks; a message like that of a region makes the
//! others do the same, with cold copies. Numbers of old blocks may live on in notices; the block map tells that they are not current, and the new
//! blocks' versions are above every notice, should the numbers come back.

use std::ffi::c_int;
use std::ops::Range;

use dsm_coherence::{Rank, Timestamp};

use crate::memory::blocks::MAX_BLOCK_SHIFT;
use crate::memory::threads;
use crate::posted::pending;
use crate::refusal::Refusal;
use crate::sync::regions;
use crate::{check, memory, sync};

/// First word of the message, where a region has its function.
pub const MESSAGE: u64 = 0;

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_set_block(address: usize, len: usize, bytes: usize) -> c_int {
    match set(address, len, bytes) {
        Ok(()) => 0,
        Err(refusal) => refusal as c_int,
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_block_size(address: usize) -> usize {
    let geometry = memory::get().geometry();
    if geometry.is_shared(address) { geometry.block_bytes(geometry.block(address)) } else { 0 }
}

fn set(address: usize, len: usize, bytes: usize) -> Result<(), Refusal> {
    let geometry = memory::get().geometry();
    if !bytes.is_power_of_two() || !(1 << geometry.line_shift()..=1 << MAX_BLOCK_SHIFT).contains(&bytes) {
        return Err(Refusal::BadSize);
    }
    let last = len.checked_sub(1).and_then(|n| address.checked_add(n)).ok_or(Refusal::NotShared)?;
    let whole = |part: Range<usize>| part.contains(&address) && part.contains(&last);
    let arenas = (0..geometry.processes()).map(|rank| geometry.arena(rank));
    if !geometry.globals().ranges().chain(arenas).any(whole) {
        return Err(Refusal::NotShared);
    }
    if sync::rank() != 0 || regions::is_active() {
        return Err(Refusal::NotSerial);
    }
    if !threads::is_initial() {
        return Err(Refusal::NotInitial);
    }
    let shift = bytes.trailing_zeros();
    let offsets = geometry.blocks().widen(geometry.offset(address)..geometry.offset(last) + 1, shift);
    let Some(shared) = memory::shared() else {
        geometry.blocks().set(offsets, shift);
        return Ok(());
    };
    pending::before_release();
    let first = geometry.address(geometry.blocks().block(offsets.start));
    check::readable(first, offsets.len());
    let version = shared.coherence.clock() + 1;
    change(offsets.clone(), shift, version);
    sync::tell_others(&[MESSAGE, offsets.start as u64, offsets.end as u64, shift.into(), version]);
    Ok(())
}

/// The other processes' part; `message` is what [`dsm_set_block`] sent.
pub fn follow(message: &[u64]) {
    let [_, start, end, shift, version] = *message else { unreachable!("process 0 sends five words") };
    change(start as usize..end as usize, shift as u32, version);
    sync::join(sync::size());
}

/// Changes this process's tables for a range of offsets.
fn change(offsets: Range<usize>, shift: u32, version: Timestamp) {
    let geometry = memory::get().geometry();
    let coherence = &memory::shared().expect("a job of several processes").coherence;
    let address = |offset| geometry.address(geometry.blocks().block(offset));
    let (first, last) = (address(offsets.start), address(offsets.end - 1));
    geometry.blocks().set_changing();
    coherence.discard(geometry.extents(first, last));
    geometry.blocks().set(offsets.clone(), shift);
    let last = address(offsets.end - 1);
    coherence.adopt(geometry.extents(first, last), Rank(0), version);
}
