//! Merges at homes elsewhere that are under way together.
//!
//! Where homes are reached by messages, a release that has changed contended blocks of many chunks would make one round trip after the other (see [`crate::diffs`]). Before it goes
//! through the chunks, it sends what is to be merged of all of them. What a home does not merge stays marked, and is published with its chunk.
//!
//! The chunks are locked from the look at the differences until the replies have come. Who has locked one only tries another, and an agent locks none.

use crate::calls::merge_diff::{REPLY_BYTES, Request};
use crate::calls::{REQUEST_BYTES, most_difference_bytes};
use crate::fabric::{Exchange, Fabric, MarkKind, Word, lock_beside};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::release::{Progress, Work};
use crate::scratch::{Message, Messages, MessagesGuard, Scratch, ScratchGuard};
use crate::types::{Block, Chunk, Rank, Timestamp};
use crate::{Coherence, Fault, marks};

/// Most merges that are under way together.
const MOST_MERGES: usize = 16;
/// Most bytes of their requests, but for the last one.
const MOST_BYTES: usize = 256 << 10;

/// Blocks of a chunk with one home.
#[derive(Clone, Copy, Debug, Hash)]
struct Merge {
    chunk: Chunk,
    blocks: u64,
    home: Rank,
    at_least: Timestamp,
    request_bytes: usize,
}

impl<F: Fabric> Coherence<F> {
    /// Has homes that are reached by messages merge changes of contended blocks. What comes of it is listed; the others stay marked. The publish gate is locked.
    pub(crate) async fn merge_together(&self, chunks: &[Chunk], exclusive: bool, progress: &mut Progress) {
        let fabric = &self.fabric;
        if !(0..fabric.size()).any(|rank| fabric.has_agent(Rank(rank))) {
            return;
        }
        let mut rest = chunks;
        let checkpoint = fabric.checkpoint();
        while !rest.is_empty() {
            fabric.live_since(checkpoint, || (rest, &*progress));
            let done = self.merge_some_together(rest, exclusive, progress).await;
            rest = &rest[done..];
        }
    }

    /// The same for the first of these chunks, as many as may be under way together; how many that were.
    async fn merge_some_together(&self, chunks: &[Chunk], exclusive: bool, progress: &mut Progress) -> usize {
        let fabric = &self.fabric;
        let messages = &mut *MessagesGuard::new();
        let (mut locked, mut merges) = (Vec::new(), Vec::new());
        let (mut done, mut bytes) = (0, 0);
        let checkpoint = fabric.checkpoint();
        for &chunk in chunks {
            if merges.len() >= MOST_MERGES || bytes >= MOST_BYTES {
                break;
            }
            let dirty = fabric.own(hint(MarkKind::Dirty, chunk));
            if dirty & self.merged_at_homes(chunk, progress) != 0 {
                if !lock_beside(fabric, &mut locked, chunk).await {
                    break;
                }
                let first = merges.len();
                self.begin_merges(chunk, progress, messages, &mut merges).await;
                bytes += merges[first..].iter().map(|merge: &Merge| merge.request_bytes).sum::<usize>();
            }
            done += 1;
            fabric.live_since(checkpoint, || (done, &merges));
        }
        self.stats.calls.add(merges.len() as u64);
        let lengths = self.exchange_merges(&merges, messages).await;
        for ((merge, message), length) in merges.iter().zip(&messages.0).zip(lengths) {
            self.end_merges(*merge, message, length, exclusive, progress).await;
            fabric.live_since(checkpoint, || &*progress);
        }
        done
    }

