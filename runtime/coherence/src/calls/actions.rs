//! Changes of a chunk's bytes, as messages and inline calls have them: one after the other.
//!
//! Of each the number of its block in the chunk, the code of an operation, the offset in the block, the number of bytes, and its operands. Numbers are little-endian.

use dsm_abi::atomic::{RmwOp, Update};

use super::wire::{COMPARE_EXCHANGE, Malformed};
use crate::fabric::Fabric;
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Rank};

const HEAD_BYTES: usize = 12;
/// Stands for [`Change::Store`] among the codes of operations.
const STORE: u32 = COMPARE_EXCHANGE - 1;
/// Stands for [`Change::Bundle`].
const BUNDLE: u32 = COMPARE_EXCHANGE - 2;
/// Set in the codes of operations that stand for [`Change::Series`].
const SERIES: u32 = 1 << 16;
/// Bytes of an operand of a series.
const OPERAND_BYTES: usize = 8;

/// What to do with bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// An atomic operation on so many bytes: 1, 2, 4 or 8, aligned.
    Update(usize, Update),
    /// Atomic operations on the same bytes, one after the other: the code, the number of bytes, and operands of eight bytes each.
    Series(RmwOp, usize, &'a [u8]),
    /// Stores bytes; aligned words of up to 8 of them change as one, in order of their addresses.
    Store(&'a [u8]),
    /// Atomic operations on the block, in order: as one for all other operations on it. Its own offset is that of the first.
    Bundle(Actions<'a>),
}

/// A change of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action<'a> {
    /// Where.
    pub block: Block,
    /// First byte in the block.
    pub offset: usize,
    /// What.
    pub change: Change<'a>,
}

/// The aligned words of up to 8 bytes that cover a range exactly: offset and number of bytes.
pub fn words(offset: usize, length: usize) -> impl Iterator<Item = (usize, usize)> {
    let (mut at, end) = (offset, offset + length);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let aligned = 1 << at.trailing_zeros().min(3);
            let bytes = aligned.min(1 << (end - at).ilog2());
            at += bytes;
            (at - bytes, bytes)
        })
    })
}

/// The operands of a series.
fn operands_of(bytes: &[u8]) -> impl Iterator<Item = u128> {
    let (operands, _) = bytes.as_chunks::<OPERAND_BYTES>();
    operands.iter().map(|operand| u64::from_le_bytes(*operand).into())
}

impl Change<'_> {
    /// Applies it to a block at a process; returns what the bytes of an atomic operation were.
    #[inline]
    pub(crate) async fn apply<F: Fabric>(self, fabric: &F, at: Rank, block: Block, offset: usize) -> u64 {
        match self {
            Change::Update(bytes, update) => fabric.update_bytes(at, block, offset, bytes, update).await,
            Change::Series(op, bytes, operands) => {
                for operand in operands_of(operands) {
                    fabric.update_bytes(at, block, offset, bytes, Update::Rmw { op, operand }).await;
                }
                0
            }
            Change::Store(contents) => {
                for (place, bytes) in words(offset, contents.len()) {
                    let word = &contents[place - offset..][..bytes];
                    let value = word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                    fabric.update_bytes(at, block, place, bytes, Update::store(value.into())).await;
                }
                0
            }
            Change::Bundle(operations) => {
                for operation in operations {
                    if let Change::Update(bytes, update) = operation.change {
                        fabric.update_bytes(at, block, operation.offset, bytes, update).await;
                    }
                }
                0
            }
        }
    }

    fn length(&self) -> usize {
        match self {
            Change::Update(bytes, _) => *bytes,
            Change::Series(_, bytes, operands) => *bytes | operands.len() << 8,
            Change::Store(contents) => contents.len(),
            Change::Bundle(operations) => operations.bytes.len(),
        }
    }

    /// Whether it is an atomic operation that there is, on bytes of a block of so many.
    fn is_operation_in(&self, offset: usize, block_bytes: usize) -> bool {
        match self {
            Change::Series(op, bytes, operands) => {
                let first = operands_of(operands).next();
                operands.len().is_multiple_of(OPERAND_BYTES)
                    && first.is_some_and(|operand| {
                        let update = Update::Rmw { op: *op, operand };
                        Change::Update(*bytes, update).is_operation_in(offset, block_bytes)
                    })
            }
            Change::Update(bytes, update) => {
                matches!(bytes, 1 | 2 | 4 | 8)
                    && offset.is_multiple_of(*bytes)
                    && offset + bytes <= block_bytes
                    && super::serve::applies_to(*update, *bytes)
            }
            _ => false,
        }
    }
}

