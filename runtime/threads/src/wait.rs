//! Sleeping on a word, and waking who sleeps on it only if anybody does.
//!
//! A waiter counts itself as a sleeper before it looks at the word for the last time; whoever changes the word looks at the count after that. Both
//! orders are sequentially consistent, so one of the two sees the other: nobody sleeps through a change, and a change that
//! nobody sleeps on costs no system call.

use crate::primitive::{AtomicU32, Ordering, between_seq_cst};

/// Wakes everybody.
pub const ALL: u32 = u32::MAX;

/// How to sleep.
pub trait Sleep {
    /// Sleeps while `*word == seen`, until woken with a `mask` that shares a bit, or for no reason at all.
    fn wait(&self, word: &AtomicU32, seen: u32, mask: u32);
    /// Wakes all sleepers on the word whose mask shares a bit with `mask`.
    fn wake(&self, word: &AtomicU32, mask: u32);
}

/// A word that threads sleep on, wherever it lies.
pub trait Waitable: Copy {
    /// Its value.
    fn load(self) -> u32;
    /// Whether looking at it takes no longer than at memory.
    fn is_mapped(self) -> bool;
    /// As [`wait`].
    fn sleep(self, sleepers: Self, mask: u32, until: impl Fn(u32) -> bool) -> u32;
    /// As [`wake`].
    fn wake(self, sleepers: Self, mask: u32);
}

/// Sleeps until `until(value of the word)`; returns the value.
pub fn wait(
    how: &impl Sleep,
    word: &AtomicU32,
    sleepers: &AtomicU32,
    mask: u32,
    until: impl Fn(u32) -> bool,
) -> u32 {
    sleepers.fetch_add(1, Ordering::SeqCst);
    let value = loop {
        between_seq_cst();
        let value = word.load(Ordering::SeqCst);
        if until(value) {
            break value;
        }
        how.wait(word, value, mask);
    };
    sleepers.fetch_sub(1, Ordering::SeqCst);
    value
}

/// Wakes those who sleep on the word with a mask that shares a bit. The word was changed before, by a sequentially consistent operation or with a
/// full fence behind it.
#[inline]
pub fn wake(how: &impl Sleep, word: &AtomicU32, sleepers: &AtomicU32, mask: u32) {
    between_seq_cst();
    if sleepers.load(Ordering::SeqCst) != 0 {
        how.wake(word, mask);
    }
}

/// Changes the word with a release and wakes as [`wake`] does. `fence` is a full fence.
#[inline(always)]
pub fn store_and_wake(
    how: &impl Sleep,
    word: &AtomicU32,
    value: u32,
    sleepers: &AtomicU32,
    mask: u32,
    fence: impl FnOnce(),
) {
    word.store(value, Ordering::Release);
    fence();
    if sleepers.load(Ordering::SeqCst) != 0 {
        how.wake(word, mask);
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::{Arc, Condvar, Mutex};

    /// A futex: looking at the word and falling asleep are one step for whoever wakes.
    #[derive(Default)]
    struct Futex {
        asleep: Mutex<()>,
        woken: Condvar,
    }

    impl Sleep for Futex {
        fn wait(&self, word: &AtomicU32, seen: u32, _mask: u32) {
            let asleep = self.asleep.lock().unwrap();
            if word.load(Ordering::SeqCst) == seen {
                drop(self.woken.wait(asleep).unwrap());
            }
        }

        fn wake(&self, _word: &AtomicU32, _mask: u32) {
            let _asleep = self.asleep.lock().unwrap();
            self.woken.notify_all();
        }
    }

    #[derive(Default)]
    struct Cell {
        word: AtomicU32,
        sleepers: AtomicU32,
        data: AtomicU32,
        futex: Futex,
    }

    fn change(change: fn(&Cell)) {
        loom::model(move || {
            let cell = Arc::new(Cell::default());
            let waker = cell.clone();
            let thread = loom::thread::spawn(move || {
                waker.data.store(7, Ordering::Relaxed);
                change(&waker);
            });
            wait(&cell.futex, &cell.word, &cell.sleepers, ALL, |v| v == 1);
            assert_eq!(cell.data.load(Ordering::Relaxed), 7);
            thread.join().unwrap();
            assert_eq!(cell.sleepers.load(Ordering::SeqCst), 0);
        });
    }

    fn store(cell: &Cell, fence: impl FnOnce()) {
        store_and_wake(&cell.futex, &cell.word, 1, &cell.sleepers, ALL, fence);
    }

    #[test]
    fn nobody_sleeps_through_a_change() {
        change(|cell| {
            cell.word.fetch_add(1, Ordering::SeqCst);
            wake(&cell.futex, &cell.word, &cell.sleepers, ALL);
        });
        change(|cell| store(cell, || loom::sync::atomic::fence(Ordering::SeqCst)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_store_without_a_fence_is_seen() {
        change(|cell| store(cell, || ()));
    }

    #[test]
    fn two_sleepers_and_two_changes() {
        let mut search = loom::model::Builder::new();
        search.preemption_bound = Some(2);
        search.check(|| {
            let cell = Arc::new(Cell::default());
            let (waker, other) = (cell.clone(), cell.clone());
            let changes = loom::thread::spawn(move || {
                for _ in 0..2 {
                    waker.word.fetch_add(1, Ordering::SeqCst);
                    wake(&waker.futex, &waker.word, &waker.sleepers, ALL);
                }
            });
            let second = loom::thread::spawn(move || {
                wait(&other.futex, &other.word, &other.sleepers, ALL, |v| v == 2)
            });
            wait(&cell.futex, &cell.word, &cell.sleepers, ALL, |v| v >= 1);
            changes.join().unwrap();
            second.join().unwrap();
        });
    }

    /// What the orders are for, without the sleeping: the waker looks at the count before or after its change.
    fn lost(count_first: bool) {
        loom::model(move || {
            let cell = Arc::new(Cell::default());
            let waker = cell.clone();
            let thread = loom::thread::spawn(move || {
                let nobody = || {
                    between_seq_cst();
                    waker.sleepers.load(Ordering::SeqCst) == 0
                };
                let early = nobody();
                waker.word.fetch_add(1, Ordering::SeqCst);
                if count_first { early } else { nobody() }
            });
            cell.sleepers.fetch_add(1, Ordering::SeqCst);
            between_seq_cst();
            let sleeps = cell.word.load(Ordering::SeqCst) == 0;
            assert!(!(thread.join().unwrap() && sleeps), "a lost wake");
        });
    }

    #[test]
    fn one_of_two_sees_the_other() {
        lost(false);
    }

    #[test]
    #[should_panic(expected = "a lost wake")]
    fn a_count_before_the_change_is_seen() {
        lost(true);
    }
}
