//! Calls as messages: encoded by the requester, checked and executed by the agent.
//!
//! A message is a head, and behind it what its kind needs: versions, records and contents, little-endian.

use dsm_abi::atomic::{RmwOp, Update};
use serde::{Deserialize, Serialize};

use super::lend::{Lent, Refused};
use super::take::{Claim, Taken};
use super::update::Updated;
use super::{Landing, copy, lend, read, redirect, signature, take, update};
use crate::fabric::{Fabric, Word};
use crate::records::Records;
use crate::scratch::ScratchGuard;
use crate::segment::{Busy, Seen, Segment};
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Notice, Rank, Record, Timestamp};

/// Most bytes of a head: a few integers of at most 10 bytes each.
const HEAD_BYTES: usize = 80;
const VERSION_BYTES: usize = 8;
const RECORD_BYTES: usize = 24;
const NOTICE_BYTES: usize = 32;
/// Most bytes of a request.
pub const REQUEST_BYTES: usize = HEAD_BYTES + CHUNK_BLOCKS as usize * VERSION_BYTES;
/// Most bytes of a reply without contents.
pub const RESULT_BYTES: usize = HEAD_BYTES + CHUNK_BLOCKS as usize * RECORD_BYTES;

/// Versions that no process comes to.
const LATE: Timestamp = 1 << 62;

/// A message that no requester sends, and no agent replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Ask {
    /// `renews`: the versions of the blocks follow.
    Lend {
        first: u64,
        count: u64,
        min: u64,
        renews: bool,
    },
    /// The versions of the blocks follow.
    Copy {
        first: u64,
        count: u64,
    },
    Redirect {
        block: u64,
        seen: Seen,
        to: u32,
    },
    /// Up to what is published by now.
    Signature {
        cursor: u64,
    },
    Take {
        to: u32,
        chunk: u64,
        wanted: u64,
        at_least: u64,
        claim: Claim,
    },
    /// `operation`: the code of an [`RmwOp`], or [`COMPARE_EXCHANGE`], which alone has something `expected`.
    Update {
        block: u64,
        offset: u64,
        bytes: u8,
        operation: u32,
        operand: u64,
        expected: u64,
        at_least: u64,
    },
    Read {
        block: u64,
        offset: u64,
        bytes: u8,
    },
}

/// Stands for [`Update::CompareExchange`] among the codes of operations.
const COMPARE_EXCHANGE: u32 = u32::MAX;

/// Name of the call that a message asks for, and the first block that it is about.
pub fn subject(request: &[u8]) -> Option<(&'static str, Option<Block>)> {
    let (ask, _) = Reader::new(request).ok()?;
    Some(match ask {
        Ask::Lend { first, .. } => ("lend", Some(Block(first))),
        Ask::Copy { first, .. } => ("copy", Some(Block(first))),
        Ask::Redirect { block, .. } => ("redirect", Some(Block(block))),
        Ask::Signature { .. } => ("signature", None),
        Ask::Take { chunk, wanted, .. } => ("take", Chunk(chunk).blocks(wanted).next()),
        Ask::Update { block, .. } => ("update", Some(Block(block))),
        Ask::Read { block, .. } => ("read", Some(Block(block))),
    })
}

/// Head of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Answer {
    /// The records of the chunk are being changed.
    Busy {
        seen: u64,
    },
    /// The home of the first block is elsewhere.
    Away(Seen),
    /// Records of the blocks follow, and contents.
    Lent {
        count: u64,
        fetched: u64,
    },
    /// Contents follow.
    Copied {
        blocks: u64,
    },
    /// Nothing new is published.
    Nothing,
    /// Notices follow.
    Notices {
        count: u64,
        min_wr_ts: u64,
        state: u64,
    },
    /// They do not fit into a reply.
    TooMany,
    /// Whether the link was changed.
    Redirected(bool),
    /// Records of the span of the wanted blocks follow, and contents.
    Taken(Taken),
    Updated(Updated),
    /// What the bytes are.
    Read(u64),
}

