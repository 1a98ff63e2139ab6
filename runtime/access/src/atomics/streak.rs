//! Atomic operations of a thread in a row, each of which few misses of one kind follow: such a thread operates all the time, and a block that comes for one of its accesses is of little use.

/// See the module.
#[derive(Clone, Copy)]
pub struct Streak {
    /// Of the thread's atomic operations, when an access missed last.
    operations: u32,
    length: u32,
    /// Misses behind the last of them.
    misses: u32,
}

impl Streak {
    /// Nothing has missed yet.
    pub const NONE: Streak = Streak { operations: 0, length: 0, misses: 0 };

    /// One more miss, behind so many atomic operations of the thread. `few`: misses behind one of them that do not end the streak.
    pub fn with_miss(self, operations: u32, few: u32) -> Streak {
        let misses = if operations == self.operations { self.misses.saturating_add(1) } else { 1 };
        let length = match misses {
            1 => self.length.saturating_add(1),
            _ if misses <= few => self.length,
            _ => 0,
        };
        Streak { operations, length, misses }
    }

    /// Operations in the row.
    pub fn length(self) -> u32 {
        self.length
    }
}
