//! Procedures on the words of one process as messages to it, where these are not at hand.
//!
//! A request is its kind, what is to be done, and words; a reply is words. Each is executed without waiting for anybody.

use dsm_coherence::ReleaseToken;

use crate::Process;
use crate::layout::Layout;
use crate::lock::{Queued, Revocation, Seen, Slot};
use crate::process::ROUNDS;
use crate::words::Words;

/// First byte of a request, for a process that gets requests of other kinds as well.
pub const KIND: u8 = 0xfd;
/// Most bytes of a reply.
pub const REPLY_BYTES: usize = 8 * (2 + SEEN_WORDS);

/// What is to be done: the second byte of a request.
const ENQUEUE: u8 = 0;
const LOOK: u8 = 1;
const FIND: u8 = 2;
const HAND_OVER: u8 = 3;
const SIGNAL: u8 = 4;
const ARRIVE: u8 = 5;
const FORK: u8 = 6;
const CACHE: u8 = 7;
const REVOKE: u8 = 8;
const FORGET: u8 = 9;
const SIGNAL_WITH_TASKS: u8 = 10;

const SEEN_WORDS: usize = 3 + ReleaseToken::WORDS;
/// Instead of a slot: the lock has none.
const NONE: u64 = u64::MAX;

fn request<const WORDS: usize>(operation: u8, words: [u64; WORDS]) -> ([u8; 2 + 8 * 8], usize) {
    let mut request = [0; 2 + 8 * 8];
    request[..2].copy_from_slice(&[KIND, operation]);
    write(&words, &mut request[2..]);
    (request, 2 + 8 * WORDS)
}

fn write(words: &[u64], bytes: &mut [u8]) -> usize {
    for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<8>().0) {
        *bytes = word.to_le_bytes();
    }
    8 * words.len()
}

fn words<const WORDS: usize>(bytes: &[u8]) -> Option<[u64; WORDS]> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let chunks: &[[u8; 8]; WORDS] = chunks.try_into().ok().filter(|_| rest.is_empty())?;
    Some(chunks.map(u64::from_le_bytes))
}

fn encode(seen: Seen) -> [u64; SEEN_WORDS] {
    let mut words = [seen.serving.into(), seen.name, seen.last.into(), 0, 0, 0, 0, 0];
    words[3..].copy_from_slice(&seen.token.0);
    words
}

fn decode(words: &[u64]) -> Seen {
    let token = ReleaseToken(*words[3..].first_chunk().expect("a token"));
    Seen { serving: words[0] as u32, name: words[1], last: words[2] as u32, token }
}

fn ask<W: Words, const WORDS: usize, const REPLY: usize>(
    process: Process<'_, W>,
    at: u32,
    operation: u8,
    sent: [u64; WORDS],
) -> [u64; REPLY] {
    let (request, length) = request(operation, sent);
    let mut reply = [0; REPLY_BYTES];
    let length = process.words.ask(at, &request[..length], &mut reply);
    words(&reply[..length]).expect("a reply has its length")
}

/// Has a process execute what nobody waits for, and acquire; returns what it replies if somebody wants to know.
fn tell<W: Words, const WORDS: usize>(
    process: Process<'_, W>,
    at: u32,
    operation: u8,
    sent: [u64; WORDS],
) -> Option<u64> {
    let (request, length) = request(operation, sent);
    if process.words.is_traced() {
        let mut reply = [0; REPLY_BYTES];
        let length = process.words.ask_to_acquire(at, &request[..length], &mut reply);
        let [count] = words(&reply[..length]).expect("a reply has its length");
        return Some(count);
    }
    process.words.post_to_acquire(at, &request[..length]);
    None
}

/// See [`Process::enqueue`].
pub(crate) fn enqueue<W: Words>(process: Process<'_, W>, name: u64) -> Option<Queued<W::Line>> {
    let reply: [u64; 2 + SEEN_WORDS] = ask(process, 0, ENQUEUE, [name]);
    let slot = (reply[0] != NONE).then(|| process.slot(reply[0] as usize))?;
    Some(Queued { slot, ticket: reply[1] as u32, seen: decode(&reply[2..]) })
}

/// See [`Slot::look`].
pub(crate) fn look<W: Words>(process: Process<'_, W>, slot: Slot<W::Line>) -> Seen {
    decode(&ask::<W, 1, SEEN_WORDS>(process, 0, LOOK, [slot.index as u64]))
}

/// The slot of a lock that is held, and the ticket that holds it.
pub(crate) fn find<W: Words>(process: Process<'_, W>, name: u64) -> (Slot<W::Line>, u32) {
    let [slot, serving] = ask(process, 0, FIND, [name]);
    match slot {
        NONE => (process.insert(name), 0),
        slot => (process.slot(slot as usize), serving as u32),
    }
}

/// See [`Process::place_caching`].
pub(crate) fn cache<W: Words>(process: Process<'_, W>, name: u64) -> bool {
    let [has_no_waiter] = ask(process, 0, CACHE, [process.words.rank().into(), name]);
    has_no_waiter != 0
}

/// See [`Process::place_revocation`].
pub(crate) fn revoke<W: Words>(process: Process<'_, W>, at: u32, name: u64) -> Revocation {
    let [revocation] = ask(process, at, REVOKE, [name]);
    Revocation::ALL.get(revocation as usize).copied().expect("a kind of revocation")
}

/// See [`Process::place_forget`].
pub(crate) fn forget<W: Words>(process: Process<'_, W>, at: u32, name: u64) {
    let [] = ask(process, at, FORGET, [name]);
}

