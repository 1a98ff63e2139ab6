//! Messages of one writer, one after the other in the same words, for readers that it does not wait for.
//!
//! The count is odd while a message is being written. A reader that finds another count after it has read has a mixture, and waits for the next message.

use dsm_threads::primitive::{AtomicU32, AtomicU64, Ordering};

/// Writes a message: its length, then its words. By one thread at a time.
pub fn write<'a>(count: &AtomicU32, word: impl Fn(usize) -> &'a AtomicU64, message: &[&[u64]]) {
    count.fetch_add(1, Ordering::SeqCst);
    let length = message.iter().map(|part| part.len() as u64).sum();
    for (i, value) in std::iter::once(&length).chain(message.iter().copied().flatten()).enumerate() {
        word(i).store(*value, Ordering::Release);
    }
    count.fetch_add(1, Ordering::SeqCst);
}

/// Reads the first message behind the one with the count `before`, at most `most` words; returns its count. `wait` waits until a condition holds for the
/// count, which it returns.
pub fn read<'a>(
    count: &AtomicU32,
    before: u32,
    wait: impl Fn(&dyn Fn(u32) -> bool) -> u32,
    word: impl Fn(usize) -> &'a AtomicU64,
    most: usize,
    message: &mut Vec<u64>,
) -> u32 {
    let load = |i: usize| word(i).load(Ordering::Acquire);
    let mut seen = before;
    loop {
        let last = seen;
        seen = wait(&|count| count != last && count.is_multiple_of(2));
        let length = (load(0) as usize).min(most);
        message.clear();
        message.extend((1..=length).map(load));
        if count.load(Ordering::SeqCst) == seen {
            return seen;
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    struct Bulletin {
        count: AtomicU32,
        words: [AtomicU64; 3],
    }

    /// A reader beside a writer of two messages, the second of which is shorter.
    #[test]
    fn a_message_is_read_whole_or_not_at_all() {
        loom::model(|| {
            let bulletin = Arc::new(Bulletin {
                count: AtomicU32::new(0),
                words: std::array::from_fn(|_| AtomicU64::new(0)),
            });
            let writer = bulletin.clone();
            let thread = loom::thread::spawn(move || {
                write(&writer.count, |i| &writer.words[i], &[&[11], &[12]]);
                write(&writer.count, |i| &writer.words[i], &[&[21]]);
            });
            let wait = |until: &dyn Fn(u32) -> bool| {
                loop {
                    let count = bulletin.count.load(Ordering::SeqCst);
                    if until(count) {
                        return count;
                    }
                    loom::thread::yield_now();
                }
            };
            let (mut seen, mut message) = (0, Vec::new());
            while message != [21] {
                seen = read(&bulletin.count, seen, wait, |i| &bulletin.words[i], 2, &mut message);
                assert!([&[11, 12][..], &[21]].contains(&&message[..]), "a mixture: {message:?}");
            }
            thread.join().unwrap();
        });
    }
}
