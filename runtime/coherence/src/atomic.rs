//! Atomic operations of the program.
//!
//! They are executed where the home of the variable is, with the records of its chunk locked: by this process if the home is here ([`Coherence::update`]'s short way, or
//! the critical section of the block), else by a call ([`crate::calls::update`]), which moves no contents. The home comes here, in a critical section, where the home's stores ask, where
//! nobody else has come to the chunk between several operations of this process, and where this process has a copy of the block or stores in it, unless that copy is the only one and the home has been taken back before ([`crate::only_copy`]).

use std::hash::Hash;

use dsm_abi::atomic::Update;

use crate::block_word::BlockWord;
use crate::calls::lend::Refused;
use crate::calls::update::{Request, Updated};
use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::open::Order;
use crate::overwrite::Purpose;
use crate::records::Blocked;
use crate::release::Progress;
use crate::scratch::{Scratch, ScratchGuard};
use crate::segment::{Busy, Seen};
use crate::types::{Block, Chunk, Extent, Notice, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Blocks and chunks that the tables below have entries for: a version that is listed again makes the list longer, and who reads it slower.
const LISTED_ENTRIES: u64 = 4096;
/// See [`LISTED_ENTRIES`].
const STREAK_ENTRIES: u64 = 256;
/// Operations in a row at another process without anybody else's in the chunk, after which homes come here.
const MIGRATION_THRESHOLD: u32 = 8;
/// The same where the memory of that process is mapped. There a home costs as much as some dozen operations, and of two processes that operate at random each has many in a row.
const MIGRATION_THRESHOLD_MAPPED: u32 = 256;
/// Changes of a batch that cost about as much as one operation by itself.
const BATCHED_AS_ONE: u32 = 8;
/// Batches in a row without anybody else's operations in the chunk, after which homes come here for batches; twice as many each time that somebody has come. A home that is taken from a process
/// that goes on with operations there costs more than many batches, so this is longer than it takes others to begin.
const BATCHES_ALONE: u32 = 8;
/// Most times that this is doubled.
const MOST_DOUBLINGS: u32 = 10;

/// Operations at the home of a block of which this process has a copy, or in which it has stores, after which the home comes here again; twice as many each time that somebody has taken it back. What it takes to have it
/// come and go is a few microseconds.
const OPERATIONS_BESIDE_COPY: u32 = 256;
/// Most times that this is doubled.
const MOST_RETURNS: u32 = 4;

/// Operations at another process after which the records of a chunk are left open; twice as many each time that they were closed again soon.
const OPEN_AFTER: u32 = 1;
/// Operations at open records that spare about as much as it takes to close them once.
const OPEN_PAYS: u32 = 4;
/// Most times that this is doubled.
const MOST_CLOSINGS: u32 = 8;

/// What this process remembers of a chunk whose records it leaves open.
#[derive(Clone, Copy, Debug, Hash)]
struct Opening {
    chunk: Chunk,
    /// Operations with the records locked, since they were left open last.
    locked: u32,
    /// Operations without, since then.
    open: u32,
    /// How many times in a row they were closed soon.
    closings: u32,
}

/// Consecutive operations of this process in a chunk at another one.
#[derive(Clone, Copy, Debug, Hash)]
struct Streak {
    chunk: Chunk,
    /// Of the records there, behind the last operation.
    sequence: u64,
    /// Operations without anybody else's in between.
    length: u32,
    /// Batches of them, but for those that came at once behind others.
    batches: u32,
    /// What these cost, in operations, less what was spent on homes.
    paid: u32,
    /// How many times a streak in the chunk has ended.
    ends: u32,
    /// Blocks whose homes came here because of it, for batches.
    came: u64,
}

/// A block whose home has come here for operations, though this process has a copy of it or stores in it.
#[derive(Clone, Copy, Debug, Hash)]
struct Taken {
    block: Block,
    /// Operations that are executed at its home, if somebody has taken it back, before it comes again.
    left: u32,
    /// How many those are in all.
    operations: u32,
}

/// What this process remembers of its operations at homes elsewhere: tables without chains. What is forgotten is listed again, and counted anew.
#[derive(Debug, Default, Hash)]
pub(crate) struct Updates {
    /// Versions that the signature lists.
    listed: Vec<Option<(Block, Timestamp)>>,
    streaks: Vec<Option<Streak>>,
    openings: Vec<Option<Opening>>,
    /// Blocks whose homes came here for operations beside other contents of the block here.
    taken: Vec<Option<Taken>>,
}

#[inline(always)]
fn entry<T: Clone>(table: &mut Vec<Option<T>>, key: u64, entries: u64) -> &mut Option<T> {
    let index = (key % entries) as usize;
    if table.len() <= index {
        table.resize(index + 1, None);
    }
    &mut table[index]
}

impl Updates {
    /// Notes an operation on a block whose home was in a version, in records of a sequence number. Whether the version is still to be listed.
    pub(crate) fn record(&mut self, block: Block, version: Timestamp, sequence: u64) -> bool {
        self.count(block.chunk(), sequence, 1);
        self.is_unlisted(block, version)
    }

    /// Notes an operation at a home whose records are open, in a version. Whether the version is still to be listed.
    #[inline(always)]
    pub(crate) fn record_open(&mut self, block: Block, version: Timestamp) -> bool {
        if let Some(opening) =
            self.openings.get_mut((block.chunk().0 % STREAK_ENTRIES) as usize).and_then(Option::as_mut)
            && opening.chunk == block.chunk()
        {
            opening.open = opening.open.saturating_add(1);
        }
        self.is_unlisted(block, version)
    }

    /// Whether as many operations have been executed with open records of a chunk as it takes for them to have been worth opening, if this process has opened them.
    pub(crate) fn has_paid(&self, chunk: Chunk) -> bool {
        let opening = self.openings.get((chunk.0 % STREAK_ENTRIES) as usize).and_then(Option::as_ref);
        opening.is_none_or(|opening| opening.chunk != chunk || opening.open >= OPEN_PAYS)
    }

    /// Notes that the home of a block of which this process has a copy, or in which it has stores, comes here. If somebody takes it back, so many operations are executed there before it comes again, and twice as many each time.
    fn record_taken(&mut self, block: Block, operations: u32) {
        let entry = entry(&mut self.taken, block.0, LISTED_ENTRIES);
        let operations = match entry {
            Some(taken) if taken.block == block => (2 * taken.operations).min(operations << MOST_RETURNS),
            _ => operations,
        };
        *entry = Some(Taken { block, left: operations, operations });
    }

    /// Whether the next operation on such a block should be executed at its home: it has come here for one, and somebody has taken it back.
    #[inline(always)]
    pub(crate) fn should_stay(&self, block: Block) -> bool {
        let taken = self.taken.get((block.0 % LISTED_ENTRIES) as usize).and_then(Option::as_ref);
        taken.is_some_and(|taken| taken.block == block && taken.left > 0)
    }

    /// Notes that one has been.
    #[inline(always)]
    pub(crate) fn record_beside_copy(&mut self, block: Block) {
        if let Some(Some(taken)) = self.taken.get_mut((block.0 % LISTED_ENTRIES) as usize)
            && taken.block == block
        {
            taken.left = taken.left.saturating_sub(1);
        }
    }

    /// Whether the records of a chunk at another process should be left open behind the operation that is about to be executed there.
    pub(crate) fn should_open(&mut self, chunk: Chunk) -> bool {
        let entry = entry(&mut self.openings, chunk.0, STREAK_ENTRIES);
        let begin = Opening { chunk, locked: 0, open: u32::MAX, closings: 0 };
        let opening = entry.get_or_insert(begin);
        if opening.chunk != chunk {
            *opening = begin;
        }
        opening.locked = opening.locked.saturating_add(1);
        if opening.locked < OPEN_AFTER << opening.closings {
            return false;
        }
        let closings = if opening.open < OPEN_PAYS { (opening.closings + 1).min(MOST_CLOSINGS) } else { 0 };
        *opening = Opening { chunk, locked: 0, open: 0, closings };
        true
    }

    /// Notes a batch of changes of a chunk, in records of a sequence number. `is_next`: it came at once behind another one. That nobody was in between says nothing then.
    pub(crate) fn record_batch(&mut self, chunk: Chunk, sequence: u64, changes: u64, is_next: bool) {
        let streak = self.count(chunk, sequence, u32::from(!is_next));
        if !is_next && streak.length > 0 {
            streak.batches += 1;
            streak.paid = streak.paid.saturating_add(changes.div_ceil(BATCHED_AS_ONE.into()) as u32);
        }
    }

    fn count(&mut self, chunk: Chunk, sequence: u64, operations: u32) -> &mut Streak {
        let entry = entry(&mut self.streaks, chunk.0, STREAK_ENTRIES);
        let next = sequence + 2;
        let begin = Streak { chunk, sequence: next, length: 0, batches: 0, paid: 0, ends: 0, came: 0 };
        let streak = match *entry {
            Some(streak) if streak.chunk == chunk && streak.sequence == sequence => {
                Streak { sequence: next, length: streak.length.saturating_add(operations), ..streak }
            }
            // A home that this process takes changes the records as well.
            Some(streak) if streak.chunk == chunk => {
                Streak { ends: streak.ends.saturating_add((streak.came == 0).into()), ..begin }
            }
            _ => begin,
        };
        entry.insert(streak)
    }

    /// Whether a version of a block is still to be listed; it counts as listed from now on.
    #[inline(always)]
    pub(crate) fn is_unlisted(&mut self, block: Block, version: Timestamp) -> bool {
        // Nobody has a copy from before the first version.
        version != 0
            && entry(&mut self.listed, block.0, LISTED_ENTRIES).replace((block, version))
                != Some((block, version))
    }

    /// Whether [`Updates::should_migrate`] would say so, of a process whose memory is mapped.
    #[inline(always)]
    pub(crate) fn is_migration_due(&self, chunk: Chunk) -> bool {
        let streak = self.streaks.get((chunk.0 % STREAK_ENTRIES) as usize).and_then(Option::as_ref);
        streak.is_some_and(|streak| streak.chunk == chunk && streak.length >= MIGRATION_THRESHOLD_MAPPED)
    }

    /// Whether a home of a chunk should come here, as nobody else seems to come to the chunk. `by_message`: who it is at is asked by messages. Then all that follow come as well,
    /// so that processes take turns with many operations each; else one does, which costs as much as some operations there.
    fn should_migrate(&mut self, chunk: Chunk, by_message: bool) -> bool {
        let threshold = if by_message { MIGRATION_THRESHOLD } else { MIGRATION_THRESHOLD_MAPPED };
        let streak = entry(&mut self.streaks, chunk.0, STREAK_ENTRIES);
        let migrate = streak.is_some_and(|streak| streak.chunk == chunk && streak.length >= threshold);
        if migrate && !by_message {
            *streak = None;
        }
        migrate
    }

    /// Whether the home of a block should come here before so many changes of it, as nobody else seems to come to its chunk. Each home is paid for by batches, which would have cost as
    /// much less had it been here; and if it has come and gone, others do come.
    pub(crate) fn should_migrate_batched(&mut self, block: Block, changes: usize) -> bool {
        const PRICE: u32 = 2 * MIGRATION_THRESHOLD;
        let chunk = block.chunk();
        let entry = entry(&mut self.streaks, chunk.0, STREAK_ENTRIES);
        let Some(streak) = entry.as_mut().filter(|streak| streak.chunk == chunk) else { return false };
        if streak.came & block.bit() != 0 {
            *streak = Streak { batches: 0, paid: 0, ends: streak.ends.saturating_add(1), came: 0, ..*streak };
        }
        let migrate = changes >= BATCHED_AS_ONE as usize
            && streak.paid >= PRICE
            && streak.batches >= BATCHES_ALONE << streak.ends.min(MOST_DOUBLINGS);
        if migrate {
            streak.paid -= PRICE;
            streak.came |= block.bit();
        }
        migrate
    }
}

/// What an operation has left in a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The variable's value behind it.
    pub value: u64,
    /// Whether the operation has stored that.
    pub is_stored: bool,
}

