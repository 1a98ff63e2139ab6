//! Relaxed atomic additions of the program whose results nobody wants (`omp atomic` without capture), to variables whose homes are elsewhere: kept, and sent many at a time, as memory-based operations
//! are.
//!
//! To the threads of this process they have to look as if they had been executed at once. So they are kept only while no state here allows an access to their block, or where it is a copy that gets them at once; and whatever may make one accessible, a
//! miss or another atomic operation, has those of its chunk executed before, and keeps new ones away until it is done ([`drain`]). An acquire, which may bring the home of a migratory block here, leaves those alone, and nothing is kept while the process fetches ahead ([`suspend`]). To other processes they have to be executed before this one
//! releases, as all that is posted. A thread that reads an atomic variable sends them, as it may be waiting for what others do about them, and a thread of the runtime sends what is kept for
//! long, and nothing else: a process in which a second thread has run the protocol takes locks from then on ([`biased_lock`](crate::memory::biased_lock)).
//!
//! Chunks share lists by a hash of their numbers; a list is locked while its operations are executed, and by who drains them. Locks of several lists are taken in their order, and behind none of
//! them any other lock of this crate.

use std::array::from_fn;
use std::cell::UnsafeCell;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{LazyLock, Once};
use std::time::Duration;

use dsm_abi::atomic::{RmwOp, Update};
use dsm_abi::state::{COLD, NOTICED, READABLE};
use dsm_coherence::{Block, Chunk, Extent, Order};
use dsm_threads::wait::Waitable;
use dsm_threads::{atomic, futex};
use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;

use super::list::List;
use crate::memory::fabric::{run, run_sync};
use crate::memory::services::spawn_service;
use crate::{config, memory, race};
use dsm_threads::handler::{Deferred, over_user_code};

/// What is kept for longer is sent.
const LONGEST: Duration = Duration::from_millis(1);
/// Number of lists.
const LISTS: usize = 256;
/// Words of which a list remembers the last operation: as many as a chunk of the smallest blocks has, of 4 bytes.
const WORDS_OF_LIST: usize = 1024;
/// Words of a set of lists.
const WORDS: usize = LISTS / 64;
/// Operations from which on a list is executed.
const MOST_OPERATIONS: usize = 1024;
/// Bytes of operands from which on it is.
const MOST_BYTES: usize = 8 << 10;

/// Whether operations may be kept in this job.
static ENABLED: AtomicBool = AtomicBool::new(false);
/// Whether any process is reached by messages.
static SAVES_MESSAGES: AtomicBool = AtomicBool::new(false);
/// Lists that are not empty, as bits: changed with the list locked.
static USED: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// Threads that may make any block accessible: nothing is kept meanwhile.
static SUSPENDED: AtomicU32 = AtomicU32::new(0);
/// Not 0 since something was kept that the sending thread has not looked for.
static KEPT: AtomicU32 = AtomicU32::new(0);
/// Whether that thread sleeps until there is something.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// Operations that were kept.
static COUNT: AtomicU64 = AtomicU64::new(0);

struct Locked {
    lock: RawMutex,
    list: UnsafeCell<List>,
    /// Operations that were kept, before they were combined.
    count: UnsafeCell<u64>,
    /// How many times the list was executed; wraps around.
    executions: AtomicU32,
}

// SAFETY: the list is used with the lock held.
unsafe impl Sync for Locked {}
// SAFETY: as above.
unsafe impl Send for Locked {}

static ALL: LazyLock<Vec<Locked>> = LazyLock::new(|| {
    let empty = || Locked {
        lock: RawMutex::INIT,
        list: UnsafeCell::new(List::new(WORDS_OF_LIST)),
        count: UnsafeCell::new(0),
        executions: AtomicU32::new(0),
    };
    (0..LISTS).map(|_| empty()).collect()
});

/// The number of a chunk's list.
fn list_of(chunk: Chunk) -> usize {
    // Neighbours have lists of their own.
    (chunk.0 % LISTS as u64) as usize
}

/// A list that the thread has locked.
struct Guard {
    number: usize,
    _deferred: Deferred,
}

impl Guard {
    fn lock(number: usize) -> Guard {
        let deferred = Deferred::begin();
        // A thread that waits here stays in user code: it may be between a check and the access, and a release that found it outside would take the
        // permission away. Who holds the lock waits for no release.
        ALL[number].lock.lock();
        Guard { number, _deferred: deferred }
    }

    fn list(&mut self) -> &mut List {
        // SAFETY: the lock is held, and the guard borrowed.
        unsafe { &mut *ALL[self.number].list.get() }
    }