/// Appends to a buffer, which is long enough.
struct Writer<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    fn new(bytes: &'a mut [u8], head: &impl Serialize) -> Self {
        let length = postcard::to_slice(head, bytes).expect("a head fits").len();
        Writer { bytes, length }
    }

    fn put(&mut self, value: u64) {
        self.bytes[self.length..][..8].copy_from_slice(&value.to_le_bytes());
        self.length += 8;
    }

    fn put_versions(&mut self, part: Extent, records: &Records) {
        records.run(part).iter().for_each(|record| self.put(record.wr_ts));
    }

    fn put_records(&mut self, part: Extent, records: &Records) {
        for Record { link, rd_ts, wr_ts } in records.run(part) {
            [link, rd_ts, wr_ts].into_iter().for_each(|value| self.put(*value));
        }
    }
}

impl Writer<'_> {
    fn put_notice(&mut self, notice: &Notice) {
        let Notice { writer, extent, wr_ts, merged } = *notice;
        let who = u64::from(writer.0) << 1 | u64::from(merged);
        [who, extent.first.0, extent.count, wr_ts].into_iter().for_each(|value| self.put(value));
    }
}

/// Takes from the front of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn new<T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, Self), Malformed> {
        let (head, rest) = postcard::take_from_bytes(bytes).map_err(|_| Malformed)?;
        Ok((head, Reader(rest)))
    }

    fn get(&mut self) -> Result<u64, Malformed> {
        let (value, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*value))
    }

    fn get_notice<F: Fabric>(&mut self, fabric: &F) -> Result<Notice, Malformed> {
        let (who, first, count, wr_ts) = (self.get()?, self.get()?, self.get()?, self.get()?);
        let last = first.checked_add(count).and_then(|end| end.checked_sub(1)).ok_or(Malformed)?;
        let is_right = count > 0
            && who >> 1 < fabric.size().into()
            && fabric.has_chunk(Block(first).chunk())
            && fabric.has_chunk(Block(last).chunk());
        let notice = Notice {
            writer: Rank((who >> 1) as u32),
            extent: Extent::new(Block(first), count),
            wr_ts,
            merged: who & 1 != 0,
        };
        if is_right { Ok(notice) } else { Err(Malformed) }
    }

    fn get_versions(&mut self, part: Extent, records: &mut Records) -> Result<(), Malformed> {
        records.run_mut(part).iter_mut().try_for_each(|record| {
            record.wr_ts = self.get()?;
            Ok(())
        })
    }

    fn get_records(&mut self, part: Extent, records: &mut Records) -> Result<(), Malformed> {
        records.run_mut(part).iter_mut().try_for_each(|record| {
            *record = Record { link: self.get()?, rd_ts: self.get()?, wr_ts: self.get()? };
            Ok(())
        })
    }
}

/// Encodes requests; each returns its length.
pub(super) mod request {
    use super::*;

    pub(in crate::calls) fn lend(request: &lend::Request<'_>, into: &mut [u8]) -> usize {
        let lend::Request { part, min, held } = *request;
        let head = Ask::Lend { first: part.first.0, count: part.count, min, renews: held.is_some() };
        let mut writer = Writer::new(into, &head);
        if let Some(held) = held {
            writer.put_versions(part, held);
        }
        writer.length
    }

    pub(in crate::calls) fn copy(request: &copy::Request<'_>, into: &mut [u8]) -> usize {
        let copy::Request { part, versions } = *request;
        let mut writer = Writer::new(into, &Ask::Copy { first: part.first.0, count: part.count });
        writer.put_versions(part, versions);
        writer.length
    }

    pub(in crate::calls) fn redirect(request: &redirect::Request, into: &mut [u8]) -> usize {
        let redirect::Request { block, seen, to } = *request;
        Writer::new(into, &Ask::Redirect { block: block.0, seen, to: to.0 }).length
    }

    pub(in crate::calls) fn signature(request: &signature::Request, into: &mut [u8]) -> usize {
        Writer::new(into, &Ask::Signature { cursor: request.cursor }).length
    }

