//! Records that are open: atomic operations at a home without the lock of its records.
//!
//! The lock of a chunk's records is a line of memory that every operation at its home would change. So a process whose operations keep coming to a chunk leaves its records *open* instead of unlocking them.
//! Then operations of all processes are executed side by side, each by the processor's own instruction on the contents of the home, and change nothing in common but these. A process
//! says in a word of its own that it is executing one ([`MarkKind::Operating`]), and looks whether the records are open behind that. To all others, open records are locked. Who needs their lock, or wants
//! to read contents, closes them: it takes the lock, and waits until no process is executing an operation. That is the bias of a readers-writer lock as in BRAVO (Dice, Kogan, USENIX ATC 2019), with
//! operations as readers.
//!
//! While records are open, no home of the chunk comes or goes, and no version, lease, or permission to store that depends on them changes. A reader sets its mark before it looks at the records. So who
//! finds them open, and no mark of the block behind that, knows that nobody has a copy of the present version, or gets one before the operation is over.
//!
//! Only where all segments are mapped: who closes records looks at words of all processes.

use std::hash::Hash;

use crate::atomic::result_of;
use crate::block_word::BlockWord;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::types::{Block, Chunk, Rank, Timestamp};
use crate::{Coherence, Fault, Part, abi, maybe_async};

use dsm_abi::atomic::Update;

/// In the word of a lock of records, with an odd number: they are open.
const OPEN: u64 = 1 << 63;

/// Whether a word of a lock of records says that they are open.
#[inline(always)]
pub fn is_open(word: u64) -> bool {
    word & OPEN != 0
}

/// The word of a lock of records that somebody locked when it was `sequence`, and leaves open.
#[inline(always)]
pub(crate) fn opened(sequence: u64) -> u64 {
    OPEN | (sequence + 1)
}

/// Closes records whose word is `seen`: afterwards they are not open in that way any more. They are not locked by that.
pub async fn close<F: Fabric + ?Sized>(fabric: &F, at: Rank, chunk: Chunk, seen: u64) {
    let word = Word::Records(chunk);
    let locked = seen & !OPEN;
    if fabric.cas(at, word, seen, locked).await != seen {
        // Somebody else does, or has.
        return;
    }
    if !fabric.fault(Fault::ClosedBesideOperation) {
        let operating = hint(MarkKind::Operating, chunk);
        let checkpoint = fabric.checkpoint();
        for process in (0..fabric.size()).map(Rank) {
            let mut value = fabric.load(process, operating).await;
            while value != 0 {
                fabric.live_since(checkpoint, || (process, value));
                value = fabric.wait_change(process, operating, value).await;
            }
            fabric.live_since(checkpoint, || process);
        }
    }
    fabric.post_store(at, word, locked + 1).await;
}

