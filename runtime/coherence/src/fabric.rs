//! What the protocol needs from the world: one-sided operations on peers, and its own process's memory.
//!
//! Every `async` operation is a point where other processes may act. Ordering rules, which the schedule explorer enforces:
//! - an operation that returns a value (`load`, `cas`, `fetch_or`, `swap`, `fetch`, `snapshot`, `read_*`) is complete when its
//!   future is;
//! - `post_*` operations complete in any order at any later time, up to the next `flush` of that peer;
//! - only `load`, `cas`, `fetch_or`, `swap` and posted word stores are atomic; transfers of data may tear and be interleaved, those of records and
//!   notices word by word;
//! - the synchronous operations act on the own process's memory at once.

mod locks;

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::ops::DerefMut;
use std::sync::{Mutex, MutexGuard};

use dsm_abi::atomic::Update;

use crate::Part;
use crate::block_word::BlockWord;
use crate::calls::{GroupChange, bytes_in_part};
use crate::migration_on_miss::hint;
pub use crate::open::{close, is_open};
use crate::types::{Block, Chunk, Extent, Header, Notice, Rank, Record, Timestamp};
pub(crate) use locks::lock_beside;
pub use locks::{lock_by_cas, try_lock_by_cas};

/// Bytes that have a bit each in a word.
pub const GROUP: usize = u64::BITS as usize;

/// The bit sets over blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MarkKind {
    /// Set by a reader at the process it reads from, before it reads.
    Read,
    /// Set by whoever takes a writable home, at the old home, before it reads.
    Taken,
    /// Set by the process itself when it allows its threads to store. Must-publish.
    Dirty,
    /// Set by the process itself for blocks it may hold a copy of. Changed with the chunk locked.
    Cached,
    // Those from here on have no summaries.
    /// Set by the process itself for blocks that it wrote after it had read them elsewhere: its next read miss takes the home. Level 0 only.
    Migratory,
    /// Set by the process itself for blocks whose home it took on a miss and has not published since. Level 0 only.
    MigratedOnMiss,
    /// Set by the process itself for blocks that several processes store to in the same intervals: misses leave their homes alone. Level 0 only.
    Contended,
    /// Set by the process itself for blocks that it has read at the writer of a notice: it will after the next one, see [`crate::Coherence::fetch_ahead`]. Level 0 only.
    Reread,
    /// Set by the process itself for blocks of `Reread` that one fetch ahead of no use leaves there: the upper bit of two-bit counters. Level 0 only.
    RereadStrong,
    /// Set by the process itself for blocks with a notice whose contents it has fetched since. Level 0 only.
    Ahead,
    /// Set by the process itself for blocks at home here that somebody has read since stores to them were published last. Level 0 only.
    ReadSince,
    /// Set by the process itself: the lower bit of how many releases have published a block since its home came on a miss ([`crate::stays`]). Level 0 only.
    PublishedLow,
    /// The upper bit. Level 0 only.
    PublishedHigh,
    /// Set by the process itself for blocks whose homes have left while stores to them were allowed, and none came. Level 0 only.
    BriefStay,
    /// Set by the process itself for blocks that more than three releases have published before the home left. Level 0 only.
    LongStay,
    /// Set by the process itself for blocks at home elsewhere to which it stored last what was there already. Level 0 only.
    Silent,
    /// Set by the process itself for blocks of `Silent` with which that was so twice in a row: the next miss for stores takes the home. Level 0 only.
    SilentTwice,
    /// A block of the chunk at which the process is executing an atomic operation, at whatever home, with records that are open ([`crate::open`]). Level 0 only.
    Operating,
}

impl MarkKind {
    /// All of them.
    pub const ALL: [MarkKind; 18] = [
        MarkKind::Read,
        MarkKind::Taken,
        MarkKind::Dirty,
        MarkKind::Cached,
        MarkKind::Migratory,
        MarkKind::MigratedOnMiss,
        MarkKind::Contended,
        MarkKind::Reread,
        MarkKind::RereadStrong,
        MarkKind::Ahead,
        MarkKind::ReadSince,
        MarkKind::PublishedLow,
        MarkKind::PublishedHigh,
        MarkKind::BriefStay,
        MarkKind::LongStay,
        MarkKind::Silent,
        MarkKind::SilentTwice,
        MarkKind::Operating,
    ];

