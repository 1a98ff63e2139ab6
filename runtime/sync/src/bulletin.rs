//! Messages of one writer, one after the other in the same words, for readers that it does not wait for.
//!
//! The count is odd while a message is being written. A reader that finds another count after it has read has a mixture, and waits for the next message.

/// Where the messages are: a count, and words that are written and read in the order of the calls.
pub(crate) trait Bulletin {
    /// Adds to the count, with sequential consistency.
    fn advance(&self, by: u32);
    /// The count, with sequential consistency.
    fn count(&self) -> u32;
    /// Waits until a condition holds for the count; returns it.
    fn wait(&self, until: impl Fn(u32) -> bool) -> u32;
    /// Reads words from the first on; what is read later is not read before.
    fn read(&self, first: usize, into: &mut [u64]);
    /// Writes words from the first on; what was written before is not written after.
    fn write(&self, first: usize, words: &[u64]);
    /// Whether a reader does not look whether it has a mixture, for explorers.
    fn is_read_blindly(&self) -> bool {
        false
    }
    /// Whether the writer does not say that it writes, for explorers.
    fn is_written_quietly(&self) -> bool {
        false
    }
}

/// What a message adds to the count.
pub(crate) const STEP: u32 = 2;

/// Writes a message that consists of parts: its length, then its words. By one thread at a time. `awaited`: all readers have read the one before, so that nobody can read a mixture: then the count, which they look at all the time, changes once.
pub(crate) fn write(bulletin: &impl Bulletin, parts: &[&[u64]], awaited: bool) {
    let is_announced = !awaited && !bulletin.is_written_quietly();
    if is_announced {
        bulletin.advance(1);
    }
    let length: usize = parts.iter().map(|part| part.len()).sum();
    bulletin.write(0, &[length as u64]);
    let mut first = 1;
    for part in parts {
        bulletin.write(first, part);
        first += part.len();
    }
    bulletin.advance(if is_announced { 1 } else { STEP });
}

/// Reads the first message behind the one with the count `before`, at most `most` words; returns its count.
pub(crate) fn read(bulletin: &impl Bulletin, before: u32, most: usize, message: &mut Vec<u64>) -> u32 {
    let mut seen = before;
    loop {
        let last = seen;
        seen = bulletin.wait(|count| count != last && count.is_multiple_of(2));
        let mut length = [0];
        bulletin.read(0, &mut length);
        message.clear();
        message.resize((length[0] as usize).min(most), 0);
        bulletin.read(1, message);
        if bulletin.is_read_blindly() || bulletin.count() == seen {
            return seen;
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use dsm_threads::primitive::{AtomicU32, AtomicU64, Ordering};
    use loom::sync::Arc;

    struct Words {
        count: AtomicU32,
        words: [AtomicU64; 3],
    }

    impl Bulletin for Words {
        fn advance(&self, by: u32) {
            self.count.fetch_add(by, Ordering::SeqCst);
        }

        fn count(&self) -> u32 {
            self.count.load(Ordering::SeqCst)
        }

        fn wait(&self, until: impl Fn(u32) -> bool) -> u32 {
            loop {
                let count = self.count();
                if until(count) {
                    return count;
                }
                loom::thread::yield_now();
            }
        }

        fn read(&self, first: usize, into: &mut [u64]) {
            for (value, word) in into.iter_mut().zip(&self.words[first..]) {
                *value = word.load(Ordering::Acquire);
            }
        }

        fn write(&self, first: usize, words: &[u64]) {
            for (word, value) in self.words[first..].iter().zip(words) {
                word.store(*value, Ordering::Release);
            }
        }
    }

    /// A reader beside a writer of two messages, the second of which is shorter.
    #[test]
    fn a_message_is_read_whole_or_not_at_all() {
        loom::model(|| {
            let bulletin = Arc::new(Words {
                count: AtomicU32::new(0),
                words: std::array::from_fn(|_| AtomicU64::new(0)),
            });
            let writer = bulletin.clone();
            let thread = loom::thread::spawn(move || {
                write(&*writer, &[&[11], &[12]], false);
                write(&*writer, &[&[21]], false);
            });
            let (mut seen, mut message) = (0, Vec::new());
            while message != [21] {
                seen = read(&*bulletin, seen, 2, &mut message);
                assert!([&[11, 12][..], &[21]].contains(&&message[..]), "a mixture: {message:?}");
            }
            thread.join().unwrap();
        });
    }

    /// A reader that says when it has read, and a writer that waits for that.
    #[test]
    fn a_message_that_is_awaited_is_read_whole() {
        loom::model(|| {
            let bulletin = Arc::new(Words {
                count: AtomicU32::new(0),
                words: std::array::from_fn(|_| AtomicU64::new(0)),
            });
            let has_read = Arc::new(AtomicU32::new(0));
            let (writer, read_before) = (bulletin.clone(), has_read.clone());
            let thread = loom::thread::spawn(move || {
                write(&*writer, &[&[11], &[12]], true);
                while read_before.load(Ordering::Acquire) == 0 {
                    loom::thread::yield_now();
                }
                write(&*writer, &[&[21]], true);
            });
            let mut message = Vec::new();
            let seen = read(&*bulletin, 0, 2, &mut message);
            assert_eq!(message, [11, 12]);
            has_read.store(1, Ordering::Release);
            read(&*bulletin, seen, 2, &mut message);
            assert_eq!(message, [21]);
            thread.join().unwrap();
        });
    }
}
