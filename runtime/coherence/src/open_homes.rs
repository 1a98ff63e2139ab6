//! Homes at which operations have found open records, for the next operations on the same blocks: an inline cache (Deutsch and Schiffman, POPL 1984) of what [`crate::open`] looks up.
//!
//! The word of the records has another sequence number each time that they are locked. While it is the same, and says *open*, no home of the chunk has come or gone, none has been write-protected, and
//! no version has changed. So an operation that finds the word of an earlier one knows where the home is, that the block may be changed there, and that its version is listed, unless the only copy of the block is here.
//! It looks anew at what may change besides: the state of the block here, who has marked the block at its home, and what is to be published.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};

use crate::atomic::Outcome;
use crate::block_word::BlockWord;
use crate::fabric::{Fabric, MarkKind};
use crate::migration_on_miss::hint;
use crate::open::Order;
use crate::types::{Block, Chunk, Rank};
use crate::{Coherence, Fault, abi};

/// Chunks that have entries; two with the same remainder share one.
const ENTRIES: u64 = 256;

/// What this process has of a block when an operation on it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LocalCopy {
    /// The home.
    Home,
    /// No access to it is allowed.
    Invalid,
    /// The only copy, which gets the result ([`crate::only_copy`]).
    Only,
}

/// Homes of a chunk at one process.
#[derive(Clone, Copy)]
struct OpenHome<H> {
    chunk: Chunk,
    at: Rank,
    /// Word of the records there, which were open.
    records: u64,
    /// Blocks that have been changed there since, by [`LocalCopy`].
    blocks: [u64; 3],
    /// Handle of one of them.
    place: H,
}

/// Those of a process, in a table without chains: for each chunk the blocks at home here, and those at home at one other process.
pub(crate) struct OpenHomes<H>(Vec<[Option<OpenHome<H>>; 2]>);

impl<H> Default for OpenHomes<H> {
    fn default() -> Self {
        OpenHomes(Vec::new())
    }
}

impl<H> Debug for OpenHomes<H> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenHomes").finish_non_exhaustive()
    }
}

impl<H> Hash for OpenHomes<H> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        for home in self.0.iter().flatten().flatten() {
            (home.chunk, home.at, home.records, home.blocks).hash(state);
        }
    }
}

impl<H: Copy> OpenHomes<H> {
    /// The entry of a chunk's homes here, or of those elsewhere.
    #[inline(always)]
    fn entry(&self, chunk: Chunk, copy: LocalCopy) -> Option<&OpenHome<H>> {
        let entry = self.0.get((chunk.0 % ENTRIES) as usize)?;
        entry[usize::from(copy == LocalCopy::Home)].as_ref().filter(|home| home.chunk == chunk)
    }

    /// Word of the records, and handle of some block of the chunk, where a block's home was found.
    #[inline(always)]
    fn find(&self, block: Block, copy: LocalCopy) -> Option<(u64, H)> {
        let home = self.entry(block.chunk(), copy)?;
        (home.blocks[copy as usize] & block.bit() != 0).then_some((home.records, home.place))
    }

