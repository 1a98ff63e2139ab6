//! Fetching ahead: what this process missed after one notice it fetches as soon as the next one has come, before anybody misses it.
//!
//! Where nothing of a peer is mapped each miss is a round trip, and a program that reads in each interval what others wrote in the one before makes the same few, one after the other. As B+ of
//! R. Bianchini, R. Pinto and C. L. Amorim ("Data Prefetching for Software DSMs", ICS 1998) after each synchronisation, this fetches blocks that notices have just invalidated, but only those that the process read
//! after the notice before, all of them under way together. It is an ordinary miss at the writer ([`crate::calls::copy`]), only earlier: what has moved meanwhile is left to the misses.
//!
//! What has come lies in its place, but the block keeps its state: the miss that wants it makes no call. The fetch of a block that gets the next notice without a miss was useless, and is not
//! repeated before the block has been missed.

use crate::calls::RESULT_BYTES;
use crate::calls::copy;
use crate::fabric::{Exchange, Fabric, MarkKind, lock_beside};
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::records::Records;
use crate::scratch::{Message, Messages, MessagesGuard, ScratchGuard};
use crate::types::{Block, Chunk, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Most calls that are under way together.
const MOST_CALLS: usize = 16;
/// Most bytes of contents of these.
const MOST_BYTES: usize = 2 << 20;

/// What notices have invalidated that is worth fetching: who wrote it, and blocks of a chunk.
pub(crate) type Ahead = Vec<(Rank, Chunk, u64)>;

/// A call among others.
#[derive(Hash)]
struct Call {
    from: Rank,
    part: Extent,
    request_bytes: usize,
    /// Most bytes of the reply.
    reply_bytes: usize,
}

impl<F: Fabric> Coherence<F> {
    /// A miss has read blocks at the writer of a notice. The chunk is locked.
    pub(crate) fn note_reread(&self, from: Rank, chunk: Chunk, blocks: u64) {
        if self.fabric.has_agent(from) && blocks != 0 {
            self.fabric.or_own(hint(MarkKind::Reread, chunk), blocks);
        }
    }

    /// Copies of blocks that were used are invalid since a process has published them. The chunk is locked.
    pub(crate) fn expect_read(&self, from: Rank, chunk: Chunk, blocks: u64) {
        if blocks == 0 || !self.fabric.has_agent(from) {
            return;
        }
        let reread = self.fabric.own(hint(MarkKind::Reread, chunk)) & blocks;
        if reread != 0 {
            self.ahead().push((from, chunk, reread));
        }
    }

    /// An operation of this process has been executed at the home of a block: what was fetched of it is without the result. The chunk is locked.
    pub(crate) fn changed_elsewhere(&self, block: Block) {
        if self.fabric.state(block) == abi::NOTICED && !self.fabric.fault(Fault::AheadBesideUpdate) {
            self.not_ahead(block.chunk(), block.bit());
        }
    }

    /// What was fetched of blocks is old: a notice has come. Those that nobody read before it came will not be fetched ahead again. The chunk is locked.
    pub(crate) fn not_ahead(&self, chunk: Chunk, blocks: u64) {
        let fabric = &self.fabric;
        let word = hint(MarkKind::Ahead, chunk);
        let ahead = fabric.own(word);
        if ahead & blocks != 0 && !fabric.fault(Fault::AheadKept) {
            fabric.set_own(word, ahead & !blocks);
            let reread = hint(MarkKind::Reread, chunk);
            fabric.set_own(reread, fabric.own(reread) & !(ahead & blocks));
        }
    }

    /// Of a run of blocks with a notice, whose records are in `own`, those whose contents have been fetched ahead, and whose versions are not below the bound `min`. The
    /// chunk is locked, and they become readable.
    pub(crate) fn fetched_ahead(&self, run: Extent, min: Timestamp, own: &Records) -> u64 {
        let word = hint(MarkKind::Ahead, run.first.chunk());
        let ahead = self.fabric.own(word);
        if ahead & run.mask() == 0 {
            return 0;
        }
        self.fabric.set_own(word, ahead & !run.mask());
        let is_current = |block: &_| own.of(*block).wr_ts >= min;
        let blocks = run.first.chunk().blocks(ahead & run.mask()).filter(is_current);
        let here = blocks.fold(0, |mask, block| mask | block.bit());
        self.stats.misses_ahead.add(u64::from(here != 0));
        here
    }

    /// Fetches what acquires since the last time have invalidated and misses are likely to want. May be left out; to be called when the process has acquired all that
    /// it is going to for now.
    pub async fn fetch_ahead(&self) {
        let mut parts = std::mem::take(&mut *self.ahead());
        parts.sort_unstable();
        parts.dedup_by(|(from, chunk, blocks), (before, last, all)| {
            let is_same = (*from, *chunk) == (*before, *last);
            *all |= if is_same { *blocks } else { 0 };
            is_same
        });
        let mut rest = &parts[..];
        let checkpoint = self.fabric.checkpoint();
        while !rest.is_empty() {
            self.fabric.live_since(checkpoint, || rest);
            let done = self.fetch_together(rest).await;
            rest = &rest[done..];
        }
    }

    /// Fetches the first of these parts, as many as may be under way together; how many that were.
    async fn fetch_together(&self, parts: &[(Rank, Chunk, u64)]) -> usize {
        let fabric = &self.fabric;
        let checkpoint = fabric.checkpoint();
        let messages = &mut *MessagesGuard::new();
        let (mut locked, mut calls) = (Vec::new(), Vec::new());
        let (mut done, mut bytes) = (0, 0);
        for &(from, chunk, blocks) in parts {
            if calls.len() >= MOST_CALLS || bytes >= MOST_BYTES {
                break;
            }
            if !lock_beside(fabric, &mut locked, chunk).await {
                break;
            }
            done += 1;
            let wanted = self.readable_at(from, chunk, blocks);
            for run in chunk.runs(wanted).flat_map(|run| run.pieces(self.most_blocks(from, run.first))) {
                let call = self.copy_call(from, run, messages, calls.len());
                bytes += call.reply_bytes;
                calls.push(call);
            }
            fabric.live_since(checkpoint, || (done, &calls));
        }
        if fabric.fault(Fault::AheadUnlocked) {
            locked.clear();
        }
        self.stats.calls.add(calls.len() as u64);
        let mut exchanges: Vec<_> = calls
            .iter()
            .zip(&mut messages.0)
            .map(|(call, Message { request, reply })| Exchange {
                at: call.from,
                request: &request[..call.request_bytes],
                reply: &mut reply[..call.reply_bytes],
                length: 0,
            })
            .collect();
        fabric.call_agent_all(&mut exchanges).await;
        for (call, Exchange { reply, length, .. }) in calls.iter().zip(&exchanges) {
            self.place_copy(call.from, call.part, &reply[..*length]);
        }
        done
    }

    /// The blocks of a part whose notices have not been followed by anything, and which can be read at the writer. The chunk is locked.
    fn readable_at(&self, from: Rank, chunk: Chunk, blocks: u64) -> u64 {
        let fabric = &self.fabric;
        let is_noticed = |block: &_| fabric.state(*block) == abi::NOTICED;
        let noticed = chunk.blocks(blocks).filter(is_noticed).fold(0, |mask, block| mask | block.bit());
        if noticed == 0 {
            return 0;
        }
        // Before the bound is looked at, as every miss does it.
        marks::set_own(fabric, MarkKind::Cached, chunk, noticed);
        let min = self.signature().min_applied();
        let own = &mut ScratchGuard::new().own;
        let span = chunk.span(noticed);
        fabric.own_records(span, own.run_mut(span));
        let is_there = |block: &_| {
            let record = own.of(*block);
            let link = self.decode(record.link, self.me(), *block);
            record.wr_ts >= min && link == Link::Link { to: from, pending: false }
        };
        chunk.blocks(noticed).filter(is_there).fold(0, |mask, block| mask | block.bit())
    }

    /// Makes call number `i`. The chunk is locked.
    fn copy_call(&self, from: Rank, part: Extent, messages: &mut Messages, i: usize) -> Call {
        let own = &mut ScratchGuard::new().own;
        self.fabric.own_records(part, own.run_mut(part));
        let reply_bytes = RESULT_BYTES + part.count as usize * self.fabric.block_bytes(part.first);
        let message = messages.at(i, reply_bytes);
        let request_bytes = copy::Request { part, versions: own }.encode(&mut message.request);
        Call { from, part, request_bytes, reply_bytes }
    }

    /// What has come waits for the miss that wants it. The chunk has been locked since before the request.
    fn place_copy(&self, from: Rank, part: Extent, reply: &[u8]) {
        let read = self.overwrite_by_copy(from, part, reply);
        self.count_fetched(part.first, part.count);
        self.stats.blocks_fetched_ahead.add(u64::from(read.count_ones()));
        self.fabric.or_own(hint(MarkKind::Ahead, part.first.chunk()), read);
    }
}
