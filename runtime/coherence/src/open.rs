//! Atomic operations at homes that are mapped, and records that are open: operations without the lock of the records.
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
//! Only where all segments are mapped: who closes records looks at words of all processes. There an operation with the lock is executed by the same code, see [`crate::calls::update`] for what it is without.

use std::hash::Hash;

use crate::atomic::Outcome;
use crate::block_word::BlockWord;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::types::{Block, Chunk, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi};

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

/// What keeps a home, and the versions of its chunk, as they are during an operation.
#[derive(Clone, Copy, Hash)]
enum Held {
    /// Records that are open, and the mark of this process. What their word was behind the mark.
    Open(u64),
    /// The lock of the records, whose word was this.
    Locked(u64),
}

/// What an operation at a home came to.
#[derive(Clone, Copy, Hash)]
struct Done<T> {
    result: T,
    /// Of the block, of which the result is part.
    version: Timestamp,
    held: Held,
}

/// What an operation orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Relaxed,
    /// The thread has released before it, or acquires behind it.
    Ordered,
    /// It releases as well: if there is anything to publish, nothing is done at all.
    Released,
}

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $update_mapped:ident $update_at_open_home:ident $update_here:ident $update_in:ident $update_ordered:ident $update_released:ident $store_mapped:ident $store_in:ident $change_at_home:ident $operate:ident $copied:ident $change_at_open_home:ident $change_local:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// As [`Coherence::update`], if nobody keeps the records at the block's home locked and nothing else has to be done but the operation. `None`: nothing was done.
            #[inline(always)]
            pub $($asyncness)? fn $update_mapped(
                &self,
                block: Block,
                offset: usize,
                bytes: usize,
                update: Update,
                order: Order,
            ) -> Option<u64> {
                let here = self.fabric.own_handle(block);
                match $call!(self.$update_at_open_home(here, offset, bytes, update, order)) {
                    Some(old) => Some(old),
                    None => $call!(self.$update_in(block, (offset, bytes), update, order)),
                }
            }

            /// As [`Coherence::update_mapped`], where an earlier operation has found the home and what it found still holds ([`crate::open_homes`]). `here` is the block's handle at this process.
            #[inline(always)]
            pub $($asyncness)? fn $update_at_open_home(
                &self,
                here: F::Handle,
                offset: usize,
                bytes: usize,
                update: Update,
                order: Order,
            ) -> Option<u64> {
                let old = $call!(self.$change_at_open_home(
                    here,
                    (offset, bytes),
                    order,
                    #[inline(always)]
                    move |home| self.fabric.update_by_handle(home, offset, bytes, update),
                    #[inline(always)]
                    move |old| Outcome::of(update, bytes, old)
                ))?;
                self.stats.mine().add(|count| &count.atomics_open, 1);
                Some(old)
            }

            /// Executes an operation that orders nothing on a block of which this is the handle here, and stores to which have been seen to be allowed: as [`Coherence::update_at_open_home`] if the records here are open, else as
            /// [`Coherence::update_local`]. `None`: nothing was done.
            #[inline(always)]
            pub $($asyncness)? fn $update_here(
                &self,
                here: F::Handle,
                offset: usize,
                bytes: usize,
                update: Update,
            ) -> Option<u64> {
                // Locking is a fence: the load of this line would begin behind it.
                self.fabric.prefetch_part(here, offset);
                match is_open(self.fabric.own_by_handle(here, BlockWord::Records)) {
                    true => $call!(self.$update_at_open_home(here, offset, bytes, update, Order::Relaxed)),
                    false => $call!(self.$change_local(
                        here,
                        Order::Relaxed,
                        #[inline(always)]
                        move |home| self.fabric.update_by_handle(home, offset, bytes, update)
                    )),
                }
            }

            /// An operation where no earlier one has found open records, or not here. Not inlined: each operation would keep the block's handle in memory for it.
            #[inline(never)]
            $($asyncness)? fn $update_in(
                &self,
                block: Block,
                (offset, bytes): (usize, usize),
                update: Update,
                order: Order,
            ) -> Option<u64> {
                $call!(self.$change_at_home(
                    self.fabric.own_handle(block),
                    (offset, bytes),
                    order,
                    #[inline(always)]
                    move |home| self.fabric.update_by_handle(home, offset, bytes, update),
                    #[inline(always)]
                    move |old| Outcome::of(update, bytes, old)
                ))
            }

            /// A release, an operation and an acquire from all processes, if the release has nothing to publish, and the operation can be executed as by [`Coherence::update_mapped`], or at a home here. `None`: nothing was done. Says, too, whether
            /// there is something to acquire, which is not done.
            #[inline(always)]
            pub $($asyncness)? fn $update_ordered(
                &self,
                block: Block,
                offset: usize,
                bytes: usize,
                update: Update,
            ) -> Option<(u64, bool)> {
                let here = self.fabric.own_handle(block);
                let old = match $call!(self.$update_at_open_home(here, offset, bytes, update, Order::Released)) {
                    Some(old) => old,
                    None => $call!(self.$update_released(block, (offset, bytes), update))?,
                };
                let checkpoint = self.fabric.checkpoint();
                let mut is_new = false;
                let size = self.fabric.size();
                // Not by an iterator of ranks, which would take longer than what is done with each.
                for from in 0..size {
                    if from != self.me().0 {
                        let state = $wait!(self.fabric.load(Rank(from), Word::LogState));
                        is_new |= !self.has_read(Rank(from), state);
                        self.fabric.live_since(checkpoint, || (old, is_new, from));
                    }
                }
                let stats = self.stats.mine();
                stats.add(|count| &count.releases, 1);
                if !is_new {
                    stats.add(|count| &count.acquires, u64::from(size) - 1);
                }
                Some((old, is_new))
            }

            /// An operation of [`Coherence::update_ordered`] where no earlier one has found open records, or not here. Not inlined, as `update_in`.
            #[inline(never)]
            $($asyncness)? fn $update_released(
                &self,
                block: Block,
                (offset, bytes): (usize, usize),
                update: Update,
            ) -> Option<u64> {
                let here = self.fabric.own_handle(block);
                let at_own_home = $call!(self.$change_local(
                    here,
                    Order::Released,
                    #[inline(always)]
                    move |home| self.fabric.update_by_handle(home, offset, bytes, update)
                ));
                match at_own_home {
                    Some(old) => Some(old),
                    None => $call!(self.$update_in(block, (offset, bytes), update, Order::Released)),
                }
            }

            /// As [`Coherence::store_at_home`], under the same conditions. Whether it was done.
            #[inline(always)]
            pub $($asyncness)? fn $store_mapped(
                &self,
                block: Block,
                offset: usize,
                bytes: usize,
                value: u64,
            ) -> bool {
                let here = self.fabric.own_handle(block);
                let change = move |home| self.fabric.store_by_handle(home, offset, bytes, value);
                if $call!(self.$change_at_open_home(here, (offset, bytes), Order::Relaxed, change, |()| Outcome::stored(value))).is_some() {
                    self.stats.mine().add(|count| &count.atomics_open, 1);
                    return true;
                }
                $call!(self.$store_in(block, (offset, bytes), value))
            }

            /// As `update_in`, of a store.
            #[inline(never)]
            $($asyncness)? fn $store_in(&self, block: Block, (offset, bytes): (usize, usize), value: u64) -> bool {
                $call!(self.$change_at_home(
                    self.fabric.own_handle(block),
                    (offset, bytes),
                    Order::Relaxed,
                    move |home| self.fabric.store_by_handle(home, offset, bytes, value),
                    #[inline(always)]
                    move |()| Outcome::stored(value)
                ))
                .is_some()
            }

            $($asyncness)? fn $change_at_home<T, R>(
                &self,
                here: F::Handle,
                (offset, bytes): (usize, usize),
                order: Order,
                change: impl FnOnce(F::Handle) -> R,
                outcome: impl Fn(T) -> Outcome + Copy,
            ) -> Option<T>
            where
                T: Copy + Hash,
                R: Future<Output = T>,
            {
                let fabric = &self.fabric;
                if !self.has_mapped_homes {
                    return None;
                }
                let (_, block) = fabric.target_of(here);
                let _locked = $wait!(fabric.lock_chunk(block.chunk()));
                let state = fabric.state_by_handle(here);
                let only_copy = self.operates_beside_copy(block, (offset, bytes), state, order);
                let is_elsewhere = state != abi::WRITABLE || only_copy;
                let home = match state {
                    _ if !is_elsewhere => here,
                    abi::READABLE if !only_copy => return None,
                    abi::WRITABLE | abi::READABLE | abi::NOTICED | abi::COLD | abi::EXPIRED => {
                        let link = fabric.own_by_handle(here, BlockWord::Link);
                        let Link::Link { to, pending: false } = self.decode(link, self.me(), block) else {
                            return None;
                        };
                        fabric.handle_elsewhere(here, to)
                    }
                    _ => return None,
                };
                fabric.prefetch_part(home, offset);
                if order == Order::Released && self.is_unpublished() {
                    return None;
                }
                let Done { result, version, held } = $call!(self.$operate(home, order, only_copy, change, outcome))?;
                match only_copy {
                    true => $wait!(self.end_beside_copy(block, (offset, bytes), outcome(result))),
                    false if is_elsewhere => {
                        $wait!(self.end_beside_expired(block, (offset, bytes), outcome(result)));
                    }
                    false => {}
                }
                // Nothing is fetched ahead where all segments are mapped.
                if is_elsewhere {
                    let is_unlisted = match held {
                        Held::Locked(sequence) => self.updates().record(block, version, sequence),
                        Held::Open(_) => self.updates().record_open(block, version),
                    };
                    if is_unlisted && !only_copy {
                        self.list_update(block, fabric.target_of(home).0, version);
                    }
                }
                if let Held::Open(records) = held {
                    self.remember_open_home(home, records, only_copy);
                }
                let is_call = matches!(held, Held::Locked(_)) && is_elsewhere;
                let stats = self.stats.mine();
                stats.add(|count| &count.calls, is_call.into());
                stats.add(|count| &count.atomics_open, matches!(held, Held::Open(_)).into());
                Some(result)
            }

            /// Executes an operation at a place that is the block's home, with the records there open, or locked if they were neither ([`crate::calls::update`]); with open records only if no new version comes of it.
            /// `only_copy`: this process has the only copy, which gets the result, too. With [`Order::Released`] nothing was marked *dirty*. `outcome`: what an operation with a result has left in the variable. The chunk is
            /// locked in this process.
            #[inline(always)]
            $($asyncness)? fn $operate<T, R>(
                &self,
                home: F::Handle,
                order: Order,
                only_copy: bool,
                change: impl FnOnce(F::Handle) -> R,
                outcome: impl Fn(T) -> Outcome + Copy,
            ) -> Option<Done<T>>
            where
                T: Copy + Hash,
                R: Future<Output = T>,
            {
                let fabric = &self.fabric;
                let (at, block) = fabric.target_of(home);
                let (chunk, is_here) = (block.chunk(), at == self.me());
                let is_seen_open = is_open($wait!(fabric.load_by_handle(home, BlockWord::Records)));
                if !is_seen_open && (!self.may_lock(&order) || !is_here && self.updates().is_migration_due(chunk)) {
                    return None;
                }
                let checkpoint = fabric.checkpoint();
                let operating = hint(MarkKind::Operating, chunk);
                let held = match is_seen_open {
                    true => {
                        fabric.set_own(operating, block.bit());
                        fabric.fence();
                        Held::Open($wait!(fabric.load_by_handle(home, BlockWord::Records)))
                    }
                    false if fabric.fault(Fault::UpdateUnlocked) => Held::Locked(0),
                    false => Held::Locked($wait!(fabric.try_lock_by_handle(home))?),
                };
                let is_held = !matches!(held, Held::Open(records) if !is_open(records)) || fabric.fault(Fault::OpenUnchecked);
                // Behind the fence, or the lock, which is one: it waits for what the thread has stored; that of a release would do so before all the other steps.
                let is_released = order != Order::Released || self.nothing_is_marked() || fabric.fault(Fault::OrderedUnreleased);
                let (mut done, mut is_copied) = (None, false);
                if is_released && is_held {
                    let homes = $wait!(fabric.load_by_handle(home, BlockWord::Homes));
                    let mut is_allowed = self.is_home(home, block.bit(), homes);
                    let may_be_copied = !is_here && !only_copy;
                    let mut copied = 0;
                    if may_be_copied {
                        let protected = $wait!(fabric.load_by_handle(home, BlockWord::WriteProtected));
                        is_allowed &= protected & block.bit() == 0 || fabric.fault(Fault::OpenShared);
                        if is_seen_open || fabric.fault(Fault::CopiedLookedEarly) {
                            copied = $call!(self.$copied(home));
                        }
                        is_allowed &= copied & block.bit() == 0 || fabric.fault(Fault::OpenBesideReader);
                    }
                    if is_allowed {
                        let version = $wait!(fabric.load_by_handle(home, BlockWord::Wr));
                        let of_chunk = $wait!(fabric.load_by_handle(home, BlockWord::ChunkVersion));
                        let mut version = version.max(of_chunk);
                        let result = $wait!(change(home));
                        if !is_seen_open && may_be_copied && outcome(result).is_stored && !fabric.fault(Fault::CopiedLookedEarly) {
                            copied = $call!(self.$copied(home));
                        }
                        is_copied = !is_seen_open && copied & block.bit() != 0;
                        if is_copied {
                            let lease = $wait!(fabric.load_by_handle(home, BlockWord::Lease));
                            version = self.clock().max(lease) + 1;
                            $wait!(fabric.post_stamps(at, Extent::single(block), |_| [version; 2]));
                            $wait!(fabric.post_by_handle(home, BlockWord::Lease, version));
                            $wait!(fabric.flush(at));
                        }
                        done = Some(Done { result, version, held });
                    }
                }
                match held {
                    Held::Open(_) => fabric.set_own(operating, 0),
                    Held::Locked(_) if fabric.fault(Fault::UpdateUnlocked) => {}
                    Held::Locked(sequence) if is_here => {
                        fabric.set_own_by_handle(home, BlockWord::Records, sequence + 2);
                    }
                    Held::Locked(sequence) => {
                        let opens = self.opens_records
                            && done.is_some()
                            && !is_copied
                            && self.updates().should_open(chunk);
                        let unlocked = if opens { opened(sequence) } else { sequence + 2 };
                        $wait!(fabric.post_by_handle(home, BlockWord::Records, unlocked));
                    }
                }
                fabric.live_since(checkpoint, || done);
                done
            }

            /// The blocks of the chunk at a home elsewhere of whose present versions others may have copies, though they are writable there.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $copied(&self, home: F::Handle) -> u64 {
                let mut copied = 0;
                for (kind, passed_over) in [(MarkKind::Read, Fault::UpdateBesideReader), (MarkKind::Dirty, Fault::UpdateBesideStore)] {
                    if !self.fabric.fault(passed_over) {
                        copied |= $wait!(self.fabric.load_mark_by_handle(home, kind));
                    }
                }
                copied
            }
        }
    };
}

