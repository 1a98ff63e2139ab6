//! Calls: bounded procedures on the segment of one process (active messages: von Eicken et al., ISCA 1992).
//!
//! Every step of the protocol that is conditional on a peer's memory, or changes more than a word of it, is one of these. The requester runs it inline where it has that memory at
//! hand; else the peer's agent does, and the requester gets the reply ([`Fabric::call_agent`]): one round trip, whatever the procedure looks at. There is one
//! implementation of each, in terms of [`Segment`], for both.
//!
//! A procedure never waits, takes no lock of a chunk or a gate, asks no other process and calls nothing of the program. It ends in a result or in [`Busy`]: somebody is
//! changing the records that it needs. A reply tells of what is placed.
//!
//! - [`batch`]: several changes of a chunk, of a program that does not wait for them.
//! - [`lend`]: a read miss at a home: mark, lease, contents.
//! - [`copy`]: a read miss at the writer of a notice: mark, contents.
//! - [`merge_diff`]: differences go into contents at a home that stays.
//! - [`read`]: an atomic read of the program, or of a range, at the home.
//! - [`piggyback`]: no procedure, but notices that come with the messages of others.
//! - [`redirect`]: shortens a way along links.
//! - [`signature`]: reads what a process has published.
//! - [`take`]: homes go to the requester: link, stamps, contents, twins.
//! - [`update`]: an atomic operation of the program, at the home.

pub mod actions;
pub(crate) mod batch;
pub(crate) mod copy;
mod difference;
pub(crate) mod lend;
pub(crate) mod merge_diff;
pub(crate) mod piggyback;
pub(crate) mod read;
pub(crate) mod redirect;
mod serve;
pub(crate) mod signature;
pub(crate) mod take;
pub(crate) mod update;
mod wire;

use crate::fabric::{Exchange, Fabric};
use crate::records::Records;
use crate::scratch::{Message, MessageGuard, Messages, MessagesGuard};
use crate::segment::{Busy, Seen, Segment};
use crate::types::{Block, CHUNK_BLOCKS, Extent, Notice, Rank, Timestamp};
use crate::{Coherence, Fault};
use batch::Batched;
use difference::{Change, Differences};
pub use difference::{GroupChange, bytes_in_part, most_bytes as most_difference_bytes};
use lend::{Lent, Refused};
use merge_diff::{Merged, Source};
pub use serve::serve;
use take::Taken;
use update::Updated;
pub use wire::{Malformed, REQUEST_BYTES, RESULT_BYTES, subject};

/// Where a procedure puts the contents of blocks.
pub(crate) enum Landing<'a> {
    /// Over the requester's own blocks, which are those of the fabric that runs it.
    Blocks,
    /// Piece by piece, each of which `place` puts into the requester's own blocks. `direct`: what needs no twin goes over the blocks at once.
    Pieces { direct: bool, buffer: &'a mut Vec<u8>, place: &'a mut dyn FnMut(Extent, &[u8]) },
    /// Into a buffer, one after the other, as far as it has been filled.
    Buffer(&'a mut [u8], usize),
}

impl Landing<'_> {
    /// What a procedure that has ended leaves to its caller, for explorers: see [`Fabric::live_since`].
    pub(crate) fn held(&self) -> &[u8] {
        match self {
            Landing::Buffer(buffer, filled) => &buffer[..*filled],
            Landing::Blocks | Landing::Pieces { .. } => &[],
        }
    }

    /// Copies blocks out of a segment. `twin`: what was read is left there as their twins.
    pub(crate) async fn fetch<F: Fabric>(&mut self, segment: &Segment<'_, F>, run: Extent, twin: bool) {
        let Segment { fabric, at } = segment;
        let block_bytes = fabric.block_bytes(run.first);
        match self {
            Landing::Blocks => {
                assert!(!twin, "a twin is what was read, not what is read again");
                fabric.fetch(*at, run).await;
            }
            Landing::Pieces { direct: true, .. } if !twin => fabric.fetch(*at, run).await,
            Landing::Pieces { buffer, place, .. } => {
                for piece in run.pieces(fabric.snapshot_blocks(run.first.chunk())) {
                    let bytes = piece.count as usize * block_bytes;
                    if buffer.len() < bytes {
                        buffer.resize(bytes, 0);
                    }
                    let contents = &mut buffer[..bytes];
                    snapshot(segment, piece, contents, twin).await;
                    place(piece, contents);
                }
            }
            Landing::Buffer(buffer, filled) => {
                let start = *filled;
                *filled += run.count as usize * block_bytes;
                snapshot(segment, run, &mut buffer[start..*filled], twin).await;
            }
        }
    }
}

