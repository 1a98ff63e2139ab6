//! The coherence protocol: home-based, multiple-writer, eager release, with logical timestamps and write notices. It follows W. Endo, K. Taura, "Implementation of a
//! distributed shared memory library based on logical timestamps" (in Japanese, IPSJ technical report, 2018); the book's page on the protocol says what is new here.
//!
//! The crate owns the protocol and nothing else: no clock, randomness, input or output, and no thread that it starts. What peers see is in the fabric's memory; its own
//! is the signature, lists of leases, counters, and buffers that each thread keeps for its next operation (`thread_local!`s in `stats` and `scratch`, which decide
//! nothing). It is written as async functions over [`Fabric`]; the runtime runs it over shared memory, the schedule explorer over a model.
//!
//! Modules:
//! - words: [`link`] (probable owner and queue lock), `records` (leases and versions, and their lock), `marks` (sharer, dirty and cached bits), `signature` (write notices), `release_token`
//!   (notices piggybacked on locks), [`block_word`] (a block's words, by handle);
//! - calls: `segment` (one process's, as procedures see it), [`calls`] (the procedures: lend, copy, take, merge_diff, read, update, batch, redirect, signature; and their messages);
//! - misses: `miss` (making blocks readable and writable), `read_single` (a block, where its home is mapped), `write_single` (a block at home), `read_one_sided` (a block, by the adapter; its marks: [`rings`]), `ahead` (fetching what is expected to be missed, as `history` knows it), `probable_owner` (finding their homes), `migration_on_miss`, `overwrite` (misses that fetch no contents);
//! - releases: `release`, `queue_lock` (locks of blocks), `home_migration`, `diffs` (merged at a home that stays), `merges` (many of these at once), `twins` (giving their memory back);
//! - atomic and memory-based operations of the program: `atomic`, `atomic_read`, `only_copy` (beside a copy), `open` (without locks), `changes`;
//! - acquires: `acquire` (invalidating what notices name), `expire` (and what bounds cover);
//! - `inspect`: what debuggers ask;
//! - `fast_path` (releases and acquires of a single block), `maybe_async` (its source expands to async and to ordinary functions).
//!
//! Invariants, in the words of the design:
//! - One process is home of a block when nobody moves it. Links lead forward in time: each points to a process that became home later than
//!   the pointing process last was. Hence following links ends.
//! - A version (`wr_ts`) is greater than every lease given on an older version, and a copy is invalidated by a notice whose version is above its
//!   lease. A lease at a home is extended only under the lock of its records, as is the home taken or given a new version.
//! - Must-publish is sticky: a block's dirty mark is set before stores are allowed and leaves the set only in the hands of a release, which
//!   publishes it. A home that stays writable has no dirty mark; there the read marks decide, see `release`.
//! - Locks: the publish gate comes before a chunk's lock, that before the lock of records, which is held inside one call and never while waiting; who
//!   has locked one of them only tries another.
//!   While a process waits for the lock of a block, it has finished with every block of a smaller number and every block that it holds.
//! - Only the process itself changes its state bytes, and takes permissions away only inside its own acquires and releases.
#![forbid(unsafe_code)]

#[macro_use]
mod maybe_async;
mod acquire;
mod ahead;
mod atomic;
mod atomic_read;
pub mod block_word;
pub mod calls;
mod changes;
mod diffs;
mod expire;
pub mod fabric;
mod fast_path;
pub mod fault;
pub mod hash;
mod history;
mod home_migration;
mod inspect;
pub mod link;
mod load_mapped;
mod marks;
mod migration_on_miss;
mod miss;
mod only_copy;
mod open;
mod open_homes;
mod overwrite;
mod probable_owner;
mod queue_lock;
mod range;
mod read_one_sided;
mod read_single;
mod records;
mod release;
mod release_elsewhere;
mod release_token;
mod revoke;
pub mod rings;
mod scratch;
mod segment;
mod signature;
pub mod stats;
mod stays;
mod twins;
pub mod types;
mod write_single;