impl Outcome {
    /// Of an operation that found the variable as `old`.
    #[inline(always)]
    pub fn of(update: Update, bytes: usize, old: u64) -> Outcome {
        let new = update.apply_to_word(bytes, old);
        Outcome { value: new.unwrap_or(old), is_stored: new.is_some() }
    }

    /// Of a store.
    #[inline(always)]
    pub fn stored(value: u64) -> Outcome {
        Outcome { value, is_stored: true }
    }
}

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $update_local:ident $change_local:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// As [`Coherence::update`], where it takes nothing but a store: no block becomes accessible by it.
            #[inline(always)]
            pub $($asyncness)? fn $update_local(
                &self,
                block: Block,
                offset: usize,
                bytes: usize,
                update: Update,
            ) -> Option<u64> {
                $call!(self.$change_local(
                    self.fabric.own_handle(block),
                    Order::Relaxed,
                    #[inline(always)]
                    move |here| self.fabric.update_by_handle(here, offset, bytes, update)
                ))
            }

            /// The fast path: the home of a block, of which this is the handle here, is here, stores to it are allowed, and nobody else has locked the records. The operation is a store like any other then. With [`Order::Released`] there is nothing to publish besides.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $change_local<R>(&self, here: F::Handle, order: Order, change: impl FnOnce(F::Handle) -> R) -> Option<u64>
            where
                R: Future<Output = u64>,
            {
                let fabric = &self.fabric;
                let (_, block) = fabric.target_of(here);
                if fabric.state_by_handle(here) != abi::WRITABLE || !self.has_mapped_homes && fabric.watches_writes() {
                    return None;
                }
                if order == Order::Released
                    && (!self.has_mapped_homes || self.is_unpublished() || !self.is_own_home(here, block.bit()))
                {
                    return None;
                }
                let checkpoint = fabric.checkpoint();
                let locked = !fabric.fault(Fault::UpdateHereUnlocked);
                let sequence = if locked { $wait!(fabric.try_lock_by_handle(here))? } else { 0 };
                let is_home = self.is_own_home(here, block.bit());
                // The lock is the fence in front of it.
                let is_released = order != Order::Released || self.nothing_is_marked() || fabric.fault(Fault::OrderedUnreleased);
                let mut old = None;
                if is_home && is_released && fabric.state_by_handle(here) == abi::WRITABLE {
                    old = Some($wait!(change(here)));
                }
                if locked {
                    fabric.set_own_by_handle(here, BlockWord::Records, sequence + 2);
                }
                fabric.live_since(checkpoint, || old);
                old
            }
        }
    };
}

