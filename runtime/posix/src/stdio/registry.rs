//! Which process a stream belongs to: a hash table in the control memory of process 0, by the stream's address.
//!
//! Streams are allocated by each process's own C library, so two processes may get the same address; [`insert`] refuses the second.

use std::sync::atomic::Ordering;

use crate::job::child;
use crate::sync;
use dsm_comm::Word;

/// Slot whose stream was closed; a search goes on behind it.
const GONE: u64 = 1;
const RANK_SHIFT: u32 = 48;

/// Why a stream could not be entered.
pub enum Refused {
    /// Another process has one at this address.
    Taken,
    /// The table is full.
    Full,
}

/// Number of slots.
pub const STREAM_SLOTS: usize = 4096;

crate::control::declare! {
    /// Streams by address, each with its owner: hash slots, in process 0.
    static STREAMS: u64, STREAM_SLOTS;
    /// 1 while the slots are being changed.
    static LOCK: u64;
    /// Number of changes of the slots: a copy for each process.
    static CHANGES: u64;
}

fn slots(address: usize) -> impl Iterator<Item = Word> {
    let start = (address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (0..STREAM_SLOTS).map(move |i| STREAMS.shared((start + i) % STREAM_SLOTS))
}

/// Number of changes so far; what was looked up before may be wrong once it has changed.
pub fn changes() -> u64 {
    CHANGES.of(sync::rank(), 0).load(Ordering::Acquire)
}

/// Changes are rare, and short.
fn changing<R>(change: impl FnOnce() -> R) -> R {
    let lock = LOCK.shared(0);
    while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::thread::yield_now();
    }
    let result = change();
    // Each looks at its own count with every use of a stream and at the begin of every region.
    for rank in 0..sync::size() {
        CHANGES.of(rank, 0).fetch_add(1, Ordering::Release);
    }
    lock.store(0, Ordering::Release);
    result
}

/// Enters a stream of this process; a child of `fork` shares its streams with nobody.
///
/// # Errors
/// If the address is in use or the table is full.
pub fn insert(address: usize) -> Result<(), Refused> {
    if child::is_child() {
        return Ok(());
    }
    changing(|| {
        let mut free = None;
        for slot in slots(address) {
            match slot.load(Ordering::Relaxed) {
                0 => {
                    free = free.or(Some(slot));
                    break;
                }
                GONE => free = free.or(Some(slot)),
                entry if entry & ((1 << RANK_SHIFT) - 1) == address as u64 => return Err(Refused::Taken),
                _ => {}
            }
        }
        let entry = (u64::from(sync::rank()) + 1) << RANK_SHIFT | address as u64;
        free.ok_or(Refused::Full)?.store(entry, Ordering::Release);
        Ok(())
    })
}

/// Takes a stream out, if it is there.
pub fn remove(address: usize) {
    if child::is_child() {
        return;
    }
    changing(|| {
        if let Some(slot) = find(address) {
            slot.store(GONE, Ordering::Release);
        }
    });
}

fn find(address: usize) -> Option<Word> {
    for slot in slots(address) {
        match slot.load(Ordering::Acquire) {
            0 => return None,
            entry if entry & ((1 << RANK_SHIFT) - 1) == address as u64 => return Some(slot),
            _ => {}
        }
    }
    None
}

/// Streams with their owners, at this moment.
pub fn all() -> impl Iterator<Item = (usize, u32)> {
    let entries = (0..STREAM_SLOTS).map(|slot| STREAMS.shared(slot).load(Ordering::Acquire));
    let streams = entries.filter(|entry| *entry > GONE);
    streams.map(|entry| ((entry & ((1 << RANK_SHIFT) - 1)) as usize, (entry >> RANK_SHIFT) as u32 - 1))
}

/// The stream's owner; `None` if it is not in the table.
pub fn owner(address: usize) -> Option<u32> {
    let entry = find(address)?.load(Ordering::Acquire);
    (entry > GONE).then(|| (entry >> RANK_SHIFT) as u32 - 1)
}
