//! Contention groups: how many threads their regions have at a time, for `thread-limit-var`.
//!
//! An initial thread and the members of all regions below it form a contention group; so do a team of a league and a target region with a
//! thread limit. Only groups with a limit are counted, in control words of process 0: slot 0 is the group of the program's
//! initial thread, the others are taken while their construct runs. A word holds the group's threads besides its initial one, and in slots that
//! are taken [`TAKEN`]. OpenMP 5.2, algorithm 10.1.

use super::frame::Icv;
use crate::control::Watched;

/// Limits from here on are none.
const UNLIMITED: u32 = i32::MAX as u32;

const TAKEN: u64 = 1 << 32;

crate::control::declare! {
    /// Threads of contention groups, in process 0.
    static GROUPS: Watched, 256;
}

/// Threads that a region may have besides the one that encounters it; `wanted` at most. They count as busy until [`release`].
pub fn reserve(icv: &Icv, wanted: u32) -> u32 {
    if icv.thread_limit >= UNLIMITED || wanted == 0 {
        return wanted;
    }
    let word = GROUPS.shared(icv.group as usize);
    let mut now = word.load();
    loop {
        let busy = now as u32 + 1;
        let granted = wanted.min(icv.thread_limit.saturating_sub(busy));
        if granted == 0 {
            return 0;
        }
        match word.compare_exchange(now, now + u64::from(granted)) {
            Ok(_) => return granted,
            Err(found) => now = found,
        }
    }
}

/// Gives back what [`reserve`] granted with the same control variables.
pub fn release(icv: &Icv, granted: u32) {
    if icv.thread_limit < UNLIMITED && granted > 0 {
        GROUPS.shared(icv.group as usize).fetch_add(u64::from(granted).wrapping_neg());
    }
}

/// A new group with this limit; if all slots are taken, its threads count in the group around it.
pub fn begin(icv: Icv, thread_limit: u32) -> Icv {
    let free = |slot: &usize| GROUPS.shared(*slot).compare_exchange(0, TAKEN).is_ok();
    let limited = thread_limit < UNLIMITED;
    let slot = limited.then(|| (1..GROUPS.count()).find(free)).flatten();
    Icv { thread_limit, group: slot.map_or(icv.group, |slot| slot as u32), ..icv }
}

/// The group of `inner` ends, unless it is that of `outer`.
pub fn end(inner: &Icv, outer: &Icv) {
    if inner.group != outer.group {
        GROUPS.shared(inner.group as usize).store(0);
    }
}