    pub(in crate::calls) fn take(request: &take::Request, into: &mut [u8]) -> usize {
        let take::Request { to, chunk, wanted, at_least, claim } = *request;
        Writer::new(into, &Ask::Take { to: to.0, chunk: chunk.0, wanted, at_least, claim }).length
    }

    pub(in crate::calls) fn update(request: &update::Request, into: &mut [u8]) -> usize {
        let update::Request { block, offset, bytes, update, at_least } = *request;
        let (operation, operand, expected) = match update {
            Update::Rmw { op, operand } => (op as u32, operand as u64, 0),
            Update::CompareExchange { expected, new } => (COMPARE_EXCHANGE, new as u64, expected as u64),
        };
        let (block, offset, bytes) = (block.0, offset as u64, bytes as u8);
        Writer::new(into, &Ask::Update { block, offset, bytes, operation, operand, expected, at_least })
            .length
    }

    pub(in crate::calls) fn read(request: &read::Request, into: &mut [u8]) -> usize {
        let read::Request { block, offset, bytes } = *request;
        Writer::new(into, &Ask::Read { block: block.0, offset: offset as u64, bytes: bytes as u8 }).length
    }
}

/// Decodes replies; contents are what is behind.
///
/// # Errors
/// It is none to that request.
pub(super) mod reply {
    use super::*;

    pub(in crate::calls) fn lend<'a>(
        bytes: &'a [u8],
        part: Extent,
        records: &mut Records,
    ) -> Result<(Result<Lent, Refused>, &'a [u8]), Malformed> {
        let (head, mut rest) = Reader::new(bytes)?;
        let lent = match head {
            Answer::Busy { seen } => Err(Refused::Busy(busy(part.first.chunk(), seen))),
            Answer::Away(seen) => Err(Refused::Away(seen)),
            Answer::Lent { count, fetched } if (1..=part.count).contains(&count) => {
                let part = Extent::new(part.first, count);
                if fetched & !part.mask() != 0 {
                    return Err(Malformed);
                }
                rest.get_records(part, records)?;
                Ok(Lent { count, fetched })
            }
            _ => return Err(Malformed),
        };
        Ok((lent, rest.0))
    }

    pub(in crate::calls) fn copy(bytes: &[u8], part: Extent) -> Result<(u64, &[u8]), Malformed> {
        let (head, rest) = Reader::new(bytes)?;
        match head {
            Answer::Copied { blocks } if blocks & !part.mask() == 0 => Ok((blocks, rest.0)),
            _ => Err(Malformed),
        }
    }

    pub(in crate::calls) fn redirect(bytes: &[u8]) -> Result<bool, Malformed> {
        match Reader::new(bytes)?.0 {
            Answer::Redirected(changed) => Ok(changed),
            _ => Err(Malformed),
        }
    }

    /// `None`: it does not fit into a reply.
    pub(in crate::calls) fn signature<F: Fabric>(
        fabric: &F,
        bytes: &[u8],
        fresh: &mut Vec<Notice>,
    ) -> Result<Option<Option<(Timestamp, u64)>>, Malformed> {
        let (head, mut rest) = Reader::new(bytes)?;
        match head {
            Answer::Nothing => Ok(Some(None)),
            Answer::TooMany => Ok(None),
            Answer::Notices { count, min_wr_ts, state } => {
                fresh.clear();
                for _ in 0..count {
                    fresh.push(rest.get_notice(fabric)?);
                }
                Ok(Some(Some((min_wr_ts, state))))
            }
            _ => Err(Malformed),
        }
    }

    pub(in crate::calls) fn take<'a>(
        bytes: &'a [u8],
        request: &take::Request,
        records: &mut Records,
    ) -> Result<(Result<Taken, Busy>, &'a [u8]), Malformed> {
        let (head, mut rest) = Reader::new(bytes)?;
        let taken = match head {
            Answer::Busy { seen } => Err(busy(request.chunk, seen)),
            Answer::Taken(taken) => {
                let Taken { blocks, writable, queued, contended, .. } = taken;
                if (blocks | queued | contended) & !request.wanted != 0 || writable & !blocks != 0 {
                    return Err(Malformed);
                }
                rest.get_records(request.chunk.span(request.wanted), records)?;
                Ok(taken)
            }
            _ => return Err(Malformed),
        };
        Ok((taken, rest.0))
    }

    pub(in crate::calls) fn update(
        bytes: &[u8],
        block: Block,
    ) -> Result<Result<Updated, Refused>, Malformed> {
        match Reader::new(bytes)?.0 {
            Answer::Busy { seen } => Ok(Err(Refused::Busy(busy(block.chunk(), seen)))),
            Answer::Away(seen) => Ok(Err(Refused::Away(seen))),
            Answer::Updated(updated) => Ok(Ok(updated)),
            _ => Err(Malformed),
        }
    }

    pub(in crate::calls) fn read(bytes: &[u8]) -> Result<Result<u64, Seen>, Malformed> {
        match Reader::new(bytes)?.0 {
            Answer::Away(seen) => Ok(Err(seen)),
            Answer::Read(value) => Ok(Ok(value)),
            _ => Err(Malformed),
        }
    }
}