    /// Those that a release looks at.
    pub const RELEASED: [MarkKind; 3] = [MarkKind::Dirty, MarkKind::Read, MarkKind::Taken];

    /// The first of them, which have summaries.
    pub const SUMMARISED: usize = 4;
}

/// Names a 64-bit word that every process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    /// See [`Record::link`].
    Link(Block),
    /// See [`Record::rd_ts`].
    Rd(Block),
    /// See [`Record::wr_ts`].
    Wr(Block),
    /// Lock of a chunk's records, and the number of times it was released; or that they are open, see [`crate::open`].
    Records(Chunk),
    /// Greatest lease given on any block of a chunk that is at home here, at least their versions. Never falls.
    Lease(Chunk),
    /// Versions of the blocks of a chunk that are at home here are at least this. At most the lease. Never falls.
    ChunkVersion(Chunk),
    /// Blocks of a chunk whose homes were taken from here without a twin, to be overwritten as a whole. Set by the taker with the records locked, before the
    /// link; cleared by the process itself.
    Replaced(Chunk),
    /// The blocks of a chunk that are at home here: bits that differ from [`Fabric::default_homes`]. Says the same as their links.
    Homes(Chunk),
    /// The write-protected blocks of a chunk among those at home here: no thread of this process may store to them without a miss, so a process that takes
    /// such a home leaves no twin here. Bits of blocks whose home is elsewhere have no meaning.
    WriteProtected(Chunk),
    /// Word `index` of level `level` of a bit set; level 0 has one bit a block.
    Mark {
        /// Which set.
        kind: MarkKind,
        /// Below [`Fabric::mark_levels`].
        level: u8,
        /// Word number in the level.
        index: u64,
    },
    /// Where the previous holder tells a queued process that the lock is its own.
    Grant,
    /// Sequence number and length of the published signature.
    LogState,
    /// Own word: the state word of a peer's signature up to which this process has applied it. Changed with [`Gate::Acquire`] locked.
    Cursor(Rank),
    /// `min_wr_ts` of the published signature. Never falls.
    LogMin,
    /// Where a reader of the list before goes on in one of the two lists that the published signature is in in turns.
    LogCarried {
        /// Which list.
        buffer: u8,
        /// Below [`CARRIED_WORDS`](crate::CARRIED_WORDS); see [`crate::signature::carried`].
        word: u8,
    },
    /// The block that a peer wants to store to, plus one, as long as this process may; see [`crate::revoke`]. 0: none.
    Revoked,
    /// How many read marks a peer has put into its ring here. Only the peer changes it, see [`crate::rings`].
    RingTail(Rank),
    /// How many of these this process has taken out.
    RingConsumed(Rank),
    /// A read mark in a peer's ring: the number of a block. Only the peer changes it, as long as it is not one of those that are to be taken out.
    RingEntry {
        /// Whose ring it is.
        reader: Rank,
        /// Below [`Fabric::ring_entries`].
        slot: u64,
    },
}

/// Locks among the threads of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// One release or critical section at a time; may be held while waiting for another process.
    Publish,
    /// One acquire at a time.
    Acquire,
}

/// A value that the threads of one process share, one at a time.
pub trait Exclusive<T>: Debug {
    /// Lends the value.
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a;

    /// See the type.
    fn new(value: T) -> Self;
    /// Waits until no other thread has the value. The calling thread has not.
    fn lock(&self) -> Self::Guard<'_>;
}

impl<T: Debug> Exclusive<T> for Mutex<T> {
    type Guard<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        Mutex::new(value)
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        Mutex::lock(self).expect("no thread panics while it has the value")
    }
}

/// A call that an agent executes among others, and the place for its reply.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// The process.
    pub at: Rank,
    /// The request.
    pub request: &'a [u8],
    /// As long as the reply may be.
    pub reply: &'a mut [u8],
    /// Length of the reply.
    pub length: usize,
}

