//! What locks, barriers, regions, conditions, tasks and reductions ([`dsm_sync`]) are built on here: the control areas, and the coherent memory.

use std::sync::Once;
use std::sync::atomic::Ordering;

use dsm_abi::job::MAX_PROCESSES;
use dsm_abi::trace::flow;
use dsm_coherence::{Rank, ReleaseToken};
use dsm_comm::{Half, POST_BYTES};
use dsm_config as config;
use dsm_sync::{ALL, Cell, Edge, LINE, Layout, Memory, Process, State, Waiting, Words};
use dsm_threads::wait::Waitable;
use parking_lot::Mutex;

use crate::hooks::hooks;
use dsm_control::{Fixed, Line, cell, is_mapped, line, post, read_words, send, write_words};
use dsm_job as job;
use dsm_memory::threads::Quiescent;
use dsm_memory::{self as memory, fabric};
use dsm_observe::progress::{self, Doing, Now};
use dsm_observe::{race, trace};
use dsm_threads::handler::{self, Deferred};

/// Slots of the table of locks.
const LOCK_SLOTS: usize = 1 << 21;
/// Neighbouring slots in which a name may live that is not at home.
const LOCK_WINDOW: usize = 32;
/// Locks of parts of the table of locks.
const LOCK_STRIPES: usize = 64;
/// Longest fork message, words.
const FORK_WORDS: usize = 4096;
/// Counters of notifications.
const CONDITION_SLOTS: usize = 1 << 16;
/// Longest message about tasks, words.
pub const TASK_MESSAGE_WORDS: usize = 192;
/// Tasks of a process that other processes may have at a time.
pub const TASK_SLOT_COUNT: usize = 1 << 16;

/// Where the words are, behind those of the protocol.
const LAYOUT: Layout = Layout::packed(
    BEGIN.offset(0),
    MAX_PROCESSES as usize,
    FORK_WORDS,
    (LOCK_SLOTS, LOCK_WINDOW, LOCK_STRIPES),
    CONDITION_SLOTS,
    (TASK_MESSAGE_WORDS, TASK_SLOT_COUNT),
    dsm_abi::reduction::MOST_WORDS,
);
const BEGIN: Fixed<Line> = Fixed::behind(fabric::LAST_WORDS, 1);
const _: Fixed<Line> = Fixed::behind(fabric::LAST_WORDS, (LAYOUT.end() - BEGIN.offset(0)) / LINE);

static STATE: State = State::new();

/// This process's part.
#[inline(always)]
pub fn process() -> Process<'static, ControlAreas> {
    Process::new(&STATE, &ControlAreas)
}

/// Executes a procedure for a process that does not have the control area of this one mapped. See [`dsm_comm::requests::Calls`].
pub fn serve(request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let request = match request.strip_prefix(&NOTICES) {
        Some(rest) => take_notices(rest)?,
        None => request,
    };
    dsm_sync::serve(process(), request, reply)
}

/// Begins a request in front of which are write notices: then come the rank of the sender, the number of their bytes, and they.
const NOTICES: [u8; 2] = [dsm_sync::KIND, u8::MAX];
/// Bytes in front of the notices.
const NOTICES_HEAD: usize = NOTICES.len() + 4 + 4;

/// A request behind the write notices that the process needs for the acquire that it causes, as far as there is space.
fn with_notices(at: u32, request: &[u8]) -> Vec<u8> {
    let mut message = NOTICES.to_vec();
    message.extend(crate::rank().to_le_bytes());
    message.extend([0; 4]);
    let most = POST_BYTES.saturating_sub(NOTICES_HEAD + request.len());
    if let Some(shared) = memory::shared() {
        // The signature is locked: a handler may release.
        let _deferred = Deferred::begin();
        shared.coherence.add_piggyback(Rank(at), most, &mut message);
    }
    let bytes = (message.len() - NOTICES_HEAD) as u32;
    message[NOTICES_HEAD - 4..NOTICES_HEAD].copy_from_slice(&bytes.to_le_bytes());
    message.extend(request);
    message
}

/// Keeps the write notices in front of a request, and returns that; `None` if there are none such.
fn take_notices(message: &[u8]) -> Option<&[u8]> {
    let (from, rest) = message.split_first_chunk()?;
    let (bytes, rest) = rest.split_first_chunk()?;
    let (notices, request) = rest.split_at_checked(u32::from_le_bytes(*bytes) as usize)?;
    if !notices.is_empty() {
        let from = Rank(u32::from_le_bytes(*from));
        memory::wait_shared().coherence.receive_piggyback(from, notices).ok()?;
    }
    Some(request)
}

/// Turns in a row after which a process caches a lock: who takes it from time to time in turns with others is not to wait for them to give it up.
const CACHES_AFTER: u64 = 2;

/// What the thread sleeps on that gives up the locks of a process that others revoke.
fn revocations(at: u32) -> Cell<Line> {
    Cell::first(line(at, LAYOUT.lock_revocations))
}

/// Gives up locks that others revoke, as often as they do.
fn serve_revocations() {
    crate::begin_service();
    let revocations = revocations(crate::rank());
    let mut seen = 0;
    loop {
        seen = ControlAreas.sleep(revocations, |count| count != seen);
        process().give_up_revoked();
    }
}

