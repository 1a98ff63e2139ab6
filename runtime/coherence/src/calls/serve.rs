//! Calls that come as messages, checked and executed on behalf of the requester.

use dsm_abi::atomic::{RmwOp, Update};

use super::actions::Actions;
use super::difference::Differences;
use super::lend::{Lent, Refused};
use super::merge_diff::Source;
use super::wire::{
    Answer, COMPARE_EXCHANGE, HEAD_BYTES, Malformed, NOTICE_BYTES, RESULT_BYTES, Reader, RequestHead, Writer,
};
use super::{Landing, batch, copy, lend, merge_diff, read, redirect, signature, take, update};
use crate::fabric::Fabric;
use crate::records::Records;
use crate::scratch::ScratchGuard;
use crate::segment::{Busy, Seen, Segment};
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Notice, Rank, Timestamp};

/// Versions that no process comes to.
const LATE: Timestamp = 1 << 62;

/// Executes a request on the segment of process `at`, and puts the reply, whose length is returned, into `reply`, which has more than
/// [`RESULT_BYTES`] bytes.
///
/// # Errors
/// It is no request that the protocol makes, or its contents do not fit. Nothing was done.
pub async fn serve<F: Fabric>(
    fabric: &F,
    at: Rank,
    request: &[u8],
    reply: &mut [u8],
) -> Result<usize, Malformed> {
    let (head, rest) = Reader::new(request)?;
    let segment = Segment { fabric, at };
    let scratch = &mut *ScratchGuard::new();
    if let RequestHead::Signature { cursor } = head {
        return Ok(serve_signature(&segment, cursor, &mut scratch.fresh, reply).await);
    }
    let (result, contents) = reply.split_at_mut(RESULT_BYTES);
    let capacity = contents.len();
    let landing = Landing::Buffer(contents, 0);
    let (own, peer) = (&mut scratch.own, &mut scratch.peer);
    let mut serving = Serving { segment, rest, own, peer, result, landing, capacity };
    let length = serving.execute(head).await?;
    let Landing::Buffer(_, filled) = serving.landing else { unreachable!("it was made one") };
    reply.copy_within(RESULT_BYTES..RESULT_BYTES + filled, length);
    Ok(length + filled)
}

/// Notices follow the head; contents come with other calls.
async fn serve_signature<F: Fabric>(
    segment: &Segment<'_, F>,
    cursor: u64,
    notices: &mut Vec<Notice>,
    reply: &mut [u8],
) -> usize {
    let Some((min_wr_ts, state)) =
        segment.signature(&signature::Request { cursor, state: None }, notices).await
    else {
        return Writer::new(reply, &Answer::Nothing).length;
    };
    if HEAD_BYTES + notices.len() * NOTICE_BYTES > reply.len() {
        return Writer::new(reply, &Answer::TooMany).length;
    }
    let mut writer = Writer::new(reply, &Answer::Notices { count: notices.len() as u64, min_wr_ts, state });
    notices.iter().for_each(|notice| writer.put_notice(notice));
    writer.length
}

/// A request whose answer is a result and, behind it, contents. Each of its methods checks a kind of request, executes it, encodes the result, and returns the result's length.
struct Serving<'a, F> {
    segment: Segment<'a, F>,
    /// Of the request, behind the head.
    rest: Reader<'a>,
    /// Versions that the request has.
    own: &'a mut Records,
    /// Records that go into the result.
    peer: &'a mut Records,
    result: &'a mut [u8],
    /// A buffer.
    landing: Landing<'a>,
    /// Bytes of that.
    capacity: usize,
}

