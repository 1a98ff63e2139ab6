//! Bulk reads of a peer's segment by the adapter, without the peer's processor (RDMA READ).
//!
//! The peer is asked once for the key of each piece ([`super::pieces`]); what it gives no key for is read by messages.
//!
//! # What such a read promises
//! As [`Transport::read`](crate::Transport::read): for each byte, a value that it had between call and return, and no order among bytes, as adapters sample memory in no order, neither inside of one READ nor of two
//! that follow each other, and a READ whose response was lost samples again. Whoever wants an order says so, by [`read_words`](crate::Transport::read_words) or a call, and those stay messages. What
//! was placed when the read began is seen: the owner's processor had executed it before it replied, and adapters read memory coherently with the processors of their host. What is looked at after the
//! read is sampled after it, as the completions of all parts come first. So a look at a header in front, the read, and a look behind it are a validated read as they are over messages. That the owner's *own* stores come
//! before or after is between it and the mark, as over shared memory: a mark is set by a request, whose reply comes before the read begins; the owner's release has a fence between its stores and its look at marks.
//!
//! # Which memory
//! An adapter keeps the pages that were there when the piece was registered. Were one given back to the system, the processors would get a new page, and the adapter go on to read the old one. So whoever
//! starts the requests names the part of the segment that is never given back ([`Service::readable`](super::Service)): the program's data, and neither twins nor pages of arrays; with a limit on memory nothing, as a
//! pager takes pages away. Pages that move, to make huge ones, do not while an adapter holds on to them: the system refuses. What was a hole when the piece was registered is a page of zeros then, which is what it reads as;
//! that a hole had not been stored to is as true as before, only there are fewer of them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use super::carrier::{Reader, RemoteKey, RemotePart};
use super::client::lock;
use super::wire::PIECE;

/// Least bytes that are read so: below, a message with contents costs no more than its round trip either.
pub(crate) const LEAST: usize = 16 << 10;

/// A peer's segment as the adapter reads it.
pub(super) struct RemoteSegment {
    reader: Box<dyn Reader>,
    /// By the offset of each piece that the peer was asked for.
    keys: Mutex<BTreeMap<usize, Option<RemoteKey>>>,
}

/// The part of a transfer that is in one piece: where the piece begins, where in the transfer the part does, and its bytes.
fn part_at(offset: usize, at: usize, bytes: usize) -> (usize, usize) {
    let start = offset + at;
    let piece = start / PIECE * PIECE;
    (piece, (piece + PIECE - start).min(bytes - at))
}

impl RemoteSegment {
    pub(super) fn new(reader: Box<dyn Reader>) -> RemoteSegment {
        RemoteSegment { reader, keys: Mutex::default() }
    }

    /// Reads `bytes` bytes from an offset on. `ask` asks the peer for the key of a piece; `message` reads a part by messages: where in the transfer it begins, and its bytes. Their errors, or what came
    /// of the READs.
    ///
    /// # Safety
    /// `into` is writable for as many bytes, and nobody else uses them meanwhile.
    pub(super) unsafe fn read<E>(
        &self,
        (offset, bytes): (usize, usize),
        into: *mut u8,
        ask: impl Fn(usize) -> Result<Option<RemoteKey>, E>,
        mut message: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<io::Result<()>, E> {
        // Nothing is asked while READs are under way.
        let mut at = 0;
        while at < bytes {
            let (piece, length) = part_at(offset, at, bytes);
            let (start, end) = (offset + at, offset + at + length);
            let known = lock(&self.keys).get(&piece).map(|key| covers(key.as_ref(), start, end));
            let is_covered = match known {
                Some(is_covered) => is_covered,
                None => {
                    // Another thread may ask, too, and gets the same.
                    let key = ask(piece)?;
                    let is_covered = covers(key.as_ref(), start, end);
                    lock(&self.keys).insert(piece, key);
                    is_covered
                }
            };
            if !is_covered {
                message(at, length)?;
            }
            at += length;
        }
        let mut at = 0;
        let mut next = || {
            while at < bytes {
                let (piece, length) = part_at(offset, at, bytes);
                let (start, from) = (offset + at, at);
                at += length;
                if let Some(Some(key)) = lock(&self.keys).get(&piece)
                    && covers(Some(key), start, start + length)
                {
                    let address = key.address + (start - key.offsets.start) as u64;
                    return Some(RemotePart {
                        key: key.key,
                        address,
                        into: into.wrapping_add(from),
                        bytes: length,
                    });
                }
            }
            None
        };
        // SAFETY: the parts are of the caller's memory.
        Ok(unsafe { self.reader.read(&mut next) })
    }
}

/// Whether there is a key, for all that is wanted.
fn covers(key: Option<&RemoteKey>, start: usize, end: usize) -> bool {
    key.is_some_and(|key| key.offsets.start <= start && end <= key.offsets.end)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// "Reads" by copying from this process's memory.
    struct Copies;

    impl Reader for Copies {
        unsafe fn read(&self, next: &mut dyn FnMut() -> Option<RemotePart>) -> io::Result<()> {
            while let Some(RemotePart { key, address, into, bytes }) = next() {
                assert_eq!(key, address / PIECE as u64, "the key of another piece");
                // Bytes say which they are.
                (0..bytes).for_each(|at| {
                    // SAFETY: the caller's promise.
                    unsafe { into.add(at).write((address as usize + at).to_le_bytes()[0] | 1) }
                });
            }
            Ok(())
        }
    }

    #[test]
    fn parts_without_a_key_go_by_messages_and_no_piece_is_asked_for_twice() {
        let asked = Arc::new(AtomicUsize::new(0));
        let remote = RemoteSegment::new(Box::new(Copies));
        // The second piece has no key, and the last one has one for its beginning.
        let ask = |piece: usize| {
            asked.fetch_add(1, Ordering::Relaxed);
            let end = if piece == 3 * PIECE { piece + 100 } else { piece + PIECE };
            let key = RemoteKey { key: (piece / PIECE) as u64, address: piece as u64, offsets: piece..end };
            Ok::<_, Infallible>((piece != PIECE).then_some(key))
        };
        for (offset, bytes, messages) in [
            (0, PIECE, vec![]),
            (7, PIECE, vec![(PIECE - 7, 7)]),
            (PIECE - 9, PIECE + 20, vec![(9, PIECE)]),
            (3 * PIECE - 5, 105, vec![]),
            (3 * PIECE - 5, 106, vec![(5, 101)]),
            (3 * PIECE + 200, 8, vec![(0, 8)]),
        ] {
            let mut got = vec![0_u8; bytes];
            let mut by_message = Vec::new();
            let message = |at, length| {
                by_message.push((at, length));
                Ok(())
            };
            // SAFETY: the buffer is as long.
            let read = unsafe { remote.read((offset, bytes), got.as_mut_ptr(), ask, message) };
            read.unwrap().unwrap();
            assert_eq!(by_message, messages, "{bytes} bytes at {offset}");
            for (at, byte) in got.iter().enumerate() {
                let is_message = messages.iter().any(|(from, length)| (*from..from + length).contains(&at));
                let expected = if is_message { 0 } else { (offset + at).to_le_bytes()[0] | 1 };
                assert_eq!(*byte, expected, "byte {at} of {bytes} at {offset}");
            }
        }
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }
}