maybe_async!(wait wait (async) update_local change_local);
maybe_async!(poll_once call () update_local_sync change_local_sync);

impl<F: Fabric> Coherence<F> {
    /// Applies an atomic operation to 1, 2, 4 or 8 aligned bytes at `offset` in a block; returns what they were.
    pub async fn update(
        &self,
        block: Block,
        offset: usize,
        bytes: usize,
        update: Update,
        order: Order,
    ) -> u64 {
        let checkpoint = self.fabric.checkpoint();
        loop {
            self.fabric.live_since(checkpoint, || ());
            if let Some(old) = self.try_update(block, (offset, bytes), update, order).await {
                return old;
            }
            if !self.awaits_taker(block, order).await {
                break;
            }
        }
        // Where operations are done when they are called, this one must not be called before the home is here.
        self.critical(block, async {
            self.fabric.update_bytes(self.me(), block, offset, bytes, update).await
        })
        .await
    }

    /// Applies it without a critical section, if that is what should be done.
    async fn try_update(
        &self,
        block: Block,
        (offset, bytes): (usize, usize),
        update: Update,
        order: Order,
    ) -> Option<u64> {
        let here = match F::SYNCHRONOUS {
            true => self.update_local_sync(block, offset, bytes, update),
            false => self.update_local(block, offset, bytes, update).await,
        };
        if here.is_some() {
            return here;
        }
        let mapped = match F::SYNCHRONOUS {
            true => self.update_mapped_sync(block, offset, bytes, update, order),
            false => self.update_mapped(block, offset, bytes, update, order).await,
        };
        if mapped.is_some() {
            return mapped;
        }
        self.update_remote(block, (offset, bytes), update, order).await
    }

