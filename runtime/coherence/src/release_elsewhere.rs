//! Calls of a release at homes elsewhere that are under way together: merges of contended blocks ([`crate::diffs`]), and takings of the homes of others.
//!
//! Where homes are reached by messages, a release that has changed blocks of many chunks would make one round trip after the other. Before it goes through the chunks, it makes
//! one call for each chunk and home. What a home does not merge or hand out stays marked, and is published with its chunk: that may queue, these calls never do.
//!
//! The chunks are locked from the look at the differences until the replies have come. Who has locked one only tries another, and an agent locks none. The links of blocks whose homes are
//! being taken say so meanwhile; whoever waits for one waits for replies of agents, which wait for nobody.

use crate::calls::merge_diff::{self, REPLY_BYTES};
use crate::calls::take::{self, Claim};
use crate::calls::{REQUEST_BYTES, RESULT_BYTES, most_difference_bytes};
use crate::fabric::{Exchange, Fabric, MarkKind, Word, lock_beside};
use crate::home_migration::has_twin;
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::queue_lock::Batch;
use crate::records::Records;
use crate::release::{Progress, Work};
use crate::scratch::{Message, Messages, MessagesGuard, Scratch, ScratchGuard};
use crate::types::{Block, Chunk, Rank, Timestamp, first_bits};
use crate::{Coherence, Fault, abi, marks};

/// Most calls that are under way together.
const MOST_CALLS: usize = 16;
/// Most bytes of their requests and replies, but for those of the last chunk.
const MOST_BYTES: usize = 1 << 20;

/// A call for blocks of a chunk with one home.
#[derive(Clone, Copy, Debug, Hash)]
struct Call {
    chunk: Chunk,
    blocks: u64,
    home: Rank,
    at_least: Timestamp,
    request_bytes: usize,
    /// Most bytes of the reply.
    reply_bytes: usize,
    procedure: Procedure,
}

/// The procedure that is called.
#[derive(Clone, Copy, Debug, Hash)]
enum Procedure {
    /// [`crate::segment::Segment::merge_diff`].
    Merge,
    /// [`crate::segment::Segment::take`] of blocks whose links were this word.
    Take { link: u64 },
}

/// Homes that have come, and are still locked.
type Batches = Vec<(Chunk, Batch)>;

impl<F: Fabric> Coherence<F> {
    /// Has homes that are reached by messages merge changes of contended blocks, and takes those of others. What comes of it is listed; the others stay marked. The publish gate is locked.
    pub(crate) async fn publish_together(&self, chunks: &[Chunk], exclusive: bool, progress: &mut Progress) {
        let fabric = &self.fabric;
        if !self.has_agents {
            return;
        }
        let mut rest = chunks;
        let checkpoint = fabric.checkpoint();
        while !rest.is_empty() {
            fabric.live_since(checkpoint, || (rest, &*progress));
            let done = self.publish_some_together(rest, exclusive, progress).await;
            rest = &rest[done..];
        }
    }

    /// The same for the first of these chunks, as many as may be under way together; how many that were.
    async fn publish_some_together(
        &self,
        chunks: &[Chunk],
        exclusive: bool,
        progress: &mut Progress,
    ) -> usize {
        let fabric = &self.fabric;
        let messages = &mut *MessagesGuard::new();
        let (mut locked, mut calls) = (Vec::new(), Vec::new());
        let (mut done, mut bytes) = (0, 0);
        let checkpoint = fabric.checkpoint();
        for &chunk in chunks {
            if calls.len() >= MOST_CALLS || bytes >= MOST_BYTES {
                break;
            }
            if fabric.own(hint(MarkKind::Dirty, chunk)) & !self.own_homes(chunk).all != 0 {
                if !lock_beside(fabric, &mut locked, chunk).await {
                    break;
                }
                let first = calls.len();
                self.begin_publications(chunk, progress, messages, &mut calls).await;
                let bytes_of = |call: &Call| call.request_bytes + call.reply_bytes;
                bytes += calls[first..].iter().map(bytes_of).sum::<usize>();
            }
            done += 1;
            fabric.live_since(checkpoint, || (done, &calls));
        }
        self.stats.calls.add(calls.len() as u64);
        let lengths = self.exchange_publications(&calls, messages).await;
        let mut batches = Batches::new();
        for ((call, message), length) in calls.iter().zip(&messages.0).zip(lengths) {
            match call.procedure {
                Procedure::Merge => self.end_merging(*call, message, length, exclusive, progress).await,
                Procedure::Take { link } => {
                    batches.extend(self.end_taking(*call, link, &message.reply[..length]).await);
                }
            }
            fabric.live_since(checkpoint, || (&*progress, &batches));
        }
        drop(locked);
        for (chunk, batch) in batches {
            let scratch = &mut *ScratchGuard::new();
            self.publish_batch(chunk, batch, exclusive, progress, scratch).await;
            fabric.live_since(checkpoint, || (&*progress, chunk));
        }
        done
    }

