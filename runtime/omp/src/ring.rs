//! Shared state of worksharing constructs: a ring of slots.
//!
//! All threads of a team meet the same constructs in the same order and number them. Construct `n` uses slot
//! `n % SLOTS`. A slot's `TURN` word holds the number it serves; a thread that runs `SLOTS` constructs ahead of
//! the slowest (nowait) waits there. The last thread to leave clears the slot and hands it to number `n + SLOTS`.
//! Numbers go on from one region to the next, so a fork costs no initialisation.
//!
//! A team inside one process has its ring in local memory; one that spans processes uses the control words of
//! process 0, of which only one such team at a time exists.

use std::sync::atomic::{AtomicU64, Ordering};

use super::event::{Event, blocked};
use super::static_steal;
use crate::control::{self, Watched};

/// Constructs in flight.
pub const SLOTS: u64 = 64;
/// Words of a slot.
pub const SLOT_WORDS: usize = 16;

/// Indices of a slot's words.
pub mod word {
    use std::ops::Range;

    /// Number of the construct being served.
    pub const TURN: usize = 0;
    /// Next iteration or ticket to hand out.
    pub const NEXT: usize = 1;
    /// Threads that have left.
    pub const DONE: usize = 2;
    /// Iteration whose ordered region may run, and from [`RANK_SHIFT`] on the rank of the process that last left an ordered region, plus one.
    pub const ORDERED: usize = 3;
    /// Doacross: 0 not set up, 1 being set up, 2 ready.
    pub const SETUP: usize = 4;
    /// Doacross in one process: address of the flags.
    pub const FLAGS: usize = 5;
    /// What each construct finds zero.
    pub const OF_CONSTRUCT: Range<usize> = NEXT..FLAGS + 1;
    /// Bits of an iteration's number.
    pub const RANK_SHIFT: u32 = 48;
}

crate::control::declare! {
    /// The ring of a team that spans processes, in process 0.
    static RING: Watched, SLOTS as usize * SLOT_WORDS;
}

/// A slot in local memory.
#[repr(align(128))]
struct LocalSlot {
    words: [AtomicU64; 8],
    changed: Event,
}

/// A ring in local memory.
pub struct LocalRing {
    slots: Box<[LocalSlot]>,
}

impl Default for LocalRing {
    /// A ring whose first construct has number 0.
    fn default() -> LocalRing {
        let slot = |i| LocalSlot {
            words: std::array::from_fn(|w| AtomicU64::new(if w == word::TURN { i } else { 0 })),
            changed: Event::new(),
        };
        LocalRing { slots: (0..SLOTS).map(slot).collect() }
    }
}

/// A team's ring.
pub enum Ring {
    /// Team inside one process.
    Local(LocalRing),
    /// Team over several processes.
    Control,
}

impl Ring {
    /// Makes number 0 the next construct. No thread may be using the ring.
    pub fn reset(&mut self) {
        match self {
            Ring::Local(ring) => *ring = LocalRing::default(),
            Ring::Control => {
                for i in 0..SLOTS as usize {
                    let base = i * SLOT_WORDS;
                    (1..SLOT_WORDS).for_each(|w| RING.shared(base + w).store(0));
                    RING.shared(base + word::TURN).store(i as u64);
                }
                static_steal::reset();
            }
        }
    }

    /// The slot of construct `number`; waits for its turn. All threads have left the constructs before `left`.
    pub fn enter(&self, number: u64, left: u64) -> Slot<'_> {
        let slot = self.slot(number);
        if number >= left + SLOTS {
            slot.wait(word::TURN, |turn| turn == number);
        }
        slot
    }

    /// The slot of construct `number`, which this thread has entered and not left.
    pub fn slot(&self, number: u64) -> Slot<'_> {
        Slot { ring: self, index: (number % SLOTS) as usize }
    }
}

/// Access to one slot.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    ring: &'a Ring,
    index: usize,
}