    /// Makes the requests of a chunk. What is in none is marked as before. The chunk is locked.
    async fn begin_merges(
        &self,
        chunk: Chunk,
        progress: &Progress,
        messages: &mut Messages,
        merges: &mut Vec<Merge>,
    ) {
        let fabric = &self.fabric;
        let own = &mut ScratchGuard::new().own;
        let word = Word::Mark { kind: MarkKind::Dirty, level: 0, index: chunk.0 };
        let marked = fabric.own(word) & self.merged_at_homes(chunk, progress);
        // Taken before the look at the differences, as by every release: who stores from now on marks the block again.
        fabric.clear_own(word, marked).await;
        let mut homes = Vec::new();
        let away = self.away(chunk, marked, own).await & !self.replaced(chunk);
        for block in chunk.blocks(away) {
            if let Link::Link { to, pending: false } = self.decode(own.of(block).link, self.me(), block)
                && fabric.has_agent(to)
                && has_twin(fabric.state(block))
                && !homes.contains(&to)
            {
                homes.push(to);
            }
        }
        let mut sent = 0;
        for home in homes {
            let is_there = |block: &Block| {
                let link = self.decode(own.of(*block).link, self.me(), *block);
                link == Link::Link { to: home, pending: false } && has_twin(fabric.state(*block))
            };
            let there = chunk.blocks(away).filter(is_there).fold(0, |mask, block| mask | block.bit());
            let wanted = chunk.runs(there).fold(0, |changed, run| changed | fabric.changed(run));
            if wanted == 0 {
                continue;
            }
            let span = chunk.span(wanted);
            fabric.own_records(span, own.run_mut(span));
            let at_least = self.above_own_leases(chunk, wanted, progress.version, own);
            let request = Request { chunk, wanted, at_least, versions: own };
            let differences =
                chunk.blocks(wanted).map(|block| most_difference_bytes(fabric.block_bytes(block)));
            let most = fabric.request_bytes().min(REQUEST_BYTES + differences.sum::<usize>());
            let message = messages.at(merges.len(), REPLY_BYTES);
            let (blocks, request_bytes) = self.encode_merge(&request, most, &mut message.request);
            merges.push(Merge { chunk, blocks, home, at_least, request_bytes });
            sent |= blocks;
        }
        if marked & !sent != 0 {
            marks::set_own(fabric, MarkKind::Dirty, chunk, marked & !sent);
        }
    }

    /// Has the homes execute the requests; returns the lengths of the replies.
    async fn exchange_merges(&self, merges: &[Merge], messages: &mut Messages) -> Vec<usize> {
        let mut exchanges = Vec::with_capacity(merges.len());
        for (merge, Message { request, reply }) in merges.iter().zip(&mut messages.0) {
            let (request, reply) = (&request[..merge.request_bytes], &mut reply[..REPLY_BYTES]);
            exchanges.push(Exchange { at: merge.home, request, reply, length: 0 });
        }
        self.fabric.call_agent_all(&mut exchanges).await;
        exchanges.into_iter().map(|exchange| exchange.length).collect()
    }

    /// Takes a reply. The chunk is locked.
    async fn end_merges(
        &self,
        merge: Merge,
        message: &Message,
        length: usize,
        exclusive: bool,
        progress: &mut Progress,
    ) {
        let fabric = &self.fabric;
        let Merge { chunk, blocks, home, at_least, request_bytes } = merge;
        let Scratch { own, peer, .. } = &mut *ScratchGuard::new();
        let span = chunk.span(blocks);
        fabric.own_records(span, own.run_mut(span));
        let sent = Request { chunk, wanted: blocks, at_least, versions: own };
        let (request, reply) = (&message.request[..request_bytes], &message.reply[..length]);
        let merged = self.end_merge(home, &sent, request, reply, peer).ok();
        let left = blocks & !merged.map_or(0, |merged| merged.blocks);
        if let Some(merged) = merged {
            if merged.blocks != 0 {
                self.list_merged(home, chunk, merged, progress);
                self.keep_copies(Work::of_stores(chunk, blocks, exclusive), merged, own, peer).await;
            }
            for block in chunk.blocks(left) {
                match self.decode(peer.of(block).link, home, block) {
                    Link::Link { to, .. } if to != self.me() => self.point_to(to, block),
                    // Its home has nobody else who stores to it.
                    _ => self.note_contended(chunk, block.bit(), 0),
                }
            }
        }
        if left != 0 && !fabric.fault(Fault::MergesMarksLost) {
            marks::set_own(fabric, MarkKind::Dirty, chunk, left);
        }
    }
}