maybe_async!(wait wait (async) update_mapped update_at_open_home update_here update_in update_ordered update_released store_mapped store_in change_at_home operate copied change_at_open_home change_local);
maybe_async!(poll_once call () update_mapped_sync update_at_open_home_sync update_here_sync update_in_sync update_ordered_sync update_released_sync store_mapped_sync store_in_sync change_at_home_sync operate_sync copied_sync change_at_open_home_sync change_local_sync);

impl<F: Fabric> Coherence<F> {
    /// Whether an operation locks records that nobody has open or locked. In model checkers relaxed ones do not, but go the way behind this one ([`Coherence::update`]): they have far more schedules with both, and ordered ones go both.
    #[inline(always)]
    fn may_lock(&self, order: &Order) -> bool {
        F::SYNCHRONOUS || *order == Order::Released
    }

    /// Whether there is something that a release would publish, as far as this thread knows.
    #[inline(always)]
    pub(crate) fn is_unpublished(&self) -> bool {
        self.front.has_deferred() || !self.fabric.none_marked(&[MarkKind::Dirty])
    }

    /// Waits until a word differs from what it was when it kept this process from going on; who finds records open closes them.
    pub(crate) async fn wait_for(&self, at: Rank, word: Word, seen: u64) {
        match word {
            Word::Records(chunk) if is_open(seen) => close(&self.fabric, at, chunk, seen).await,
            _ => _ = self.fabric.wait_change(at, word, seen).await,
        }
    }
}