/// The control areas of all processes.
#[derive(Debug)]
pub struct ControlAreas;

fn halves(cell: Cell<Line>) -> (Half, Half) {
    (cell.line.half(cell.value), cell.line.half(cell.sleepers))
}

/// The number of an edge in a trace.
fn flow_of(edge: Edge) -> u64 {
    match edge {
        Edge::Lock { slot, ticket } => flow::lock(slot, ticket),
        Edge::Barrier { to, round, count } => flow::barrier(to, round, count),
        Edge::Fork { to, count } => flow::fork(to, count),
        Edge::Join { from, count } => flow::join(from, count),
    }
}

/// Waits for a lock: first as a thread that is about to go on.
#[inline(never)]
fn wait_lock(name: u64, (word, sleepers): (Half, Half), mask: u32, until: impl Fn(u32) -> bool) -> u32 {
    let _traced = trace::lock(name);
    if cell::look(word, &until) {
        return word.load(Ordering::SeqCst);
    }
    let _quiescent = Quiescent::begin();
    let _now = Now::begin(Doing::Lock, name, 0);
    cell::wait(word, sleepers, mask, until)
}

impl Words for ControlAreas {
    type Line = Line;

    const LAYOUT: Layout = LAYOUT;

    #[inline(always)]
    fn rank(&self) -> u32 {
        crate::rank()
    }

    #[inline(always)]
    fn size(&self) -> u32 {
        crate::size()
    }

    #[inline(always)]
    fn line(&self, at: u32, offset: usize) -> Line {
        line(at, offset)
    }

