//! Acquire: applies a peer's notices, that is, invalidates the copies that they say are old.

use crate::calls::{read, signature};
use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::link::Link;
use crate::records::Records;
use crate::release_token::{ReleaseToken, TAIL, is_read, split_state};
use crate::scratch::{MessagesGuard, Scratch, ScratchGuard};
use crate::segment::Seen;
use crate::types::{Block, Chunk, Extent, Notice, Rank, Timestamp};
use crate::{Coherence, Fault, abi};

impl<F: Fabric> Coherence<F> {
    /// Applies everything that `from` has published so far, notices of others that it has applied included.
    pub async fn acquire_from(&self, from: Rank) {
        if from == self.me() {
            return;
        }
        if self.fabric.has_agent(from) {
            self.stats.acquires.add(1);
            let _gate = self.fabric.lock_gate(Gate::Acquire).await;
            return self.acquire_list(from, None).await;
        }
        let state = self.fabric.load(from, Word::LogState).await;
        self.acquire_published(from, state).await;
    }

    /// As [`Coherence::acquire_from`] of each of these processes. Those that are reached by messages are asked together.
    pub async fn acquire_from_all(&self, all: impl IntoIterator<Item = Rank>) {
        if !self.calls_agents() {
            for from in all {
                self.acquire_from(from).await;
            }
            return;
        }
        let others = all.into_iter().filter(|from| *from != self.me());
        let (asked, others): (Vec<_>, Vec<_>) = others.partition(|from| self.fabric.has_agent(*from));
        for from in others {
            self.acquire_from(from).await;
        }
        match asked[..] {
            [] => {}
            [from] => self.acquire_from(from).await,
            _ => self.acquire_together(&asked).await,
        }
    }

    /// Of several processes that are reached by messages. What each has published is applied when all have answered: a list that is older than what another one tells of is completed by that one.
    async fn acquire_together(&self, all: &[Rank]) {
        self.stats.acquires.add(all.len() as u64);
        let _gate = self.fabric.lock_gate(Gate::Acquire).await;
        let request = |from| signature::Request { cursor: self.fabric.own(Word::Cursor(from)), state: None };
        let messages = &mut *MessagesGuard::new();
        let lengths = self.call_signatures(all.iter().map(|from| (*from, request(*from))), messages).await;
        let checkpoint = self.fabric.checkpoint();
        for (i, from) in all.iter().enumerate() {
            self.fabric.live_since(checkpoint, || i);
            let mut scratch = ScratchGuard::new();
            let i = if self.fabric.fault(Fault::FirstReplyForAll) { 0 } else { i };
            let reply = &messages.0[i].reply[..lengths[i]];
            let read = self.read_signature(*from, &request(*from), reply, &mut scratch.fresh).await;
            self.apply_list(*from, read, &mut scratch).await;
        }
    }

    /// Takes in everything that `from` had published when [`Coherence::published`] was `state` there: spares looking it up.
    pub async fn acquire_published(&self, from: Rank, state: u64) {
        self.acquire_with_token(from, state.into()).await;
    }

    /// As [`Coherence::acquire_published`], with what [`Coherence::token`] was there: spares reading the notices in it.
    pub async fn acquire_with_token(&self, from: Rank, token: ReleaseToken) {
        self.stats.acquires.add(1);
        if from == self.me() || self.has_read(from, token.state()) {
            return;
        }
        if !F::SYNCHRONOUS && self.acquire_single(from, token).await {
            return;
        }
        // Notices of the same blocks before that are older.
        token.tail(1).into_iter().for_each(|notice| self.prefetch_move(notice));
        let _gate = self.fabric.lock_gate(Gate::Acquire).await;
        if let Some(count) = self.missing_notices(from, token) {
            self.apply_token(from, token, count).await;
            return;
        }
        self.acquire_list(from, Some(token.state())).await;
    }

