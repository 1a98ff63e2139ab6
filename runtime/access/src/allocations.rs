//! Whether all of an allocation is accessible: what loops ask that read `p[index[k]]`. The answer is yes only if it is known which allocation `p` points into, and it is the same for all addresses in it.
//!
//! Each thread remembers of the last allocations how far it has found them accessible, and how often states had been restricted then ([`StateTable::restrictions`](crate::memory::table::StateTable::restrictions)).
//! As long as neither that number nor the list of allocations ([`large`]) changes, and no addition is kept ([`deferred`]), a question about an allocation whose lines have all been looked at costs a few comparisons,
//! and any other goes on where the last one ended. So an allocation that has many more lines than a loop has accesses is looked at in pieces, by all that ask.

use std::cell::Cell;
use std::ops::Range;

use dsm_abi::state::COLD;
use dsm_threads::handler;

use crate::check::{Access, FREE_LINES, ensure, has_effect};
use crate::heap::large;
use crate::job::child;
use crate::posted::deferred;
use crate::{checked, memory};

/// Allocations that a thread remembers. Others take their places.
const ENTRIES: usize = 16;
/// Most times that the number of questions that are not looked into is doubled, as the answer to those before was no.
const MOST_DOUBLINGS: u32 = 8;

/// What a thread knows of an allocation.
#[derive(Clone, Copy)]
struct Known {
    /// The address that was asked about, and the process in whose heap it lies.
    address: usize,
    lister: u32,
    /// What it was asked for; `None`: nothing is known.
    access: Option<Access>,
    /// How often that process's list of allocations had changed.
    changes: u64,
    /// The allocation; empty if it is not known.
    start: usize,
    end: usize,
    /// Up to here it is accessible.
    valid: usize,
    /// While states have been restricted so many times.
    restrictions: u64,
    /// Questions in a row that were answered by no, and how many of the next ones are not looked into.
    failed: u32,
    skipped: u32,
    /// How often all of it was to be fetched.
    fetches: u32,
    /// The last time that the fetching was left to the loop's checks: blocks that the thread had fetched until then, and those of the allocation that were not accessible.
    left: Option<(u64, usize)>,
    /// Whether the loop has fetched most of these.
    is_used: bool,
}

impl Known {
    const NOTHING: Known = Known {
        address: 0,
        lister: 0,
        access: None,
        changes: 0,
        start: 0,
        end: 0,
        valid: 0,
        restrictions: 0,
        failed: 0,
        skipped: 0,
        fetches: 0,
        left: None,
        is_used: false,
    };

    /// Whether it is about this address, as the list of allocations is now.
    #[inline]
    fn is_about(&self, address: usize, access: Access) -> bool {
        (self.address, self.access) == (address, Some(access)) && self.changes == large::changes(self.lister)
    }

    /// The same about this address, as the list is now: what is known of an allocation's states stays known.
    #[cold]
    fn listed(self, address: usize, access: Access) -> Option<Known> {
        let access = Some(access);
        let lister = large::lister(address)?;
        // Before the list is read: it may change meanwhile.
        let changes = large::changes(lister);
        let Range { start, end } = large::around(address).unwrap_or(0..0);
        if (self.address, self.access, self.start, self.end) == (address, access, start, end) {
            return Some(Known { changes, ..self });
        }
        Some(Known { address, lister, access, changes, start, end, valid: start, ..Known::NOTHING })
    }

    fn is_ready(&self) -> bool {
        self.start < self.end && self.valid == self.end
    }

    /// Whether what was found accessible still is.
    #[inline]
    fn holds(&self, restrictions: u64) -> bool {
        // As in `grids::ensure_at`: the count lags behind the states. `-fdsm-verify` has to see every check.
        self.restrictions == restrictions && deferred::is_nothing_kept() && !checked::is_on()
    }

    /// Whether to fetch all of it: at most a third of it is cold, which the process has not read since others stored to it last, and the loop has been seen to need most of it. Fetching all hides what the loop does not read.
    fn should_fetch(&mut self) -> bool {
        let Some(shared) = memory::shared() else { return false };
        let (table, geometry) = (memory::get().table(), memory::get().geometry());
        let (mut cold, mut refused) = (0, 0);
        for block in geometry.extents(self.valid, self.end - 1).flat_map(|extent| extent.blocks()) {
            let state = table.get(geometry.address(block));
            refused += usize::from(state >= Access::Read.limit());
            cold += if state == COLD { geometry.block_bytes(block) } else { 0 };
        }
        if cold > (self.end - self.start) / 3 {
            return false;
        }
        self.needs_most(shared.coherence.stats().blocks_fetched.get(), refused)
    }

    /// Whether the loop's checks fetched at least half as many blocks as were not accessible when they were left to it last. They are the first time, the fourth, the sixteenth and so on. The thread has fetched so many blocks
    /// until now, and so many are not accessible.
    fn needs_most(&mut self, fetched: u64, refused: usize) -> bool {
        if let Some((before, left)) = self.left.take() {
            self.is_used = fetched.saturating_sub(before) >= left as u64 / 2;
        }
        self.fetches = self.fetches.saturating_add(1);
        let leaves = self.fetches.is_power_of_two() && self.fetches.ilog2().is_multiple_of(2);
        if leaves {
            self.left = Some((fetched, refused));
        }
        self.is_used && !leaves
    }