    #[inline(always)]
    fn load(&self, line: Line, at: usize) -> u64 {
        line.word(at).load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn store(&self, line: Line, at: usize, value: u64) {
        line.word(at).store(value, Ordering::SeqCst);
    }

    #[inline(always)]
    fn fetch_add(&self, line: Line, at: usize, value: u64) -> u64 {
        line.word(at).fetch_add(value, Ordering::SeqCst)
    }

    #[inline(always)]
    fn fetch_or(&self, line: Line, at: usize, bits: u64) -> u64 {
        line.word(at).fetch_or(bits, Ordering::SeqCst)
    }

    #[inline(always)]
    fn compare_exchange(&self, line: Line, at: usize, expected: u64, new: u64) -> u64 {
        let found = line.word(at).compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
        found.unwrap_or_else(|found| found)
    }

    #[inline(always)]
    fn load_half(&self, line: Line, at: usize) -> u32 {
        line.half(at).load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn store_half(&self, line: Line, at: usize, value: u32) {
        line.half(at).store(value, Ordering::SeqCst);
    }

    #[inline(always)]
    fn fetch_add_half(&self, line: Line, at: usize, value: u32) -> u32 {
        line.half(at).fetch_add(value, Ordering::SeqCst)
    }

    fn read_words(&self, at: u32, offset: usize, into: &mut [u64]) {
        read_words(at, offset, into);
    }

    fn write_words(&self, at: u32, offset: usize, words: &[u64]) {
        write_words(at, offset, words);
    }

    #[inline(always)]
    fn post(&self, line: Line, at: usize, value: u64) {
        line.word(at).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn post_half(&self, line: Line, at: usize, value: u32) {
        line.half(at).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn post_and_wake(&self, cell: Cell<Line>, value: u32, mask: u32) {
        let (word, sleepers) = halves(cell);
        cell::store_and_wake(word, value, sleepers, mask);
    }

    #[inline(always)]
    fn wait(&self, cell: Cell<Line>, mask: u32, waiting: Waiting, until: impl Fn(u32) -> bool) -> u32 {
        let (word, sleepers) = halves(cell);
        // What is there or about to come is not worth noting.
        if matches!(waiting, Waiting::Barrier(_) | Waiting::Join(_)) && cell::look(word, &until) {
            return word.load(Ordering::SeqCst);
        }
        let _now = match waiting {
            Waiting::Lock(name) => return wait_lock(name, (word, sleepers), mask, until),
            Waiting::Table | Waiting::Reduction => None,
            Waiting::Barrier(participants) => Some(Now::begin(Doing::Barrier, 0, participants)),
            Waiting::Join(participants) => Some(Now::begin(Doing::Join, 0, participants)),
            Waiting::Fork => Some(Now::begin(Doing::Idle, 0, 0)),
            Waiting::Condition(name) => Some(Now::begin(Doing::Condition, name, 0)),
        };
        cell::wait(word, sleepers, mask, until)
    }

    fn wait_change(
        &self,
        cell: Cell<Line>,
        mask: u32,
        seen: u32,
        waiting: Waiting,
        until: impl Fn(u32) -> bool,
    ) -> u32 {
        let (word, sleepers) = halves(cell);
        match waiting {
            Waiting::Lock(name) if !word.is_mapped() && !until(seen) => {
                let _traced = trace::lock(name);
                let _quiescent = Quiescent::begin();
                let _now = Now::begin(Doing::Lock, name, 0);
                cell::wait_change(word, sleepers, mask, seen, until)
            }
            _ => self.wait(cell, mask, waiting, until),
        }
    }

    fn spin(&self, cell: Cell<Line>, until: impl Fn(u32) -> bool) -> Option<u32> {
        cell::spin(halves(cell).0, until)
    }

    fn look(&self, cell: Cell<Line>, until: impl Fn(u32) -> bool) -> bool {
        cell::look(halves(cell).0, until)
    }

    fn sleep(&self, cell: Cell<Line>, until: impl Fn(u32) -> bool) -> u32 {
        let (word, sleepers) = halves(cell);
        word.sleep(sleepers, ALL, until)
    }

    #[inline(always)]
    fn add_and_wake(&self, cell: Cell<Line>, value: u32) -> u32 {
        let (word, sleepers) = halves(cell);
        word.add_and_wake(value, sleepers, ALL)
    }

    #[inline(always)]
    fn store_and_wake(&self, cell: Cell<Line>, value: u32, mask: u32) {
        let (word, sleepers) = halves(cell);
        word.store(value, Ordering::SeqCst);
        cell::wake(word, sleepers, mask);
    }

    fn wake(&self, cell: Cell<Line>) {
        let (word, sleepers) = halves(cell);
        cell::wake(word, sleepers, ALL);
    }

    #[inline(always)]
    fn asks(&self, at: u32) -> bool {
        !is_mapped(at)
    }

    fn ask(&self, at: u32, request: &[u8], reply: &mut [u8]) -> usize {
        send(at, request, reply)
    }

    fn post_request(&self, at: u32, request: &[u8]) {
        post(at, request);
    }

    fn ask_to_acquire(&self, at: u32, request: &[u8], reply: &mut [u8]) -> usize {
        send(at, &with_notices(at, request), reply)
    }

    fn post_to_acquire(&self, at: u32, request: &[u8]) {
        post(at, &with_notices(at, request));
    }

    fn is_traced(&self) -> bool {
        trace::is_on()
    }

    fn guard_mailbox(&self) -> impl Sized {
        static MAILBOX: Mutex<()> = Mutex::new(());
        MAILBOX.lock()
    }

    fn defer_handlers(&self) -> impl Sized {
        Deferred::begin()
    }

    fn delegate_turn(&self, slot: usize, ticket: u32) {
        (hooks().start_thread)(Box::new(move || process().pass_turn(slot, ticket)));
    }

    #[inline]
    fn caches_after(&self) -> Option<u64> {
        (self.size() > 1 && config::get().cache_locks && !race::is_on()).then_some(CACHES_AFTER)
    }

    fn begin_caching(&self) -> bool {
        static STARTED: Once = Once::new();
        if !STARTED.is_completed() {
            // A handler may have interrupted the C library in the middle of something that starting a thread needs.
            if handler::is_over_user_code() {
                return false;
            }
            let _deferred = Deferred::begin();
            STARTED.call_once(|| (hooks().start_thread)(Box::new(serve_revocations)));
        }
        true
    }

    fn call_revoker(&self, at: u32) {
        self.add_and_wake(revocations(at), 1);
    }

    fn too_many_locks(&self, slots: usize) -> ! {
        job::die(&format!(
            "the program holds too many locks at once: {slots} that share a part of the table of {}",
            LOCK_SLOTS
        ))
    }
}

impl Memory for ControlAreas {
    fn release(&self) {
        crate::release();
    }

    #[inline(always)]
    fn release_then(&self, edge: impl FnOnce() -> Edge, then: impl FnOnce(ReleaseToken)) {
        crate::release_then(|| flow_of(edge()), then);
    }

    fn published(&self) -> u64 {
        crate::published()
    }

    #[inline(always)]
    fn acquire(&self, from: u32, token: ReleaseToken, edge: impl FnOnce() -> Edge) {
        crate::acquire_token(from, token, || flow_of(edge()));
    }

    fn acquire_published(&self, from: u32) {
        crate::acquire_from(from);
    }

    fn prefetch(&self, token: ReleaseToken) {
        crate::prefetch(token);
    }

    #[inline]
    fn precedes(&self, edges: impl Iterator<Item = Edge>) {
        trace::precedes(edges.map(flow_of));
    }

    #[inline]
    fn follows(&self, from: u32) {
        race::clocks::after_acquire(from);
    }

    fn begin_fork(&self) {
        race::clocks::fork();
    }

    fn begin_region(&self, count: u32) {
        progress::begin_region(count);
    }

    fn forked(&self) {
        race::clocks::forked();
    }

    fn arrive(&self) -> u32 {
        let arrival = race::clocks::arrive();
        progress::arrive();
        arrival
    }

    fn depart(&self, arrival: u32, participants: u32) {
        race::clocks::depart(arrival, participants);
    }

    /// If these are all processes of the job, every process has acquired from every other.
    fn synchronised(&self, participants: u32) {
        let _deferred = Deferred::begin();
        if participants == crate::size() {
            if let Some(shared) = memory::shared() {
                shared.coherence.drop_known_notices();
            }
            memory::twins::after_sync();
            memory::huge::after_sync();
        }
    }
}