    /// Executes all operations of the list. That may wait for a release of another thread, which must not take permissions away that this one has checked: misses come here.
    fn execute(&mut self) {
        if USED[self.number / 64].load(Ordering::Relaxed) & self.bit() == 0 {
            return;
        }
        let list = self.list();
        over_user_code(|| {
            while !list.operations.is_empty() {
                list.execute_chunk(|_, execute| execute());
            }
        });
        USED[self.number / 64].fetch_and(!self.bit(), Ordering::SeqCst);
        let executions = &ALL[self.number].executions;
        executions.store(executions.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        // SAFETY: as in `list`.
        COUNT.fetch_add(std::mem::take(unsafe { &mut *ALL[self.number].count.get() }), Ordering::Relaxed);
    }

    fn bit(&self) -> u64 {
        1 << (self.number % 64)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: this guard has locked it.
        unsafe { ALL[self.number].lock.unlock() };
    }
}

/// Memory is set up.
pub fn init() {
    let enabled = memory::shared().is_some() && config::get().post_atomics && !race::is_on();
    ENABLED.store(enabled, Ordering::Relaxed);
    let is_far = memory::shared().is_some_and(|shared| !shared.segments.are_mapped());
    SAVES_MESSAGES.store(is_far, Ordering::Relaxed);
}

/// Whether operations that are kept may spare messages.
#[inline]
pub fn saves_messages() -> bool {
    SAVES_MESSAGES.load(Ordering::Relaxed)
}

/// A child that `fork` has made keeps nothing: what its parent kept was sent.
pub fn end_in_child() {
    ENABLED.store(false, Ordering::Relaxed);
}

/// The addition that an operation is.
fn addition(op: RmwOp, operand: u128, size: u32) -> Option<Update> {
    let (op, operand) = match op {
        RmwOp::Add | RmwOp::FAdd => (op, operand),
        RmwOp::Sub => (RmwOp::Add, operand.wrapping_neg()),
        RmwOp::FSub => (RmwOp::FAdd, operand ^ 1 << (8 * size - 1)),
        _ => return None,
    };
    Some(Update::Rmw { op, operand })
}

/// Whether no state here allows an access to the block at an address, and nothing is here that its home does not have.
fn is_elsewhere(address: usize) -> bool {
    (COLD..=NOTICED).contains(&memory::get().table().get(address))
}

/// Whether loads of the block at an address hit here and stores miss, in a job of two processes
/// ([`Coherence::has_only_copies`](dsm_coherence::Coherence::has_only_copies)): either this process holds the only copy
/// besides the home's, or it is the home and its peer may hold a copy.
pub fn is_copied(address: usize) -> bool {
    memory::get().table().get(address) == READABLE
        && memory::shared().is_some_and(|shared| shared.coherence.has_only_copies(Order::Relaxed))
}

/// Keeps a relaxed operation without a result on a shared address, if it is one that may be. `place`: the block, and the offset in it.
#[inline]
pub fn post(address: usize, place: (Block, usize), size: u32, op: RmwOp, operand: u128) -> bool {
    if !ENABLED.load(Ordering::Relaxed)
        || !(is_elsewhere(address) || is_copied(address))
        || !atomic::is_direct(address, size as usize)
    {
        return false;
    }
    let Some(update) = addition(op, operand, size) else { return false };
    let (block, offset) = place;
    let Some(shared) = memory::shared() else { return false };
    let mut guard = Guard::lock(list_of(block.chunk()));
    // In this order: a home that an acquire has brought is seen behind the mark that it did so by.
    if shared.coherence.is_migratory(block) {
        run(pin!(shared.coherence.forget_migratory(block)));
    }
    let has_copy = is_copied(address);
    if !has_copy && !is_elsewhere(address) {
        return false;
    }
    let begins = guard.list().operations.is_empty();
    if begins {
        // Before the look: who suspends looks for it behind.
        USED[guard.number / 64].fetch_or(guard.bit(), Ordering::SeqCst);
    }
    let change_copy =
        || run_sync(|| shared.coherence.change_only_copy_sync(block, offset, size as usize, update));
    if SUSPENDED.load(Ordering::SeqCst) != 0 || has_copy && !change_copy() {
        if begins {
            USED[guard.number / 64].fetch_and(!guard.bit(), Ordering::SeqCst);
        }
        return false;
    }
    let list = guard.list();
    list.update(address, place, size as usize, update);
    let is_full = list.has(MOST_OPERATIONS, MOST_BYTES);
    // SAFETY: as in `Guard::list`.
    unsafe { *ALL[guard.number].count.get() += 1 };
    if is_full {
        guard.execute();
    }
    drop(guard);
    if begins {
        note();
    }
    true
}

/// Something is kept since now: the sending thread is to look for it.
fn note() {
    static STARTED: Once = Once::new();
    if KEPT.load(Ordering::SeqCst) == 0 {
        KEPT.store(1, Ordering::SeqCst);
        (&KEPT).wake(&SLEEPERS, futex::ALL);
        STARTED
            .call_once(|| spawn_service("dsm-posted", "atomic operations that are kept for long", send_old));
    }
}

fn send_old() {
    let executions = |number: usize| ALL[number].executions.load(Ordering::Relaxed);
    loop {
        (&KEPT).sleep(&SLEEPERS, futex::ALL, |kept| kept != 0);
        KEPT.store(0, Ordering::SeqCst);
        let seen: [u32; LISTS] = from_fn(executions);
        let used: [u64; WORDS] = from_fn(|i| USED[i].load(Ordering::SeqCst));
        std::thread::sleep(LONGEST);
        for number in (0..LISTS).filter(|number| used[number / 64] >> (number % 64) & 1 != 0) {
            // What is in a list that was executed has been kept since then.
            if executions(number) == seen[number] {
                Guard::lock(number).execute();
            }
        }
        if !is_nothing_kept() {
            KEPT.store(1, Ordering::SeqCst);
        }
    }
}

/// Whether nothing is kept.
#[inline]
pub fn is_nothing_kept() -> bool {
    USED.iter().fold(0, |used, word| used | word.load(Ordering::Relaxed)) == 0
}

/// Whether something may be kept for a chunk.
#[inline]
pub fn is_kept(chunk: Chunk) -> bool {
    let number = list_of(chunk);
    USED[number / 64].load(Ordering::SeqCst) >> (number % 64) & 1 != 0
}

/// Executes all that is kept, and has nothing kept until [`resume`].
pub fn suspend() {
    SUSPENDED.fetch_add(1, Ordering::SeqCst);
    send_used();
}

/// See [`suspend`].
pub fn resume() {
    SUSPENDED.fetch_sub(1, Ordering::SeqCst);
}

/// Executes all that is kept.
#[inline]
pub fn send_all() {
    if !is_nothing_kept() {
        send_used();
    }
}

fn send_used() {
    for (i, word) in USED.iter().enumerate() {
        let mut used = word.load(Ordering::SeqCst);
        while used != 0 {
            Guard::lock(64 * i + used.trailing_zeros() as usize).execute();
            used &= used - 1;
        }
    }
}

/// Lists of which the thread has executed all, and that others keep nothing on.
pub struct Drained {
    _guards: HeldLists,
}

enum HeldLists {
    None,
    One { _guard: Guard },
    Several { _guards: Vec<Guard> },
}

/// Has what is kept for the chunks of an extent executed, and keeps more away as long as the value lives. For what may make blocks accessible.
#[inline]
pub fn drain(extent: Extent) -> Drained {
    if !ENABLED.load(Ordering::Relaxed) {
        return Drained { _guards: HeldLists::None };
    }
    let first = extent.first.chunk();
    if first != Block(extent.end().0 - 1).chunk() {
        return drain_several(std::iter::once(extent));
    }
    let mut guard = Guard::lock(list_of(first));
    guard.execute();
    Drained { _guards: HeldLists::One { _guard: guard } }
}

/// As [`drain`], for several extents.
pub fn drain_several(extents: impl Iterator<Item = Extent>) -> Drained {
    if !ENABLED.load(Ordering::Relaxed) {
        return Drained { _guards: HeldLists::None };
    }
    let mut wanted = [0; WORDS];
    for chunk in extents.flat_map(|extent| extent.chunks().map(|part| part.first.chunk()).take(LISTS)) {
        let number = list_of(chunk);
        wanted[number / 64] |= 1u64 << (number % 64);
    }
    let is_wanted = |number: &usize| wanted[number / 64] >> (number % 64) & 1 != 0;
    let guards = (0..LISTS).filter(is_wanted).map(|number| {
        let mut guard = Guard::lock(number);
        guard.execute();
        guard
    });
    Drained { _guards: HeldLists::Several { _guards: guards.collect() } }
}

/// Runs what may make blocks of a chunk accessible.
pub fn exclusive(chunk: Chunk, body: &mut dyn FnMut()) {
    let _drained = drain(Extent::single(chunk.block(0)));
    body();
}

/// Counters for the table at the end.
pub fn counters() -> [(&'static str, u64); 1] {
    [("atomics_posted", COUNT.load(Ordering::Relaxed))]
}
