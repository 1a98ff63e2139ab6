//! Acquire: takes in a peer's signature and invalidates what it says is old.

use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::link::Link;
use crate::signature::split_state;
use crate::types::{Block, Chunk, Extent, Notice, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

impl<F: Fabric> Coherence<F> {
    /// Takes in everything `from` has published and taken in so far.
    pub async fn acquire_from(&self, from: Rank) {
        if from == self.me() {
            return;
        }
        let gate = self.fabric.lock_gate(Gate::Acquire).await;
        self.stats.acquires.add(1);
        let Some((fresh, min_wr_ts)) = self.read_signature(from).await else {
            return;
        };
        for notice in &fresh {
            if notice.writer != self.me() && self.signature().is_new(notice) {
                self.apply(*notice).await;
                self.stats.notices_in.add(1);
            }
        }
        let expired = {
            let mut signature = self.signature();
            for notice in fresh.into_iter().filter(|_| !self.fabric.fault(Fault::NoticesNotPassedOn)) {
                signature.add(notice);
            }
            signature.raise_min(min_wr_ts, &self.fabric)
        };
        if expired && !self.fabric.fault(Fault::BoundNotApplied) {
            self.expire(min_wr_ts).await;
        }
        drop(gate);
    }

    /// What of a peer's signature has not been read yet, and its `min_wr_ts`. None: nothing.
    async fn read_signature(&self, from: Rank) -> Option<(Vec<Notice>, Timestamp)> {
        let cursor = self.signature().cursor(from);
        let mut state = self.fabric.load(from, Word::LogState).await;
        loop {
            if split_state(state) == cursor {
                return None;
            }
            let (sequence, length) = split_state(state);
            let start = if sequence == cursor.0 { cursor.1 } else { 0 };
            let buffer = (sequence % 2) as u8;
            let mut fresh = Vec::with_capacity((length - start) as usize);
            self.fabric.read_notices(from, buffer, start, length - start, &mut fresh).await;
            let min_wr_ts = self.fabric.load(from, Word::LogMin(0)).await;
            let after = self.fabric.load(from, Word::LogState).await;
            if split_state(after).0 == sequence {
                self.signature().set_cursor(from, (sequence, length));
                return Some((fresh, min_wr_ts));
            }
            state = after;
        }
    }

    async fn apply(&self, notice: Notice) {
        for part in notice.extent.chunks() {
            let mut at = part.first;
            // Nothing to do for what is not here: do not even lock. A miss under way in another thread has set its mark, or will see this version.
            let cached = fabric_mark(&self.fabric, MarkKind::Cached, at.chunk());
            if cached & part.mask() == 0 && self.run(at, part) == (abi::COLD, part.count) {
                continue;
            }
            let _chunk = self.fabric.lock_chunk(at.chunk()).await;
            while at < part.end() {
                let (state, count) = self.run(at, part);
                if state != abi::COLD {
                    for block in Extent::new(at, count).blocks() {
                        self.invalidate(block, state, notice).await;
                    }
                }
                at = Block(at.0 + count);
            }
        }
    }

    pub(crate) fn run(&self, at: Block, within: Extent) -> (u8, u64) {
        let rest = Extent::new(at, within.end().0 - at.0);
        (self.fabric.state(at), self.fabric.state_run(rest))
    }

    /// The chunk is locked.
    async fn invalidate(&self, block: Block, state: u8, notice: Notice) {
        let fabric = &self.fabric;
        let (word, link) = self.own_link(block);
        if matches!(link, Link::Home { .. }) {
            return;
        }
        let own = Extent::single(block);
        let known = match state {
            // A copy contains every version up to its lease. Taking a notice of an older one would also turn the link backwards.
            abi::EXPIRED if fabric.fault(Fault::LinkBackwards) => fabric.own(Word::Wr(block)),
            abi::READABLE | abi::WRITABLE | abi::EXPIRED => self.copy_lease(block),
            abi::NOTICED => fabric.own(Word::Wr(block)),
            _ => return,
        };
        if notice.wr_ts <= known {
            return;
        }
        self.stats.blocks_invalidated.add(1);
        match state {
            abi::WRITABLE => fabric.set_state(own, abi::INVALID_DIRTY),
            // Not read since the last notice: let it go cold, so that the next notices pass over it.
            abi::NOTICED => self.forget(block),
            _ => {
                let plain = matches!(link, Link::Link { pending: false, .. });
                let to_writer = Link::to(notice.writer);
                if plain
                    && (word == to_writer.encode() || self.cas_link(self.me(), block, word, to_writer).await)
                {
                    fabric.set_own(Word::Wr(block), notice.wr_ts);
                    fabric.set_state(own, abi::NOTICED);
                } else {
                    self.forget(block);
                }
            }
        }
    }

    /// Nothing is known of the block any more. The chunk is locked.
    fn forget(&self, block: Block) {
        let fabric = &self.fabric;
        fabric.set_state(Extent::single(block), abi::COLD);
        let left = fabric_mark(fabric, MarkKind::Cached, block.chunk()) & !block.bit();
        fabric.set_own(Word::Mark { kind: MarkKind::Cached, level: 0, index: block.chunk().0 }, left);
    }

    /// Invalidates every copy whose lease ends before `min_wr_ts`. No release is under way meanwhile, so that blocks taken from here are in
    /// the taken set.
    async fn expire(&self, min_wr_ts: Timestamp) {
        let fabric = &self.fabric;
        let gate = fabric.lock_gate(Gate::Publish).await;
        let mut chunks = Vec::new();
        for kind in [MarkKind::Cached, MarkKind::Dirty, MarkKind::Taken] {
            marks::peek(fabric, kind, &mut chunks);
        }
        chunks.sort_unstable();
        chunks.dedup();
        for chunk in chunks {
            let _chunk = fabric.lock_chunk(chunk).await;
            let set = |kind| fabric_mark(fabric, kind, chunk);
            let bits = match fabric.fault(Fault::ExpireOnlyCached) {
                true => set(MarkKind::Cached),
                false => set(MarkKind::Cached) | set(MarkKind::Dirty) | set(MarkKind::Taken),
            };
            for index in marks::ones(bits) {
                self.expire_block(chunk.block(index as u32), min_wr_ts);
            }
        }
        drop(gate);
    }

    fn expire_block(&self, block: Block, min_wr_ts: Timestamp) {
        let fabric = &self.fabric;
        if matches!(self.own_link(block).1, Link::Home { .. }) {
            return;
        }
        let own = Extent::single(block);
        let (lease, state) = match fabric.state(block) {
            abi::READABLE => (self.copy_lease(block), abi::EXPIRED),
            abi::WRITABLE => (self.copy_lease(block), abi::INVALID_DIRTY),
            abi::NOTICED => (fabric.own(Word::Wr(block)), abi::COLD),
            _ => return,
        };
        if lease < min_wr_ts {
            self.stats.blocks_expired.add(1);
            match state {
                abi::COLD => self.forget(block),
                _ => fabric.set_state(own, state),
            }
        }
    }
}

fn fabric_mark<F: Fabric>(fabric: &F, kind: MarkKind, chunk: Chunk) -> u64 {
    fabric.own(Word::Mark { kind, level: 0, index: chunk.0 })
}