    /// Executes a store of 1, 2, 4 or 8 aligned bytes at `offset` in a block as an atomic operation. The thread may execute it here as well, whatever the state of the block is
    /// then: those are the bytes that a miss brings.
    pub async fn store_at_home(&self, block: Block, offset: usize, bytes: usize, value: u64) {
        let mapped = match F::SYNCHRONOUS {
            true => self.store_mapped_sync(block, offset, bytes, value),
            false => self.store_mapped(block, offset, bytes, value).await,
        };
        if mapped {
            return;
        }
        self.update(block, offset, bytes, Update::store(value.into()), Order::Relaxed).await;
    }

    /// By a call, if that is what should be done.
    async fn update_remote(
        &self,
        block: Block,
        (offset, bytes): (usize, usize),
        update: Update,
        order: Order,
    ) -> Option<u64> {
        let fabric = &self.fabric;
        let by_message = match self.own_link(block).1 {
            Link::Link { to, .. } => fabric.has_agent(to),
            _ => false,
        };
        if fabric.watches_writes() || self.updates().should_migrate(block.chunk(), by_message) {
            return None;
        }
        let opens = self.opens_records && self.updates().should_open(block.chunk());
        let checkpoint = fabric.checkpoint();
        let result = loop {
            fabric.live_since(checkpoint, || ());
            let locked = fabric.lock_chunk(block.chunk()).await;
            let only_copy = self.operates_beside_copy(block, (offset, bytes), fabric.state(block), order);
            let request =
                Request { block, offset, bytes, update, at_least: self.clock() + 1, opens, only_copy };
            let outcome = self.try_update_remote(&request).await;
            drop(locked);
            match outcome {
                Ok(result) => break result,
                Err(Blocked { at, word, seen }) => {
                    self.wait_for(at, word, seen).await;
                }
            }
        };
        fabric.live_since(checkpoint, || result);
        result
    }

