//! Stores of other processes to a process's memory file, which its pager does not see: two words of shared memory for each group of 64 pages tell of them.
//!
//! A process that stores says so before and after; pages whose pager is just taking pages of the group away make it wait. So a pager can tell whether a page has been stored to since it began to
//! write it, and nobody stores to it between that look and the removal.

/// A word in memory that processes share. All operations are sequentially consistent.
pub trait SharedWord: Copy {
    /// Its value.
    fn load(self) -> u64;
    /// Sets bits.
    fn set(self, bits: u64);
    /// Clears bits.
    fn clear(self, bits: u64);
    /// Adds; wraps around.
    fn add(self, value: u64);
    /// Stores `new` if the value is `old`. Returns whether it did.
    fn replace(self, old: u64, new: u64) -> bool;
}

/// Of [`Stores::gate`]: pages are being taken away.
const CLOSED: u64 = 1;
/// Of it: a store that is under way.
const STORE: u64 = 2;

/// The words of a group.
#[derive(Clone, Copy, Debug)]
pub struct Stores<W> {
    /// Twice the number of stores under way, and whether the pager is taking pages away.
    pub gate: W,
    /// Pages that were stored to since [`Stores::watch`], one bit for each.
    pub stored: W,
}

impl<W: SharedWord> Stores<W> {
    /// A process is about to store to pages of the group. Waits, with calls of `pause`, while the pager takes some of them away. [`Stores::end`] follows.
    pub fn begin(self, pages: u64, pause: impl FnMut()) {
        self.enter(pause);
        self.stored.set(pages);
    }

    /// What the process has stored is in memory.
    pub fn end(self) {
        self.gate.add(STORE.wrapping_neg());
    }

    /// Changes what the pager looks at behind [`Stores::exclude`], which does not go on meanwhile.
    pub fn change(self, pause: impl FnMut(), change: impl FnOnce()) {
        self.enter(pause);
        change();
        self.end();
    }

    fn enter(self, mut pause: impl FnMut()) {
        loop {
            let seen = self.gate.load();
            if seen & CLOSED == 0 && self.gate.replace(seen, seen + STORE) {
                return;
            }
            pause();
        }
    }

    /// From now on it counts who stores to the pages; who is about to, has.
    pub fn watch(self, pages: u64) {
        self.stored.clear(pages);
        if self.gate.load() != 0 {
            self.stored.set(pages);
        }
    }

    /// Keeps everybody from storing to pages of the group, unless somebody is about to. Returns whether it did; then [`Stores::admit`] follows.
    pub fn exclude(self) -> bool {
        self.gate.replace(0, CLOSED)
    }

    /// Ends what [`Stores::exclude`] began.
    pub fn admit(self) {
        self.gate.add(CLOSED.wrapping_neg());
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;
    use loom::sync::atomic::Ordering::{Relaxed, SeqCst};
    use loom::thread;

    use super::*;

    impl SharedWord for &AtomicU64 {
        fn load(self) -> u64 {
            AtomicU64::load(self, SeqCst)
        }
        fn set(self, bits: u64) {
            self.fetch_or(bits, SeqCst);
        }
        fn clear(self, bits: u64) {
            self.fetch_and(!bits, SeqCst);
        }
        fn add(self, value: u64) {
            self.fetch_add(value, SeqCst);
        }
        fn replace(self, old: u64, new: u64) -> bool {
            self.compare_exchange(old, new, SeqCst, SeqCst).is_ok()
        }
    }

    /// A page that was removed.
    const REMOVED: u64 = 99;
    /// What a process stores.
    const STORED: u64 = 1;

    #[derive(Default)]
    struct Group {
        gate: AtomicU64,
        stored: AtomicU64,
        memory: AtomicU64,
    }

    impl Group {
        fn stores(&self) -> Stores<&AtomicU64> {
            Stores { gate: &self.gate, stored: &self.stored }
        }
    }

    /// A page leaves beside a store: it is on disk, or in memory.
    fn leaves(watches: bool, excludes: bool, says: bool) {
        loom::model(move || {
            let group = Arc::new(Group::default());
            let pages = group.clone();
            let other = thread::spawn(move || {
                if says {
                    pages.stores().begin(1, thread::yield_now);
                }
                // A page that was removed comes back.
                pages.memory.store(STORED, Relaxed);
                if says {
                    pages.stores().end();
                }
            });
            let stores = group.stores();
            if watches {
                stores.watch(1);
            }
            let disk = group.memory.load(Relaxed);
            if !excludes || stores.exclude() {
                if SharedWord::load(stores.stored) & 1 == 0 {
                    group.memory.store(REMOVED, Relaxed);
                }
                if excludes {
                    stores.admit();
                }
            }
            other.join().unwrap();
            let memory = group.memory.load(Relaxed);
            assert!(memory == STORED || disk == STORED, "the store is lost");
        });
    }

    #[test]
    fn no_store_is_lost() {
        leaves(true, true, true);
    }

    #[test]
    #[should_panic = "the store is lost"]
    fn a_store_that_is_not_told_is_lost() {
        leaves(true, true, false);
    }

    #[test]
    #[should_panic = "the store is lost"]
    fn without_exclusion_a_store_is_lost() {
        leaves(true, false, true);
    }

    /// A page that nobody needs is dropped beside somebody who begins to need it.
    fn dropped(says: bool) {
        loom::model(move || {
            let group = Arc::new(Group::default());
            let discardable = Arc::new(AtomicU64::new(1));
            let (pages, flag) = (group.clone(), discardable.clone());
            let other = thread::spawn(move || {
                let need = || flag.store(0, Relaxed);
                if says {
                    pages.stores().change(thread::yield_now, need)
                } else {
                    need()
                }
                pages.memory.store(STORED, Relaxed);
            });
            let stores = group.stores();
            if stores.exclude() {
                if discardable.load(Relaxed) == 1 {
                    group.memory.store(REMOVED, Relaxed);
                }
                stores.admit();
            }
            other.join().unwrap();
            assert_eq!(group.memory.load(Relaxed), STORED, "what is needed is dropped");
        });
    }

    #[test]
    fn nothing_needed_is_dropped() {
        dropped(true);
    }

    #[test]
    #[should_panic = "what is needed is dropped"]
    fn what_is_needed_without_a_word_is_dropped() {
        dropped(false);
    }
}