    /// Reads and applies what of a peer's signature has not been read yet, up to a state word or what is published by now. The acquire gate is locked.
    async fn acquire_list(&self, from: Rank, state: Option<u64>) {
        let mut scratch = ScratchGuard::new();
        let fresh = &mut scratch.fresh;
        let request = signature::Request { cursor: self.fabric.own(Word::Cursor(from)), state };
        let came = state.and_then(|state| self.take_piggyback(from, request.cursor, state, fresh));
        let read = match came {
            Some(came) => Some(came),
            None => self.call_signature(from, &request, fresh).await,
        };
        self.apply_list(from, read, &mut scratch).await;
    }

    /// Calls of [`Segment::read`](crate::segment::Segment::read) and, executed behind it, of [`Segment::signature`](crate::segment::Segment::signature), in one round trip; takes in what the process had published.
    pub(crate) async fn read_and_acquire(
        &self,
        from: Rank,
        request: &read::Request,
        into: &mut [u8],
    ) -> Result<usize, Seen> {
        self.stats.acquires.add(1);
        let _gate = self.fabric.lock_gate(Gate::Acquire).await;
        let mut scratch = ScratchGuard::new();
        let unread = signature::Request { cursor: self.fabric.own(Word::Cursor(from)), state: None };
        let (bytes, published) =
            self.call_read_and_signature(from, (request, into), (&unread, &mut scratch.fresh)).await;
        self.apply_list(from, published, &mut scratch).await;
        bytes
    }

    /// Applies the notices in `scratch` that have been read of a peer's signature, with its `min_wr_ts` and how far that is. The acquire gate is locked.
    async fn apply_list(&self, from: Rank, read: Option<(Timestamp, u64)>, scratch: &mut Scratch) {
        let Some((min_wr_ts, cursor)) = read else { return };
        let Scratch { own, fresh, .. } = scratch;
        if self.fabric.fault(Fault::CursorEarly) {
            self.set_cursor(from, cursor);
        }
        // What this process has written it has listed, or will.
        if self.may_await_arrivals() {
            for notice in fresh.iter().filter(|notice| self.is_own(notice)) {
                self.wait_arrival(*notice).await;
            }
        }
        fresh.retain(|notice| !self.is_own(notice));
        let mut superseded = self.signature().keep_newest(fresh, &self.fabric);
        if self.fabric.fault(Fault::SupersededEarly) {
            self.signature().superseded(std::mem::take(&mut superseded));
        }
        for notice in fresh.iter() {
            if self.signature().is_new(notice) {
                self.apply_notice(*notice, own).await;
                self.stats.notices_in.add(1);
            }
        }
        let expired = {
            let mut signature = self.signature();
            for notice in fresh.drain(..).filter(|_| !self.fabric.fault(Fault::NoticesNotPassedOn)) {
                signature.add(notice);
            }
            signature.superseded(superseded);
            signature.raise_min(min_wr_ts, &self.fabric)
        };
        if expired && !self.fabric.fault(Fault::BoundNotApplied) {
            self.expire(min_wr_ts, own).await;
        }
        // Last, because other threads of this process look at it without the gate.
        self.set_cursor(from, cursor);
    }

    /// As [`Coherence::acquire_with_token`], if there is nothing new or the fast path will do. False: neither; nothing was done. Only where
    /// operations are synchronous.
    #[inline(always)]
    pub fn acquire_sync(&self, from: Rank, token: ReleaseToken) -> bool {
        assert!(F::SYNCHRONOUS);
        let done =
            from == self.me() || self.has_read(from, token.state()) || self.acquire_single_sync(from, token);
        self.stats.acquires.add(u64::from(done));
        done
    }

    /// Applies the last `count` notices of a peer, which are in the token. The acquire gate is locked.
    async fn apply_token(&self, from: Rank, token: ReleaseToken, count: usize) {
        if self.fabric.fault(Fault::CursorEarly) {
            self.set_cursor(from, token.state());
        }
        // This process has listed what it has written, or will; and of the same block only the last notice counts, as in `keep_newest`.
        let newest = token.tail(1);
        let counts = |notice: &Notice| {
            let older = newest
                .is_some_and(|n| n.extent == notice.extent && n.wr_ts > notice.wr_ts && !self.is_own(&n));
            !self.is_own(notice) && !older
        };
        let notices = || (1..=count).rev().filter_map(|back| token.tail(back)).filter(counts);
        if self.may_await_arrivals() {
            for notice in (1..=count).filter_map(|back| token.tail(back)).filter(|notice| self.is_own(notice))
            {
                self.wait_arrival(notice).await;
            }
        }
        // Applying so few twice costs less than looking up whether they are new.
        for notice in notices() {
            let single = notice.extent.count == 1 && notice.writer != self.me();
            if !single || !self.try_take_single(notice).await {
                self.apply_notice(notice, &mut ScratchGuard::new().own).await;
                self.stats.notices_in.add(1);
            }
        }
        let mut signature = self.signature();
        for notice in notices().filter(|_| !self.fabric.fault(Fault::NoticesNotPassedOn)) {
            // A greater bound would have begun a new list.
            signature.defer(notice, &self.fabric);
        }
        drop(signature);
        self.set_cursor(from, token.state());
    }