async fn snapshot<F: Fabric>(segment: &Segment<'_, F>, run: Extent, contents: &mut [u8], twin: bool) {
    let Segment { fabric, at } = segment;
    fabric.snapshot(*at, run, contents).await;
    if twin {
        fabric.post_twin(*at, run, contents).await;
    }
}

impl<F: Fabric> Coherence<F> {
    pub(crate) fn segment(&self, at: Rank) -> Segment<'_, F> {
        Segment { fabric: &self.fabric, at }
    }

    /// Most blocks, of the size of this one, that a call at a process may be about.
    pub(crate) fn most_blocks(&self, at: Rank, block: Block) -> u64 {
        match self.fabric.has_agent(at) {
            true => ((self.fabric.reply_bytes() - RESULT_BYTES) / self.fabric.block_bytes(block)) as u64,
            false => CHUNK_BLOCKS,
        }
    }

    /// [`Segment::lend`] at a process; contents go over the own blocks, or, of a single block, to `private`.
    pub(crate) async fn call_lend(
        &self,
        at: Rank,
        request: &lend::Request<'_>,
        records: &mut Records,
        private: Option<&mut [u8]>,
    ) -> Result<Lent, Refused> {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            let mut landing = private.map_or(Landing::Blocks, |buffer| Landing::Buffer(buffer, 0));
            return self.segment(at).lend(request, records, &mut landing).await;
        }
        let message = &mut *MessageGuard::new();
        let length = request.encode(&mut message.request);
        let reply = self.call_agent(at, message, length).await;
        match private {
            Some(buffer) => self
                .place_lent(at, request.part, reply, records, |_, contents| buffer.copy_from_slice(contents)),
            None => self.place_lent(at, request.part, reply, records, |run, contents| {
                self.fabric.overwrite(run, contents);
            }),
        }
    }

    /// Hands the contents in the reply to a [`Segment::lend`] to `place`; returns its result.
    pub(crate) fn place_lent(
        &self,
        at: Rank,
        part: Extent,
        reply: &[u8],
        records: &mut Records,
        place: impl FnMut(Extent, &[u8]),
    ) -> Result<Lent, Refused> {
        let (lent, contents) = decoded(at, wire::reply::lend(reply, part, records));
        if let Ok(Lent { fetched, .. }) = lent {
            self.spread(at, part.first.chunk().runs(fetched), contents, place);
        }
        lent
    }

    /// [`Segment::copy`] at a process; contents go over the own blocks.
    pub(crate) async fn call_copy(&self, at: Rank, request: &copy::Request<'_>) -> u64 {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            return self.segment(at).copy(request, &mut Landing::Blocks).await;
        }
        let message = &mut *MessageGuard::new();
        let length = request.encode(&mut message.request);
        let reply = self.call_agent(at, message, length).await;
        self.place_copied(at, request.part, reply, |run, contents| self.fabric.overwrite(run, contents))
    }

    /// Hands the contents in the reply to a [`Segment::copy`] to `place`; returns its result.
    pub(crate) fn place_copied(
        &self,
        at: Rank,
        part: Extent,
        reply: &[u8],
        place: impl FnMut(Extent, &[u8]),
    ) -> u64 {
        let (blocks, contents) = decoded(at, wire::reply::copy(reply, part));
        self.spread(at, std::iter::once(part), contents, place);
        blocks
    }

    /// [`Segment::take`] at a process. Contents are placed piece by piece; `direct`: what needs no twin goes over the own blocks without `place`, or with it.
    pub(crate) async fn call_take(
        &self,
        at: Rank,
        request: &take::Request,
        records: &mut Records,
        direct: bool,
        buffer: &mut Vec<u8>,
        mut place: impl FnMut(Extent, &[u8]),
    ) -> Result<Taken, Busy> {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            let mut landing = Landing::Pieces { direct, buffer, place: &mut place };
            return self.segment(at).take(request, records, &mut landing).await;
        }
        let message = &mut *MessageGuard::new();
        let length = request.encode(&mut message.request);
        let reply = self.call_agent(at, message, length).await;
        self.place_taken(at, request, reply, records, place)
    }

    /// Hands the contents in the reply to a [`Segment::take`] to `place`; returns its result.
    pub(crate) fn place_taken(
        &self,
        at: Rank,
        request: &take::Request,
        reply: &[u8],
        records: &mut Records,
        place: impl FnMut(Extent, &[u8]),
    ) -> Result<Taken, Busy> {
        let (taken, contents) = decoded(at, wire::reply::take(reply, request, records));
        if let Ok(taken) = taken {
            let runs =
                taken.contents(request.claim).into_iter().flat_map(|blocks| request.chunk.runs(blocks));
            self.spread(at, runs, contents, place);
        }
        taken
    }

    /// [`Segment::merge_diff`] at a process, of as many of the wanted blocks as a message has space for: returns which these are, too.
    pub(crate) async fn call_merge_diff(
        &self,
        at: Rank,
        request: &merge_diff::Request<'_>,
        records: &mut Records,
    ) -> Result<(u64, Merged), Busy> {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            let merged = self.segment(at).merge_diff(request, Source::Blocks, records).await?;
            return Ok((request.wanted, merged));
        }
        let message = &mut *MessageGuard::new();
        let (wanted, length) = self.encode_merge(request, self.fabric.request_bytes(), &mut message.request);
        let sent = merge_diff::Request { wanted, ..*request };
        let Message { request: bytes, reply } = message;
        let reply = self.call_agent_for(at, &bytes[..length], reply).await;
        Ok((wanted, self.end_merge(at, &sent, &bytes[..length], reply, records)?))
    }

    /// Makes a message of at most so many bytes for a [`Segment::merge_diff`], of as many of the wanted blocks as it has space for. Returns these, and the length.
    pub(crate) fn encode_merge(
        &self,
        request: &merge_diff::Request<'_>,
        most: usize,
        message: &mut Vec<u8>,
    ) -> (u64, usize) {
        if message.len() < most {
            message.resize(most, 0);
        }
        let (head, differences) = message.split_at_mut(REQUEST_BYTES);
        let (wanted, filled) = self.encode_differences(request, differences);
        let length = wire::request::merge_diff(&merge_diff::Request { wanted, ..*request }, head);
        message.copy_within(REQUEST_BYTES..REQUEST_BYTES + filled, length);
        (wanted, length + filled)
    }

    /// What came of a merge that was sent, by its reply.
    pub(crate) fn end_merge(
        &self,
        at: Rank,
        sent: &merge_diff::Request<'_>,
        message: &[u8],
        reply: &[u8],
        records: &mut Records,
    ) -> Result<Merged, Busy> {
        let merged = decoded(at, wire::reply::merge_diff(reply, sent, records))?;
        self.note_merged(sent, merged, message);
        Ok(merged)
    }

    /// Encodes the differences of wanted blocks, as many as there is space for, one at least. Returns these, and the length.
    fn encode_differences(&self, request: &merge_diff::Request<'_>, into: &mut [u8]) -> (u64, usize) {
        let (mut encoded, mut filled) = (0, 0);
        for block in request.chunk.blocks(request.wanted) {
            let Some(length) = difference::encode(&self.fabric, block, &mut into[filled..]) else { break };
            encoded |= block.bit();
            filled += length;
        }
        assert!(encoded != 0, "a message has space for a block");
        (encoded, filled)
    }

    /// What was merged is in the twins: other threads may have stored to the blocks since it was encoded.
    fn note_merged(&self, sent: &merge_diff::Request<'_>, merged: Merged, message: &[u8]) {
        if self.fabric.fault(Fault::DiffTwinStays) {
            return;
        }
        let head = wire::request::merge_diff(sent, &mut [0; REQUEST_BYTES]);
        let mut differences = Differences::of(&message[head..]);
        for block in sent.chunk.blocks(sent.wanted) {
            for change in differences.next_block().filter(|_| merged.blocks & block.bit() != 0) {
                match change {
                    Change::Run(offset, bytes) => self.fabric.patch_twin(block, offset, bytes),
                    Change::Group(change) => self.fabric.patch_twin_group(block, &change),
                }
            }
        }
    }

    /// [`Segment::redirect`] at a process.
    pub(crate) async fn call_redirect(&self, at: Rank, request: &redirect::Request) -> bool {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            return self.segment(at).redirect(request).await;
        }
        let message = &mut *MessageGuard::new();
        let length = wire::request::redirect(request, &mut message.request);
        let reply = self.call_agent(at, message, length).await;
        decoded(at, wire::reply::redirect(reply))
    }

    /// [`Segment::signature`] at a process.
    pub(crate) async fn call_signature(
        &self,
        at: Rank,
        request: &signature::Request,
        fresh: &mut Vec<Notice>,
    ) -> Option<(Timestamp, u64)> {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            return self.segment(at).signature(request, fresh).await;
        }
        let message = &mut *MessageGuard::new();
        let length = wire::request::signature(request, &mut message.request);
        let reply = self.call_agent(at, message, length).await;
        self.read_signature(at, request, reply, fresh).await
    }

    /// [`Segment::signature`] at several processes that are reached by messages, all together; the lengths of the replies, which are in the messages.
    pub(crate) async fn call_signatures(
        &self,
        requests: impl Iterator<Item = (Rank, signature::Request)>,
        messages: &mut Messages,
    ) -> Vec<usize> {
        let reply_bytes = self.fabric.reply_bytes();
        let mut places = Vec::new();
        for (i, (at, request)) in requests.enumerate() {
            let message = messages.at(i, reply_bytes);
            places.push((at, wire::request::signature(&request, &mut message.request)));
        }
        self.call_together(places, messages).await
    }

    /// Has agents execute the requests in the first messages, of so many bytes each, all together; the lengths of the replies, which are in the messages.
    async fn call_together(&self, places: Vec<(Rank, usize)>, messages: &mut Messages) -> Vec<usize> {
        let reply_bytes = self.fabric.reply_bytes();
        self.stats.calls.add(places.len() as u64);
        let exchange = |((at, length), message): ((Rank, usize), _)| {
            let Message { request, reply }: &mut Message = message;
            Exchange { at, request: &request[..length], reply: &mut reply[..reply_bytes], length: 0 }
        };
        let mut exchanges: Vec<_> = places.into_iter().zip(&mut messages.0).map(exchange).collect();
        self.fabric.call_agent_all(&mut exchanges, |_, _| ()).await;
        exchanges.into_iter().map(|exchange| exchange.length).collect()
    }

    /// What the reply to a call of [`Segment::signature`] brings; piece by piece where that does not fit into a reply.
    pub(crate) async fn read_signature(
        &self,
        at: Rank,
        request: &signature::Request,
        reply: &[u8],
        fresh: &mut Vec<Notice>,
    ) -> Option<(Timestamp, u64)> {
        match decoded(at, wire::reply::signature(&self.fabric, reply, fresh)) {
            Some(read) => read,
            None => self.segment(at).signature(request, fresh).await,
        }
    }

    /// [`Segment::read`] at a process.
    pub(crate) async fn call_read(
        &self,
        at: Rank,
        request: &read::Request,
        into: &mut [u8],
    ) -> Result<usize, Seen> {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            return self.segment(at).read(request, into).await;
        }
        let bytes = request.bytes.min(self.fabric.reply_bytes() - RESULT_BYTES);
        let message = &mut *MessageGuard::new();
        let length = wire::request::read(&read::Request { bytes, ..*request }, &mut message.request);
        let reply = self.call_agent(at, message, length).await;
        decoded(at, wire::reply::read(reply, &mut into[..bytes]))
    }

    /// [`Coherence::call_read`] and [`Coherence::call_signature`] at a process that is reached by messages, in this order and in one round trip.
    pub(crate) async fn call_read_and_signature(
        &self,
        at: Rank,
        (request, into): (&read::Request, &mut [u8]),
        (unread, fresh): (&signature::Request, &mut Vec<Notice>),
    ) -> (Result<usize, Seen>, Option<(Timestamp, u64)>) {
        let reply_bytes = self.fabric.reply_bytes();
        let messages = &mut *MessagesGuard::new();
        let [first, second] = if self.fabric.fault(Fault::SignatureBeforeRead) { [1, 0] } else { [0, 1] };
        let mut places = vec![(at, 0); 2];
        places[first].1 = wire::request::read(request, &mut messages.at(first, reply_bytes).request);
        places[second].1 = wire::request::signature(unread, &mut messages.at(second, reply_bytes).request);
        let lengths = self.call_together(places, messages).await;
        let reply = |i: usize| &messages.0[i].reply[..lengths[i]];
        let bytes = decoded(at, wire::reply::read(reply(first), into));
        (bytes, self.read_signature(at, unread, reply(second), fresh).await)
    }

    /// [`Segment::batch`] at a process, of as many of the changes as a message has space for.
    pub(crate) async fn call_batch(
        &self,
        at: Rank,
        request: &batch::Request<'_>,
        records: &mut Records,
    ) -> Result<Batched, Busy> {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            return self.segment(at).batch(request, records).await;
        }
        let most = self.fabric.request_bytes() - REQUEST_BYTES;
        let sent = batch::Request { actions: request.actions.leading(most, |_| true).0, ..*request };
        let message = &mut *MessageGuard::new();
        let length = wire::request::batch(&sent, &mut message.request);
        let encoded = sent.actions.encoded();
        let end = length + encoded.len();
        if message.request.len() < end {
            message.request.resize(end, 0);
        }
        message.request[length..end].copy_from_slice(encoded);
        let reply = self.call_agent(at, message, end).await;
        decoded(at, wire::reply::batch(reply, &sent, records))
    }

    /// [`Segment::update`] at a process.
    pub(crate) async fn call_update(
        &self,
        at: Rank,
        request: &update::Request,
        records: &mut Records,
    ) -> Result<Updated, Refused> {
        self.stats.calls.add(1);
        if !self.fabric.has_agent(at) {
            return self.segment(at).update(request, records).await;
        }
        let message = &mut *MessageGuard::new();
        let length = wire::request::update(request, &mut message.request);
        let reply = self.call_agent(at, message, length).await;
        decoded(at, wire::reply::update(reply, request.block))
    }

    async fn call_agent<'a>(&self, at: Rank, message: &'a mut Message, length: usize) -> &'a [u8] {
        let Message { request, reply } = message;
        self.call_agent_for(at, &request[..length], reply).await
    }

    async fn call_agent_for<'a>(&self, at: Rank, request: &[u8], reply: &'a mut Vec<u8>) -> &'a [u8] {
        reply.resize(self.fabric.reply_bytes(), 0);
        let length = self.fabric.call_agent(at, request, reply).await;
        &reply[..length]
    }

    /// Hands the contents of a reply on, run by run.
    fn spread(
        &self,
        at: Rank,
        runs: impl Iterator<Item = Extent>,
        mut contents: &[u8],
        mut place: impl FnMut(Extent, &[u8]),
    ) {
        for run in runs {
            let bytes = run.count as usize * self.fabric.block_bytes(run.first);
            let (part, rest) = decoded(at, contents.split_at_checked(bytes).ok_or(Malformed));
            place(run, part);
            contents = rest;
        }
    }
}

/// # Panics
/// If the reply of a process was malformed.
fn decoded<T>(at: Rank, reply: Result<T, Malformed>) -> T {
    reply.unwrap_or_else(|Malformed| panic!("malformed reply from process {}", at.0))
}