    /// Makes the requests of a chunk. What is in none is marked as before. The chunk is locked.
    async fn begin_publications(
        &self,
        chunk: Chunk,
        progress: &Progress,
        messages: &mut Messages,
        calls: &mut Vec<Call>,
    ) {
        let fabric = &self.fabric;
        let own = &mut ScratchGuard::new().own;
        let word = Word::Mark { kind: MarkKind::Dirty, level: 0, index: chunk.0 };
        let marked = fabric.own(word) & !self.own_homes(chunk).all;
        // Taken before the look at the differences, as by every release: who stores from now on marks the block again.
        fabric.clear_own(word, marked).await;
        let away = self.away(chunk, marked, own).await & !self.replaced(chunk);
        let mut left = self.changed_elsewhere_in(chunk, away, own);
        let mut sent = 0;
        while let Some(first) = chunk.blocks(left).next() {
            let (link, is_merged) = (own.of(first).link, self.merged_at_homes(chunk, progress));
            let is_alike = |block: &Block| {
                own.of(*block).link == link
                    && (is_merged & block.bit() == 0) == (is_merged & first.bit() == 0)
            };
            let alike = chunk.blocks(left).filter(is_alike).fold(0, |mask, block| mask | block.bit());
            let Link::Link { to: home, .. } = self.decode(link, self.me(), first) else {
                unreachable!("it was looked at")
            };
            let span = chunk.span(alike);
            fabric.own_records(span, own.run_mut(span));
            let message = &mut *messages.at(calls.len(), REPLY_BYTES);
            let call = match is_merged & first.bit() {
                0 => self.begin_taking((chunk, alike, link), home, progress, message, own),
                _ => self.begin_merging(chunk, alike, home, progress, message, own),
            };
            left &= !alike;
            sent |= call.blocks;
            calls.push(call);
        }
        if marked & !sent != 0 {
            marks::set_own(fabric, MarkKind::Dirty, chunk, marked & !sent);
        }
    }

    /// Of blocks that are away, with their links in `own`, those that were changed here, and whose homes are most likely at processes that are reached by messages. The chunk is locked.
    fn changed_elsewhere_in(&self, chunk: Chunk, away: u64, own: &Records) -> u64 {
        let is_there = |block: &Block| {
            let link = self.decode(own.of(*block).link, self.me(), *block);
            matches!(link, Link::Link { to, pending: false } if self.fabric.has_agent(to))
                && has_twin(self.fabric.state(*block))
        };
        let there = chunk.blocks(away).filter(is_there).fold(0, |mask, block| mask | block.bit());
        chunk.runs(there).fold(0, |changed, run| changed | self.fabric.changed(run))
    }

    /// Makes the request to merge blocks of a chunk, as many as it has space for. The chunk is locked, the records are in `own`.
    fn begin_merging(
        &self,
        chunk: Chunk,
        wanted: u64,
        home: Rank,
        progress: &Progress,
        message: &mut Message,
        own: &Records,
    ) -> Call {
        let fabric = &self.fabric;
        let at_least = self.above_own_leases(chunk, wanted, progress.version, own);
        let request = merge_diff::Request { chunk, wanted, at_least, versions: own };
        let differences = chunk.blocks(wanted).map(|block| most_difference_bytes(fabric.block_bytes(block)));
        let most = fabric.request_bytes().min(REQUEST_BYTES + differences.sum::<usize>());
        let (blocks, request_bytes) = self.encode_merge(&request, most, &mut message.request);
        let (reply_bytes, procedure) = (REPLY_BYTES, Procedure::Merge);
        Call { chunk, blocks, home, at_least, request_bytes, reply_bytes, procedure }
    }