    async fn try_take_single(&self, notice: Notice) -> bool {
        if F::SYNCHRONOUS { self.take_single_sync(notice) } else { self.take_single(notice).await }
    }

    /// How far the own signature is published: what a release has published is acquired by [`Coherence::acquire_published`] with this.
    pub fn published(&self) -> u64 {
        self.fabric.own(Word::LogState)
    }

    /// As [`Coherence::published`], with the last notices.
    pub fn token(&self) -> ReleaseToken {
        let mut signature = self.signature();
        if !self.fabric.fault(Fault::HeldBackForGood) {
            signature.publish(&self.fabric);
        }
        // Listed and published with the signature locked: the list can be read as far as the token says.
        signature.token()
    }

    /// How many of the notices that a peer had published this process has not read, if all of them are in the token. The acquire gate is locked.
    fn missing_notices(&self, from: Rank, token: ReleaseToken) -> Option<usize> {
        let (sequence, length) = split_state(token.state());
        let (read, until) = split_state(self.fabric.own(Word::Cursor(from)));
        if sequence != read || length <= until {
            return None;
        }
        let missing = (length - until) as usize;
        let carried = if self.fabric.fault(Fault::TailOnly) { missing.min(TAIL) } else { missing };
        (1..=carried).all(|back| token.tail(back).is_some()).then_some(carried)
    }

    /// Whether all that a peer had published when its state word was `state` has been applied.
    #[inline(always)]
    pub(crate) fn has_read(&self, from: Rank, state: u64) -> bool {
        let cursor = self.fabric.own(Word::Cursor(from));
        let is_older = self.fabric.fault(Fault::NewListRead) && split_state(cursor).0 < split_state(state).0;
        is_read(cursor, state) || is_older
    }

    fn set_cursor(&self, from: Rank, state: u64) {
        self.fabric.set_own(Word::Cursor(from), state);
    }

    /// Whether this process has listed a notice, or will, and has what it tells of.
    fn is_own(&self, notice: &Notice) -> bool {
        notice.writer == self.me() && (!notice.merged || self.fabric.fault(Fault::MergedNotPassedOn))
    }

    /// Whether another thread of the process may be moving homes here.
    #[inline]
    fn may_await_arrivals(&self) -> bool {
        !self.fabric.is_sole_thread() && !self.fabric.fault(Fault::ArrivalNotAwaited)
    }

    /// Waits until the contents that a notice of this process tells of are here: another thread may be moving the home here. The old home can tell of the new version
    /// as soon as it has executed the call, before the reply has come.
    async fn wait_arrival(&self, notice: Notice) {
        let fabric = &self.fabric;
        for part in notice.extent.chunks() {
            let chunk = part.first.chunk();
            // A home that says so is there with its contents; these come with the chunk locked.
            if part.mask() & !self.own_homes(chunk).all != 0 {
                drop(fabric.lock_chunk(chunk).await);
            }
        }
    }

    async fn apply_notice(&self, notice: Notice, own: &mut Records) {
        match notice.writer == self.me() {
            true => self.merged_here(notice).await,
            false => self.invalidate_copies(notice, own).await,
        }
    }

