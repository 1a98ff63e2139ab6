//! Write notices that come with messages of synchronisation, as in TreadMarks (P. Keleher et al., USENIX Winter 1994): an acquire that finds all it needs among them makes no call.
//!
//! A process remembers how much of its signature it has sent to each other one, and sends what is behind that, if the message has space for it. What has come is kept until an
//! acquire takes it. Where something is missing in between, or the acquire has to know more, it reads the signature ([`super::signature`]).

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::wire::{HEAD_BYTES, Malformed, NOTICE_BYTES, Reader, Writer};
use crate::fabric::Fabric;
use crate::release_token::split_state;
use crate::signature::{Published, carried};
use crate::types::{Notice, Rank, Timestamp};
use crate::{Coherence, Fault};

/// What a process has sent to the others, and has got from them, by rank.
#[derive(Debug)]
pub(crate) struct Piggyback(Mutex<Vec<Peer>>);

#[derive(Clone, Debug, Default, Hash)]
struct Peer {
    /// The own state word up to which the peer has been sent notices.
    sent: u64,
    received: Received,
}

/// A part of a peer's signature.
#[derive(Clone, Debug, Default, Hash)]
struct Received {
    /// State word up to which it goes.
    state: u64,
    /// Place of the first notice in the peer's list.
    start: u32,
    /// State word of the list before up to which a process has read what is in front of that place.
    follows: u64,
    min_wr_ts: Timestamp,
    notices: Vec<Notice>,
}

/// In front of the notices.
#[derive(Serialize, Deserialize)]
struct Head {
    state: u64,
    /// See [`Received`].
    start: u32,
    follows: u64,
    count: u32,
    min_wr_ts: Timestamp,
}

impl Piggyback {
    /// Nothing has been sent to so many processes.
    pub(crate) fn new(processes: u32) -> Piggyback {
        Piggyback(Mutex::new(vec![Peer::default(); processes as usize]))
    }

    /// Adds all that is here to a digest.
    pub(crate) fn digest(&self, hasher: &mut impl std::hash::Hasher) {
        std::hash::Hash::hash(&*self.peers(), hasher);
    }

    fn peers(&self) -> MutexGuard<'_, Vec<Peer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Received {
    /// What comes behind what is there; if there is something in between, that is forgotten.
    fn add(&mut self, head: &Head, notices: impl Iterator<Item = Notice>) {
        let (sequence, length) = split_state(head.state);
        let (last, until) = split_state(self.state);
        if sequence == last && length <= until {
            return;
        }
        if sequence != last || head.start != until {
            self.notices.clear();
            (self.start, self.follows) = (head.start, head.follows);
        }
        self.notices.extend(notices);
        (self.state, self.min_wr_ts) = (head.state, head.min_wr_ts);
    }

    /// Puts what a process that has read up to `cursor` has to read up to `state`, or more, into `fresh`; returns the bound, and how far that is. None: something is missing.
    fn take(
        &mut self,
        cursor: u64,
        state: u64,
        fresh: &mut Vec<Notice>,
        fault: impl Fn(Fault) -> bool,
    ) -> Option<(Timestamp, u64)> {
        let (sequence, length) = split_state(self.state);
        let (read, until) = split_state(cursor);
        let (wanted, least) = split_state(state);
        // A new list repeats what is not known to all.
        let is_new = sequence > wanted || sequence == wanted && length >= least;
        let (before, least_read) = split_state(self.follows);
        let goes_on = sequence == read + 1 && before == read && until >= least_read;
        let begins = if sequence == read {
            until
        } else if goes_on {
            self.start
        } else {
            0
        };
        let is_whole = self.start <= begins && begins <= length && sequence >= read;
        if !(is_new || fault(Fault::PiggybackOld)) || !is_whole {
            return None;
        }
        fresh.clear();
        fresh.extend_from_slice(&self.notices[(begins - self.start) as usize..]);
        self.notices.clear();
        (self.start, self.follows) = (length, self.state);
        Some((self.min_wr_ts, self.state))
    }
}