    /// `None`: the home should come here. The chunk is locked, so that no other thread gets a copy out of which the result is missing.
    async fn try_update_remote(&self, request: &Request) -> Result<Option<u64>, Blocked> {
        let fabric = &self.fabric;
        let block = request.block;
        let (word, link) = self.own_link(block);
        if !(request.only_copy || matches!(fabric.state(block), abi::NOTICED | abi::COLD | abi::EXPIRED))
            || matches!(link, Link::Home | Link::Link { pending: true, .. })
        {
            return Ok(None);
        }
        let mut lookup = self.begin_lookup();
        self.follow_link(&mut lookup, block, Seen { link: word, sequence: 1 }, true)?;
        let scratch = &mut *ScratchGuard::new();
        let checkpoint = fabric.checkpoint();
        let updated = loop {
            fabric.live_since(checkpoint, || Self::lookup_state(&lookup));
            match self.call_update(lookup.at, request, &mut scratch.peer).await {
                Ok(updated) => break updated,
                Err(Refused::Busy(Busy { word, seen })) => return Err(Blocked { at: lookup.at, word, seen }),
                // It has come back there meanwhile.
                Err(Refused::Away(seen)) if self.decode(seen.link, lookup.at, block) == Link::Home => {
                    return Err(self.look_again(block));
                }
                Err(Refused::Away(seen)) => self.follow_link(&mut lookup, block, seen, true)?,
            }
        };
        self.end_lookup(lookup, block).await;
        let Updated::Done { old, version, sequence } = updated else { return Ok(None) };
        let outcome = Outcome::of(request.update, request.bytes, old);
        if request.only_copy {
            self.end_beside_copy(block, (request.offset, request.bytes), outcome).await;
        } else {
            self.changed_elsewhere(block);
            self.end_beside_expired(block, (request.offset, request.bytes), outcome).await;
        }
        let is_unlisted = self.updates().record(block, version, sequence);
        // If there is nobody else, the home knows.
        if is_unlisted && !request.only_copy {
            self.list_update(block, lookup.at, version);
        }
        Ok(Some(old))
    }

    /// Lists a version of which an operation of this process is part: who has copies of older ones may not have heard of it.
    pub(crate) fn list_update(&self, block: Block, home: Rank, version: Timestamp) {
        if self.fabric.fault(Fault::UpdateNotListed) {
            return;
        }
        self.stats.notices_out.add(1);
        let notice = Notice { writer: home, extent: Extent::single(block), wr_ts: version, merged: true };
        self.signature().defer(notice, &self.fabric);
    }

    /// Whether this process may have stored to the block, other than by atomic operations, what its home does not have yet. [`Coherence::read_atomic`] does not
    /// see such stores, nor those that a release under way has taken up.
    pub async fn has_own_stores(&self, block: Block) -> bool {
        if self.differs_from_twin(block).await.unwrap_or(true) {
            return true;
        }
        if self.fabric.gate_free(Gate::Publish) {
            return false;
        }
        let gate = self.fabric.lock_gate(Gate::Publish).await;
        let differs = self.differs_from_twin(block).await.unwrap_or(true);
        drop(gate);
        differs
    }

