//! Operations at the home of a block beside the only copy that there is of it.
//!
//! Where there are two processes and all segments are mapped, a process that has a copy of a block whose home is at the other one has the only copy. An atomic operation that it executes at the home then needs no version, and
//! its copy stays: it gets the result, too. So does a twin, if the process has stored to other bytes of the block: else the result would count as a store of this process, which its next release publishes.
//! An addition that the process keeps is executed on the copy at once, and at the home with all others ([`Coherence::change`]), to which the home does not come.
//!
//! A copy that may be used again without its contents, as it has expired, gets the variable's value likewise, however many processes there are: the thread knows by then what the home has, which whoever stored it may not have published.
//!
//! Where a process has more threads, the operation is one that orders nothing: else another thread could learn from the home that it has been executed before the result is in the copy. With more processes, the notice of a new version, which two requesters may name alike, would hide an older one of which the copy has not heard.

use crate::atomic::Outcome;
use crate::calls::actions::{Action, Actions, Change};
use crate::fabric::{Fabric, Word};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::open::{Order, is_open};
use crate::types::{Block, Rank};
use crate::{Coherence, Fault, abi};

use dsm_abi::atomic::Update;

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident ($($asyncness:tt)?) $change_only_copy:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// Executes an operation whose result nobody wants, and that this process keeps, on its only copy of a block. Whether it was done; `false`, too, if it has no such copy. The home gets the operation by
            /// [`Coherence::change`] before this process releases, or something else happens to the copy than that it becomes invalid.
            #[inline(always)]
            pub $($asyncness)? fn $change_only_copy(
                &self,
                block: Block,
                offset: usize,
                bytes: usize,
                update: Update,
            ) -> bool {
                let fabric = &self.fabric;
                if !self.has_only_copies(Order::Relaxed) {
                    return false;
                }
                let _locked = $wait!(fabric.lock_chunk(block.chunk()));
                let (_, link) = self.own_link(block);
                if fabric.state(block) != abi::READABLE || !matches!(link, Link::Link { pending: false, .. }) {
                    return false;
                }
                if !fabric.fault(Fault::KeptBesideCopy) {
                    let old = $wait!(fabric.load_bytes(self.me(), block, offset, bytes));
                    if let Some(new) = update.apply_to_word(bytes, old) {
                        $wait!(fabric.store_bytes(self.me(), block, offset, bytes, new));
                    }
                }
                true
            }
        }
    };
}

maybe_async!(wait (async) change_only_copy);
maybe_async!(poll_once () change_only_copy_sync);

impl<F: Fabric> Coherence<F> {
    /// Whether the copies that this process has are the only ones, and get the result of an operation in an order in time for its other threads.
    #[inline(always)]
    pub fn has_only_copies(&self, order: Order) -> bool {
        let fabric = &self.fabric;
        let is_only = fabric.size() == 2 || fabric.fault(Fault::OnlyCopyOfMany);
        is_only
            && !self.has_agents
            && !fabric.watches_writes()
            && (order == Order::Relaxed || fabric.is_only_thread())
    }

    /// Whether an operation on so many bytes from an offset on is to be executed at the home of a block beside the copy that is here in a state. The chunk is locked.
    #[inline(always)]
    pub(crate) fn operates_beside_copy(
        &self,
        block: Block,
        bytes: (usize, usize),
        state: u8,
        order: Order,
    ) -> bool {
        matches!(state, abi::READABLE | abi::WRITABLE)
            && self.may_operate_beside_copy(block, order)
            && (state == abi::READABLE || self.is_stored_beside(block, bytes))
    }

    /// Whether that may be so in one of the states.
    #[inline(always)]
    pub(crate) fn may_operate_beside_copy(&self, block: Block, order: Order) -> bool {
        self.has_only_copies(order) && self.updates().should_stay(block)
    }

    /// Whether this process may store to a block whose home is elsewhere, and has stored nothing to so many bytes from an offset on that the home does not have. The chunk is locked.
    #[inline(never)]
    pub(crate) fn is_stored_beside(&self, block: Block, (offset, bytes): (usize, usize)) -> bool {
        let (_, link) = self.own_link(block);
        matches!(link, Link::Link { pending: false, .. })
            && self.replaced(block.chunk()) & block.bit() == 0
            && !self.fabric.differs_in(block, offset, bytes)
    }