    async fn invalidate_copies(&self, notice: Notice, own: &mut Records) {
        for part in notice.extent.chunks() {
            let mut at = part.first;
            // Nothing to do for what is not here: do not even lock. A miss under way in another thread has set its mark, or will see this version.
            let cached = fabric_mark(&self.fabric, MarkKind::Cached, at.chunk());
            if cached & part.mask() == 0 && self.run(at, part) == (abi::COLD, part.count) {
                continue;
            }
            let chunk = at.chunk();
            let _chunk = self.fabric.lock_chunk(chunk).await;
            let paired = self.begin_pairing(chunk).await;
            while at < part.end() {
                let (state, count) = self.run(at, part);
                if state != abi::COLD {
                    self.invalidate(Extent::new(at, count), state, notice, own);
                }
                at = Block(at.0 + count);
            }
            self.end_pairing(chunk, paired);
        }
    }

    pub(crate) fn run(&self, at: Block, within: Extent) -> (u8, u64) {
        let rest = Extent::new(at, within.end().0 - at.0);
        (self.fabric.state(at), self.fabric.state_run(rest))
    }

    /// Blocks in one state. The chunk is locked.
    fn invalidate(&self, run: Extent, state: u8, notice: Notice, own: &mut Records) {
        let fabric = &self.fabric;
        fabric.own_records(run, own.run_mut(run));
        let (mut dirty, mut noticed, mut forgotten) = (0, 0, 0);
        // What is sure to be read; a contended block is noticed by its own release already.
        let used = [MarkKind::Migratory, MarkKind::Contended, MarkKind::Reread]
            .map(|kind| fabric_mark(fabric, kind, run.first.chunk()))
            .into_iter()
            .fold(0, |used, blocks| used | blocks);
        let replaced = if state == abi::WRITABLE { self.replaced(run.first.chunk()) } else { 0 };
        for block in run.blocks() {
            let link = self.decode(own.of(block).link, self.me(), block);
            let record = own.of_mut(block);
            let known = match state {
                // A copy contains every version up to its lease. Taking a notice of an older one would also turn the link backwards.
                abi::EXPIRED if fabric.fault(Fault::LinkBackwards) => record.wr_ts,
                abi::READABLE | abi::WRITABLE | abi::EXPIRED => record.rd_ts,
                abi::NOTICED => record.wr_ts,
                _ => return,
            };
            if matches!(link, Link::Home) || notice.wr_ts <= known {
                continue;
            }
            match (state, link) {
                (abi::WRITABLE, _) if replaced & block.bit() == 0 => dirty |= block.bit(),
                // Not read since the last notice: let it go cold, so that the next notices pass over it. Unless it is sure to be read, and
                // the links would lead along all that wrote it meanwhile.
                (abi::NOTICED, _) if used & block.bit() == 0 => forgotten |= block.bit(),
                (_, Link::Link { pending: false, .. }) => {
                    noticed |= block.bit();
                    record.wr_ts = notice.wr_ts;
                }
                _ => forgotten |= block.bit(),
            }
        }
        let chunk = run.first.chunk();
        self.stats.blocks_invalidated.add(u64::from((dirty | noticed | forgotten).count_ones()));
        for part in chunk.runs(dirty) {
            fabric.set_state(part, abi::INVALID_DIRTY);
        }
        self.not_ahead(chunk, noticed | forgotten);
        if matches!(state, abi::READABLE | abi::NOTICED) {
            self.expect_read(notice.writer, chunk, noticed);
        }
        for part in chunk.runs(noticed) {
            fabric.set_own_links(part, Link::to(notice.writer).encode());
            fabric.set_own_stamps(part, |block| own.of(block).stamps());
            fabric.set_state(part, abi::NOTICED);
        }
        if forgotten != 0 {
            self.forget(chunk, forgotten);
        }
    }

    /// Nothing is known of the blocks any more. The chunk is locked.
    fn forget(&self, chunk: Chunk, blocks: u64) {
        let fabric = &self.fabric;
        for part in chunk.runs(blocks) {
            fabric.set_state(part, abi::COLD);
        }
        let left = fabric_mark(fabric, MarkKind::Cached, chunk) & !blocks;
        fabric.set_own(Word::Mark { kind: MarkKind::Cached, level: 0, index: chunk.0 }, left);
    }
}

fn fabric_mark<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk) -> u64 {
    fabric.own(Word::Mark { kind, level: 0, index: chunk.0 })
}