    /// Whether own contents differ from the twin of a block whose home is elsewhere, `false` if they are at home; the word of the link if who takes the home has not
    /// left the twin yet, or the home is on its way here.
    pub(crate) async fn differs_from_twin(&self, block: Block) -> Result<bool, u64> {
        let fabric = &self.fabric;
        if !has_twin(fabric.state(block)) {
            return Ok(false);
        }
        let chunk = block.chunk();
        let locked = fabric.lock_chunk(chunk).await;
        // Nobody is taking the home from here now who has its contents already, but not a store of the calling thread.
        let sequence = self.lock_records(chunk).await;
        let without = self.own_homes(chunk).all | self.replaced(chunk);
        let (word, link) = self.own_link(block);
        self.unlock_records(chunk, sequence);
        let differs = match link {
            _ if without & block.bit() != 0 || !has_twin(fabric.state(block)) => Ok(false),
            Link::Link { pending: true, .. } if !fabric.fault(Fault::TwinNotAwaited) => Err(word),
            // The home is here, and what it had may be merged already: then there is no twin any more.
            Link::Wait | Link::Taking if !fabric.fault(Fault::DroppedTwinCompared) => Err(word),
            _ => Ok(fabric.changed(Extent::single(block)) != 0),
        };
        drop(locked);
        differs
    }

    /// Runs `body` on a block that is current and writable here while no other process and no other critical section of this one can change it: what
    /// atomic operations of the program need.
    pub async fn critical<R>(&self, block: Block, body: impl Future<Output = R>) -> R {
        self.critical_section(block, true, body).await
    }

    /// As [`Coherence::critical`]. Unless it is to be accessible before, a block that nobody here may access becomes writable behind `body`: threads of this process that access it then see what that did, which
    /// they may have had kept. `body` accesses it by the fabric then.
    pub(crate) async fn critical_section<R>(
        &self,
        block: Block,
        accessible: bool,
        body: impl Future<Output = R>,
    ) -> R {
        let fabric = &self.fabric;
        let chunk = block.chunk();
        let mut gate = fabric.lock_gate(Gate::Publish).await;
        let checkpoint = fabric.checkpoint();
        let result = loop {
            fabric.live_since(checkpoint, || ());
            let locked = fabric.lock_chunk(chunk).await;
            let sequence = self.lock_records(chunk).await;
            if self.own_homes(chunk).all & block.bit() != 0 {
                let result = self.critical_at_home(block, accessible, body).await;
                self.unlock_records(chunk, sequence);
                break result;
            }
            self.unlock_records(chunk, sequence);
            if self.has_one_writer() {
                drop(locked);
                // While this process waits for a permission, others may wait for one of its own.
                drop(gate);
                self.miss(Extent::single(block), Purpose::STORE).await;
                gate = fabric.lock_gate(Gate::Publish).await;
                continue;
            }
            let scratch = &mut *ScratchGuard::new();
            fabric.own_links(Extent::single(block), scratch.own.run_mut(Extent::single(block)));
            let word = scratch.own.of(block).link;
            let link = self.decode(word, self.me(), block);
            if matches!(link, Link::Link { pending: true, .. }) {
                drop(locked);
                fabric.wait_change(self.me(), Word::Link(block), word).await;
                continue;
            }
            break self.critical_with_home_taken(block, accessible, locked, scratch, body).await;
        };
        drop(gate);
        result
    }

    /// A critical section on a block whose home is here. The chunk and its records are locked.
    async fn critical_at_home<R>(&self, block: Block, accessible: bool, body: impl Future<Output = R>) -> R {
        self.set_write_protected(block.chunk(), block.bit(), false);
        if accessible || !self.is_refused(block) {
            self.permit(block);
        }
        let result = body.await;
        self.permit(block);
        result
    }