fn busy(chunk: Chunk, seen: u64) -> Busy {
    Busy { word: Word::Records(chunk), seen }
}

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
    let (ask, mut rest) = Reader::new(request)?;
    let segment = Segment { fabric, at };
    let scratch = &mut *ScratchGuard::new();
    let (own, peer) = (&mut scratch.own, &mut scratch.peer);
    let (result, contents) = reply.split_at_mut(RESULT_BYTES);
    let capacity = contents.len();
    let mut landing = Landing::Buffer(contents, 0);
    let length = match ask {
        Ask::Lend { first, count, min, renews } => {
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
        Ask::Copy { first, count } => {
            let part = extent(fabric, first, count, capacity)?;
            rest.get_versions(part, own)?;
            let blocks = segment.copy(&copy::Request { part, versions: own }, &mut landing).await;
            Writer::new(result, &Answer::Copied { blocks }).length
        }
        Ask::Redirect { block, seen, to } => {
            if !fabric.has_chunk(Block(block).chunk()) || to >= fabric.size() || to == at.0 {
                return Err(Malformed);
            }
            let request = redirect::Request { block: Block(block), seen, to: Rank(to) };
            Writer::new(result, &Answer::Redirected(segment.redirect(&request).await)).length
        }
        Ask::Signature { cursor } => {
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
        Ask::Take { to, chunk, wanted, at_least, claim } => {
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
        Ask::Update { block, offset, bytes, operation, operand, expected, at_least } => {
            let block = Block(block);
            let update = operation_of(operation, operand, expected)?;
            let bytes = part_of_block(fabric, block, offset, bytes)?;
            if at_least >= LATE || !applies_to(update, bytes) {
                return Err(Malformed);
            }
            let request = update::Request { block, offset: offset as usize, bytes, update, at_least };
            let answer = match segment.update(&request, peer).await {
                Ok(updated) => Answer::Updated(updated),
                Err(Refused::Busy(Busy { seen, .. })) => Answer::Busy { seen },
                Err(Refused::Away(seen)) => Answer::Away(seen),
            };
            Writer::new(result, &answer).length
        }
        Ask::Read { block, offset, bytes } => {
            let block = Block(block);
            let bytes = part_of_block(fabric, block, offset, bytes)?;
            let answer = match segment.read(&read::Request { block, offset: offset as usize, bytes }).await {
                Ok(value) => Answer::Read(value),
                Err(seen) => Answer::Away(seen),
            };
            Writer::new(result, &answer).length
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

/// Whether there is such an operation on so many bytes.
fn applies_to(update: Update, bytes: usize) -> bool {
    match update {
        Update::Rmw { op, .. } => op.apply(bytes as u32, 0, 0).is_some(),
        Update::CompareExchange { .. } => true,
    }
}
