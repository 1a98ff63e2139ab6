//! Calls as messages, encoded and decoded. [`super::serve()`] executes them.
//!
//! A message is a head, and behind it what its kind needs: versions, records and contents, little-endian.

use dsm_abi::atomic::Update;
use serde::{Deserialize, Serialize};

use super::actions::Actions;
use super::batch::Batched;
use super::lend::{Lent, Refused};
use super::merge_diff::Merged;
use super::take::{Claim, Taken};
use super::update::Updated;
use super::{batch, copy, lend, merge_diff, read, redirect, signature, take, update};
use crate::fabric::{Fabric, Word};
use crate::records::Records;
use crate::segment::{Busy, Seen};
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Notice, Rank, Record, Timestamp};

/// Most bytes of a head: a few integers of at most 10 bytes each.
pub(super) const HEAD_BYTES: usize = 80;
const VERSION_BYTES: usize = 8;
const RECORD_BYTES: usize = 24;
pub(super) const NOTICE_BYTES: usize = 32;
/// Most bytes of a request without contents.
pub const REQUEST_BYTES: usize = HEAD_BYTES + CHUNK_BLOCKS as usize * VERSION_BYTES;
/// Most bytes of a reply without contents.
pub const RESULT_BYTES: usize = HEAD_BYTES + CHUNK_BLOCKS as usize * RECORD_BYTES;

/// A message that no requester sends, and no agent replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RequestHead {
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
    /// `operation`: the code of an [`RmwOp`](dsm_abi::atomic::RmwOp), or [`COMPARE_EXCHANGE`], which alone has something `expected`.
    Update {
        block: u64,
        offset: u64,
        bytes: u8,
        operation: u32,
        operand: u64,
        expected: u64,
        at_least: u64,
    },
    /// Of blocks of one chunk, from the first on.
    Read {
        block: u64,
        offset: u64,
        bytes: u64,
    },
    /// The versions of the span of the wanted blocks follow, and their differences.
    MergeDiff {
        chunk: u64,
        wanted: u64,
        at_least: u64,
    },
    /// The changes follow.
    Batch {
        chunk: u64,
        at_least: u64,
    },
}

/// Stands for [`Update::CompareExchange`] among the codes of operations.
pub(super) const COMPARE_EXCHANGE: u32 = u32::MAX;

/// Name of the call that a message asks for, and the first block that it is about.
pub fn subject(request: &[u8]) -> Option<(&'static str, Option<Block>)> {
    let (head, rest) = Reader::new(request).ok()?;
    Some(match head {
        RequestHead::Lend { first, .. } => ("lend", Some(Block(first))),
        RequestHead::Copy { first, .. } => ("copy", Some(Block(first))),
        RequestHead::Redirect { block, .. } => ("redirect", Some(Block(block))),
        RequestHead::Signature { .. } => ("signature", None),
        RequestHead::Take { chunk, wanted, .. } => ("take", Chunk(chunk).blocks(wanted).next()),
        RequestHead::Update { block, .. } => ("update", Some(Block(block))),
        RequestHead::Read { block, .. } => ("read", Some(Block(block))),
        RequestHead::MergeDiff { chunk, wanted, .. } => ("merge_diff", Chunk(chunk).blocks(wanted).next()),
        RequestHead::Batch { chunk, .. } => ("batch", Actions::first_block(Chunk(chunk), rest.0)),
    })
}

/// Head of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
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
    /// What the bytes are follows.
    Read,
    /// Records of the span of the wanted blocks follow.
    Merged(Merged),
    /// Records of the span of the blocks follow.
    Batched(Batched),
}

/// Appends to a buffer, which is long enough.
pub(super) struct Writer<'a> {
    bytes: &'a mut [u8],
    pub(super) length: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(bytes: &'a mut [u8], head: &impl Serialize) -> Self {
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

    pub(super) fn put_records(&mut self, part: Extent, records: &Records) {
        for Record { link, rd_ts, wr_ts } in records.run(part) {
            [link, rd_ts, wr_ts].into_iter().for_each(|value| self.put(*value));
        }
    }
}

impl Writer<'_> {
    pub(super) fn put_notice(&mut self, notice: &Notice) {
        let Notice { writer, extent, wr_ts, merged } = *notice;
        let who = u64::from(writer.0) << 1 | u64::from(merged);
        [who, extent.first.0, extent.count, wr_ts].into_iter().for_each(|value| self.put(value));
    }
}

