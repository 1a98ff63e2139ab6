//! Posted operations: kept by the thread that asked for them until they are worth a call each to the homes of their memory.
//!
//! They are executed when a thread has kept many, asks for a flush or an operation with a result, or comes to a barrier; and at each release of its process, by whoever releases: a list is locked
//! while operations are put on it, and until what was taken off it has been executed. Those of one word are executed in the order in which they were asked for: all that concern a block stay in order when the list is
//! sorted by blocks, so that each chunk gets one call. Behind a fence the list begins anew.
//!
//! Two operations of the same kind on the same word, with none on it in between, are one with the combined operand (combining: Gottlieb et al., The NYU Ultracomputer, 1983). Floating-point additions are not
//! combined, since that would round differently.

use std::cell::OnceCell;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsm_abi::atomic::{RmwOp, Update};
use dsm_coherence::Block;
use dsm_coherence::calls::actions::{Action, ActionList, Change};
use parking_lot::Mutex;

use crate::fabric::run;
use crate::memory::{self, geometry::Geometry};
use crate::signals::Deferred;

/// Operations from which on a list is executed.
const MOST_OPERATIONS: usize = 4096;
/// Bytes of ranges from which on it is.
const MOST_BYTES: usize = 256 << 10;
/// Words of which the last operation is remembered, by a hash of their addresses.
const WORDS: usize = 4096;

/// Number of lists that are not empty.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Of all threads.
static LISTS: Mutex<Vec<Arc<Mutex<List>>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: OnceCell<Arc<Mutex<List>>> = const { OnceCell::new() };
}

#[derive(Clone, Debug)]
struct Operation {
    /// Operations are sorted by this: their block, or the first one of several that stay in order.
    key: Block,
    block: Block,
    offset: usize,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Update(usize, Update),
    /// Stores these bytes of [`List::contents`].
    Store(Range<usize>),
}

#[derive(Debug, Default)]
struct List {
    operations: Vec<Operation>,
    /// What ranges are stored.
    contents: Vec<u8>,
    /// Numbers of operations that come after all in front of them.
    fences: Vec<usize>,
    /// The last operation on a word, plus one: these are numbered all along.
    last: Vec<u64>,
    /// Number of the first operation.
    first: u64,
    /// Number of the first operation that others may be combined with.
    open: u64,
    calls: ActionList,
}

impl List {
    /// The first operation behind the last fence.
    fn begin(&self) -> usize {
        self.fences.last().copied().unwrap_or(0)
    }

    fn is_full(&self) -> bool {
        self.operations.len() >= MOST_OPERATIONS || self.contents.len() >= MOST_BYTES
    }

    /// The place that remembers the last operation on the word at an address.
    fn last_at(&mut self, address: usize) -> &mut u64 {
        if self.last.is_empty() {
            self.last.resize(WORDS, 0);
        }
        // Fibonacci hashing.
        let hash = (address as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - WORDS.ilog2());
        &mut self.last[hash as usize]
    }

    fn update(&mut self, geometry: &Geometry, address: usize, size: usize, update: Update) {
        let block = geometry.block(address);
        let offset = address - geometry.address(block);
        let open = self.open.max(self.first + self.begin() as u64);
        let next = self.first + self.operations.len() as u64;
        let last = std::mem::replace(self.last_at(address), next + 1);
        if last > open {
            let before = &mut self.operations[(last - 1 - self.first) as usize];
            if before.block == block
                && before.offset == offset
                && let What::Update(bytes, old) = &mut before.what
                && *bytes == size
                && let Some(combined) = combine(size, *old, update)
            {
                *old = combined;
                *self.last_at(address) = last;
                return;
            }
        }
        self.operations.push(Operation { key: block, block, offset, what: What::Update(size, update) });
    }

    /// Appends a store of bytes of a block. No operations in front of it are combined with any behind it.
    fn store(&mut self, key: Block, block: Block, offset: usize, contents: &[u8]) {
        let begin = self.contents.len();
        self.contents.extend(contents);
        let what = What::Store(begin..self.contents.len());
        self.operations.push(Operation { key, block, offset, what });
        self.open = self.first + self.operations.len() as u64;
    }

    fn fence(&mut self) {
        let end = self.operations.len();
        if self.begin() < end {
            self.fences.push(end);
        }
    }

