//! Posted operations in the order in which they were asked for, and their execution: a call for each chunk.
//!
//! Those of one word are executed in their order: all that concern a block stay in order when the list is sorted by blocks, so that each chunk gets one call. Behind a fence the list begins
//! anew.
//!
//! Two operations of the same kind on the same word, with none on it in between, are one with the combined operand (combining: Gottlieb et al., The NYU Ultracomputer, 1983). Floating-point additions are not
//! combined, since that would round differently, but those of one word that come one after the other are a series.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::pin;

use dsm_abi::atomic::{RmwOp, Update};
use dsm_coherence::calls::actions::{Action, ActionList, Actions, Change};
use dsm_coherence::hash::fibonacci;
use dsm_coherence::{Block, Chunk};

use crate::memory;
use crate::memory::fabric::run;

/// Operations from which on a list is executed.
const MOST_OPERATIONS: usize = 4096;
/// Bytes of contents from which on it is.
const MOST_BYTES: usize = 256 << 10;
/// Bytes of operands from which on a series gets no more.
const MOST_SERIES_BYTES: usize = 1 << 10;
#[derive(Clone, Debug)]
pub struct Operation {
    /// Operations are sorted by this: their block, or the first one of several that stay in order.
    pub key: Block,
    pub block: Block,
    pub offset: usize,
    pub kind: OperationKind,
}

#[derive(Clone, Debug)]
pub enum OperationKind {
    Update(usize, Update),
    /// Operations on one word, whose operands are these bytes of [`List::contents`].
    Series(RmwOp, usize, Range<usize>),
    /// Stores these bytes of [`List::contents`].
    Store(Range<usize>),
    /// A bundle, which these bytes of [`List::contents`] encode.
    Bundle(Range<usize>),
}

#[derive(Debug, Default)]
pub struct List {
    pub operations: Vec<Operation>,
    /// How many of them have been executed: those in front.
    executed: usize,
    /// Whether the ones up to the first fence are sorted.
    sorted: bool,
    /// How many are executed, as numbers of operations count them.
    pub completed: u64,
    /// What ranges are stored, and bundles.
    contents: Vec<u8>,
    /// Numbers of operations that come after all in front of them.
    fences: VecDeque<usize>,
    /// Number of words of which the last operation is remembered, by a hash of their addresses; a power of two.
    words: usize,
    /// The last operation on a word, plus one: these are numbered all along.
    last: Vec<u64>,
    /// Number of the first operation.
    pub first: u64,
    /// Number of the first operation that others may be combined with.
    open: u64,
    calls: ActionList,
}

impl List {
    /// An empty list that remembers the last operation on so many words, a power of two.
    pub fn new(words: usize) -> List {
        List { words, ..List::default() }
    }

    /// The first operation behind the last fence.
    fn begin(&self) -> usize {
        self.fences.back().copied().unwrap_or(self.executed)
    }

    pub fn is_full(&self) -> bool {
        self.has(MOST_OPERATIONS, MOST_BYTES)
    }

    /// Whether there are so many operations, or bytes of contents.
    pub fn has(&self, operations: usize, bytes: usize) -> bool {
        self.operations.len() >= operations || self.contents.len() >= bytes
    }

    /// Index of what remembers the last operation on the word at an address.
    #[inline]
    fn last_at(&mut self, address: usize) -> usize {
        if self.last.is_empty() {
            self.last.resize(self.words, 0);
        }
        fibonacci(address as u64 >> 2, self.words.ilog2()) as usize
    }

    /// Appends an operation on a word, which lies at an offset in a block, or combines it with the last one on that word.
    #[inline]
    pub fn update(&mut self, address: usize, (block, offset): (Block, usize), size: usize, update: Update) {
        let open = self.open.max(self.first + self.begin() as u64);
        let next = self.first + self.operations.len() as u64;
        let remembered = self.last_at(address);
        let last = self.last[remembered];
        if last > open {
            let before = &mut self.operations[(last - 1 - self.first) as usize];
            if before.block == block
                && before.offset == offset
                && let Some(combined) = combine(size, &before.kind, update, &mut self.contents)
            {
                before.kind = combined;
                return;
            }
        }
        self.last[remembered] = next + 1;
        self.operations.push(Operation {
            key: block,
            block,
            offset,
            kind: OperationKind::Update(size, update),
        });
    }

