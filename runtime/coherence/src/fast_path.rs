//! Single blocks. What a lock protects is often one block, and what follows the lock from one holder to the next should cost little more than
//! the cache lines that have to change hands.
//!
//! Nothing here waits for another process, or for another thread's work on a record: what is not as it mostly is, is left to `release` and `acquire`
//! before anything was changed. So the steps are operations that are done at once where peers' memory is at hand (see [`Fabric::AT_ONCE`]).
//!
//! A home moves with the records locked at both ends, so nobody sees it on its way: no link is ever pending, and nobody can queue. Whoever
//! locks two records takes its own first and then only tries the other, so waiting goes in no circle. Links are followed without a lock: the new home's says
//! so only when the contents are there, and before the old one's leads to it.

use crate::early::{hint, is_trial};
use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::link::Link;
use crate::near::Near;
use crate::told::{Told, split_state};
use crate::types::{Extent, Notice, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Longest block that moves with records locked, bytes.
const LONGEST: usize = 4096;

impl<F: Fabric> Coherence<F> {
    /// The version of a block at home here. The records are locked.
    #[inline(always)]
    fn stamp_here(&self, here: F::Place, lease: Timestamp, wr_ts: Timestamp) {
        let fabric = &self.fabric;
        fabric.set_own_near(here, Near::Rd, wr_ts);
        fabric.set_own_near(here, Near::Wr, wr_ts);
        if lease < wr_ts && !fabric.fault(Fault::LeaseNotRaised) {
            fabric.set_own_near(here, Near::Lease, wr_ts);
        }
    }
}

impl<F: Fabric> Coherence<F> {
    /// Lets what a move of the block that a lock told of last needs here come nearer, while another process holds the lock: most likely it stores to that block,
    /// too. What lies there is left to it.
    pub fn expect_told(&self, told: Told) {
        let Some(Notice { extent: Extent { first, count: 1 }, .. }) = told.tail(1) else { return };
        if self.fabric.own(hint(MarkKind::Migratory, first.chunk())) & first.bit() != 0 {
            self.fabric.expect_near(self.fabric.place(self.me(), first));
        }
    }
}

/// See the module `steps`.
macro_rules! steps {
    ($wait:ident $call:ident ($($later:tt)?) $release_lone:ident $publish_lone:ident $acquire_lone:ident $take_lone:ident $move_lone:ident $lone_chunk:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// A release that finds one block stored to and nothing else, which is at home here. Returns `then` if it is something else: nothing was done.
            #[inline(always)]
            pub(crate) $($later)? fn $release_lone<R, T: FnOnce(Told) -> R>(&self, then: T) -> Result<R, T> {
                let fabric = &self.fabric;
                let _gate = $wait!(fabric.lock_gate(Gate::Publish));
                // Nothing is compared here that waiting for the threads would spare.
                let held = fabric.begin_exclusive(false);
                let exclusive = held || fabric.fault(Fault::AlwaysExclusive);
                let moment = fabric.moment();
                let published = $call!(self.$publish_lone(exclusive));
                fabric.forget(moment, || published);
                let result = match published {
                    Some(notice) => {
                        let told = self.signature().publish_own(notice, fabric);
                        Ok(then(told))
                    }
                    None => Err(then),
                };
                if held {
                    fabric.end_exclusive();
                }
                result
            }

            /// Publishes the only block that is marked here, in place. The publish gate is locked.
            #[inline(always)]
            $($later)? fn $publish_lone(&self, exclusive: bool) -> Option<Notice> {
                let fabric = &self.fabric;
                let chunk = $call!(marks::$lone_chunk(fabric, self.front.guess()))?;
                let set = |kind| fabric.own(hint(kind, chunk));
                let read = set(MarkKind::Read) != 0 && !fabric.fault(Fault::LoneRead);
                let bit = set(MarkKind::Dirty);
                if read || set(MarkKind::Taken) != 0 || !bit.is_power_of_two() {
                    return None;
                }
                self.front.set_guess(chunk);
                let block = chunk.block(bit.trailing_zeros());
                let here = fabric.place(self.me(), block);
                let _locked = $wait!(fabric.lock_chunk(chunk));
                let sequence = $wait!(fabric.try_lock_near(here))?;
                let changed = fabric.own_near(here, Near::Homes) & bit != 0;
                let home = changed != fabric.default_near(here) || fabric.fault(Fault::LoneNotAtHome);
                let (mut notice, mut shared) = (None, 0);
                if home {
                    let others = fabric.take_own(hint(MarkKind::Dirty, chunk)) & !bit;
                    if others != 0 {
                        fabric.or_own(hint(MarkKind::Dirty, chunk), others);
                    }
                    let lease = fabric.own_near(here, Near::Lease);
                    let wr_ts = (self.clock() + 1).max(lease + u64::from(!fabric.fault(Fault::EqualTimestamps)));
                    self.stamp_here(here, lease, wr_ts);
                    let early = set(MarkKind::Early);
                    if early & bit != 0 {
                        fabric.set_own(hint(MarkKind::Early, chunk), early & !bit);
                    }
                    if exclusive && (early & bit != 0 || self.shares_all()) {
                        // As in `make_ask`.
                        marks::set_own(fabric, MarkKind::Cached, chunk, bit);
                        fabric.set_state_near(here, abi::READABLE);
                        fabric.set_own_near(here, Near::Asking, fabric.own_near(here, Near::Asking) | bit);
                        shared = 1;
                    }
                    notice = Some(Notice { writer: self.me(), extent: Extent::single(block), wr_ts, merged: false });
                }
                fabric.set_own_near(here, Near::Records, sequence + 2);
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

            /// An acquire of one notice, of a single block that moves here. Returns false if it is something else: nothing was done.
            #[inline(always)]
            pub(crate) $($later)? fn $acquire_lone(&self, from: Rank, told: Told) -> bool {
                let fabric = &self.fabric;
                let (sequence, length) = split_state(told.state());
                let Some(notice) = told.tail(1) else { return false };
                if notice.extent.count != 1 || notice.writer == self.me() {
                    return false;
                }
                let _gate = $wait!(fabric.lock_gate(Gate::Acquire));
                let (read, until) = split_state(fabric.own(Word::Cursor(from)));
                let moment = fabric.moment();
                if sequence != read || length.wrapping_sub(until) != 1 || !$call!(self.$take_lone(notice)) {
                    fabric.forget(moment, || ());
                    return false;
                }
                fabric.forget(moment, || ());
                // A greater bound would have begun a new list.
                self.signature().hold(notice, fabric);
                fabric.set_own(Word::Cursor(from), told.state());
                true
            }

            /// Takes in a notice of one block that is migratory: its home comes here at once, as at the load that is about to come. Returns false if
            /// nothing was done: the block is not cached here, or it is not migratory, or its home is not free at the writer.
            #[inline(always)]
            pub(crate) $($later)? fn $take_lone(&self, notice: Notice) -> bool {
                let fabric = &self.fabric;
                let (home, block) = (notice.writer, notice.extent.first);
                let (chunk, bit) = (block.chunk(), block.bit());
                let kind = |kind| fabric.own(hint(kind, chunk));
                // One that was taken last time and not stored to is for the miss to judge.
                if kind(MarkKind::Migratory) & !kind(MarkKind::Early) & bit == 0
                    || !self.misses_take_homes()
                    || fabric.block_bytes(block) > LONGEST
                    || fabric.asks(home)
                {
                    return false;
                }
                let (here, there) = (fabric.place(self.me(), block), fabric.place(home, block));
                fabric.expect_near(there);
                fabric.expect_near(here);
                let _locked = $wait!(fabric.lock_chunk(chunk));
                let state = fabric.state_near(here);
                let link = fabric.own_near(here, Near::Link);
                let lease = fabric.own_near(here, Near::Rd);
                if !matches!(state, abi::READABLE | abi::EXPIRED | abi::NOTICED)
                    || !matches!(self.decode(link, self.me(), block), Link::Link { pending: false, .. })
                    || (state != abi::NOTICED && notice.wr_ts <= lease)
                {
                    return false;
                }
                let locked = !fabric.fault(Fault::LoneUnlocked);
                let mine = match locked {
                    true => $wait!(fabric.try_lock_near(here)),
                    false => Some(0),
                };
                let Some(mine) = mine else { return false };
                let taken = match $wait!(fabric.try_lock_near(there)) {
                    Some(theirs) => $call!(self.$move_lone(notice, (here, there), lease, theirs)),
                    None => false,
                };
                if locked {
                    fabric.set_own_near(here, Near::Records, mine + 2);
                }
                taken
            }

            /// Moves the home of the notice's block from `there`, whose records were locked in turn `theirs` and are unlocked, to `here`, whose copy has the lease `lease`, if it is free and
            /// nobody may store to it. The chunk is locked, and so are the records here.
            #[inline(always)]
            $($later)? fn $move_lone(
                &self,
                notice: Notice,
                (here, there): (F::Place, F::Place),
                lease: Timestamp,
                theirs: u64,
            ) -> bool {
                let fabric = &self.fabric;
                let (home, block) = (notice.writer, notice.extent.first);
                let (chunk, bit) = (block.chunk(), block.bit());
                let word = $wait!(fabric.load_near(there, Near::Homes));
                let asking = $wait!(fabric.load_near(there, Near::Asking));
                let free = (word & bit != 0) != fabric.default_near(there) && asking & bit != 0;
                if !free && !fabric.fault(Fault::LoneNotFree) {
                    $wait!(fabric.post_near(there, Near::Records, theirs + 2));
                    return false;
                }
                let floor = match fabric.fault(Fault::IgnoreFloor) {
                    true => 0,
                    false => $wait!(fabric.load_near(there, Near::Floor)),
                };
                let leased = $wait!(fabric.load_near(there, Near::Lease));
                // What the old home has checked its copies against, which it did not do with this one.
                let bound = match fabric.fault(Fault::IgnoreOldBound) {
                    true => 0,
                    false => $wait!(fabric.load(home, Word::LogMin(0))),
                };
                let was = ($wait!(fabric.load_near(there, Near::Rd)), $wait!(fabric.load_near(there, Near::Wr)));
                // What its copy is from now on. Mostly it says so already.
                let stays = (leased.max(bound), was.1.max(floor));
                if was != stays {
                    $wait!(fabric.post_near(there, Near::Rd, stays.0));
                    $wait!(fabric.post_near(there, Near::Wr, stays.1));
                }
                let version = self.clock().max(notice.wr_ts) + 1;
                let wr_ts = version.max(stays.0.max(lease) + u64::from(!fabric.fault(Fault::EqualTimestamps)));
                let write = !is_trial(version);
                let early = hint(MarkKind::Early, chunk);
                fabric.set_own(early, fabric.own(early) | bit);
                // What is not stored to stays as a copy when the home goes on.
                marks::set_own(fabric, if write { MarkKind::Dirty } else { MarkKind::Cached }, chunk, bit);
                $wait!(fabric.fetch_near(there, here));
                self.stamp_here(here, fabric.own_near(here, Near::Lease), wr_ts);
                let replaced = fabric.own_near(here, Near::Replaced);
                if replaced & bit != 0 && !fabric.fault(Fault::ReplacedForGood) {
                    // Peers change it with the records locked.
                    fabric.set_own_near(here, Near::Replaced, replaced & !bit);
                }
                let own_asking = fabric.own_near(here, Near::Asking);
                fabric.set_own_near(here, Near::Asking, if write { own_asking & !bit } else { own_asking | bit });
                fabric.set_own_near(here, Near::Homes, fabric.own_near(here, Near::Homes) ^ bit);
                fabric.set_own_near(here, Near::Link, Link::Home.encode());
                fabric.set_state_near(here, if write { abi::WRITABLE } else { abi::READABLE });
                $wait!(fabric.post_near(there, Near::Link, Link::to(self.me()).encode()));
                if !fabric.fault(Fault::HomeStays) {
                    $wait!(fabric.post_near(there, Near::Homes, word ^ bit));
                }
                if !fabric.fault(Fault::UnlockBeforeFlush) {
                    $wait!(fabric.flush(home));
                }
                $wait!(fabric.post_near(there, Near::Records, theirs + 2));
                let stats = self.stats.mine();
                stats.add(|count| &count.calls, 1);
                stats.add(|count| &count.blocks_fetched, 1);
                stats.add(|count| &count.bytes_moved, fabric.block_bytes(block) as u64);
                stats.add(|count| &count.homes_taken, 1);
                stats.add(|count| &count.homes_taken_early, 1);
                stats.add(|count| &count.notices_in, 1);
                true
            }
        }
    };
}

steps!(wait wait (async) release_lone publish_lone acquire_lone take_lone move_lone lone_chunk);
steps!(done plain () release_lone_now publish_lone_now acquire_lone_now take_lone_now move_lone_now lone_chunk_now);