/// Takes from the front of a message.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new<T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, Self), Malformed> {
        let (head, rest) = postcard::take_from_bytes(bytes).map_err(|_| Malformed)?;
        Ok((head, Reader(rest)))
    }

    fn get(&mut self) -> Result<u64, Malformed> {
        let (value, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*value))
    }

    pub(super) fn get_notice<F: Fabric>(&mut self, fabric: &F) -> Result<Notice, Malformed> {
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

    pub(super) fn get_versions(&mut self, part: Extent, records: &mut Records) -> Result<(), Malformed> {
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
        let head = RequestHead::Lend { first: part.first.0, count: part.count, min, renews: held.is_some() };
        let mut writer = Writer::new(into, &head);
        if let Some(held) = held {
            writer.put_versions(part, held);
        }
        writer.length
    }

    pub(in crate::calls) fn copy(request: &copy::Request<'_>, into: &mut [u8]) -> usize {
        let copy::Request { part, versions } = *request;
        let mut writer = Writer::new(into, &RequestHead::Copy { first: part.first.0, count: part.count });
        writer.put_versions(part, versions);
        writer.length
    }

    pub(in crate::calls) fn redirect(request: &redirect::Request, into: &mut [u8]) -> usize {
        let redirect::Request { block, seen, to } = *request;
        Writer::new(into, &RequestHead::Redirect { block: block.0, seen, to: to.0 }).length
    }

    pub(in crate::calls) fn signature(request: &signature::Request, into: &mut [u8]) -> usize {
        Writer::new(into, &RequestHead::Signature { cursor: request.cursor }).length
    }

    pub(in crate::calls) fn take(request: &take::Request, into: &mut [u8]) -> usize {
        let take::Request { to, chunk, wanted, at_least, claim } = *request;
        Writer::new(into, &RequestHead::Take { to: to.0, chunk: chunk.0, wanted, at_least, claim }).length
    }

    pub(in crate::calls) fn update(request: &update::Request, into: &mut [u8]) -> usize {
        let update::Request { block, offset, bytes, update, at_least, opens: _, only_copy: _ } = *request;
        let (operation, operand, expected) = match update {
            Update::Rmw { op, operand } => (op as u32, operand as u64, 0),
            Update::CompareExchange { expected, new } => (COMPARE_EXCHANGE, new as u64, expected as u64),
        };
        let (block, offset, bytes) = (block.0, offset as u64, bytes as u8);
        Writer::new(
            into,
            &RequestHead::Update { block, offset, bytes, operation, operand, expected, at_least },
        )
        .length
    }

    pub(in crate::calls) fn read(request: &read::Request, into: &mut [u8]) -> usize {
        let read::Request { block, offset, bytes } = *request;
        Writer::new(into, &RequestHead::Read { block: block.0, offset: offset as u64, bytes: bytes as u64 })
            .length
    }

    /// Without the changes, which go behind it.
    pub(in crate::calls) fn batch(request: &batch::Request<'_>, into: &mut [u8]) -> usize {
        let batch::Request { actions, at_least, only_copies: _ } = *request;
        Writer::new(into, &RequestHead::Batch { chunk: actions.chunk().0, at_least }).length
    }

    /// Without the differences, which go behind it.
    pub(in crate::calls) fn merge_diff(request: &merge_diff::Request<'_>, into: &mut [u8]) -> usize {
        let merge_diff::Request { chunk, wanted, at_least, versions } = *request;
        let mut writer = Writer::new(into, &RequestHead::MergeDiff { chunk: chunk.0, wanted, at_least });
        writer.put_versions(chunk.span(wanted), versions);
        writer.length
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
                let Taken { blocks, writable, queued, contended, holes, .. } = taken;
                let is_miss = matches!(request.claim, Claim::Miss { .. });
                if (blocks | queued | contended) & !request.wanted != 0
                    || (writable | holes) & !blocks != 0
                    || holes != 0 && !is_miss
                {
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

    pub(in crate::calls) fn read(bytes: &[u8], into: &mut [u8]) -> Result<Result<usize, Seen>, Malformed> {
        let (head, rest) = Reader::new(bytes)?;
        match head {
            Answer::Away(seen) => Ok(Err(seen)),
            Answer::Read if (1..=into.len()).contains(&rest.0.len()) => {
                into[..rest.0.len()].copy_from_slice(rest.0);
                Ok(Ok(rest.0.len()))
            }
            _ => Err(Malformed),
        }
    }

    pub(in crate::calls) fn batch(
        bytes: &[u8],
        request: &batch::Request<'_>,
        records: &mut Records,
    ) -> Result<Result<Batched, Busy>, Malformed> {
        let (head, mut rest) = Reader::new(bytes)?;
        let (chunk, blocks) = (request.actions.chunk(), request.actions.blocks());
        match head {
            Answer::Busy { seen } => Ok(Err(busy(chunk, seen))),
            Answer::Batched(batched) if batched.fresh & !blocks == 0 => {
                rest.get_records(chunk.span(blocks), records)?;
                Ok(Ok(batched))
            }
            _ => Err(Malformed),
        }
    }

    pub(in crate::calls) fn merge_diff(
        bytes: &[u8],
        request: &merge_diff::Request<'_>,
        records: &mut Records,
    ) -> Result<Result<Merged, Busy>, Malformed> {
        let (head, mut rest) = Reader::new(bytes)?;
        match head {
            Answer::Busy { seen } => Ok(Err(busy(request.chunk, seen))),
            Answer::Merged(merged) if merged.blocks & !request.wanted == 0 => {
                rest.get_records(request.chunk.span(request.wanted), records)?;
                Ok(Ok(merged))
            }
            _ => Err(Malformed),
        }
    }
}

fn busy(chunk: Chunk, seen: u64) -> Busy {
    Busy { word: Word::Records(chunk), seen }
}