    /// Whether so many loads can be expected to touch most of its blocks.
    fn pays(&self, uses: usize) -> bool {
        let geometry = memory::get().geometry();
        self.start < self.end
            && uses / 2 >= (self.end - self.start) / geometry.block_bytes(geometry.block(self.start))
    }

    /// Looks at its states, unless the answer was no the last times.
    #[cold]
    fn ask(&mut self, access: Access, uses: usize, restrictions: u64) {
        if !self.holds(restrictions) {
            (self.valid, self.restrictions) = (self.start, restrictions);
        }
        let pays = access == Access::Read && self.pays(uses);
        if self.start == self.end || self.skipped > 0 && !pays {
            self.skipped = self.skipped.saturating_sub(1);
            return;
        }
        self.look(access, uses, pays);
        self.failed = if self.is_ready() { 0 } else { (self.failed + 1).min(MOST_DOUBLINGS) };
        self.skipped = (1 << self.failed) - 1;
    }

    /// Looks further at its states, as far as so many uses pay for it.
    fn look(&mut self, access: Access, uses: usize, pays: bool) {
        let (table, geometry) = (memory::get().table(), memory::get().geometry());
        let lines = FREE_LINES.saturating_add(uses.saturating_mul(8));
        let most = lines.saturating_mul(1 << geometry.line_shift());
        let to = self.end.min(self.valid.saturating_add(most));
        self.valid = table.first_at_least(self.valid, to - 1, access.limit()).unwrap_or(to);
        if self.valid < self.end && pays && self.should_fetch() {
            ensure(self.valid, self.end - self.valid, access);
            // What was fetched is not valid for sure: others may have taken it meanwhile.
            self.valid = if table.restrictions() == self.restrictions { self.end } else { self.start };
        }
        if self.valid == self.end && checked::is_on() {
            ensure(self.start, self.end - self.start, access);
        }
    }
}

thread_local! {
    static KNOWN: [Cell<Known>; ENTRIES] = const { [const { Cell::new(Known::NOTHING) }; ENTRIES] };
}

/// Whether all of the allocation that an address lies in is accessible. It is fetched if the `uses` loads that are to come can be expected to touch most of its blocks anyway.
#[inline]
fn ready(address: usize, access: Access, uses: usize) -> bool {
    if !has_effect() {
        return true;
    }
    // In a child of `fork` checks tell what its parent did not have. A handler may have interrupted this function.
    if memory::shared().is_none() || child::is_child() || handler::is_over_user_code() {
        return false;
    }
    KNOWN.with(|known| {
        let entry = &known[(address >> 4 ^ address >> 16) % ENTRIES];
        let mut known_allocation = entry.get();
        if !known_allocation.is_about(address, access) {
            let Some(listed) = known_allocation.listed(address, access) else { return false };
            known_allocation = listed;
            entry.set(known_allocation);
        }
        let restrictions = memory::get().table().restrictions();
        if known_allocation.is_ready() && known_allocation.holds(restrictions) {
            return true;
        }
        known_allocation.ask(access, uses, restrictions);
        entry.set(known_allocation);
        known_allocation.is_ready()
    })
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_load_allocation_ready(addr: *mut u8, uses: u64) -> u32 {
    ready(addr as usize, Access::Read, uses as usize).into()
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_store_allocation_ready(addr: *mut u8, uses: u64) -> u32 {
    ready(addr as usize, Access::Write, uses as usize).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks so many times, where `fetched` blocks of 100 are fetched by the checks each time that it is left to them; says which answers were yes.
    fn answers(times: u32, fetched: impl Fn(u32) -> u64) -> Vec<bool> {
        let (mut known, mut total) = (Known::NOTHING, 0);
        let ask = |time| {
            let fetch = known.needs_most(total, 100);
            total += if fetch { 100 } else { fetched(time) };
            fetch
        };
        (1..=times).map(ask).collect()
    }

    #[test]
    fn all_is_fetched_once_loops_were_seen_to_need_most_of_it() {
        let most = answers(20, |_| 60);
        let left: Vec<usize> = (1..=20).filter(|time| !most[time - 1]).collect();
        assert_eq!(left, [1, 4, 16], "the checks show it again");
    }

    #[test]
    fn nothing_is_fetched_for_loops_that_need_little() {
        assert!(answers(100, |_| 40).into_iter().all(|fetch| !fetch));
    }

    #[test]
    fn what_loops_need_may_change() {
        let changed = answers(70, |time| if time < 16 { 60 } else { 10 });
        assert!(changed[14] && !changed[16..].contains(&true));
        let other_way = answers(70, |time| if time < 16 { 10 } else { 60 });
        assert!(!other_way[..16].contains(&true) && other_way[16]);
    }
}