/// Encodes changes of one chunk.
#[derive(Debug, Default)]
pub struct ActionList(Vec<u8>);

impl ActionList {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends a change, in the chunk of those that are there. It lies in its block, is not empty, and aligned if it is an atomic operation.
    pub fn push(&mut self, action: &Action<'_>) {
        let Action { block, offset, change } = *action;
        let code = match change {
            Change::Update(_, Update::Rmw { op, .. }) => op as u32,
            Change::Update(_, Update::CompareExchange { .. }) => COMPARE_EXCHANGE,
            Change::Series(op, ..) => op as u32 | SERIES,
            Change::Store(_) => STORE,
            Change::Bundle(_) => BUNDLE,
        };
        let place = (block.0 % CHUNK_BLOCKS) as u32 | (offset as u32) << 8;
        [place, code, change.length() as u32].into_iter().for_each(|v| self.0.extend(v.to_le_bytes()));
        let mut put = |operand: u128| self.0.extend((operand as u64).to_le_bytes());
        match change {
            Change::Update(_, Update::Rmw { operand, .. }) => put(operand),
            Change::Update(_, Update::CompareExchange { expected, new }) => {
                put(expected);
                put(new);
            }
            Change::Series(_, _, contents) | Change::Store(contents) => self.0.extend(contents),
            Change::Bundle(operations) => self.0.extend(operations.bytes),
        }
    }

    /// The changes.
    pub fn actions(&self, chunk: Chunk) -> Actions<'_> {
        Actions { chunk, bytes: &self.0 }
    }
}

/// Changes of one chunk, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actions<'a> {
    chunk: Chunk,
    bytes: &'a [u8],
}

impl<'a> Actions<'a> {
    /// Those of a message.
    ///
    /// # Errors
    /// They are not, or not all lie in their blocks, or there is none.
    pub(super) fn decode<F: Fabric>(fabric: &F, chunk: Chunk, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Actions { chunk, bytes };
        while !rest.bytes.is_empty() {
            let (Action { block, offset, change }, behind) = rest.split().ok_or(Malformed)?;
            let block_bytes = fabric.block_bytes(block);
            let is_right = match change {
                Change::Update(..) | Change::Series(..) => change.is_operation_in(offset, block_bytes),
                Change::Store(contents) => !contents.is_empty() && offset + contents.len() <= block_bytes,
                Change::Bundle(operations) => operations.are_operations_on(block, block_bytes),
            };
            if !is_right {
                return Err(Malformed);
            }
            rest = behind;
        }
        if bytes.is_empty() { Err(Malformed) } else { Ok(Actions { chunk, bytes }) }
    }

    /// Whether they are atomic operations on one block, one at least.
    fn are_operations_on(self, block: Block, block_bytes: usize) -> bool {
        let mut rest = self;
        let are = rest.all(|action| {
            matches!(action.change, Change::Update(..))
                && action.block == block
                && action.change.is_operation_in(action.offset, block_bytes)
        });
        are && rest.bytes.is_empty() && !self.bytes.is_empty()
    }

    /// Those that were [encoded](Actions::encoded).
    pub fn of_encoded(chunk: Chunk, bytes: &'a [u8]) -> Self {
        Actions { chunk, bytes }
    }

    /// The block that the first one of a message is about.
    pub(super) fn first_block(chunk: Chunk, bytes: &[u8]) -> Option<Block> {
        Actions { chunk, bytes }.first().map(|action| action.block)
    }

    /// The chunk that they are about.
    pub fn chunk(&self) -> Chunk {
        self.chunk
    }