impl Slot<'_> {
    /// Whether an operation on a word takes a message.
    pub fn is_far(&self) -> bool {
        matches!(self.ring, Ring::Control) && !control::is_mapped(0)
    }

    /// Reads word `w`.
    pub fn load(&self, w: usize) -> u64 {
        match self.ring {
            Ring::Local(ring) => ring.slots[self.index].words[w].load(Ordering::SeqCst),
            Ring::Control => self.control(w).load(),
        }
    }

    /// Writes word `w` and wakes those who wait for the slot.
    pub fn store(&self, w: usize, value: u64) {
        match self.ring {
            Ring::Local(ring) => {
                let slot = &ring.slots[self.index];
                slot.words[w].store(value, Ordering::SeqCst);
                slot.changed.bump();
            }
            Ring::Control => self.control(w).store(value),
        }
    }

    /// Adds to word `w`, gives the old value.
    pub fn fetch_add(&self, w: usize, value: u64) -> u64 {
        match self.ring {
            Ring::Local(ring) => ring.slots[self.index].words[w].fetch_add(value, Ordering::SeqCst),
            Ring::Control => self.control(w).fetch_add(value),
        }
    }

    /// Replaces `expected` by `new`; otherwise gives the value found.
    pub fn cas(&self, w: usize, expected: u64, new: u64) -> Result<u64, u64> {
        match self.ring {
            Ring::Local(ring) => ring.slots[self.index].words[w].compare_exchange(
                expected,
                new,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ),
            Ring::Control => self.control(w).compare_exchange(expected, new),
        }
    }

    /// Waits until word `w` fulfils `until`; gives its value.
    pub fn wait(&self, w: usize, until: impl Fn(u64) -> bool) -> u64 {
        match self.ring {
            Ring::Local(ring) => loop {
                let slot = &ring.slots[self.index];
                let seen = slot.changed.load();
                let value = slot.words[w].load(Ordering::SeqCst);
                if until(value) {
                    return value;
                }
                blocked(|| slot.changed.wait(|now| now != seen));
            },
            Ring::Control => {
                let word = self.control(w);
                let value = word.load();
                if until(value) { value } else { blocked(|| word.wait_from(value, until)) }
            }
        }
    }

    /// Waits, in a team inside one process, until `ready`; whoever makes it true stores a word of the slot.
    pub fn wait_for(&self, ready: impl Fn() -> bool) {
        let Ring::Local(ring) = self.ring else { return };
        let slot = &ring.slots[self.index];
        loop {
            let seen = slot.changed.load();
            if ready() {
                return;
            }
            blocked(|| slot.changed.wait(|now| now != seen));
        }
    }

    /// This thread is through with construct `number`; true for the last of `size` threads, before the slot
    /// is handed on: `last` runs then.
    pub fn leave(&self, number: u64, size: u32, last: impl FnOnce()) {
        if self.fetch_add(word::DONE, 1) + 1 != u64::from(size) {
            return;
        }
        last();
        match self.ring {
            Ring::Local(ring) => {
                let words = &ring.slots[self.index].words;
                words[word::OF_CONSTRUCT].iter().for_each(|word| word.store(0, Ordering::SeqCst));
            }
            Ring::Control => {
                const ZEROS: [u64; word::OF_CONSTRUCT.end - word::OF_CONSTRUCT.start] = [0; _];
                RING.store_shared(self.index * SLOT_WORDS + word::OF_CONSTRUCT.start, &ZEROS);
            }
        }
        self.store(word::TURN, number + SLOTS);
    }

    fn control(&self, w: usize) -> Watched {
        RING.shared(self.index * SLOT_WORDS + w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_handed_on_when_all_have_left() {
        let ring = Ring::Local(LocalRing::default());
        for round in 0..3 {
            let number = 5 + round * SLOTS;
            for thread in 0..2 {
                let slot = ring.enter(number, 0);
                assert_eq!(slot.fetch_add(word::NEXT, 1), thread);
                slot.leave(number, 2, || assert_eq!(thread, 1));
            }
        }
        assert_eq!(ring.slot(5).load(word::TURN), 5 + 3 * SLOTS);
    }
}