/// Ends the turn of a lock that this process holds, see [`Slot::hand_over`].
pub(crate) fn hand_over<W: Words>(process: Process<'_, W>, name: u64, token: ReleaseToken) {
    let mut words = [name, process.words.rank().into(), 0, 0, 0, 0, 0];
    words[2..].copy_from_slice(&token.0);
    let (request, length) = request(HAND_OVER, words);
    process.words.post_request(0, &request[..length]);
}

/// See [`Process::place_signal`].
pub(crate) fn signal<W: Words>(
    process: Process<'_, W>,
    to: u32,
    round: usize,
    state: u64,
    with_tasks: bool,
) -> Option<u32> {
    let kind = if with_tasks { SIGNAL_WITH_TASKS } else { SIGNAL };
    tell(process, to, kind, [round as u64, state]).map(|count| count as u32)
}

/// See [`Process::place_arrival`].
pub(crate) fn arrive<W: Words>(process: Process<'_, W>, state: u64) {
    tell(process, 0, ARRIVE, [process.words.rank().into(), state]);
}

/// See [`Process::place_fork`].
pub(crate) fn fork<W: Words>(process: Process<'_, W>, to: u32, message: &[u64]) {
    let mut request = vec![KIND, FORK];
    message.iter().for_each(|word| request.extend(word.to_le_bytes()));
    process.words.post_to_acquire(to, &request);
}

/// Executes a request on the own words; returns the length of the reply, or nothing if no process makes such a request. `reply` has at least
/// [`REPLY_BYTES`].
pub fn serve<W: Words>(process: Process<'_, W>, request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let [KIND, operation, ref sent @ ..] = *request else { return None };
    match operation {
        SIGNAL | SIGNAL_WITH_TASKS | ARRIVE | FORK => serve_barrier(process, operation, sent, reply),
        _ => serve_lock(process, operation, sent, reply),
    }
}

fn rank_of<W: Words>(process: Process<'_, W>, word: u64) -> Option<u32> {
    u32::try_from(word).ok().filter(|rank| *rank < process.words.size())
}

/// Requests about locks.
fn serve_lock<W: Words>(
    process: Process<'_, W>,
    operation: u8,
    sent: &[u8],
    reply: &mut [u8],
) -> Option<usize> {
    match operation {
        ENQUEUE => {
            let [name] = words(sent)?;
            let mut answer = [0; 2 + SEEN_WORDS];
            answer[0] = NONE;
            if let Some(queued) = process.enqueue(name) {
                answer[..2].copy_from_slice(&[queued.slot.index as u64, queued.ticket.into()]);
                answer[2..].copy_from_slice(&encode(queued.seen));
            }
            Some(write(&answer, reply))
        }
        LOOK => {
            let [index] = words(sent)?;
            let slot = (index < W::LAYOUT.lock_slots as u64).then(|| process.slot(index as usize))?;
            Some(write(&encode(slot.look(process.words)), reply))
        }
        FIND => {
            let [name] = words(sent)?;
            let turn = process.turn(name);
            let answer = turn.map_or([NONE, 0], |turn| [turn.slot as u64, turn.ticket.into()]);
            Some(write(&answer, reply))
        }
        HAND_OVER => {
            let sent: [u64; 2 + ReleaseToken::WORDS] = words(sent)?;
            let (rank, token) = (rank_of(process, sent[1])?, ReleaseToken(*sent[2..].first_chunk()?));
            // The slot of a lock that is held stays its own, and the turn is that of the holder. A lock without a slot has ended.
            if let Some(slot) = process.find(sent[0]) {
                slot.hand_over(process.words, rank, token, slot.serving(process.words).wrapping_add(1));
            }
            Some(0)
        }
        CACHE => {
            let [from, name] = words(sent)?;
            Some(write(&[process.place_caching(rank_of(process, from)?, name).into()], reply))
        }
        REVOKE => {
            let [name] = words(sent)?;
            Some(write(&[process.place_revocation(process.words.rank(), name) as u64], reply))
        }
        FORGET => {
            let [name] = words(sent)?;
            process.place_forget(process.words.rank(), name);
            Some(0)
        }
        _ => None,
    }
}

/// Requests about barriers and parallel regions.
fn serve_barrier<W: Words>(
    process: Process<'_, W>,
    operation: u8,
    sent: &[u8],
    reply: &mut [u8],
) -> Option<usize> {
    match operation {
        SIGNAL | SIGNAL_WITH_TASKS => {
            let [round, state] = words(sent)?;
            let round = usize::try_from(round).ok().filter(|round| *round < ROUNDS)?;
            let with_tasks = operation == SIGNAL_WITH_TASKS;
            let count = process.place_signal(process.words.rank(), round, state, with_tasks);
            Some(write(&[count.into()], reply))
        }
        ARRIVE => {
            let [from, state] = words(sent)?;
            process.place_arrival(rank_of(process, from)?, state);
            Some(write(&[0], reply))
        }
        FORK => {
            let (sent, rest) = sent.as_chunks();
            let most = Layout::FORK_HEADER + W::LAYOUT.fork_words;
            let is_right = (Layout::FORK_HEADER..=most).contains(&sent.len()) && rest.is_empty();
            // Process 0 makes them, and has its own at hand.
            if !is_right || process.words.rank() == 0 {
                return None;
            }
            let message: Vec<u64> = sent.iter().map(|word| u64::from_le_bytes(*word)).collect();
            process.place_fork(process.words.rank(), &[&message], false);
            Some(0)
        }
        _ => None,
    }
}
