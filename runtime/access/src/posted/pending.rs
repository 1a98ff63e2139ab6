//! Posted operations: kept by the thread that asked for them until they are worth a call each to the homes of their memory.
//!
//! They are executed when a thread has kept many, asks for a flush or an operation with a result, or comes to a barrier; and at each release of its process, by whoever releases: a list ([`List`]) is locked
//! while operations are put on it, and until what was taken off it has been executed. Who tests for the completion of what was posted executes a chunk's operations at a time.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dsm_abi::atomic::Update;
use dsm_coherence::Block;
use dsm_coherence::calls::actions::ActionList;
use parking_lot::Mutex;

use super::deferred;
use super::list::{List, Operation, OperationKind};
use crate::memory;
use dsm_threads::handler::Deferred;

/// Words of which a list remembers the last operation.
const WORDS: usize = 4096;

/// Number of lists that are not empty.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Of all threads.
static LISTS: Mutex<Vec<Arc<PostedOperations>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: OnceCell<Arc<PostedOperations>> = const { OnceCell::new() };
}

/// Posted operations that a thread keeps.
#[derive(Debug)]
struct PostedOperations {
    /// Names it in [`Posted`]; not 0.
    id: u64,
    list: Mutex<List>,
}

/// Runs something on what the calling thread keeps.
fn with_kept<R>(body: impl FnOnce(&PostedOperations) -> R) -> R {
    static LAST_ID: AtomicU64 = AtomicU64::new(0);
    let _deferred = Deferred::begin();
    OWN.with(|own| {
        body(own.get_or_init(|| {
            let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
            let kept = Arc::new(PostedOperations { id, list: Mutex::new(List::new(WORDS)) });
            LISTS.lock().push(kept.clone());
            kept
        }))
    })
}

/// Runs something on the calling thread's list; executes the list if that makes it full.
fn with_own(change: impl FnOnce(&mut List)) {
    with_kept(|kept| {
        let mut list = kept.list.lock();
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

/// Executes operations while `are_wanted`.
fn execute_while(list: &mut List, mut are_wanted: impl FnMut(&List) -> bool) {
    if list.operations.is_empty() {
        return;
    }
    while !list.operations.is_empty() && are_wanted(list) {
        list.execute_chunk(deferred::exclusive);
    }
    if list.operations.is_empty() {
        USED.fetch_sub(1, Ordering::SeqCst);
    }
}

fn empty(list: &mut List) {
    execute_while(list, |_| true);
}

/// Keeps an operation on a word.
pub fn post(address: usize, size: usize, update: Update) {
    let place = memory::get().geometry().locate(address);
    with_own(|list| list.update(address, place, size, update));
}

/// Keeps a store of bytes of one block.
pub fn store(address: usize, contents: &[u8]) {
    let geometry = memory::get().geometry();
    let (block, offset) = geometry.locate(address);
    with_own(|list| list.push((block, block, offset), OperationKind::Store, contents));
}

/// Keeps a bundle of operations on a block.
pub fn bundle(block: Block, operations: &ActionList) {
    let operations = operations.actions(block.chunk());
    let Some(first) = operations.first() else { return };
    with_own(|list| list.push((block, block, first.offset), OperationKind::Bundle, operations.encoded()));
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
    let (block, offset) = geometry.locate(flag);
    let key = block.chunk().block(0);
    with_own(|list| {
        list.fence();
        for (address, contents) in stores {
            let (block, offset) = geometry.locate(*address);
            list.push((key, block, offset), OperationKind::Store, contents);
        }
        list.operations.push(Operation { key, block, offset, kind: OperationKind::Update(size, update) });
        list.fence();
    });
}

/// Whether no thread keeps anything.
pub fn is_nothing_kept() -> bool {
    USED.load(Ordering::Relaxed) == 0
}

/// What the calling thread asks for from now on comes after what it has asked for.
pub fn order() {
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
    deferred::send_all();
    if USED.load(Ordering::SeqCst) != 0 {
        flush_all();
    }
}

/// Whether [`before_release`] has nothing to do.
#[inline]
pub fn is_quiet() -> bool {
    USED.load(Ordering::SeqCst) == 0 && deferred::is_nothing_kept()
}

/// Before a lock is given back that stays cached, without a release: as [`before_release`], but for the additions of `omp atomic`, which the process's own threads see already, and
/// which others see with what is released later.
#[inline]
pub fn before_cached_unlock() {
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
        let is_used =
            |kept: &PostedOperations| kept.list.try_lock().is_none_or(|list| !list.operations.is_empty());
        lists.retain(|kept| Arc::strong_count(kept) > 1 || is_used(kept));
        lists.clone()
    };
    lists.iter().for_each(|kept| empty(&mut kept.list.lock()));
}

/// What a thread of this process had posted at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    list: u64,
    /// Number of the first operation that is not part of it.
    end: u64,
}

impl Posted {
    /// What the calling thread has posted so far.
    pub fn by_caller() -> Posted {
        with_kept(|kept| {
            let list = kept.list.lock();
            Posted { list: kept.id, end: list.first + list.operations.len() as u64 }
        })
    }

    /// As two words.
    pub fn words(self) -> [u64; 2] {
        [self.list, self.end]
    }

    /// What [`Posted::words`] were made of, if there may be such a thing.
    pub fn of_words([list, end]: [u64; 2]) -> Option<Posted> {
        (list != 0).then_some(Posted { list, end })
    }

    /// Executes operations on one more chunk, or all, unless it is done. Whether it is.
    pub fn complete(self, all: bool) -> bool {
        let _deferred = Deferred::begin();
        let found = LISTS.lock().iter().find(|kept| kept.id == self.list).cloned();
        // A thread that has ended has left nothing.
        let Some(kept) = found else { return true };
        let mut list = kept.list.lock();
        let mut left = if all { usize::MAX } else { 1 };
        execute_while(&mut list, |list| {
            let wanted = list.completed < self.end && left > 0;
            left -= usize::from(wanted);
            wanted
        });
        list.completed >= self.end
    }
}
