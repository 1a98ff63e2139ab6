//! Words that threads of all processes wait for.

use std::sync::atomic::Ordering;

use dsm_comm::{Half, Update, Word};
use dsm_threads::futex;
use dsm_threads::wait::Waitable;

use crate::cell;

crate::declare! {
    /// Sleepers at all watched words of the job.
    static SLEEPERS: u64;
}

fn sleepers() -> Half {
    SLEEPERS.shared(0).low()
}

/// A word, zero at first, that threads can wait for. It orders nothing but itself.
#[derive(Clone, Copy, Debug)]
pub struct Watched(Word);

impl Watched {
    pub(crate) fn new(word: Word) -> Watched {
        Watched(word)
    }

    /// Reads the word.
    pub fn load(self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Writes the word and wakes who waits for it.
    pub fn store(self, value: u64) {
        self.update(Update::Swap, value);
    }

    /// Adds to the word and wakes who waits for it; returns the old value.
    pub fn fetch_add(self, value: u64) -> u64 {
        self.update(Update::Add, value)
    }

    /// Sets bits of the word and wakes who waits for it; returns the old value.
    pub fn fetch_or(self, bits: u64) -> u64 {
        self.update(Update::Or, bits)
    }

    fn update(self, update: Update, operand: u64) -> u64 {
        self.0.update_and_wake(update, operand, sleepers(), futex::ALL)
    }

    /// Compares and swaps the word; wakes who waits for it.
    ///
    /// # Errors
    /// The value found, if it is not `expected`.
    pub fn compare_exchange(self, expected: u64, new: u64) -> Result<u64, u64> {
        self.0.compare_exchange_and_wake(expected, new, sleepers(), futex::ALL)
    }

    /// Sleeps until `until` holds for the word; returns it. Changes of the low 32 bits are noticed.
    pub fn wait(self, until: impl Fn(u64) -> bool) -> u64 {
        if !self.0.low().is_mapped() {
            return self.wait_from(self.load(), until);
        }
        cell::wait(self.0.low(), sleepers(), futex::ALL, |_| until(self.load()));
        self.load()
    }

    /// As [`Watched::wait`], of a word that was `value`. Where it is not mapped, each look is a message.
    pub fn wait_from(self, mut value: u64, until: impl Fn(u64) -> bool) -> u64 {
        if self.0.low().is_mapped() {
            return self.wait(until);
        }
        while !until(value) {
            let seen = value as u32;
            cell::wait_change(self.0.low(), sleepers(), futex::ALL, seen, |now| now != seen);
            value = self.load();
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Words;

    #[test]
    fn each_change_wakes_who_waits() {
        static WORDS: Words<Watched> = Words::new("words of the test", 4);
        let changes: [fn(Watched); 4] = [
            |word| word.store(1),
            |word| assert_eq!(word.fetch_add(1), 0),
            |word| assert_eq!(word.fetch_or(1), 0),
            |word| assert_eq!(word.compare_exchange(0, 1), Ok(0)),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let word = WORDS.shared(i);
            std::thread::scope(|scope| {
                let waiter = scope.spawn(move || word.wait(|value| value != 0));
                while sleepers().load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                // Time to fall asleep.
                std::thread::sleep(std::time::Duration::from_millis(20));
                change(word);
                assert_eq!(waiter.join().expect("it is woken"), 1);
            });
        }
    }
}
