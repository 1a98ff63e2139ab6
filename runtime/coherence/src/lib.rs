//! The coherence protocol: home-based, multiple-writer, eager release, with logical timestamps and write notices.
//!
//! The crate owns the protocol and nothing else: no clock, thread, randomness, memory or input and output of its own. It is written as async
//! functions over [`Fabric`]; the runtime runs it over shared memory, the schedule explorer over a model.
//!
//! Rooms: [`link`] (probable owner and queue lock), [`marks`](marks) (who may have read what), `signature` (write notices),
//! `miss` (making blocks readable and writable), `queue_lock` and `release` (publishing), `acquire` (invalidating).
//!
//! Invariants, in the words of the design:
//! - One process is home of a block when nobody moves it. Links lead forward in time: each points to a process that became home later than
//!   the pointing process last was. Hence chases end.
//! - A version (`wr_ts`) is greater than every lease given on an older version, and a copy is invalidated by a notice whose version is above its
//!   lease. A lease at a home is extended only by compare-and-swap, and only counts if the process is still home afterwards.
//! - Must-publish is sticky: a block's dirty mark is set before stores are allowed and leaves the set only in the hands of a release, which
//!   publishes it. A home that stays writable has no dirty mark; there the read marks decide, see `release`.
//! - Only the process itself changes its state bytes, and takes permissions away only inside its own acquires and releases.
#![forbid(unsafe_code)]

mod acquire;
pub mod fabric;
pub mod fault;
pub mod link;
mod marks;
mod miss;
mod queue_lock;
mod release;
mod signature;
pub mod stats;
pub mod types;

use std::sync::Mutex;

pub use fabric::{Fabric, Gate, MarkKind, Word};
pub use fault::Fault;
pub use link::Link;
pub use types::{Block, CHUNK_BLOCKS, Chunk, Extent, Notice, Rank, Timestamp};

use dsm_abi::state as abi;
use signature::Signature;
use stats::Stats;

/// The protocol's state in one process; its threads share it.
#[derive(Debug)]
pub struct Coherence<F> {
    fabric: F,
    signature: Mutex<Signature>,
    stats: Stats,
}

impl<F: Fabric> Coherence<F> {
    /// A process that has only what it is the default home of. `notices` bounds the signature.
    pub fn new(fabric: F, notices: usize) -> Self {
        let size = fabric.size();
        Coherence { fabric, signature: Mutex::new(Signature::new(size, notices)), stats: Stats::default() }
    }

    /// The world this process acts on.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// What the protocol did so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// All processes of the job have met: every one has acquired from every other, at least what was published before. Lets the
    /// signature forget what everybody knows. Must be called by every process at the same meetings.
    pub fn settle(&self) {
        self.signature().settle(&self.fabric);
    }

    /// Digest of the process's state that is not in the fabric, for explorers that recognise states.
    #[doc(hidden)]
    pub fn digest(&self) -> u64 {
        self.signature().digest()
    }

    /// Notices listed and notices remembered, for tests of their bounds.
    #[doc(hidden)]
    pub fn signature_sizes(&self) -> (usize, usize) {
        self.signature().sizes()
    }

    /// Greatest number of remembered notices.
    #[doc(hidden)]
    pub fn remembered_bound(&self) -> usize {
        self.signature().remembered_bound()
    }

    fn signature(&self) -> std::sync::MutexGuard<'_, Signature> {
        self.signature.lock().expect("no thread panics while it holds the signature")
    }

    /// Lease of a copy that is here.
    fn copy_lease(&self, block: Block) -> Timestamp {
        self.fabric.own(Word::Rd(block)) & !types::CLOSED
    }

    fn me(&self) -> Rank {
        self.fabric.rank()
    }

    fn decode(&self, word: u64, at: Rank, block: Block) -> Link {
        Link::decode(word, at, self.fabric.default_home(block))
    }

    /// The own link word of a block and its meaning.
    fn own_link(&self, block: Block) -> (u64, Link) {
        let word = self.fabric.own(Word::Link(block));
        (word, self.decode(word, self.me(), block))
    }

    async fn load_link(&self, at: Rank, block: Block) -> (u64, Link) {
        let word = self.fabric.load(at, Word::Link(block)).await;
        (word, self.decode(word, at, block))
    }

    async fn cas_link(&self, at: Rank, block: Block, expected: u64, new: Link) -> bool {
        self.fabric.cas(at, Word::Link(block), expected, new.encode()).await == expected
    }
}
