//! Which loads that miss are executed at the homes of their blocks: those of blocks on which several processes operate atomically all the time. A copy of such a block is invalid again before it has been loaded from often enough
//! to pay for having come.
//!
//! Of a load that hits nothing is known. So a thread executes some loads of a block at its home, counts how many its atomic operations come to, tries a copy again, and compares: the copy was worth while if it was
//! valid for so many atomic operations that there should have been enough loads between.

use std::cell::Cell;

use super::streak::Streak;

/// Atomic operations in a row, each followed by few loads that missed, from which on a thread counts as one that operates all the time.
const OPERATIONS: u32 = 4;
/// Loads that are few.
const FEW_LOADS: u32 = 64;
/// Loads at the home of a block before a copy is tried again.
const LOADS_AT_HOME: u32 = 256;
/// Loads at a home that take as long as it takes to have a copy come, and to publish the next operation because of it.
const LOADS_OF_A_COPY: u32 = 32;
/// Atomic operations that a copy has to be valid for as long as nothing is known of the loads of a block.
const LASTING: u32 = 1024;
/// Copies of a block in a row that were not worth while, before the first loads at its home.
const POOR_COPIES: u32 = 2;
/// Blocks that a thread remembers.
const BLOCKS: usize = 256;

/// What a thread knows of a block.
#[derive(Clone, Copy)]
struct Loads {
    block: u64,
    /// Of the thread's atomic operations, when the copy came or the loads at the home began.
    since: u32,
    /// Loads at the home that are left.
    left: u32,
    /// Atomic operations during [`LOADS_AT_HOME`] of them; 0: not known.
    operations: u32,
    /// Copies in a row that were not worth while.
    poor_copies: u32,
    /// A copy is to be tried.
    tries: bool,
}

impl Loads {
    const fn of(block: u64) -> Loads {
        Loads { block, since: 0, left: 0, operations: 0, poor_copies: 0, tries: true }
    }

    /// Whether the next load belongs at the home, which has missed behind so many atomic operations of the thread.
    fn belongs_at_home(&mut self, operations: u32) -> bool {
        let passed = operations.wrapping_sub(self.since);
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                (self.operations, self.tries) = (passed.max(1), true);
            }
            return true;
        }
        self.since = operations;
        if std::mem::take(&mut self.tries) {
            return false;
        }
        let lasted = match self.operations {
            0 => passed >= LASTING,
            per => {
                u64::from(passed) * u64::from(LOADS_AT_HOME) >= u64::from(per) * u64::from(LOADS_OF_A_COPY)
            }
        };
        self.poor_copies = if lasted { 0 } else { (self.poor_copies + 1).min(POOR_COPIES) };
        if self.poor_copies < POOR_COPIES {
            return false;
        }
        self.left = LOADS_AT_HOME - 1;
        true
    }
}

thread_local! {
    static STREAK: Cell<Streak> = const { Cell::new(Streak::NONE) };
    static KNOWN: [Cell<Loads>; BLOCKS] = const { [const { Cell::new(Loads::of(0)) }; BLOCKS] };
}

/// Whether a load of a block belongs at its home. It has missed behind so many atomic operations of the thread that are releases.
pub fn belongs_at_home(block: u64, operations: u32) -> bool {
    let streak = STREAK.get().with_miss(operations, FEW_LOADS);
    STREAK.set(streak);
    if streak.length() < OPERATIONS {
        return false;
    }
    KNOWN.with(|known| {
        let entry = &known[block as usize % BLOCKS];
        let mut loads = entry.get();
        if loads.block != block {
            loads = Loads::of(block);
        }
        let at_home = loads.belongs_at_home(operations);
        entry.set(loads);
        at_home
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads that miss behind each operation; how many of them belong at the home. A copy is valid for `lasts` operations.
    fn at_home(lasts: u32, operations: u32) -> u32 {
        let (mut loads, mut count, mut valid_until) = (Loads::of(7), 0, 0);
        for operation in 0..operations {
            if operation < valid_until {
                continue;
            }
            match loads.belongs_at_home(operation) {
                true => count += 1,
                false => valid_until = operation + lasts,
            }
        }
        count
    }

    #[test]
    fn a_block_whose_copies_do_not_last_is_loaded_from_at_its_home() {
        let count = at_home(2, 100_000);
        assert!(count > 98_000, "{count}");
    }

    #[test]
    fn a_block_whose_copies_last_comes() {
        assert_eq!(at_home(2000, 100_000), 0);
    }

    #[test]
    fn copies_are_tried_again_when_they_begin_to_last() {
        let mut loads = Loads::of(7);
        let tried = (0..10_000).filter(|operation| !loads.belongs_at_home(*operation)).count();
        assert!(tried > 20, "{tried}");
        // From now on each is valid for a thousand operations.
        let mut at_home = 0;
        let mut operation = 10_000;
        while operation < 1_000_000 {
            match loads.belongs_at_home(operation) {
                true => (at_home, operation) = (at_home + 1, operation + 1),
                false => operation += 1000,
            }
        }
        assert!(at_home <= LOADS_AT_HOME, "{at_home}");
    }
}