impl<F: Fabric> Coherence<F> {
    /// Appends to a message for a process, which has space for `most` bytes more, what the process may not know of the published signature. Nothing if it knows all, or there is no
    /// space. To be called behind the release that the process is to acquire.
    pub fn add_piggyback(&self, to: Rank, most: usize, message: &mut Vec<u8>) {
        // Nothing is allocated while the signature is locked: the allocator may run handlers of signals, which may release.
        while let Some(missing) = self.try_add_piggyback(to, most, message) {
            message.reserve(missing);
        }
    }

    /// As [`Coherence::add_piggyback`], if the vector has the capacity for it. Else the bytes that it needs; nothing was done.
    fn try_add_piggyback(&self, to: Rank, most: usize, message: &mut Vec<u8>) -> Option<usize> {
        let mut peers = self.piggyback.peers();
        let sent = &mut peers[to.0 as usize].sent;
        let signature = self.signature();
        let Published { state, min_wr_ts, notices } = signature.published();
        let (sequence, length) = split_state(state);
        let (last, until) = split_state(*sent);
        if state == *sent {
            return None;
        }
        let start = match sequence.wrapping_sub(last) {
            0 => until,
            1 => carried::own(&self.fabric, (sequence % 2) as u8, until).min(length),
            _ => 0,
        };
        let follows = *sent;
        let count = length - start;
        let (begin, bytes) = (message.len(), HEAD_BYTES + count as usize * NOTICE_BYTES);
        if bytes <= most && message.capacity() - begin < bytes {
            return Some(bytes);
        }
        // Where there is no space, the process will have read that by the next time.
        *sent = state;
        if bytes > most {
            return None;
        }
        message.resize(begin + bytes, 0);
        let min_wr_ts = if self.fabric.fault(Fault::PiggybackUnbounded) { 0 } else { min_wr_ts };
        let mut writer =
            Writer::new(&mut message[begin..], &Head { state, start, follows, count, min_wr_ts });
        notices[start as usize..].iter().for_each(|notice| writer.put_notice(notice));
        let length = writer.length;
        message.truncate(begin + length);
        None
    }

    /// Keeps what a process has sent by [`Coherence::add_piggyback`]. Any thread may call, also one that runs no protocol.
    ///
    /// # Errors
    /// It is nothing that a process sends.
    pub fn receive_piggyback(&self, from: Rank, message: &[u8]) -> Result<(), Malformed> {
        let (head, mut rest) = Reader::new::<Head>(message)?;
        let (_, length) = split_state(head.state);
        if head.start.checked_add(head.count) != Some(length)
            || head.count as usize * NOTICE_BYTES != rest.0.len()
        {
            return Err(Malformed);
        }
        let mut notices = Vec::with_capacity(head.count as usize);
        for _ in 0..head.count {
            notices.push(rest.get_notice(&self.fabric)?);
        }
        let mut peers = self.piggyback.peers();
        let peer = peers.get_mut(from.0 as usize).filter(|_| from != self.me()).ok_or(Malformed)?;
        peer.received.add(&head, notices.into_iter());
        Ok(())
    }

