//! What the C library and the kernel keep for a process and a program takes for its own: environment, working directory, locale, limits, random numbers,
//! results in static memory.
//!
//! Changes that process 0 makes are in force in the others from the next fork on: each change counts, and a fork after one leaves a [`snapshot`] on the
//! shared heap, which processes that have an older one follow before they begin. A fork without a change compares some words. Random numbers have one
//! state for the job ([`random`]). Results lie in shared memory ([`results`], [`records`]).

mod environment;
pub mod locale;
mod random;
mod records;
mod results;
mod settings;
mod snapshot;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use dsm_comm::Word;
use parking_lot::Mutex;

use crate::job::{child, die};
use crate::sync::regions;
use crate::{check, config, control, heap, memory, sync};

pub use environment::{array as environment, shared_arguments};
pub use snapshot::{follow, publish};

/// The process id that the program has.
const PID: usize = random::END;

crate::control::declare! {
    /// The state that the job has once, in process 0.
    static STATE: u64, PID + 1;
}

/// The state as a child of `fork` has it, whose changes are nobody else's.
static OF_CHILD: [AtomicU64; PID + 1] = [const { AtomicU64::new(0) }; PID + 1];

/// A word of the state that the job has once.
fn word(i: usize) -> Word {
    if child::is_child() { Word::of(&OF_CHILD[i]) } else { STATE.shared(i) }
}

/// Reads words of the state, which is not mapped, from one on.
fn read_far(first: usize, into: &mut [u64]) {
    control::read_words(0, STATE.offset() + 8 * first, into);
}

/// Writes words of the state, which is not mapped, from one on, in their order.
fn write_far(first: usize, words: &[u64]) {
    control::write_words(0, STATE.offset() + 8 * first, words);
}

/// Gives a child of `fork` a state of its own, which begins as the job's is now; as a new program's if another host has that. Before the child is taken for one.
pub fn detach() {
    if sync::size() == 1 || !control::is_mapped(0) {
        return;
    }
    for (i, own) in OF_CHILD.iter().enumerate() {
        let value = if random::LOCKS.contains(&i) { 0 } else { STATE.shared(i).load(Ordering::Relaxed) };
        own.store(value, Ordering::Relaxed);
    }
}

/// Before the program runs, in every process.
pub fn init() {
    if sync::size() > 1 && sync::rank() == 0 {
        environment::init();
        word(PID).store(std::process::id().into(), Ordering::Release);
    }
}

/// What can be changed: see [`Kind::text`].
#[allow(missing_docs, reason = "the texts say it")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Environment,
    Directory,
    Mask,
    Locale,
    Limits,
    Priority,
    Handlers,
}

impl Kind {
    const COUNT: usize = 7;

    fn text(self) -> &'static str {
        match self {
            Kind::Environment => "the environment",
            Kind::Directory => "the working directory",
            Kind::Mask => "the mask of new files' permissions",
            Kind::Locale => "the locale",
            Kind::Limits => "resource limits",
            Kind::Priority => "its priority",
            Kind::Handlers => "signal or error handlers",
        }
    }
}

/// How often each was changed in this process.
static CHANGES: [AtomicU64; Kind::COUNT] = [const { AtomicU64::new(0) }; Kind::COUNT];

fn changes(kind: Kind) -> u64 {
    CHANGES[kind as usize].load(Ordering::Relaxed)
}

/// The program has changed it. Inside a region of several processes it is the first time something to warn of.
pub fn changed(kind: Kind) {
    if sync::size() == 1 {
        return;
    }
    CHANGES[kind as usize].fetch_add(1, Ordering::Relaxed);
    static WARNED: AtomicU64 = AtomicU64::new(0);
    let bit = 1 << kind as u32;
    let (rank, inside) = (sync::rank(), regions::is_active());
    // A program asks for the mask by setting another for a moment.
    if kind != Kind::Mask && (rank != 0 || inside) && WARNED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        let others =
            if rank == 0 { "have it from the next parallel region on" } else { "keep what they have" };
        eprintln!(
            "dsm: warning: process {rank} changes {} in a parallel region: the other processes {others}",
            kind.text()
        );
    }
}

fn allocated(object: Option<(usize, bool)>) -> usize {
    match object {
        Some((address, _)) => address,
        None => die("no shared memory for a result of the C library"),
    }
}

/// A new object of the shared heap.
fn shared_object(bytes: usize) -> usize {
    allocated(heap::allocate(bytes, 16))
}

/// A new object of blocks of coherence that hold nothing else. The C library looks at the environment wherever it wants, without checks: stores of other
/// processes to neighbours would make it invalid.
fn shared_blocks(bytes: usize) -> usize {
    allocated(heap::allocate_blocks(bytes, block_bytes()))
}

/// Bytes of a block of the heap.
fn block_bytes() -> usize {
    config::get().block_bytes.max(1 << memory::get().geometry().line_shift())
}

/// Copies in shared memory that never change, in blocks of coherence of their own.
#[derive(Default)]
struct Constants {
    /// Address of each copy.
    copies: HashMap<Box<[u8]>, usize>,
    /// The part of the last blocks that has no copies yet.
    unused: Range<usize>,
}

impl Constants {
    /// Least bytes that are allocated at once.
    const BYTES: usize = 4096;

    /// A copy of the bytes, which is made once.
    fn copy(&mut self, bytes: &[u8]) -> usize {
        if let Some(copy) = self.copies.get(bytes) {
            return *copy;
        }
        let copy = self.place(bytes.len());
        check::writable(copy, bytes.len());
        // SAFETY: memory of that size that nothing else has, writable now.
        unsafe { (copy as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.copies.insert(bytes.into(), copy);
        copy
    }

    /// Whether there is a copy at this address.
    fn has(&self, address: usize) -> bool {
        self.copies.values().any(|copy| *copy == address)
    }

    fn place(&mut self, bytes: usize) -> usize {
        if self.unused.len() < bytes {
            let size = bytes.max(Self::BYTES).next_multiple_of(block_bytes());
            let start = shared_blocks(size);
            self.unused = start..start + size;
        }
        let place = self.unused.start;
        self.unused.start = (place + bytes).next_multiple_of(16).min(self.unused.end);
        place
    }
}

/// A copy of the bytes in shared memory, which never changes and is made once for each process.
fn shared_bytes(bytes: &[u8]) -> usize {
    static CONSTANTS: LazyLock<Mutex<Constants>> = LazyLock::new(Mutex::default);
    CONSTANTS.lock().copy(bytes)
}

/// `getpid`: the process of `main`, whoever asks; a child of `fork` is a process of its own.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_getpid() -> i32 {
    if sync::size() == 1 || child::is_child() {
        return std::process::id() as i32;
    }
    word(PID).load(Ordering::Acquire) as i32
}