    /// The first one.
    pub fn first(self) -> Option<Action<'a>> {
        self.split().map(|(action, _)| action)
    }

    /// As a message has them.
    pub fn encoded(&self) -> &'a [u8] {
        self.bytes
    }

    /// The blocks that they are about, as bits of the chunk's mark words.
    pub fn blocks(self) -> u64 {
        self.fold(0, |mask, action| mask | action.block.bit())
    }

    /// The first of them, as long as they are such and take no more than `most` bytes; one at least if there is one. And how many these are.
    pub fn leading(self, most: usize, mut are: impl FnMut(&Action<'a>) -> bool) -> (Self, usize) {
        let (mut rest, mut count) = (self, 0);
        while let Some((action, behind)) = rest.split() {
            let taken = self.bytes.len() - behind.bytes.len();
            if !are(&action) || (count > 0 && taken > most) {
                break;
            }
            (rest, count) = (behind, count + 1);
        }
        let length = self.bytes.len() - rest.bytes.len();
        (Actions { bytes: &self.bytes[..length], ..self }, count)
    }

    /// The first one, and the others.
    fn split(self) -> Option<(Action<'a>, Self)> {
        let (head, rest) = self.bytes.split_first_chunk::<HEAD_BYTES>()?;
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let (place, code, length) = (number(0), number(4), number(8) as usize);
        let block = self.chunk.block(place & 0xff);
        if u64::from(place & 0xff) >= CHUNK_BLOCKS {
            return None;
        }
        let operand = |at: usize| {
            let bytes = rest.get(at..at + 8)?;
            Some(u128::from(u64::from_le_bytes(bytes.try_into().expect("eight bytes"))))
        };
        let (change, taken) = match code {
            STORE => (Change::Store(rest.get(..length)?), length),
            BUNDLE => (Change::Bundle(Actions { bytes: rest.get(..length)?, ..self }), length),
            COMPARE_EXCHANGE => {
                let update = Update::CompareExchange { expected: operand(0)?, new: operand(8)? };
                (Change::Update(length, update), 16)
            }
            _ if code & SERIES != 0 => {
                let (bytes, operands) = (length & 0xff, length >> 8);
                (Change::Series(RmwOp::from_code(code & !SERIES)?, bytes, rest.get(..operands)?), operands)
            }
            _ => {
                let update = Update::Rmw { op: RmwOp::from_code(code)?, operand: operand(0)? };
                (Change::Update(length, update), 8)
            }
        };
        let action = Action { block, offset: (place >> 8) as usize, change };
        Some((action, Actions { bytes: &rest[taken..], ..self }))
    }
}

impl<'a> Iterator for Actions<'a> {
    type Item = Action<'a>;

    fn next(&mut self) -> Option<Action<'a>> {
        let (action, rest) = self.split()?;
        *self = rest;
        Some(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cover_a_range() {
        assert_eq!(words(3, 18).collect::<Vec<_>>(), [(3, 1), (4, 4), (8, 8), (16, 4), (20, 1)]);
        assert_eq!(words(8, 3).collect::<Vec<_>>(), [(8, 2), (10, 1)]);
        assert_eq!(words(5, 0).count(), 0);
    }

    #[test]
    fn what_is_pushed_comes_out() {
        let chunk = Chunk(5);
        let mut several = ActionList::default();
        for offset in [16, 24] {
            let change = Change::Update(8, Update::Rmw { op: RmwOp::Or, operand: offset });
            several.push(&Action { block: chunk.block(4), offset: offset as usize, change });
        }
        let all = [
            (4, 16, Change::Bundle(several.actions(chunk))),
            (3, 8, Change::Update(4, Update::Rmw { op: RmwOp::Add, operand: 7 })),
            (3, 16, Change::Series(RmwOp::FAdd, 8, &[1; 24])),
            (3, 9, Change::Store(b"some bytes")),
            (63, 65528, Change::Update(8, Update::CompareExchange { expected: 1 << 63, new: 2 })),
        ];
        let all = all.map(|(block, offset, change)| Action { block: chunk.block(block), offset, change });
        let mut list = ActionList::default();
        all.iter().for_each(|action| list.push(action));
        let actions = list.actions(chunk);
        assert_eq!(actions.collect::<Vec<_>>(), all);
        assert_eq!(actions.blocks(), 1 << 3 | 1 << 4 | 1 << 63);
        assert_eq!(actions.leading(usize::MAX, |action| action.block == all[0].block).1, 1);
        assert_eq!(actions.leading(0, |_| true).1, 1);
        list.clear();
        assert_eq!(list.actions(chunk).count(), 0);
    }

    #[test]
    fn half_an_action_is_none() {
        let mut list = ActionList::default();
        list.push(&Action { block: Block(0), offset: 0, change: Change::Store(b"some bytes") });
        let bytes = &list.0[..list.0.len() - 1];
        assert_eq!(Actions { chunk: Chunk(0), bytes }.next(), None);
    }
}