impl<F: Fabric> Serving<'_, F> {
    async fn execute(&mut self, head: RequestHead) -> Result<usize, Malformed> {
        match head {
            RequestHead::Lend { first, count, min, renews } => self.lend(first, count, min, renews).await,
            RequestHead::Copy { first, count } => self.copy(first, count).await,
            RequestHead::Redirect { block, seen, to } => self.redirect(Block(block), seen, to).await,
            RequestHead::Signature { .. } => unreachable!("it is answered without contents"),
            RequestHead::Take { to, chunk, wanted, at_least, claim } => {
                let request = take::Request { to: Rank(to), chunk: Chunk(chunk), wanted, at_least, claim };
                self.take(&request).await
            }
            RequestHead::Update { block, offset, bytes, operation, operand, expected, at_least } => {
                let update = operation_of(operation, operand, expected)?;
                self.update(Block(block), (offset, bytes), update, at_least).await
            }
            RequestHead::Read { block, offset, bytes } => self.read(Block(block), offset, bytes).await,
            RequestHead::Batch { chunk, at_least } => self.batch(Chunk(chunk), at_least).await,
            RequestHead::MergeDiff { chunk, wanted, at_least } => {
                self.merge_diff(Chunk(chunk), wanted, at_least).await
            }
        }
    }

    /// An answer without more.
    fn answer(&mut self, answer: &Answer) -> usize {
        Writer::new(self.result, answer).length
    }

    /// An answer, and records of a peer.
    fn answer_with_records(&mut self, answer: &Answer, part: Extent) -> usize {
        let mut writer = Writer::new(self.result, answer);
        writer.put_records(part, self.peer);
        writer.length
    }

    async fn lend(&mut self, first: u64, count: u64, min: u64, renews: bool) -> Result<usize, Malformed> {
        if min >= LATE {
            return Err(Malformed);
        }
        let part = extent(self.segment.fabric, first, count, self.capacity)?;
        if renews {
            self.rest.get_versions(part, self.own)?;
        }
        let request = lend::Request { part, min, held: renews.then_some(&*self.own) };
        Ok(match self.segment.lend(&request, self.peer, &mut self.landing).await {
            Ok(Lent { count, fetched }) => {
                self.answer_with_records(&Answer::Lent { count, fetched }, Extent::new(part.first, count))
            }
            Err(Refused::Busy(Busy { seen, .. })) => self.answer(&Answer::Busy { seen }),
            Err(Refused::Away(seen)) => self.answer(&Answer::Away(seen)),
        })
    }

    async fn copy(&mut self, first: u64, count: u64) -> Result<usize, Malformed> {
        let part = extent(self.segment.fabric, first, count, self.capacity)?;
        self.rest.get_versions(part, self.own)?;
        let request = copy::Request { part, versions: self.own };
        let blocks = self.segment.copy(&request, &mut self.landing).await;
        Ok(self.answer(&Answer::Copied { blocks }))
    }

    async fn redirect(&mut self, block: Block, seen: Seen, to: u32) -> Result<usize, Malformed> {
        let fabric = self.segment.fabric;
        if !fabric.has_chunk(block.chunk()) || to >= fabric.size() || to == self.segment.at.0 {
            return Err(Malformed);
        }
        let request = redirect::Request { block, seen, to: Rank(to) };
        let redirected = self.segment.redirect(&request).await;
        Ok(self.answer(&Answer::Redirected(redirected)))
    }

    async fn take(&mut self, request: &take::Request) -> Result<usize, Malformed> {
        let take::Request { to, chunk, wanted, at_least, .. } = *request;
        let fabric = self.segment.fabric;
        if wanted == 0 || at_least >= LATE || to.0 >= fabric.size() || to == self.segment.at {
            return Err(Malformed);
        }
        if !fabric.has_chunk(chunk)
            || wanted.count_ones() as usize * fabric.block_bytes(chunk.span(wanted).first) > self.capacity
        {
            return Err(Malformed);
        }
        Ok(match self.segment.take(request, self.peer, &mut self.landing).await {
            Ok(taken) => self.answer_with_records(&Answer::Taken(taken), chunk.span(wanted)),
            Err(Busy { seen, .. }) => self.answer(&Answer::Busy { seen }),
        })
    }

    async fn update(
        &mut self,
        block: Block,
        (offset, bytes): (u64, u8),
        update: Update,
        at_least: Timestamp,
    ) -> Result<usize, Malformed> {
        let bytes = part_of_block(self.segment.fabric, block, offset, bytes)?;
        if at_least >= LATE || !applies_to(update, bytes) {
            return Err(Malformed);
        }
        let request = update::Request {
            block,
            offset: offset as usize,
            bytes,
            update,
            at_least,
            opens: false,
            only_copy: false,
        };
        let answer = match self.segment.update(&request, self.peer).await {
            Ok(updated) => Answer::Updated(updated),
            Err(Refused::Busy(Busy { seen, .. })) => Answer::Busy { seen },
            Err(Refused::Away(seen)) => Answer::Away(seen),
        };
        Ok(self.answer(&answer))
    }

    async fn read(&mut self, block: Block, offset: u64, bytes: u64) -> Result<usize, Malformed> {
        let request = part_of_chunk(self.segment.fabric, block, offset, bytes, self.capacity)?;
        let Landing::Buffer(contents, filled) = &mut self.landing else { unreachable!("it was made one") };
        let answer = match self.segment.read(&request, contents).await {
            Ok(length) => {
                *filled = length;
                Answer::Read
            }
            Err(seen) => Answer::Away(seen),
        };
        Ok(self.answer(&answer))
    }

    async fn batch(&mut self, chunk: Chunk, at_least: Timestamp) -> Result<usize, Malformed> {
        let fabric = self.segment.fabric;
        if at_least >= LATE || !fabric.has_chunk(chunk) {
            return Err(Malformed);
        }
        let actions = Actions::decode(fabric, chunk, self.rest.0)?;
        let request = batch::Request { actions, at_least, only_copies: 0 };
        Ok(match self.segment.batch(&request, self.peer).await {
            Ok(batched) => self.answer_with_records(&Answer::Batched(batched), chunk.span(actions.blocks())),
            Err(Busy { seen, .. }) => self.answer(&Answer::Busy { seen }),
        })
    }

    async fn merge_diff(
        &mut self,
        chunk: Chunk,
        wanted: u64,
        at_least: Timestamp,
    ) -> Result<usize, Malformed> {
        let fabric = self.segment.fabric;
        if wanted == 0 || at_least >= LATE || !fabric.has_chunk(chunk) {
            return Err(Malformed);
        }
        let span = chunk.span(wanted);
        self.rest.get_versions(span, self.own)?;
        let lengths = chunk.blocks(wanted).map(|block| fabric.block_bytes(block));
        let source = Source::Message(Differences::decode(lengths, self.rest.0)?);
        let request = merge_diff::Request { chunk, wanted, at_least, versions: self.own };
        Ok(match self.segment.merge_diff(&request, source, self.peer).await {
            Ok(merged) => self.answer_with_records(&Answer::Merged(merged), span),
            Err(Busy { seen, .. }) => self.answer(&Answer::Busy { seen }),
        })
    }
}