    /// Appends an operation that has contents. No operations in front of it are combined with any behind it.
    pub fn push(
        &mut self,
        (key, block, offset): (Block, Block, usize),
        kind: fn(Range<usize>) -> OperationKind,
        contents: &[u8],
    ) {
        let begin = self.contents.len();
        self.contents.extend(contents);
        let kind = kind(begin..self.contents.len());
        self.operations.push(Operation { key, block, offset, kind });
        self.open = self.first + self.operations.len() as u64;
    }

    pub fn fence(&mut self) {
        let end = self.operations.len();
        if self.begin() < end {
            self.fences.push_back(end);
        }
    }

    /// Executes the operations on one chunk behind those that were executed, up to the next fence. There is one. `exclusive` runs what makes blocks of a chunk accessible.
    pub fn execute_chunk(&mut self, exclusive: impl FnOnce(Chunk, &mut dyn FnMut())) {
        // Nothing is combined with what is on its way.
        self.fence();
        let end = self.fences[0];
        let part = &mut self.operations[self.executed..end];
        if !self.sorted {
            part.sort_by_key(|operation| operation.key);
            self.sorted = true;
        }
        let chunk = part[0].block.chunk();
        let count = part.iter().take_while(|operation| operation.block.chunk() == chunk).count();
        self.calls.clear();
        for Operation { block, offset, kind, .. } in &part[..count] {
            let change = match kind {
                OperationKind::Update(bytes, update) => Change::Update(*bytes, *update),
                OperationKind::Series(op, bytes, range) => {
                    Change::Series(*op, *bytes, &self.contents[range.clone()])
                }
                OperationKind::Store(range) => Change::Store(&self.contents[range.clone()]),
                OperationKind::Bundle(range) => {
                    Change::Bundle(Actions::of_encoded(chunk, &self.contents[range.clone()]))
                }
            };
            self.calls.push(&Action { block: *block, offset: *offset, change });
        }
        let coherence =
            &memory::shared().expect("operations are kept in jobs of several processes").coherence;
        exclusive(chunk, &mut || run(pin!(coherence.change(self.calls.actions(chunk)))));
        self.executed += count;
        if self.executed == end {
            self.fences.pop_front();
            self.sorted = false;
            self.completed = self.first + end as u64;
        }
        if self.executed == self.operations.len() {
            self.clear();
        }
    }

    /// All operations have been executed.
    fn clear(&mut self) {
        self.first += self.operations.len() as u64;
        self.executed = 0;
        self.operations.clear();
        self.contents.clear();
    }
}

/// What does what an operation and one behind it do, on a word of so many bytes. `contents`: of the list.
#[inline]
fn combine(
    size: usize,
    first: &OperationKind,
    second: Update,
    contents: &mut Vec<u8>,
) -> Option<OperationKind> {
    use RmwOp::*;
    let Update::Rmw { op, operand: b } = second else { return None };
    let (before, begin) = match first {
        OperationKind::Update(bytes, Update::Rmw { op: other, operand: a })
            if (*bytes, *other) == (size, op) =>
        {
            (Some(*a), contents.len())
        }
        OperationKind::Series(other, bytes, range)
            if (*bytes, *other) == (size, op)
                && range.end == contents.len()
                && range.len() < MOST_SERIES_BYTES =>
        {
            (None, range.start)
        }
        _ => return None,
    };
    let operand = match (op, before) {
        (Add, Some(a)) => a.wrapping_add(b),
        (Xchg | And | Or | Xor | Max | Min | UMax | UMin, Some(a)) => op.apply(size as u32, a, b)?,
        (FAdd, _) => {
            if let Some(a) = before {
                contents.extend_from_slice(&(a as u64).to_le_bytes());
            }
            contents.extend_from_slice(&(b as u64).to_le_bytes());
            return Some(OperationKind::Series(op, size, begin..contents.len()));
        }
        _ => return None,
    };
    Some(OperationKind::Update(size, Update::Rmw { op, operand }))
}