    /// Executes all operations.
    fn execute(&mut self) {
        let coherence =
            &memory::shared().expect("operations are kept in jobs of several processes").coherence;
        self.fences.push(self.operations.len());
        let mut begin = 0;
        for end in &self.fences {
            let part = &mut self.operations[begin..*end];
            part.sort_by_key(|operation| operation.key);
            for of_chunk in part.chunk_by(|a, b| a.block.chunk() == b.block.chunk()) {
                self.calls.clear();
                for Operation { block, offset, what, .. } in of_chunk {
                    let change = match what {
                        What::Update(bytes, update) => Change::Update(*bytes, *update),
                        What::Store(range) => Change::Store(&self.contents[range.clone()]),
                    };
                    self.calls.push(&Action { block: *block, offset: *offset, change });
                }
                run(pin!(coherence.change(self.calls.actions(of_chunk[0].block.chunk()))));
            }
            begin = *end;
        }
        self.first += self.operations.len() as u64;
        self.operations.clear();
        self.contents.clear();
        self.fences.clear();
    }
}

/// One operation that does what two do, one after the other.
fn combine(size: usize, first: Update, second: Update) -> Option<Update> {
    use RmwOp::*;
    let (Update::Rmw { op, operand: a }, Update::Rmw { op: other, operand: b }) = (first, second) else {
        return None;
    };
    let operand = match op {
        _ if op != other => return None,
        Add => a.wrapping_add(b),
        Xchg | And | Or | Xor | Max | Min | UMax | UMin => op.apply(size as u32, a, b)?,
        _ => return None,
    };
    Some(Update::Rmw { op, operand })
}

/// Runs something on the calling thread's list; executes the list if that makes it full.
fn with_own(change: impl FnOnce(&mut List)) {
    let _deferred = Deferred::begin();
    OWN.with(|own| {
        let list = own.get_or_init(|| {
            let list = Arc::<Mutex<List>>::default();
            LISTS.lock().push(list.clone());
            list
        });
        let mut list = list.lock();
        let was_empty = list.operations.is_empty();
        change(&mut list);
        if was_empty && !list.operations.is_empty() {
            USED.fetch_add(1, Ordering::SeqCst);
        }
        if list.is_full() {
            empty(&mut list);
        }
    });
}

fn empty(list: &mut List) {
    if !list.operations.is_empty() {
        list.execute();
        USED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Keeps an operation on a word.
pub fn post(address: usize, size: usize, update: Update) {
    with_own(|list| list.update(memory::get().geometry(), address, size, update));
}

/// Keeps a store of bytes of one block.
pub fn store(address: usize, contents: &[u8]) {
    let geometry = memory::get().geometry();
    let block = geometry.block(address);
    with_own(|list| list.store(block, block, address - geometry.address(block), contents));
}

/// Whether two shared addresses lie in one chunk.
pub fn is_same_chunk(address: usize, other: usize) -> bool {
    let geometry = memory::get().geometry();
    geometry.block(address).chunk() == geometry.block(other).chunk()
}

/// Keeps stores of bytes, of one block each, and an operation on a word in the same chunk, which go in one call and in this order. What was asked for before comes before them, and what
/// will be behind them.
pub fn store_with_flag(stores: &[(usize, &[u8])], flag: usize, size: usize, update: Update) {
    let geometry = memory::get().geometry();
    let place = |address| {
        let block = geometry.block(address);
        (block, address - geometry.address(block))
    };
    let (block, offset) = place(flag);
    let key = block.chunk().block(0);
    with_own(|list| {
        list.fence();
        for (address, contents) in stores {
            let (block, offset) = place(*address);
            list.store(key, block, offset, contents);
        }
        list.operations.push(Operation { key, block, offset, what: What::Update(size, update) });
        list.fence();
    });
}

/// What the calling thread asks for from now on comes after what it has asked for.
pub fn fence() {
    if USED.load(Ordering::SeqCst) != 0 {
        with_own(List::fence);
    }
}

/// Executes what the calling thread keeps.
#[inline]
pub fn flush() {
    if USED.load(Ordering::Relaxed) != 0 {
        with_own(empty);
    }
}

/// Executes what all threads of the process keep: what they asked for before is part of the release that follows.
#[inline]
pub fn before_release() {
    if USED.load(Ordering::SeqCst) != 0 {
        flush_all();
    }
}

#[cold]
fn flush_all() {
    let _deferred = Deferred::begin();
    let lists = {
        let mut lists = LISTS.lock();
        // Of threads that have ended, and left nothing.
        let is_used = |list: &Mutex<List>| list.try_lock().is_none_or(|list| !list.operations.is_empty());
        lists.retain(|list| Arc::strong_count(list) > 1 || is_used(list));
        lists.clone()
    };
    lists.iter().for_each(|list| empty(&mut list.lock()));
}
