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
use crate::scratch::ScratchGuard;
use crate::segment::{Busy, Segment};
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Rank, Timestamp};

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
    let (head, mut rest) = Reader::new(request)?;
    let segment = Segment { fabric, at };
    let scratch = &mut *ScratchGuard::new();
    let (own, peer) = (&mut scratch.own, &mut scratch.peer);
    let (result, contents) = reply.split_at_mut(RESULT_BYTES);
    let capacity = contents.len();
    let mut landing = Landing::Buffer(contents, 0);
    let length = match head {
        RequestHead::Lend { first, count, min, renews } => {
            if min >= LATE {
                return Err(Malformed);
            }
            let part = extent(fabric, first, count, capacity)?;
            if renews {
                rest.get_versions(part, own)?;
            }
            let request = lend::Request { part, min, held: renews.then_some(&*own) };
            match segment.lend(&request, peer, &mut landing).await {
                Ok(Lent { count, fetched }) => {
                    let mut writer = Writer::new(result, &Answer::Lent { count, fetched });
                    writer.put_records(Extent::new(part.first, count), peer);
                    writer.length
                }
                Err(Refused::Busy(Busy { seen, .. })) => Writer::new(result, &Answer::Busy { seen }).length,
                Err(Refused::Away(seen)) => Writer::new(result, &Answer::Away(seen)).length,
            }
        }
        RequestHead::Copy { first, count } => {
            let part = extent(fabric, first, count, capacity)?;
            rest.get_versions(part, own)?;
            let blocks = segment.copy(&copy::Request { part, versions: own }, &mut landing).await;
            Writer::new(result, &Answer::Copied { blocks }).length
        }
        RequestHead::Redirect { block, seen, to } => {
            if !fabric.has_chunk(Block(block).chunk()) || to >= fabric.size() || to == at.0 {
                return Err(Malformed);
            }
            let request = redirect::Request { block: Block(block), seen, to: Rank(to) };
            Writer::new(result, &Answer::Redirected(segment.redirect(&request).await)).length
        }
        RequestHead::Signature { cursor } => {
            let request = signature::Request { cursor, state: None };
            let read = segment.signature(&request, &mut scratch.fresh).await;
            let notices = &scratch.fresh;
            // Notices follow the head; contents come with other calls.
            let writer = match read {
                None => Writer::new(result, &Answer::Nothing),
                Some(_) if HEAD_BYTES + notices.len() * NOTICE_BYTES > RESULT_BYTES + capacity => {
                    Writer::new(result, &Answer::TooMany)
                }
                Some((min_wr_ts, state)) => {
                    let count = notices.len() as u64;
                    let mut writer = Writer::new(reply, &Answer::Notices { count, min_wr_ts, state });
                    notices.iter().for_each(|notice| writer.put_notice(notice));
                    writer
                }
            };
            return Ok(writer.length);
        }
        RequestHead::Take { to, chunk, wanted, at_least, claim } => {
            if wanted == 0 || at_least >= LATE || to >= fabric.size() || to == at.0 {
                return Err(Malformed);
            }
            let chunk = Chunk(chunk);
            if !fabric.has_chunk(chunk)
                || wanted.count_ones() as usize * fabric.block_bytes(chunk.span(wanted).first) > capacity
            {
                return Err(Malformed);
            }
            let request = take::Request { to: Rank(to), chunk, wanted, at_least, claim };
            match segment.take(&request, peer, &mut landing).await {
                Ok(taken) => {
                    let mut writer = Writer::new(result, &Answer::Taken(taken));
                    writer.put_records(chunk.span(wanted), peer);
                    writer.length
                }
                Err(Busy { seen, .. }) => Writer::new(result, &Answer::Busy { seen }).length,
            }
        }
        RequestHead::Update { block, offset, bytes, operation, operand, expected, at_least } => {
            let block = Block(block);
            let update = operation_of(operation, operand, expected)?;
            let bytes = part_of_block(fabric, block, offset, bytes)?;
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
            let answer = match segment.update(&request, peer).await {
                Ok(updated) => Answer::Updated(updated),
                Err(Refused::Busy(Busy { seen, .. })) => Answer::Busy { seen },
                Err(Refused::Away(seen)) => Answer::Away(seen),
            };
            Writer::new(result, &answer).length
        }
        RequestHead::Read { block, offset, bytes } => {
            let request = part_of_chunk(fabric, Block(block), offset, bytes, capacity)?;
            let Landing::Buffer(contents, filled) = &mut landing else { unreachable!("it was made one") };
            let answer = match segment.read(&request, contents).await {
                Ok(length) => {
                    *filled = length;
                    Answer::Read
                }
                Err(seen) => Answer::Away(seen),
            };
            Writer::new(result, &answer).length
        }
        RequestHead::Batch { chunk, at_least } => {
            let chunk = Chunk(chunk);
            if at_least >= LATE || !fabric.has_chunk(chunk) {
                return Err(Malformed);
            }
            let actions = Actions::decode(fabric, chunk, rest.0)?;
            match segment.batch(&batch::Request { actions, at_least, only_copies: 0 }, peer).await {
                Ok(batched) => {
                    let mut writer = Writer::new(result, &Answer::Batched(batched));
                    writer.put_records(chunk.span(actions.blocks()), peer);
                    writer.length
                }
                Err(Busy { seen, .. }) => Writer::new(result, &Answer::Busy { seen }).length,
            }
        }
        RequestHead::MergeDiff { chunk, wanted, at_least } => {
            let chunk = Chunk(chunk);
            if wanted == 0 || at_least >= LATE || !fabric.has_chunk(chunk) {
                return Err(Malformed);
            }
            let span = chunk.span(wanted);
            rest.get_versions(span, own)?;
            let lengths = chunk.blocks(wanted).map(|block| fabric.block_bytes(block));
            let source = Source::Message(Differences::decode(lengths, rest.0)?);
            let request = merge_diff::Request { chunk, wanted, at_least, versions: own };
            match segment.merge_diff(&request, source, peer).await {
                Ok(merged) => {
                    let mut writer = Writer::new(result, &Answer::Merged(merged));
                    writer.put_records(span, peer);
                    writer.length
                }
                Err(Busy { seen, .. }) => Writer::new(result, &Answer::Busy { seen }).length,
            }
        }
    };
    let Landing::Buffer(_, filled) = landing else { unreachable!("it was made one") };
    reply.copy_within(RESULT_BYTES..RESULT_BYTES + filled, length);
    Ok(length + filled)
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