    /// Stores the result of an operation at the home of a block to the copy here, of which other bytes may be older than those at home. The chunk is locked.
    #[inline(always)]
    pub(crate) fn change_copy(
        &self,
        block: Block,
        offset: usize,
        bytes: usize,
        result: u64,
    ) -> impl Future<Output = ()> {
        let fabric = &self.fabric;
        async move {
            if has_twin(fabric.state(block)) && !fabric.fault(Fault::UpdateBesideTwin) {
                fabric.patch_twin(block, offset, &result.to_le_bytes()[..bytes]);
            }
            if !fabric.fault(Fault::UpdateBesideCopy) {
                fabric.store_bytes(self.me(), block, offset, bytes, result).await;
            }
        }
    }

    /// An operation beside the only copy has been executed. The copy gets the variable's value also where the operation has stored nothing, as a compare-and-swap that failed: the thread knows what it has found, and whoever
    /// stored that may not have published it. The chunk is locked.
    #[inline(always)]
    pub(crate) async fn end_beside_copy(
        &self,
        block: Block,
        (offset, bytes): (usize, usize),
        outcome: Outcome,
    ) {
        self.updates().record_beside_copy(block);
        if outcome.is_stored || !self.fabric.fault(Fault::ComparedBesideCopy) {
            self.change_copy(block, offset, bytes, outcome.value).await;
        }
    }

    /// An operation has been executed at the home of a block that is invalid here. If it has stored nothing, there is no new version, without which a copy that has expired would be valid again as it is. The chunk is locked.
    #[inline(always)]
    pub(crate) async fn end_beside_expired(
        &self,
        block: Block,
        (offset, bytes): (usize, usize),
        outcome: Outcome,
    ) {
        let is_expired = self.fabric.state(block) == abi::EXPIRED;
        if is_expired && !outcome.is_stored && !self.fabric.fault(Fault::ComparedBesideExpired) {
            self.change_copy(block, offset, bytes, outcome.value).await;
        }
    }

    /// Waits while somebody is taking the home of a block from here, if the next operation would be executed where it goes; whether it has waited. A critical section would take it back.
    pub(crate) async fn awaits_taker(&self, block: Block, order: Order) -> bool {
        if !self.may_operate_beside_copy(block, order) {
            return false;
        }
        let (word, link) = self.own_link(block);
        let (word, seen) = match link {
            Link::Link { pending: true, .. } => (Word::Link(block), word),
            Link::Home => {
                let word = Word::Records(block.chunk());
                (word, self.fabric.own(word))
            }
            _ => return false,
        };
        let is_awaited = link != Link::Home || seen % 2 == 1 && !is_open(seen);
        if is_awaited {
            self.fabric.wait_change(self.me(), word, seen).await;
        }
        is_awaited
    }

    /// The blocks of which this process has the only copy, and whose changes are operations on single words. The chunk is locked.
    pub(crate) fn only_copies(&self, actions: Actions<'_>) -> u64 {
        if !self.has_only_copies(Order::Relaxed) {
            return 0;
        }
        let (mut copies, mut others) = (0, 0);
        for Action { block, change, .. } in actions {
            let is_operation = matches!(change, Change::Update(..) | Change::Series(..));
            let is_changed = is_operation && self.fabric.state(block) == abi::READABLE;
            let bits = if is_changed { &mut copies } else { &mut others };
            *bits |= block.bit();
        }
        copies & !others
    }

    /// Stores what the first of some changes have made of their words at a home to the only copies. The chunk is locked, so that the home stays where it is.
    pub(crate) async fn change_only_copies(
        &self,
        home: Rank,
        actions: Actions<'_>,
        count: usize,
        only_copies: u64,
    ) {
        let mut last = None;
        for Action { block, offset, change } in actions.take(count) {
            let (Change::Update(bytes, _) | Change::Series(_, bytes, _)) = change else { continue };
            let place = (block, offset, bytes);
            if only_copies & block.bit() != 0 && last.replace(place) != Some(place) {
                let value = self.fabric.load_bytes(home, block, offset, bytes).await;
                self.change_copy(block, offset, bytes, value).await;
            }
        }
    }
}