use std::hash::{Hash, Hasher};
use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub use block_word::BlockWord;
pub use calls::{GroupChange, bytes_in_part};
pub use fabric::{Exchange, Exclusive, Fabric, GROUP, Gate, Look, MarkKind, Word};
pub use fault::Fault;
pub use inspect::Inspection;
pub use link::Link;
pub use maybe_async::poll_once;
pub use open::Order;
pub use range::Wanted;
pub use release_token::ReleaseToken;
pub use signature::carried::CARRIED_WORDS;
pub use types::{Block, CHUNK_BLOCKS, Chunk, Extent, Header, Notice, Rank, Record, Timestamp};

use ahead::Ahead;
use atomic::Updates;
use calls::piggyback::Piggyback;
pub use dsm_abi::part::{Part, Parts};
use dsm_abi::state as abi;
use expire::Leases;
use open_homes::OpenHomes;
use rings::Rings;
use signature::{Front, Signature};
use stats::Stats;

/// The protocol's state in one process; its threads share it.
#[derive(Debug)]
pub struct Coherence<F: Fabric> {
    fabric: F,
    signature: F::Exclusive<Signature>,
    stats: Stats,
    leases: F::Exclusive<Leases>,
    updates: F::Exclusive<Updates>,
    open_homes: F::Exclusive<OpenHomes<F::Handle>>,
    front: Arc<Front>,
    piggyback: Piggyback,
    ahead: F::Exclusive<Ahead>,
    rings: F::Exclusive<Rings>,
    /// Whether any process is reached by messages.
    has_agents: bool,
    /// Whether all homes are mapped, and nobody watches stores: operations look at all words where they are.
    has_mapped_homes: bool,
    /// Whether records are left open at all.
    opens_records: bool,
    /// Comparisons of blocks with their twins that found nothing, since the other threads were last held; changed with the publish gate locked.
    wasted_diffs: AtomicU32,
    /// How many of them make it worth while to wait for the other threads.
    wasted_limit: AtomicU32,
}

impl<F: Fabric> Coherence<F> {
    /// A process that has only what it is the default home of. `notices` bounds the signature.
    pub fn new(fabric: F, notices: usize) -> Self {
        let signature = Signature::new(notices);
        let front = signature.front();
        let piggyback = Piggyback::new(fabric.size());
        let has_agents = (0..fabric.size()).any(|rank| fabric.has_agent(Rank(rank)));
        let has_mapped_homes = !has_agents && !fabric.watches_writes();
        let opens_records = has_mapped_homes && !fabric.leaves_out(Part::OpenRecords);
        let rings = Rings::new(if fabric.ring_entries() == 0 { 0 } else { fabric.size() });
        Coherence {
            fabric,
            signature: F::Exclusive::new(signature),
            stats: Stats::default(),
            leases: F::Exclusive::new(Leases::default()),
            updates: F::Exclusive::new(Updates::default()),
            open_homes: F::Exclusive::new(OpenHomes::default()),
            front,
            piggyback,
            ahead: F::Exclusive::new(Ahead::default()),
            rings: F::Exclusive::new(rings),
            has_agents,
            has_mapped_homes,
            opens_records,
            wasted_diffs: AtomicU32::new(0),
            wasted_limit: AtomicU32::new(release::WASTED_MIN),
        }
    }

    /// The world this process acts on.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// What the protocol did so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Garbage collection of notices, after a global synchronisation: every process of the job has acquired from every other, at least what was published before.
    /// Drops from the signature what everybody knows. Every process must call it after the same synchronisations.
    pub fn drop_known_notices(&self) {
        self.signature().drop_known_notices(&self.fabric);
    }

    /// Greatest version this process has heard of.
    pub fn clock(&self) -> Timestamp {
        self.front.clock()
    }

    /// Gives up blocks that will not be used any more, or not until [`Coherence::adopt`]. No process uses them now.
    pub fn discard(&self, extents: impl Iterator<Item = Extent>) {
        self.open_homes().clear();
        for part in extents.flat_map(Extent::chunks) {
            for kind in MarkKind::ALL.into_iter().filter(|_| !self.fabric.fault(Fault::DiscardKeepsMarks)) {
                let word = Word::Mark { kind, level: 0, index: part.first.chunk().0 };
                let marks = self.fabric.own(word);
                if marks & part.mask() != 0 {
                    self.fabric.set_own(word, marks & !part.mask());
                }
            }
            self.forget_marks(part);
            self.expect_nothing(part.first.chunk(), part.mask());
            let replaced = self.replaced(part.first.chunk());
            if replaced & part.mask() != 0 {
                self.fabric.set_own(Word::Replaced(part.first.chunk()), replaced & !part.mask());
            }
            self.fabric.drop_twin(part);
        }
    }