/// One of the parts of a look at a peer's memory, see [`Fabric::look`].
#[derive(Debug)]
pub struct Look<'a> {
    /// Words that only this process changes, and what they become: placed one after the other, before anything of this part is read.
    pub writes: &'a [(Word, u64)],
    /// Words, and what they were.
    pub words: &'a mut [(Word, u64)],
    /// A block whose contents go over those of the own one.
    pub contents: Option<Block>,
}

/// See the module documentation.
pub trait Fabric {
    /// Whether every operation but waiting for others completes when it is called.
    const SYNCHRONOUS: bool = false;
    /// How threads of one process share what is not in the fabric.
    type Exclusive<T: Send + Debug>: Exclusive<T>;
    /// Keeps a chunk or a gate locked.
    type Guard<'a>
    where
        Self: 'a;

    /// This process.
    fn rank(&self) -> Rank;
    /// Number of processes.
    fn size(&self) -> u32;
    /// The blocks of a chunk that there are, as bits of its mark words.
    #[inline]
    fn existing(&self, _chunk: Chunk) -> u64 {
        u64::MAX
    }
    /// How many blocks from the first one of an extent on exist, in a row. Extents that a program's accesses make have no others.
    fn existing_run(&self, extent: Extent) -> u64 {
        let exists = |block: &Block| self.existing(block.chunk()) & block.bit() != 0;
        extent.blocks().take_while(exists).count() as u64
    }
    /// Bytes of a block. The same for all blocks of a chunk.
    fn block_bytes(&self, block: Block) -> usize;
    /// Where a block's home is until somebody else writes.
    fn default_home(&self, block: Block) -> Rank;
    /// The blocks of a chunk whose default home a process is, as bits of its mark words.
    fn default_homes(&self, at: Rank, chunk: Chunk) -> u64 {
        let there = |block: &Block| self.default_home(*block) == at;
        chunk.blocks(self.existing(chunk)).filter(there).fold(0, |mask, block| mask | block.bit())
    }
    /// Number of levels of the bit sets: each above the first has a bit for a word of the one below.
    fn mark_levels(&self) -> u8 {
        3
    }
    /// Number of words of the highest level of a bit set.
    fn top_mark_words(&self) -> u64;

    /// Reads a word.
    fn load(&self, at: Rank, word: Word) -> impl Future<Output = u64>;
    /// The union of a summary word of the own bit sets that a release looks at.
    fn load_marked(&self, level: u8, index: u64) -> impl Future<Output = u64> {
        async move {
            let mut bits = 0;
            let checkpoint = self.checkpoint();
            for kind in MarkKind::RELEASED {
                bits |= self.load(self.rank(), Word::Mark { kind, level, index }).await;
                self.live_since(checkpoint, || (kind, bits));
            }
            bits
        }
    }
    /// Whether own sets are empty, as far as their highest summaries tell.
    #[inline]
    fn none_marked(&self, kinds: &[MarkKind]) -> bool {
        let level = self.mark_levels() - 1;
        (0..self.top_mark_words())
            .all(|index| kinds.iter().all(|&kind| self.own(Word::Mark { kind, level, index }) == 0))
    }
    /// The own summaries that a release looks at: those of the words above `chunk`, less the bits that lead to it, and those of the other highest words. 0 if they
    /// lead to it and nowhere else.
    fn load_marked_apart(&self, chunk: Chunk) -> impl Future<Output = u64> {
        async move {
            let (mut index, mut apart) = (chunk.0, 0);
            for level in 1..self.mark_levels() {
                let bit = 1 << (index % 64);
                index /= 64;
                apart |= self.load_marked(level, index).await ^ bit;
            }
            for root in (0..self.top_mark_words()).filter(|root| *root != index) {
                apart |= self.load_marked(self.mark_levels() - 1, root).await;
            }
            apart
        }
    }
    /// Compare-and-swap; returns the old value.
    fn cas(&self, at: Rank, word: Word, expected: u64, new: u64) -> impl Future<Output = u64>;
    /// Sets bits; returns the old value.
    fn fetch_or(&self, at: Rank, word: Word, bits: u64) -> impl Future<Output = u64>;
    /// Exchanges an own word that peers change too.
    fn swap_own(&self, word: Word, new: u64) -> impl Future<Output = u64>;
    /// Stores a word at a peer, some time before the next flush of it, and wakes those who wait for it there.
    fn post_store(&self, at: Rank, word: Word, value: u64) -> impl Future<Output = ()>;
    /// Waits until everything posted to the peer is placed, or will be before anything that is posted to it from now on.
    fn flush(&self, at: Rank) -> impl Future<Output = ()>;
    /// Waits until a word differs from `seen`; returns the new value. May poll.
    fn wait_change(&self, at: Rank, word: Word, seen: u64) -> impl Future<Output = u64>;
    /// Makes an even word odd, once it is even; returns what it was.
    #[inline]
    fn lock_word(&self, at: Rank, word: Word) -> impl Future<Output = u64> {
        lock_by_cas(self, at, word)
    }