/// An extent of a request: blocks of one chunk that there is, and whose contents fit.
fn extent<F: Fabric>(fabric: &F, first: u64, count: u64, capacity: usize) -> Result<Extent, Malformed> {
    let first = Block(first);
    let is_right = (1..=CHUNK_BLOCKS - first.0 % CHUNK_BLOCKS).contains(&count)
        && fabric.has_chunk(first.chunk())
        && count as usize * fabric.block_bytes(first) <= capacity;
    if is_right { Ok(Extent::new(first, count)) } else { Err(Malformed) }
}

/// The operation of a request.
fn operation_of(operation: u32, operand: u64, expected: u64) -> Result<Update, Malformed> {
    let (operand, expected) = (operand.into(), expected.into());
    match RmwOp::from_code(operation) {
        Some(op) => Ok(Update::Rmw { op, operand }),
        None if operation == COMPARE_EXCHANGE => Ok(Update::CompareExchange { expected, new: operand }),
        None => Err(Malformed),
    }
}

/// The number of bytes of a request that an atomic operation is about, which lie in a block that there is.
fn part_of_block<F: Fabric>(fabric: &F, block: Block, offset: u64, bytes: u8) -> Result<usize, Malformed> {
    let is_right = matches!(bytes, 1 | 2 | 4 | 8)
        && fabric.has_chunk(block.chunk())
        && offset.is_multiple_of(bytes.into())
        && offset.checked_add(bytes.into()).is_some_and(|end| end <= fabric.block_bytes(block) as u64);
    if is_right { Ok(bytes.into()) } else { Err(Malformed) }
}

/// A read of bytes of blocks that there are, of one chunk, which fit.
fn part_of_chunk<F: Fabric>(
    fabric: &F,
    block: Block,
    offset: u64,
    bytes: u64,
    capacity: usize,
) -> Result<read::Request, Malformed> {
    if !fabric.has_chunk(block.chunk()) {
        return Err(Malformed);
    }
    let block_bytes = fabric.block_bytes(block) as u64;
    let most = (CHUNK_BLOCKS - block.0 % CHUNK_BLOCKS) * block_bytes;
    let is_right = offset < block_bytes
        && (1..=capacity as u64).contains(&bytes)
        && offset.checked_add(bytes).is_some_and(|end| end <= most);
    let request = read::Request { block, offset: offset as usize, bytes: bytes as usize };
    if is_right { Ok(request) } else { Err(Malformed) }
}

/// Whether there is such an operation on so many bytes.
pub(super) fn applies_to(update: Update, bytes: usize) -> bool {
    match update {
        Update::Rmw { op, .. } => op.apply(bytes as u32, 0, 0).is_some(),
        Update::CompareExchange { .. } => true,
    }
}