    /// Makes the request to take blocks of a chunk, as many as a reply has space for. The chunk is locked, the records are in `own`.
    fn begin_taking(
        &self,
        (chunk, wanted, link): (Chunk, u64, u64),
        home: Rank,
        progress: &Progress,
        message: &mut Message,
        own: &Records,
    ) -> Call {
        let fabric = &self.fabric;
        let first = chunk.span(wanted).first;
        let blocks = first_bits(wanted, self.most_blocks(home, first));
        let at_least = self.above_own_leases(chunk, blocks, progress.version, own);
        let request_bytes = self.taking(chunk, blocks, at_least).encode(&mut message.request);
        let reply_bytes = RESULT_BYTES + blocks.count_ones() as usize * fabric.block_bytes(first);
        if message.reply.len() < reply_bytes {
            message.reply.resize(reply_bytes, 0);
        }
        // Nobody queues behind this process, which has not queued: who comes here waits until it knows what it has got.
        chunk.runs(blocks).for_each(|run| fabric.set_own_links(run, Link::Taking.encode()));
        Call {
            chunk,
            blocks,
            home,
            at_least,
            request_bytes,
            reply_bytes,
            procedure: Procedure::Take { link },
        }
    }

    fn taking(&self, chunk: Chunk, wanted: u64, at_least: Timestamp) -> take::Request {
        let claim = Claim::Lock { queue: false };
        take::Request { to: self.me(), chunk, wanted, at_least, claim }
    }

    /// Has the homes execute the requests; returns the lengths of the replies.
    async fn exchange_publications(&self, calls: &[Call], messages: &mut Messages) -> Vec<usize> {
        let mut exchanges = Vec::with_capacity(calls.len());
        for (call, Message { request, reply }) in calls.iter().zip(&mut messages.0) {
            let (request, reply) = (&request[..call.request_bytes], &mut reply[..call.reply_bytes]);
            exchanges.push(Exchange { at: call.home, request, reply, length: 0 });
        }
        self.fabric.call_agent_all(&mut exchanges, |_, _| ()).await;
        exchanges.into_iter().map(|exchange| exchange.length).collect()
    }

    /// Takes the reply to a taking. What has come is locked. The chunk is locked, too.
    async fn end_taking(&self, call: Call, link: u64, reply: &[u8]) -> Option<(Chunk, Batch)> {
        let fabric = &self.fabric;
        let Call { chunk, blocks, home, at_least, .. } = call;
        let Scratch { own, peer, .. } = &mut *ScratchGuard::new();
        let span = chunk.span(blocks);
        fabric.own_records(span, own.run_mut(span));
        let request = self.taking(chunk, blocks, at_least);
        let place = |run, contents: &[u8]| self.store_contents(run, contents, home, abi::WRITABLE);
        let taken = self.place_taken(home, &request, reply, peer, place);
        let left = blocks & !taken.map_or(0, |taken| taken.blocks);
        if !fabric.fault(Fault::TakesStayTaking) {
            chunk.runs(left).for_each(|run| fabric.set_own_links(run, link));
        }
        if left != 0 && !fabric.fault(Fault::TakesMarksLost) {
            marks::set_own(fabric, MarkKind::Dirty, chunk, left);
        }
        let taken = taken.ok()?;
        for block in chunk.blocks(left) {
            if let Link::Link { to, .. } = self.decode(peer.of(block).link, home, block)
                && to != self.me()
            {
                self.stats.link_hops.add(1);
                self.point_to(to, block);
            }
        }
        let batch = self.label_batch(chunk, taken, own, peer);
        self.not_replaced(chunk, taken.blocks).await;
        batch.map(|batch| (chunk, batch))
    }

    /// Takes the reply to a merge. The chunk is locked.
    async fn end_merging(
        &self,
        call: Call,
        message: &Message,
        length: usize,
        exclusive: bool,
        progress: &mut Progress,
    ) {
        let fabric = &self.fabric;
        let Call { chunk, blocks, home, at_least, request_bytes, .. } = call;
        let Scratch { own, peer, .. } = &mut *ScratchGuard::new();
        let span = chunk.span(blocks);
        fabric.own_records(span, own.run_mut(span));
        let sent = merge_diff::Request { chunk, wanted: blocks, at_least, versions: own };
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