    /// As [`Fabric::lock_word`], but does not wait.
    ///
    /// # Errors
    /// The word, which is odd.
    #[inline]
    fn try_lock_word(&self, at: Rank, word: Word) -> impl Future<Output = Result<u64, u64>> {
        try_lock_by_cas(self, at, word)
    }

    /// Whether calls on the segment of a process are executed by its agent, see [`Fabric::call_agent`]; else by who makes them.
    #[inline]
    fn has_agent(&self, _at: Rank) -> bool {
        false
    }
    /// Has a thread of a process call [`crate::Coherence::revoke`].
    fn notify(&self, _at: Rank) -> impl Future<Output = ()> {
        async {}
    }
    /// Has the agent of a process execute a call ([`crate::calls::serve`]). Returns the length of the reply. `reply` has [`Fabric::reply_bytes`] bytes.
    fn call_agent(&self, at: Rank, _request: &[u8], _reply: &mut [u8]) -> impl Future<Output = usize> {
        async move { unreachable!("process {} has no agent", at.0) }
    }
    /// Has the agents of processes execute calls, which are under way together: those of each process in their order. Hands each reply to `arrived` as soon as it is here, with the place of the call
    /// among these.
    fn call_agent_all(
        &self,
        exchanges: &mut [Exchange<'_>],
        mut arrived: impl FnMut(usize, &[u8]),
    ) -> impl Future<Output = ()> {
        async move {
            for (number, Exchange { at, request, reply, length }) in exchanges.iter_mut().enumerate() {
                *length = self.call_agent(*at, request, reply).await;
                arrived(number, &reply[..*length]);
            }
        }
    }
    /// How many read marks each peer has space for in its ring at this process, see [`crate::rings`]. The same in all processes. 0: there are no rings.
    #[inline]
    fn ring_entries(&self) -> u64 {
        0
    }
    /// Looks at a peer's memory, and no processor there takes part. A part is complete before the next one begins. In a part, what is written is placed first; what is read is read after that, word by word and byte by
    /// byte, in any order. Returns false, and has done nothing, if this process cannot reach the memory.
    fn look(&self, _at: Rank, _parts: &mut [Look<'_>]) -> impl Future<Output = bool> {
        async { false }
    }
    /// Most bytes of a request. At least one block's difference ([`crate::calls::most_difference_bytes`]) fits in besides [`crate::calls::REQUEST_BYTES`].
    fn request_bytes(&self) -> usize {
        0
    }
    /// Most bytes of a reply. At least one block fits in besides [`crate::calls::RESULT_BYTES`].
    fn reply_bytes(&self) -> usize {
        0
    }
    /// Whether there is such a chunk, as far as a peer may ask for it.
    fn has_chunk(&self, _chunk: Chunk) -> bool {
        true
    }

    /// Copies a peer's blocks over the own ones.
    fn fetch(&self, from: Rank, extent: Extent) -> impl Future<Output = ()>;
    /// Reads 1, 2, 4 or 8 aligned bytes of a peer's block, which change as one.
    fn load_bytes(&self, at: Rank, block: Block, offset: usize, bytes: usize) -> impl Future<Output = u64>;
    /// Applies an operation to 1, 2, 4 or 8 aligned bytes of a block, which change as one; returns what they were.
    fn update_bytes(
        &self,
        at: Rank,
        block: Block,
        offset: usize,
        bytes: usize,
        update: Update,
    ) -> impl Future<Output = u64>;
    /// Stores 1, 2, 4 or 8 aligned bytes of a block, which change as one. Nothing that this process stores afterwards is visible before.
    fn store_bytes(
        &self,
        at: Rank,
        block: Block,
        offset: usize,
        bytes: usize,
        value: u64,
    ) -> impl Future<Output = ()> {
        async move { _ = self.update_bytes(at, block, offset, bytes, Update::store(value.into())).await }
    }
    /// Copies a peer's blocks to private memory. `into` has [`Fabric::block_bytes`] bytes for each.
    fn snapshot(&self, from: Rank, extent: Extent, into: &mut [u8]) -> impl Future<Output = ()>;
    /// Of some blocks of a chunk, those that take no memory at a process: that are zero because nobody has stored to them, as far as that can be told without reading
    /// them. None, where it cannot be told.
    fn holes(&self, _at: Rank, _chunk: Chunk, _blocks: u64) -> impl Future<Output = u64> {
        async { 0 }
    }
    /// Makes the peer's twins of blocks zero, as [`Fabric::post_twin`] would, if that takes memory, and else not.
    fn post_zero_twin(&self, _to: Rank, _extent: Extent) -> impl Future<Output = ()> {
        async { unreachable!("it tells of no holes") }
    }
    /// Makes own blocks zero.
    fn clear(&self, _extent: Extent) {
        unreachable!("it tells of no holes")
    }
    /// Makes `contents` the peer's twins of the blocks.
    fn post_twin(&self, to: Rank, extent: Extent, contents: &[u8]) -> impl Future<Output = ()>;
    /// Blocks that one snapshot should hold: they stay in a fast cache until they are merged.
    fn snapshot_blocks(&self, chunk: Chunk) -> u64 {
        (32 * 1024 / self.block_bytes(chunk.block(0)) as u64).max(1)
    }

    /// A hint that the homes of these blocks are likely to migrate here from a peer soon.
    fn prefetch_move(&self, _from: Rank, _extent: Extent) {}

    /// Handle of a block at a process: the addresses of its words, and of those of its chunk, looked up once.
    type Handle: Copy + Send;
    /// See the type.
    fn handle(&self, at: Rank, block: Block) -> Self::Handle;
    /// Handle of a block at this process.
    #[inline(always)]
    fn own_handle(&self, block: Block) -> Self::Handle {
        self.handle(self.rank(), block)
    }
    /// Handle of the same block at another process.
    #[inline(always)]
    fn handle_elsewhere(&self, place: Self::Handle, at: Rank) -> Self::Handle {
        self.handle(at, self.target_of(place).1)
    }
    /// Handle, at the process of `place`, of another block of the same chunk, of which this is a handle at any process.
    #[inline(always)]
    fn handle_beside(&self, place: Self::Handle, other: Self::Handle) -> Self::Handle {
        self.handle(self.target_of(place).0, self.target_of(other).1)
    }
    /// Process and block of a handle.
    fn target_of(&self, place: Self::Handle) -> (Rank, Block);
    /// [`Fabric::load`] of a word there.
    fn load_by_handle(&self, place: Self::Handle, word: BlockWord) -> impl Future<Output = u64> {
        let (at, block) = self.target_of(place);
        self.load(at, word.of(block))
    }
    /// [`Fabric::load`] of the marks there of the chunk.
    fn load_mark_by_handle(&self, place: Self::Handle, kind: MarkKind) -> impl Future<Output = u64> {
        let (at, block) = self.target_of(place);
        self.load(at, hint(kind, block.chunk()))
    }
    /// [`Fabric::load_bytes`] of the block there.
    fn value_by_handle(&self, place: Self::Handle, offset: usize, bytes: usize) -> impl Future<Output = u64> {
        let (at, block) = self.target_of(place);
        self.load_bytes(at, block, offset, bytes)
    }
    /// [`Fabric::update_bytes`] of the block there.
    fn update_by_handle(
        &self,
        place: Self::Handle,
        offset: usize,
        bytes: usize,
        update: Update,
    ) -> impl Future<Output = u64> {
        let (at, block) = self.target_of(place);
        self.update_bytes(at, block, offset, bytes, update)
    }
    /// [`Fabric::store_bytes`] of the block there.
    fn store_by_handle(
        &self,
        place: Self::Handle,
        offset: usize,
        bytes: usize,
        value: u64,
    ) -> impl Future<Output = ()> {
        let (at, block) = self.target_of(place);
        self.store_bytes(at, block, offset, bytes, value)
    }
    /// [`Fabric::lock_word`] of the records there, if they are not locked now.
    fn try_lock_by_handle(&self, place: Self::Handle) -> impl Future<Output = Option<u64>> {
        async move {
            let (at, block) = self.target_of(place);
            let word = BlockWord::Records.of(block);
            let seen = self.load(at, word).await;
            let locked = seen.is_multiple_of(2) && self.cas(at, word, seen, seen + 1).await == seen;
            locked.then_some(seen)
        }
    }
    /// [`Fabric::post_store`] of a word there.
    fn post_by_handle(&self, place: Self::Handle, word: BlockWord, value: u64) -> impl Future<Output = ()> {
        let (at, block) = self.target_of(place);
        self.post_store(at, word.of(block), value)
    }
    /// [`Fabric::fetch`] of the block there to that of this process, `to`.
    fn fetch_by_handle(&self, from: Self::Handle, _to: Self::Handle) -> impl Future<Output = ()> {
        let (at, block) = self.target_of(from);
        self.fetch(at, Extent::single(block))
    }
    /// [`Fabric::own`] of a word in this process.
    fn own_by_handle(&self, place: Self::Handle, word: BlockWord) -> u64 {
        self.own(word.of(self.target_of(place).1))
    }
    /// [`Fabric::set_own`] of a word in this process.
    fn set_own_by_handle(&self, place: Self::Handle, word: BlockWord, value: u64) {
        self.set_own(word.of(self.target_of(place).1), value);
    }
    /// [`Fabric::state`] of a block in this process.
    fn state_by_handle(&self, place: Self::Handle) -> u8 {
        self.state(self.target_of(place).1)
    }
    /// [`Fabric::set_state`] of a block in this process.
    fn set_state_by_handle(&self, place: Self::Handle, state: u8) {
        self.set_state(Extent::single(self.target_of(place).1), state);
    }
    /// Whether the block's default home is there.
    fn is_default_home(&self, place: Self::Handle) -> bool {
        let (at, block) = self.target_of(place);
        self.default_home(block) == at
    }
    /// A hint that the block is going to be changed at an offset.
    #[inline(always)]
    fn prefetch_part(&self, _place: Self::Handle, _offset: usize) {}
    /// A hint that the block will be needed soon.
    fn prefetch_block(&self, _place: Self::Handle) {}

    /// Reads a peer's records of an extent that lies in a chunk.
    fn read_records(&self, from: Rank, extent: Extent, into: &mut [Record]) -> impl Future<Output = ()>;
    /// Reads what a peer has of a chunk as a whole.
    fn read_header(&self, from: Rank, chunk: Chunk) -> impl Future<Output = Header>;
    /// Stores lease and version of each block, not links, at a peer, some time before the next flush of it.
    fn post_stamps(
        &self,
        to: Rank,
        extent: Extent,
        stamps: impl Fn(Block) -> [Timestamp; 2],
    ) -> impl Future<Output = ()>;
    /// Stores one link for all blocks of an extent at a peer, some time before the next flush of it.
    fn post_links(&self, to: Rank, extent: Extent, link: u64) -> impl Future<Output = ()>;

    /// Appends `count` notices from number `start` of a peer's signature buffer to `out`.
    fn read_notices(
        &self,
        from: Rank,
        buffer: u8,
        start: u32,
        count: u32,
        out: &mut Vec<Notice>,
    ) -> impl Future<Output = ()>;
    /// Writes own notices from number `start` on, before the state word tells of them.
    fn write_notices(&self, buffer: u8, start: u32, notices: &[Notice]);

    /// Reads an own word.
    fn own(&self, word: Word) -> u64;
    /// Writes an own word that no peer changes at this time.
    fn set_own(&self, word: Word, value: u64);
    /// Reads own links into the records' places.
    fn own_links(&self, extent: Extent, into: &mut [Record]);
    /// Reads own records, links first.
    fn own_records(&self, extent: Extent, into: &mut [Record]);
    /// Writes lease and version of each own block, not links, that no peer changes at this time.
    fn set_own_stamps(&self, extent: Extent, stamps: impl Fn(Block) -> [Timestamp; 2]);
    /// Writes one link for all blocks of an extent. Peers may exchange one link for another at the same time, see [`Fabric::cas`]: what is written here stays.
    fn set_own_links(&self, extent: Extent, link: u64);
    /// Sets bits in an own word that no peer changes; returns the old value.
    fn or_own(&self, word: Word, bits: u64) -> u64;
    /// Clears an own word that no peer changes; returns the old value.
    fn take_own(&self, word: Word) -> u64;
    /// Clears bits of an own word that others may change; returns what is left.
    fn clear_own(&self, word: Word, bits: u64) -> impl Future<Output = u64>;

    /// State of an own block.
    fn state(&self, block: Block) -> u8;
    /// Sets the state of own blocks (all their lines).
    fn set_state(&self, extent: Extent, state: u8);
    /// Number of blocks from the first on that share its state; `extent` is not empty.
    fn state_run(&self, extent: Extent) -> u64;

    /// Copies the own blocks to their twins.
    fn make_twin(&self, extent: Extent);
    /// The twins' memory is not needed any more.
    fn drop_twin(&self, extent: Extent);
    /// Gives the memory of twins that nobody needs back; what is in them is lost.
    fn free_twins(&self, _extent: Extent) {}
    /// The blocks that differ from their twins, as bits of the chunk's mark words. The extent lies in one chunk.
    fn changed(&self, extent: Extent) -> u64;
    /// Writes the bytes in which `incoming` differs from the twins into the own blocks, with stores no wider than the change, and makes
    /// `incoming` the twins. Reports bytes that both sides changed to different values.
    fn merge(&self, extent: Extent, incoming: &[u8], from: Rank);
    /// Writes the bytes in which the own blocks differ from their twins into those of a peer, with stores no wider than the change, some time before the
    /// next flush of it. What was written is in the twins then.
    fn post_diff(&self, to: Rank, extent: Extent) -> impl Future<Output = ()>;
    /// Whether an own block differs from its twin in so many bytes from an offset on.
    fn differs_in(&self, block: Block, offset: usize, bytes: usize) -> bool {
        let mut differs = false;
        self.visit_changes(block, |at, changed| {
            differs |= at < offset + bytes && offset < at + changed.len()
        });
        differs
    }
    /// Hands on the bytes in which an own block differs from its twin: offset in the block, and what they are.
    fn visit_changes(&self, block: Block, with: impl FnMut(usize, &[u8]));
    /// The same in groups of bytes. Where programs do not race, what the bytes had been may be anything.
    fn visit_changed_groups(&self, block: Block, mut with: impl FnMut(&GroupChange<'_>)) {
        let mut hand_on = |first, changed, new: &[u8]| {
            let old = &[0; GROUP][..bytes_in_part(changed).count_ones() as usize];
            with(&GroupChange { offset: first, changed, new, old });
        };
        let mut group: Option<(usize, u64, Vec<u8>)> = None;
        self.visit_changes(block, |offset, bytes| {
            for (at, byte) in (offset..).zip(bytes) {
                let first = at - at % GROUP;
                if let Some((before, changed, bytes)) = group.take_if(|(before, ..)| *before != first) {
                    hand_on(before, changed, &bytes);
                }
                let (_, changed, bytes) = group.get_or_insert((first, 0, Vec::with_capacity(GROUP)));
                *changed |= 1 << (at - first);
                bytes.push(*byte);
            }
        });
        if let Some((first, changed, bytes)) = group {
            hand_on(first, changed, &bytes);
        }
    }
    /// Writes bytes of a peer's block from an offset on, and no others, some time before the next flush of it.
    fn post_bytes(&self, to: Rank, block: Block, offset: usize, bytes: &[u8]) -> impl Future<Output = ()>;
    /// The same of those bytes of a group that were changed, but for halves of words that race.
    fn post_group(&self, to: Rank, block: Block, change: &GroupChange<'_>) -> impl Future<Output = ()> {
        async move {
            for (offset, bytes) in change.runs() {
                self.post_bytes(to, block, offset, bytes).await;
            }
        }
    }
    /// Writes bytes of an own block's twin.
    fn patch_twin(&self, block: Block, offset: usize, bytes: &[u8]);
    /// The same of those bytes of a group that were changed.
    fn patch_twin_group(&self, block: Block, change: &GroupChange<'_>) {
        change.runs().for_each(|(offset, bytes)| self.patch_twin(block, offset, bytes));
    }
    /// Replaces the own blocks.
    fn overwrite(&self, extent: Extent, contents: &[u8]);

    /// Locks a chunk's records and states among the threads of the process. Never held while waiting for another process.
    fn lock_chunk(&self, chunk: Chunk) -> impl Future<Output = Self::Guard<'_>>;
    /// As [`Fabric::lock_chunk`], if no thread has it locked.
    fn try_lock_chunk(&self, chunk: Chunk) -> impl Future<Output = Option<Self::Guard<'_>>>;
    /// Locks a gate among the threads of the process. [`Gate::Publish`] is a full fence: the program's earlier stores are visible before anything is read
    /// afterwards.
    fn lock_gate(&self, gate: Gate) -> impl Future<Output = Self::Guard<'_>>;

    /// A full fence, as locking [`Gate::Publish`] is: the program's earlier stores are visible before anything is read afterwards.
    fn fence(&self);
    /// Whether nobody holds a gate; if so, all that its last holder did is visible.
    fn gate_free(&self, gate: Gate) -> bool;

    /// Whether no other thread of the process is doing anything with the protocol.
    #[inline]
    fn is_sole_thread(&self) -> bool {
        false
    }

    /// Whether every interval's first store to a block should be a miss, so that it is seen: releases then downgrade all blocks that they can,
    /// and homes make twins too.
    #[inline]
    fn watches_writes(&self) -> bool {
        false
    }

    /// Whether a part of the protocol is left out. The same in all processes, and all the time.
    #[inline]
    fn leaves_out(&self, _part: Part) -> bool {
        false
    }

    /// Whether the calling thread is the only one of its process that runs protocol functions or user code, until this call of a protocol function ends.
    fn is_only_thread(&self) -> bool;
    /// Tries to keep all other threads of the process inside the runtime, where none is between a passed check and its store. True
    /// if they are; then they stay there until [`Fabric::end_exclusive`]. `wait`: it is worth a moment of waiting for them.
    fn begin_exclusive(&self, wait: bool) -> bool;
    /// See [`Fabric::begin_exclusive`].
    fn end_exclusive(&self);

    /// Whether to break a rule, for tests of the tests.
    #[inline]
    fn fault(&self, _fault: crate::Fault) -> bool {
        false
    }

    /// Names the point that the calling thread has reached, see [`Fabric::live_since`].
    #[inline(always)]
    fn checkpoint(&self) -> u64 {
        0
    }

    /// A hint on live state for model checkers that recognise states: the calling thread's live variables follow from what they were at the checkpoint, from its place in the code and
    /// from `live`; whatever else it has read since then is dead.
    #[inline(always)]
    #[track_caller]
    fn live_since<T: Hash>(&self, _checkpoint: u64, _live: impl FnOnce() -> T) {}

    /// Tells an observer that what is in own blocks is worth nothing until they are overwritten.
    fn not_fetched(&self, _extent: Extent) {}

    /// Tells an observer (statistics, an oracle) that the own version of blocks was published.
    fn published(&self, _extent: Extent, _wr_ts: Timestamp) {}
}
