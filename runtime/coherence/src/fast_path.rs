//! The fast path of releases and acquires that concern a single block. A lock often protects one block only, and to hand it over with the lock
//! should cost little more than moving the cache lines.
//!
//! A release takes this path if one block is dirty, its home is here and no peer has read it; an acquire, if it brings one notice, of a migratory block whose home is
//! at the notice's writer and which nobody may store to there. Each function tests its conditions before it changes anything; where one does not hold, the caller
//! goes on with the general path (`release`, `acquire`). Nothing here waits for another process, or for another thread to unlock a record. So every operation completes
//! when it is called where peers' memory is mapped (see [`Fabric::SYNCHRONOUS`]).
//!
//! A home moves with the records locked at both ends, so that nobody sees it under way: no link is ever pending, and nobody can queue. Whoever
//! locks two records locks its own and then only tries the other's, so waiting is not circular. Links are followed without a lock: that of the new home
//! says so only when the contents have arrived, and before that of the old home leads to it.

use crate::block_word::BlockWord;
use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::link::Link;
use crate::migration_on_miss::{hint, is_trial};
use crate::release_token::{ReleaseToken, split_state};
use crate::types::{Extent, Notice, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Longest block that moves with records locked, bytes.
const LONGEST: usize = 8192;

impl<F: Fabric> Coherence<F> {
    /// Sets the version of a block whose home is here. The records are locked.
    #[inline(always)]
    fn stamp_home(&self, local: F::Handle, lease: Timestamp, wr_ts: Timestamp) {
        let fabric = &self.fabric;
        fabric.set_own_by_handle(local, BlockWord::Rd, wr_ts);
        fabric.set_own_by_handle(local, BlockWord::Wr, wr_ts);
        if lease < wr_ts && !fabric.fault(Fault::LeaseNotRaised) {
            fabric.set_own_by_handle(local, BlockWord::Lease, wr_ts);
        }
    }
}

impl<F: Fabric> Coherence<F> {
    /// Prefetches what migration of the token's block needs in this process, while another process holds the lock: most likely that one stores to the
    /// block, too, hence its side is not prefetched.
    pub fn prefetch_by_token(&self, token: ReleaseToken) {
        let Some(Notice { extent: Extent { first, count: 1 }, .. }) = token.tail(1) else { return };
        if self.fabric.own(hint(MarkKind::Migratory, first.chunk())) & first.bit() != 0 {
            self.fabric.prefetch_block(self.fabric.own_handle(first));
        }
    }
}

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $release_single:ident $publish_single:ident $acquire_single:ident $take_single:ident $move_single:ident $single_chunk:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// A release of one dirty block whose home is here. Returns `then` if there is anything else to publish; nothing was done then.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $release_single<R, T: FnOnce(ReleaseToken) -> R>(&self, then: T) -> Result<R, T> {
                let fabric = &self.fabric;
                let _gate = $wait!(fabric.lock_gate(Gate::Publish));
                // Not worth waiting for the other threads, which saves comparisons with twins: there are none here.
                let held = fabric.begin_exclusive(false);
                let exclusive = held || fabric.fault(Fault::AlwaysExclusive);
                let checkpoint = fabric.checkpoint();
                let published = $call!(self.$publish_single(exclusive));
                fabric.live_since(checkpoint, || published);
                let result = match published {
                    Some(notice) => {
                        let token = self.signature().publish_own(notice, fabric);
                        Ok(then(token))
                    }
                    None => Err(then),
                };
                if held {
                    fabric.end_exclusive();
                }
                result
            }

            /// Publishes the only marked block in place. The publish gate is locked.
            #[inline(always)]
            $($asyncness)? fn $publish_single(&self, exclusive: bool) -> Option<Notice> {
                let fabric = &self.fabric;
                if !self.rings_are_empty() {
                    return None;
                }
                let chunk = $call!(marks::$single_chunk(fabric, self.front.guess()))?;
                let set = |kind| fabric.own(hint(kind, chunk));
                let read = set(MarkKind::Read) != 0 && !fabric.fault(Fault::FastPathIgnoresReads);
                let bit = set(MarkKind::Dirty);
                if read || set(MarkKind::Taken) != 0 || !bit.is_power_of_two() {
                    return None;
                }
                self.front.set_guess(chunk);
                let block = chunk.block(bit.trailing_zeros());
                let local = fabric.own_handle(block);
                let _locked = $wait!(fabric.lock_chunk(chunk));
                let sequence = $wait!(fabric.try_lock_by_handle(local))?;
                let home = self.is_own_home(local, bit) || fabric.fault(Fault::FastPathNotAtHome);
                let (mut notice, mut shared) = (None, 0);
                if home {
                    let others = fabric.take_own(hint(MarkKind::Dirty, chunk)) & !bit;
                    if others != 0 {
                        fabric.or_own(hint(MarkKind::Dirty, chunk), others);
                    }
                    let lease = fabric.own_by_handle(local, BlockWord::Lease);
                    let wr_ts = (self.clock() + 1).max(lease + u64::from(!fabric.fault(Fault::EqualTimestamps)));
                    self.stamp_home(local, lease, wr_ts);
                    let migrated = set(MarkKind::MigratedOnMiss);
                    if migrated & bit != 0 {
                        fabric.set_own(hint(MarkKind::MigratedOnMiss, chunk), migrated & !bit);
                    }
                    if exclusive && (migrated & bit != 0 || self.downgrades_all()) {
                        // As in `downgrade`.
                        marks::set_own(fabric, MarkKind::Cached, chunk, bit);
                        fabric.set_state_by_handle(local, abi::READABLE);
                        let write_protected = fabric.own_by_handle(local, BlockWord::WriteProtected);
                        fabric.set_own_by_handle(local, BlockWord::WriteProtected, write_protected | bit);
                        shared = 1;
                    }
                    notice = Some(Notice { writer: self.me(), extent: Extent::single(block), wr_ts, merged: false });
                }
                fabric.set_own_by_handle(local, BlockWord::Records, sequence + 2);
                if let Some(notice) = notice {
                    let stats = self.stats.mine();
                    stats.add(|count| &count.releases, 1);
                    stats.add(|count| &count.published_in_place, 1);
                    stats.add(|count| &count.notices_out, 1);
                    stats.add(|count| &count.homes_shared, shared);
                    fabric.published(notice.extent, notice.wr_ts);
                }
                notice
            }

            /// An acquire of one notice, of a single block, whose home migrates here. Returns false if it brings anything else; nothing was done then.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $acquire_single(&self, from: Rank, token: ReleaseToken) -> bool {
                let fabric = &self.fabric;
                let (sequence, length) = split_state(token.state());
                let Some(notice) = token.tail(1) else { return false };
                if notice.extent.count != 1 || notice.writer == self.me() {
                    return false;
                }
                let _gate = $wait!(fabric.lock_gate(Gate::Acquire));
                let (read, until) = split_state(fabric.own(Word::Cursor(from)));
                let checkpoint = fabric.checkpoint();
                if sequence != read || length.wrapping_sub(until) != 1 || !$call!(self.$take_single(notice)) {
                    fabric.live_since(checkpoint, || ());
                    return false;
                }
                fabric.live_since(checkpoint, || ());
                // A greater bound would have begun a new list.
                self.signature().defer(notice, fabric);
                fabric.set_own(Word::Cursor(from), token.state());
                true
            }

            /// Applies a notice of one migratory block: migrates its home here now, as the miss of the expected load would. Returns false if
            /// nothing was done: the block is not cached here, or it is not migratory, or its home is not free at the writer.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $take_single(&self, notice: Notice) -> bool {
                let fabric = &self.fabric;
                let (home, block) = (notice.writer, notice.extent.first);
                let (chunk, bit) = (block.chunk(), block.bit());
                let kind = |kind| fabric.own(hint(kind, chunk));
                // A block that migrated last time and was not stored to then: the miss decides whether it still counts as migratory.
                if kind(MarkKind::Migratory) & !kind(MarkKind::MigratedOnMiss) & bit == 0
                    || !self.misses_take_homes()
                    || fabric.block_bytes(block) > LONGEST
                    || fabric.has_agent(home)
                {
                    return false;
                }
                let local = fabric.own_handle(block);
                let remote = fabric.handle_elsewhere(local, home);
                fabric.prefetch_block(remote);
                fabric.prefetch_block(local);
                let _locked = $wait!(fabric.lock_chunk(chunk));
                let state = fabric.state_by_handle(local);
                let link = fabric.own_by_handle(local, BlockWord::Link);
                let lease = fabric.own_by_handle(local, BlockWord::Rd);
                // Who keeps changes of the block has taken the mark away.
                if kind(MarkKind::Migratory) & bit == 0
                    || !matches!(state, abi::READABLE | abi::EXPIRED | abi::NOTICED)
                    || !matches!(self.decode(link, self.me(), block), Link::Link { pending: false, .. })
                    || (state != abi::NOTICED && notice.wr_ts <= lease)
                {
                    return false;
                }
                let locked = !fabric.fault(Fault::FastPathUnlocked);
                let mine = match locked {
                    true => $wait!(fabric.try_lock_by_handle(local)),
                    false => Some(0),
                };
                let Some(mine) = mine else { return false };
                let taken = match $wait!(fabric.try_lock_by_handle(remote)) {
                    Some(theirs) => $call!(self.$move_single(notice, (local, remote), lease, theirs)),
                    None => false,
                };
                if locked {
                    fabric.set_own_by_handle(local, BlockWord::Records, mine + 2);
                }
                taken
            }

            /// Migrates the home of the notice's block from `remote` to `local`, if it is free and write-protected. `theirs`: sequence number of the remote records, which the caller has
            /// locked and this function unlocks. `lease`: that of the local copy. The chunk is locked, and so are the local records.
            #[inline(always)]
            $($asyncness)? fn $move_single(
                &self,
                notice: Notice,
                (local, remote): (F::Handle, F::Handle),
                lease: Timestamp,
                theirs: u64,
            ) -> bool {
                let fabric = &self.fabric;
                let (home, block) = (notice.writer, notice.extent.first);
                let (chunk, bit) = (block.chunk(), block.bit());
                let word = $wait!(fabric.load_by_handle(remote, BlockWord::Homes));
                let write_protected = $wait!(fabric.load_by_handle(remote, BlockWord::WriteProtected));
                let free = (word & bit != 0) != fabric.is_default_home(remote) && write_protected & bit != 0;
                if !free && !fabric.fault(Fault::FastPathNotFree) {
                    $wait!(fabric.post_by_handle(remote, BlockWord::Records, theirs + 2));
                    return false;
                }
                let chunk_version = match fabric.fault(Fault::IgnoreChunkVersion) {
                    true => 0,
                    false => $wait!(fabric.load_by_handle(remote, BlockWord::ChunkVersion)),
                };
                let leased = $wait!(fabric.load_by_handle(remote, BlockWord::Lease));
                // The bound that the old home has checked its copies against; the home was none of them.
                let bound = match fabric.fault(Fault::IgnoreOldBound) {
                    true => 0,
                    false => $wait!(fabric.load(home, Word::LogMin)),
                };
                let was = (
                    $wait!(fabric.load_by_handle(remote, BlockWord::Rd)),
                    $wait!(fabric.load_by_handle(remote, BlockWord::Wr)),
                );
                // Label of the copy that stays there. Mostly its record has these values already.
                let stays = (leased.max(bound), was.1.max(chunk_version));
                if was != stays {
                    $wait!(fabric.post_by_handle(remote, BlockWord::Rd, stays.0));
                    $wait!(fabric.post_by_handle(remote, BlockWord::Wr, stays.1));
                }
                let version = self.clock().max(notice.wr_ts) + 1;
                let wr_ts = version.max(stays.0.max(lease) + u64::from(!fabric.fault(Fault::EqualTimestamps)));
                let write = !is_trial(version);
                let migrated = hint(MarkKind::MigratedOnMiss, chunk);
                fabric.set_own(migrated, fabric.own(migrated) | bit);
                // A block that is not stored to stays here as a copy when its home moves on.
                marks::set_own(fabric, if write { MarkKind::Dirty } else { MarkKind::Cached }, chunk, bit);
                $wait!(fabric.fetch_by_handle(remote, local));
                self.stamp_home(local, fabric.own_by_handle(local, BlockWord::Lease), wr_ts);
                let replaced = fabric.own_by_handle(local, BlockWord::Replaced);
                if replaced & bit != 0 && !fabric.fault(Fault::ReplacedForGood) {
                    // Peers change it with the records locked.
                    fabric.set_own_by_handle(local, BlockWord::Replaced, replaced & !bit);
                }
                let own_protected = fabric.own_by_handle(local, BlockWord::WriteProtected);
                let protected = if write { own_protected & !bit } else { own_protected | bit };
                fabric.set_own_by_handle(local, BlockWord::WriteProtected, protected);
                fabric.set_own_by_handle(local, BlockWord::Homes, fabric.own_by_handle(local, BlockWord::Homes) ^ bit);
                fabric.set_own_by_handle(local, BlockWord::Link, Link::Home.encode());
                fabric.set_state_by_handle(local, if write { abi::WRITABLE } else { abi::READABLE });
                $wait!(fabric.post_by_handle(remote, BlockWord::Link, Link::to(self.me()).encode()));
                if !fabric.fault(Fault::HomeStays) {
                    $wait!(fabric.post_by_handle(remote, BlockWord::Homes, word ^ bit));
                }
                if !fabric.fault(Fault::UnlockBeforeFlush) {
                    $wait!(fabric.flush(home));
                }
                $wait!(fabric.post_by_handle(remote, BlockWord::Records, theirs + 2));
                let stats = self.stats.mine();
                stats.add(|count| &count.calls, 1);
                stats.add(|count| &count.blocks_fetched, 1);
                stats.add(|count| &count.bytes_moved, fabric.block_bytes(block) as u64);
                stats.add(|count| &count.homes_taken, 1);
                stats.add(|count| &count.homes_taken_on_miss, 1);
                stats.add(|count| &count.notices_in, 1);
                true
            }
        }
    };
}

maybe_async!(wait wait (async) release_single publish_single acquire_single take_single move_single single_chunk);
maybe_async!(poll_once call () release_single_sync publish_single_sync acquire_single_sync take_single_sync move_single_sync single_chunk_sync);