/// What a release and an operation do together.
enum Order {
    /// The operation by itself.
    Relaxed,
    /// Everything is published before: if there is anything to publish, nothing is done at all.
    Released,
}

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $update_open:ident $store_open:ident $try_open:ident $operate:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// As [`Coherence::update`], if the records at the block's home are open and nothing else has to be done but the operation. `None`: nothing was done.
            #[inline(always)]
            pub $($asyncness)? fn $update_open(
                &self,
                block: Block,
                offset: usize,
                bytes: usize,
                update: Update,
            ) -> Option<u64> {
                $call!(self.$try_open(
                    block,
                    (offset, bytes),
                    Order::Relaxed,
                    #[inline(always)]
                    |at| self.fabric.update_bytes(at, block, offset, bytes, update),
                    #[inline(always)]
                    |old| result_of(update, bytes, old)
                ))
            }

            /// As [`Coherence::store_at_home`], under the same conditions. Whether it was done.
            #[inline(always)]
            pub $($asyncness)? fn $store_open(
                &self,
                block: Block,
                offset: usize,
                bytes: usize,
                value: u64,
            ) -> bool {
                $call!(self.$try_open(
                    block,
                    (offset, bytes),
                    Order::Relaxed,
                    #[inline(always)]
                    |at| self.fabric.store_bytes(at, block, offset, bytes, value),
                    #[inline(always)]
                    |()| value
                ))
                .is_some()
            }

            #[inline(always)]
            $($asyncness)? fn $try_open<T, R>(
                &self,
                block: Block,
                (offset, bytes): (usize, usize),
                order: Order,
                change: impl FnOnce(Rank) -> R,
                result_of: impl FnOnce(T) -> u64,
            ) -> Option<T>
            where
                T: Copy + Hash,
                R: Future<Output = T>,
            {
                let fabric = &self.fabric;
                if !self.opens() {
                    return None;
                }
                let here = fabric.handle(self.me(), block);
                let _locked = $wait!(fabric.lock_chunk(block.chunk()));
                let state = fabric.state_by_handle(here);
                let only_copy = self.operates_beside_copy(block, state);
                let home = match state {
                    abi::WRITABLE => here,
                    abi::READABLE if !only_copy => return None,
                    abi::READABLE | abi::NOTICED | abi::COLD | abi::EXPIRED => {
                        let link = fabric.own_by_handle(here, BlockWord::Link);
                        let Link::Link { to, pending: false } = self.decode(link, self.me(), block) else {
                            return None;
                        };
                        fabric.handle(to, block)
                    }
                    _ => return None,
                };
                fabric.prefetch_part(home, offset);
                if matches!(order, Order::Released) && (self.front.has_deferred() || !fabric.none_marked(&[MarkKind::Dirty])) {
                    return None;
                }
                let (result, version) = $call!(self.$operate(home, order, only_copy, change))?;
                if only_copy {
                    self.updates().record_beside_copy(block);
                    $wait!(self.change_copy(block, offset, bytes, result_of(result)));
                }
                self.stats.mine().add(|count| &count.atomics_open, 1);
                // Nothing is fetched ahead where all segments are mapped.
                if state != abi::WRITABLE {
                    let is_unlisted = self.updates().record_open(block, version);
                    if is_unlisted && !only_copy {
                        self.list_update(block, fabric.target_of(home).0, version);
                    }
                }
                Some(result)
            }

            /// Executes an operation at a place that is the block's home, if the records there are open. Returns the version that the result is part of, too. `only_copy`: this process has the
            /// only copy, which gets the result, too. With [`Order::Released`] nothing was marked *dirty*. The chunk is locked in this process.
            #[inline(always)]
            $($asyncness)? fn $operate<T, R>(
                &self,
                home: F::Handle,
                order: Order,
                only_copy: bool,
                change: impl FnOnce(Rank) -> R,
            ) -> Option<(T, Timestamp)>
            where
                T: Copy + Hash,
                R: Future<Output = T>,
            {
                let fabric = &self.fabric;
                if !is_open($wait!(fabric.load_by_handle(home, BlockWord::Records))) {
                    return None;
                }
                let (at, block) = fabric.target_of(home);
                let chunk = block.chunk();
                let checkpoint = fabric.checkpoint();
                let operating = hint(MarkKind::Operating, chunk);
                fabric.set_own(operating, block.bit());
                fabric.fence();
                let mut result = None;
                let is_open = is_open($wait!(fabric.load_by_handle(home, BlockWord::Records)));
                // The fence waits for what the thread has stored; that of a release would do so before all the other steps.
                let is_released = matches!(order, Order::Relaxed) || self.nothing_is_marked();
                if is_released && (is_open || fabric.fault(Fault::OpenUnchecked)) {
                    let moved = $wait!(fabric.load_by_handle(home, BlockWord::Homes)) & block.bit() != 0;
                    let mut is_free = moved != fabric.is_default_home(home);
                    if at != self.me() && !only_copy {
                        let protected = $wait!(fabric.load_by_handle(home, BlockWord::WriteProtected));
                        let mut copied = 0;
                        for kind in [MarkKind::Read, MarkKind::Dirty] {
                            copied |= $wait!(fabric.load(at, hint(kind, chunk)));
                        }
                        is_free &= protected & block.bit() == 0 || fabric.fault(Fault::OpenShared);
                        is_free &= copied & block.bit() == 0 || fabric.fault(Fault::OpenBesideReader);
                    }
                    if is_free {
                        let version = $wait!(fabric.load_by_handle(home, BlockWord::Wr));
                        let of_chunk = $wait!(fabric.load_by_handle(home, BlockWord::ChunkVersion));
                        let changed = $wait!(change(at));
                        result = Some((changed, version.max(of_chunk)));
                    }
                }
                fabric.set_own(operating, 0);
                fabric.live_since(checkpoint, || result);
                result
            }
        }
    };
}

maybe_async!(wait wait (async) update_open store_open try_open operate);
maybe_async!(poll_once call () update_open_sync store_open_sync try_open_sync operate_sync);

impl<F: Fabric> Coherence<F> {
    /// Whether records are left open at all.
    #[inline(always)]
    pub(crate) fn opens(&self) -> bool {
        !self.has_agents && !self.fabric.leaves_out(Part::OpenRecords) && !self.fabric.watches_writes()
    }

    /// A release, an operation and an acquire from all processes, if the release has nothing to publish, and [`Coherence::update_open_sync`] can execute the operation. `None`: nothing was done. Says, too, whether
    /// there is something to acquire, which is not done. Only where operations are done at once.
    #[inline(always)]
    pub fn update_ordered_sync(
        &self,
        block: Block,
        offset: usize,
        bytes: usize,
        update: Update,
    ) -> Option<(u64, bool)> {
        let old = self.try_open_sync(
            block,
            (offset, bytes),
            Order::Released,
            #[inline(always)]
            |at| self.fabric.update_bytes(at, block, offset, bytes, update),
            #[inline(always)]
            |old| result_of(update, bytes, old),
        )?;
        let mut is_new = false;
        for from in (0..self.fabric.size()).map(Rank) {
            is_new |= from != self.me()
                && !self.has_read(from, maybe_async::result(self.fabric.load(from, Word::LogState)));
        }
        let stats = self.stats.mine();
        stats.add(|count| &count.releases, 1);
        if !is_new {
            stats.add(|count| &count.acquires, u64::from(self.fabric.size()) - 1);
        }
        Some((old, is_new))
    }

    /// Waits until a word differs from what it was when it kept this process from going on; who finds records open closes them.
    pub(crate) async fn wait_for(&self, at: Rank, word: Word, seen: u64) {
        match word {
            Word::Records(chunk) if is_open(seen) => close(&self.fabric, at, chunk, seen).await,
            _ => _ = self.fabric.wait_change(at, word, seen).await,
        }
    }
}