    /// Begins to use blocks that no process uses and to whose records nothing posted is under way, whose contents are at `home`. Every process calls it before anyone uses them. `version` is above every
    /// version that any notice can name.
    pub fn adopt(&self, extents: impl Iterator<Item = Extent>, home: Rank, version: Timestamp) {
        let here = home == self.me();
        let (link, version, state) =
            if here { (Link::Home, version, abi::WRITABLE) } else { (Link::to(home), 0, abi::COLD) };
        for part in extents.flat_map(Extent::chunks) {
            self.discard(std::iter::once(part));
            let chunk = part.first.chunk();
            self.fabric.set_own_links(part, link.encode());
            let left = if self.fabric.fault(Fault::AdoptKeepsHomes) { 0 } else { part.mask() };
            let others = self.own_homes(chunk).all & !left;
            let homes = others | if here { part.mask() } else { 0 };
            self.fabric.set_own(Word::Homes(chunk), homes ^ self.fabric.default_homes(self.me(), chunk));
            self.set_write_protected(chunk, part.mask(), false);
            self.fabric.set_own_stamps(part, |_| [version; 2]);
            if here {
                // Lease and version of the chunk are also those of its other blocks, which are in use: neither falls, and this version is not below the chunk's.
                self.raise_lease(chunk, version);
            }
            self.fabric.set_state(part, state);
            if here && self.fabric.watches_writes() {
                self.watch(std::iter::once(part));
            }
        }
    }

    /// Treats blocks as written in this interval, so that the next release publishes them and, if [`Fabric::watches_writes`], downgrades them.
    pub fn watch(&self, extents: impl Iterator<Item = Extent>) {
        for part in extents.flat_map(Extent::chunks) {
            marks::set_own(&self.fabric, MarkKind::Dirty, part.first.chunk(), part.mask());
        }
    }

    /// Digest of the process's state that is not in the fabric, for explorers that recognise states.
    #[doc(hidden)]
    pub fn digest<H: Hasher + Default>(&self) -> u64 {
        let mut h = H::default();
        self.signature().digest(&mut h);
        h.write_u64(self.listed().digest());
        self.updates().hash(&mut h);
        self.open_homes().hash(&mut h);
        self.piggyback.digest(&mut h);
        self.ahead().hash(&mut h);
        self.rings().hash(&mut h);
        h.write_u32(self.wasted_diffs.load(Ordering::Relaxed));
        h.write_u32(self.wasted_limit.load(Ordering::Relaxed));
        h.finish()
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

    /// Greatest bound that the own copies have been checked against.
    #[doc(hidden)]
    pub fn applied_bound(&self) -> Timestamp {
        self.signature().min_applied()
    }

    /// Blocks of a chunk that bounds have left valid, and the bound below which they are not looked at again.
    #[doc(hidden)]
    pub fn listed_copies(&self, chunk: Chunk) -> (u64, Timestamp) {
        self.listed().copies(chunk)
    }

    fn signature(&self) -> <F::Exclusive<Signature> as Exclusive<Signature>>::Guard<'_> {
        self.signature.lock()
    }

    fn listed(&self) -> <F::Exclusive<Leases> as Exclusive<Leases>>::Guard<'_> {
        self.leases.lock()
    }

    fn updates(&self) -> <F::Exclusive<Updates> as Exclusive<Updates>>::Guard<'_> {
        self.updates.lock()
    }

    #[inline(always)]
    fn open_homes(&self) -> impl DerefMut<Target = OpenHomes<F::Handle>> + use<'_, F> {
        self.open_homes.lock()
    }

    fn ahead(&self) -> <F::Exclusive<Ahead> as Exclusive<Ahead>>::Guard<'_> {
        self.ahead.lock()
    }

    fn rings(&self) -> <F::Exclusive<Rings> as Exclusive<Rings>>::Guard<'_> {
        self.rings.lock()
    }

    fn me(&self) -> Rank {
        self.fabric.rank()
    }

    #[inline(always)]
    fn decode(&self, word: u64, at: Rank, block: Block) -> Link {
        Link::decode(word, at, || self.fabric.default_home(block))
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
}
