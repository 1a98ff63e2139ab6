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

use super::carrier::{MOST_STEPS, Reader, RemoteAction, RemoteKey, RemotePart, RemoteStep, STEP_BYTES};
use super::client::lock;
use super::wire::PIECE;
use crate::transport::Look;

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

/// Words that one READ brings are at most so far apart.
const TOGETHER: usize = 128;

impl RemoteSegment {
    /// Whether the adapter writes, too.
    pub(super) fn looks(&self) -> bool {
        self.reader.looks()
    }

    /// Key and address of some bytes, for which the peer may have to be asked.
    fn remote<E>(
        &self,
        offset: usize,
        bytes: usize,
        ask: &impl Fn(usize) -> Result<Option<RemoteKey>, E>,
    ) -> Result<Option<(u64, u64)>, E> {
        let piece = offset / PIECE * PIECE;
        let known = lock(&self.keys).get(&piece).cloned();
        let key = match known {
            Some(key) => key,
            None => {
                let key = ask(piece)?;
                lock(&self.keys).insert(piece, key.clone());
                key
            }
        };
        let key = key.filter(|key| covers(Some(key), offset, offset.saturating_add(bytes)));
        Ok(key.map(|key| (key.key, key.address + (offset - key.offsets.start) as u64)))
    }

    /// Looks at the segment, see [`Transport::look`](crate::Transport::look). `None`: there is no key for something of it. `ask` asks the peer for the key of a piece.
    ///
    /// # Safety
    /// As for [`Transport::look`](crate::Transport::look).
    pub(super) unsafe fn look<E>(
        &self,
        parts: &mut [Look<'_>],
        ask: impl Fn(usize) -> Result<Option<RemoteKey>, E>,
    ) -> Result<Option<io::Result<()>>, E> {
        let mut steps = Vec::with_capacity(MOST_STEPS);
        // What READs bring of words: the part, where in the segment the words begin, and where here; and the number of words.
        let mut runs = [(0, 0, 0, 0); MOST_STEPS];
        let mut landing = [0_u64; MOST_STEPS * TOGETHER / 8];
        let (mut used, mut count) = (0, 0);
        for (number, part) in parts.iter().enumerate() {
            let mut is_next_part = number > 0;
            let mut add = |steps: &mut Vec<RemoteStep>, (key, address): (u64, u64), action| {
                steps.push(RemoteStep { key, address, action, is_next_part });
                is_next_part = false;
            };
            for &(offset, value) in part.writes {
                let Some(remote) = self.remote(offset, 8, &ask)? else { return Ok(None) };
                add(&mut steps, remote, RemoteAction::Write(value));
            }
            let mut offsets: [usize; MOST_STEPS] = [usize::MAX; MOST_STEPS];
            part.words.iter().zip(&mut offsets).for_each(|((offset, _), place)| *place = *offset);
            let offsets = &mut offsets[..part.words.len()];
            offsets.sort_unstable();
            for near in offsets.chunk_by(|a, b| b - a < 64) {
                let (start, end) = (near[0], near[near.len() - 1] + 8);
                assert!(end - start <= TOGETHER, "words of a look that lie together are few");
                let Some(remote) = self.remote(start, end - start, &ask)? else { return Ok(None) };
                let length = (end - start) / 8;
                let into = landing[used..][..length].as_mut_ptr().cast();
                add(&mut steps, remote, RemoteAction::Read(into, end - start));
                runs[count] = (number, start, used, length);
                (used, count) = (used + length, count + 1);
            }
            if let Some((offset, into, bytes)) = part.bytes {
                let remote = if bytes <= STEP_BYTES { self.remote(offset, bytes, &ask)? } else { None };
                let Some(remote) = remote else { return Ok(None) };
                add(&mut steps, remote, RemoteAction::Read(into, bytes));
            }
        }
        // SAFETY: the caller's memory, and places of their own in that here.
        let looked = unsafe { self.reader.look(&steps) };
        for &(number, start, at, length) in &runs[..count] {
            let there = start..start + 8 * length;
            for (offset, value) in parts[number].words.iter_mut().filter(|word| there.contains(&word.0)) {
                *value = landing[at + (*offset - start) / 8];
            }
        }
        Ok(Some(looked))
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

    /// "Looks" at this process's memory, in which the segment begins at an address; notes what it is told.
    struct Looks(*mut u8, Arc<Mutex<Vec<(usize, usize, bool)>>>);

    // SAFETY: the memory is used by the test's thread only.
    unsafe impl Send for Looks {}
    // SAFETY: as above.
    unsafe impl Sync for Looks {}

    impl Reader for Looks {
        unsafe fn read(&self, _: &mut dyn FnMut() -> Option<RemotePart>) -> io::Result<()> {
            unreachable!("it looks")
        }

        fn looks(&self) -> bool {
            true
        }

        unsafe fn look(&self, steps: &[RemoteStep]) -> io::Result<()> {
            for RemoteStep { address, action, is_next_part, .. } in steps {
                let place = self.0.wrapping_add(*address as usize);
                // SAFETY: the test's memory, and the caller's promise.
                let bytes = unsafe {
                    match *action {
                        RemoteAction::Write(value) => place.cast::<u64>().write(value),
                        RemoteAction::Read(into, bytes) => into.copy_from_nonoverlapping(place, bytes),
                    }
                    if let RemoteAction::Read(_, bytes) = *action { bytes } else { 0 }
                };
                lock(&self.1).push((*address as usize, bytes, *is_next_part));
            }
            Ok(())
        }
    }

    #[test]
    fn words_of_a_look_that_lie_together_come_by_one_read() {
        let mut segment: Vec<u64> = (0..512).collect();
        let noted = Arc::<Mutex<Vec<_>>>::default();
        let remote = RemoteSegment::new(Box::new(Looks(segment.as_mut_ptr().cast(), noted.clone())));
        // All but the end has a key.
        let ask = |_| Ok::<_, Infallible>(Some(RemoteKey { key: 1, address: 0, offsets: 0..4000 }));
        let mut first = [(88, 0)];
        let mut second = [(32, 0), (8, 0), (40, 0), (320, 0), (96, 0)];
        let mut bytes = [0_u64; 4];
        let contents = Some((800, bytes.as_mut_ptr().cast(), 32));
        let mut parts = [
            Look { writes: &[], words: &mut first, bytes: None },
            Look { writes: &[(88, 5), (96, 6)], words: &mut second, bytes: contents },
        ];
        // SAFETY: the buffer is as long.
        let looked = unsafe { remote.look(&mut parts, ask) };
        looked.unwrap().expect("there are keys").unwrap();
        assert_eq!(first[0].1, 11, "before it was written");
        assert_eq!(second.map(|word| word.1), [4, 1, 5, 40, 6]);
        assert_eq!(bytes, [100, 101, 102, 103]);
        let steps = [
            (88, 8, false),
            (88, 0, true),
            (96, 0, false),
            (8, 96, false),
            (320, 8, false),
            (800, 32, false),
        ];
        assert_eq!(*lock(&noted), steps);
        let mut last = [(4000, 0)];
        let mut parts = [Look { writes: &[(0, 9)], words: &mut last, bytes: None }];
        // SAFETY: nothing is copied.
        let looked = unsafe { remote.look(&mut parts, ask) };
        assert!(looked.unwrap().is_none() && segment[0] == 0, "there is no key");
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