    /// Takes what has come of a process's signature, if that is all that an acquire has to know. See [`Received::take`].
    pub(crate) fn take_piggyback(
        &self,
        from: Rank,
        cursor: u64,
        state: u64,
        fresh: &mut Vec<Notice>,
    ) -> Option<(Timestamp, u64)> {
        if !self.fabric.has_agent(from) {
            return None;
        }
        let mut peers = self.piggyback.peers();
        peers[from.0 as usize].received.take(cursor, state, fresh, |fault| self.fabric.fault(fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release_token::state_word;
    use crate::types::{Block, Extent};

    fn notice(block: u64) -> Notice {
        Notice { writer: Rank(1), extent: Extent::single(Block(block)), wr_ts: 10 + block, merged: false }
    }

    /// Notices of the blocks from `start` on, up to that number of a list.
    fn add(received: &mut Received, sequence: u64, start: u32, length: u32) {
        let state = state_word(sequence, length as usize);
        let head = Head { state, start, follows: 0, count: length - start, min_wr_ts: sequence };
        received.add(&head, (start..length).map(|block| notice(block.into())));
    }

    /// What an acquire takes that has read one list up to a place, and is to read another one up to one.
    fn take(received: &mut Received, read: (u64, usize), wanted: (u64, usize)) -> Option<Vec<u64>> {
        let (mut fresh, state) = (vec![notice(99)], received.state);
        let [cursor, wanted] = [read, wanted].map(|(sequence, length)| state_word(sequence, length));
        let (min_wr_ts, until) = received.take(cursor, wanted, &mut fresh, |_| false)?;
        assert_eq!((min_wr_ts, until), (split_state(state).0, state));
        Some(fresh.iter().map(|notice| notice.extent.first.0).collect())
    }

    #[test]
    fn notices_that_follow_each_other_are_taken_once() {
        let mut received = Received::default();
        add(&mut received, 0, 0, 2);
        add(&mut received, 0, 2, 5);
        // Sent again, or late.
        add(&mut received, 0, 0, 2);
        assert_eq!(take(&mut received, (0, 0), (0, 2)), Some(vec![0, 1, 2, 3, 4]));
        add(&mut received, 0, 5, 6);
        assert_eq!(take(&mut received, (0, 5), (0, 6)), Some(vec![5]));
    }

    #[test]
    fn an_acquire_that_has_read_some_of_them_takes_the_others() {
        let mut received = Received::default();
        add(&mut received, 0, 1, 5);
        assert_eq!(take(&mut received, (0, 3), (0, 5)), Some(vec![3, 4]));
    }

    #[test]
    fn what_is_missing_in_between_is_not_made_up_for() {
        let mut received = Received::default();
        add(&mut received, 0, 2, 4);
        assert_eq!(take(&mut received, (0, 1), (0, 4)), None);
        // Of a message that had no space for its notices nothing has come.
        add(&mut received, 0, 6, 7);
        assert_eq!(take(&mut received, (0, 4), (0, 7)), None);
        assert_eq!(take(&mut received, (0, 6), (0, 7)), Some(vec![6]));
    }

    #[test]
    fn a_new_list_is_taken_as_a_whole() {
        let mut received = Received::default();
        add(&mut received, 0, 0, 3);
        add(&mut received, 1, 0, 2);
        assert_eq!(take(&mut received, (0, 2), (0, 3)), Some(vec![0, 1]));
        add(&mut received, 2, 1, 2);
        assert_eq!(take(&mut received, (1, 2), (2, 2)), None);
    }

    #[test]
    fn of_a_new_list_only_that_is_taken_which_was_not_read_in_the_one_before() {
        for (read, taken) in
            [((1, 3), Some(vec![2, 3])), ((1, 4), Some(vec![2, 3])), ((1, 2), None), ((0, 3), None)]
        {
            let mut received = Received::default();
            let state = state_word(2, 4);
            let head = Head { state, start: 2, follows: state_word(1, 3), count: 2, min_wr_ts: 2 };
            received.add(&head, [2, 3].map(notice).into_iter());
            assert_eq!(take(&mut received, read, (2, 4)), taken, "{read:?}");
            // It is taken once.
            assert_eq!(take(&mut received, (1, 3), (2, 4)), taken.is_none().then(|| vec![2, 3]));
        }
    }

    #[test]
    fn an_acquire_is_not_content_with_less_than_it_has_to_know() {
        let mut received = Received::default();
        add(&mut received, 1, 0, 3);
        assert_eq!(take(&mut received, (1, 0), (1, 4)), None);
        assert_eq!(take(&mut received, (1, 0), (2, 1)), None);
        // It has read a newer list already.
        assert_eq!(take(&mut received, (2, 1), (1, 3)), None);
        assert_eq!(take(&mut received, (1, 0), (1, 3)), Some(vec![0, 1, 2]));
    }
}