    /// Adds a block to those of its chunk that were found at a process with this word, if `is_same` says so of that process.
    fn insert(
        &mut self,
        (block, copy): (Block, LocalCopy),
        (at, records, place): (Rank, u64, H),
        is_same: impl Fn(Rank) -> bool,
    ) {
        let chunk = block.chunk();
        // Words of different processes may be the same by chance.
        let others = self.entry(chunk, copy).filter(|home| home.records == records && is_same(home.at));
        let mut blocks = others.map_or([0; 3], |home| home.blocks);
        blocks[copy as usize] |= block.bit();
        let index = (chunk.0 % ENTRIES) as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, [None; 2]);
        }
        self.0[index][usize::from(copy == LocalCopy::Home)] =
            Some(OpenHome { chunk, at, records, blocks, place });
    }

    /// Records of a chunk have been closed since their word was this.
    fn forget(&mut self, chunk: Chunk, copy: LocalCopy, records: u64) {
        if self.entry(chunk, copy).is_some_and(|home| home.records == records) {
            self.0[(chunk.0 % ENTRIES) as usize][usize::from(copy == LocalCopy::Home)] = None;
        }
    }

    /// Blocks have other homes, whatever the words of their records.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $change_at_open_home:ident $copied:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// Executes an operation at the home of a block, of which this is the handle here, where an earlier one has found it, if the records there have been open since. `None`: nothing was done. The caller counts it.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $change_at_open_home<T, R>(
                &self,
                here: F::Handle,
                (offset, bytes): (usize, usize),
                order: Order,
                change: impl FnOnce(F::Handle) -> R,
                outcome: impl Fn(T) -> Outcome,
            ) -> Option<T>
            where
                T: Copy + Hash,
                R: Future<Output = T>,
            {
                let fabric = &self.fabric;
                let (_, block) = fabric.target_of(here);
                let chunk = block.chunk();
                let _locked = $wait!(fabric.lock_chunk(chunk));
                let copy = match fabric.state_by_handle(here) {
                    abi::WRITABLE => LocalCopy::Home,
                    abi::NOTICED | abi::COLD | abi::EXPIRED => LocalCopy::Invalid,
                    abi::READABLE if self.may_operate_beside_copy(block, order) => LocalCopy::Only,
                    _ => return None,
                };
                let (records, beside) = self.open_homes().find(block, copy)?;
                let place = fabric.handle_beside(beside, here);
                fabric.prefetch_part(place, offset);
                if order == Order::Released && self.front.has_deferred() {
                    return None;
                }
                let checkpoint = fabric.checkpoint();
                if $wait!(fabric.load_by_handle(place, BlockWord::Records)) != records && !fabric.fault(Fault::OpenHomeNotCompared) {
                    self.open_homes().forget(chunk, copy, records);
                    return None;
                }
                fabric.live_since(checkpoint, || (block, copy, records));
                let operating = hint(MarkKind::Operating, chunk);
                fabric.set_own(operating, block.bit());
                fabric.fence();
                let mut is_allowed = $wait!(fabric.load_by_handle(place, BlockWord::Records)) == records
                    || fabric.fault(Fault::OpenHomeNotCompared);
                is_allowed &= order != Order::Released || self.nothing_is_marked() || fabric.fault(Fault::OrderedUnreleased);
                if is_allowed && copy == LocalCopy::Invalid && !fabric.fault(Fault::OpenBesideReader) {
                    is_allowed = $call!(self.$copied(place)) & block.bit() == 0;
                }
                let mut done = None;
                if is_allowed {
                    done = Some($wait!(change(place)));
                }
                fabric.set_own(operating, 0);
                fabric.live_since(checkpoint, || done);
                match (copy, done) {
                    (LocalCopy::Only, Some(result)) => {
                        $wait!(self.end_beside_copy(block, (offset, bytes), outcome(result)));
                    }
                    (LocalCopy::Invalid, Some(result)) => {
                        $wait!(self.end_beside_expired(block, (offset, bytes), outcome(result)));
                    }
                    _ => {}
                }
                done
            }
        }
    };
}

maybe_async!(wait wait (async) change_at_open_home copied);
maybe_async!(poll_once call () change_at_open_home_sync copied_sync);

impl<F: Fabric> Coherence<F> {
    /// Remembers the home of a block for [`Coherence::change_at_open_home`]. Its version is listed, if the home is elsewhere and no only copy is here.
    pub(crate) fn remember_open_home(&self, place: F::Handle, records: u64, only_copy: bool) {
        let (at, block) = self.fabric.target_of(place);
        let copy = match at == self.me() {
            true => LocalCopy::Home,
            false if only_copy => LocalCopy::Only,
            false => LocalCopy::Invalid,
        };
        // Operations with open records that this process has opened elsewhere are counted until they are many.
        if !F::SYNCHRONOUS || copy == LocalCopy::Home || self.updates().has_paid(block.chunk()) {
            let is_same = |other| other == at || self.fabric.fault(Fault::OpenHomesMixed);
            self.open_homes().insert((block, copy), (at, records, place), is_same);
        }
    }
}