    /// A critical section on a block whose home is elsewhere, and comes here. `locked`: the chunk, whose own links are in `scratch`. The publish gate is locked.
    async fn critical_with_home_taken<R>(
        &self,
        block: Block,
        accessible: bool,
        locked: F::Guard<'_>,
        scratch: &mut Scratch,
        body: impl Future<Output = R>,
    ) -> R {
        let (fabric, chunk) = (&self.fabric, block.chunk());
        if matches!(fabric.state(block), abi::READABLE | abi::WRITABLE) {
            // Model checkers execute few operations.
            let operations = if F::SYNCHRONOUS { OPERATIONS_BESIDE_COPY } else { 2 };
            self.updates().record_taken(block, operations);
        }
        let writable = accessible || !self.is_refused(block);
        let becomes = if writable { abi::WRITABLE } else { abi::COLD };
        let mut requests = self.begin_locking(chunk, block.bit(), becomes, &scratch.own);
        drop(locked);
        let mut progress = Progress::new(self.clock() + 1, false);
        let batch =
            self.next_batch(&mut requests, progress.version, scratch).await.expect("one block is requested");
        let wr_ts = batch.version;
        self.list(chunk, block.bit(), wr_ts, &mut progress);
        self.publish(&mut progress);
        let locked = fabric.lock_chunk(chunk).await;
        if writable {
            self.permit(block);
        }
        let result = body.await;
        match fabric.state(block) {
            // Nobody has a copy of the version that came with the home.
            abi::COLD if !fabric.watches_writes() => fabric.set_state(Extent::single(block), abi::WRITABLE),
            _ => self.permit(block),
        }
        drop(locked);
        self.unlock(chunk, block.bit(), true, wr_ts, &mut scratch.own).await;
        result
    }

    /// Whether a block's state allows no access, and nothing is here that its home does not have.
    fn is_refused(&self, block: Block) -> bool {
        matches!(self.fabric.state(block), abi::COLD | abi::EXPIRED | abi::NOTICED)
    }

    /// Allows stores to a block whose home is here and cannot be taken now. One that is writable already needs no mark: whether somebody is to be told of what is stored there
    /// is for the next release to see, as for any store. The chunk is locked.
    fn permit(&self, block: Block) {
        let fabric = &self.fabric;
        if fabric.state(block) != abi::WRITABLE || fabric.watches_writes() {
            marks::set_own(fabric, MarkKind::Dirty, block.chunk(), block.bit());
            fabric.set_state(Extent::single(block), abi::WRITABLE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_come_for_batches_that_are_alone() {
        let (mut updates, chunk) = (Updates::default(), Chunk(3));
        let mut sequence = 10;
        let mut batches = |updates: &mut Updates, count, is_next| {
            for _ in 0..count {
                updates.record_batch(chunk, sequence, 32, is_next);
                sequence += 2;
            }
            sequence += 2;
        };
        let come = |updates: &mut Updates, blocks: std::ops::Range<u32>| {
            blocks.filter(|i| updates.should_migrate_batched(chunk.block(*i), 100)).count()
        };
        batches(&mut updates, 8, false);
        assert_eq!(come(&mut updates, 0..9), 0, "others may be about to begin");
        batches(&mut updates, 16, false);
        assert_eq!(come(&mut updates, 0..9), 0, "there are others");
        batches(&mut updates, 33, false);
        assert!(!updates.should_migrate_batched(chunk.block(0), 2), "that costs less than the home");
        assert!(!updates.should_migrate_batched(Chunk(4).block(0), 100));
        assert_eq!(come(&mut updates, 0..9), 8, "a home for four batches");
        batches(&mut updates, 100, true);
        assert_eq!(come(&mut updates, 0..9), 0, "those tell nothing");
        // Those before were ended by homes that came, these by others.
        batches(&mut updates, 65, false);
        assert_eq!(come(&mut updates, 0..7), 7);
        assert_eq!(come(&mut updates, 0..9), 0, "somebody has taken it back");
    }

    #[test]
    fn a_home_that_was_taken_back_stays_for_some_operations() {
        let (mut updates, block) = (Updates::default(), Chunk(3).block(1));
        assert!(!updates.should_stay(block), "it has not come yet");
        for operations in [2, 4, 8, 16, 32, 32] {
            updates.record_taken(block, 2);
            for _ in 0..operations {
                assert!(updates.should_stay(block) && !updates.should_stay(Chunk(4).block(1)));
                updates.record_beside_copy(block);
            }
            assert!(!updates.should_stay(block));
        }
    }

    #[test]
    fn homes_come_for_operations_in_a_row() {
        let (mut updates, block) = (Updates::default(), Chunk(3).block(1));
        for i in 0..=u64::from(MIGRATION_THRESHOLD_MAPPED) {
            assert!(!updates.should_migrate(block.chunk(), false));
            updates.record(block, 0, 2 * i);
        }
        assert!(updates.should_migrate(block.chunk(), true));
        assert!(updates.should_migrate(block.chunk(), false));
        assert!(!updates.should_migrate(block.chunk(), false), "one does");
        assert!(updates.is_unlisted(block, 5) && !updates.is_unlisted(block, 5));
    }
}
