//! Areas of all processes, word by word, and who may go on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use dsm_arrays::{Array, Fault, Memory, Rank, call, table};

use crate::coroutine::Yield;

/// Memory of the program: an operation's own.
pub type Buffer = Rc<RefCell<Vec<u8>>>;

/// What all threads share.
#[derive(Debug, Default)]
pub struct World {
    areas: Vec<HashMap<usize, u64>>,
    /// The thread that runs.
    pub current: usize,
    /// What each thread waits for.
    pub threads: Vec<Waiting>,
    changes: u64,
    asks: bool,
    caches: bool,
    fault: Option<Fault>,
    /// What happened, if somebody wants to know.
    pub trace: Option<Vec<String>>,
}

/// What a thread waits for: that others change something. What they changed since it last went on from a wait counts, as it may have looked before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    waits: bool,
    /// Changes by others when it last went on.
    seen: u64,
    /// Its own changes.
    own: u64,
}

/// The world, shared.
pub type Shared = Rc<RefCell<World>>;

impl World {
    /// Areas with an array in them, of which nothing is placed yet.
    pub fn new(
        processes: u32,
        threads: usize,
        (asks, caches): (bool, bool),
        fault: Option<Fault>,
        array: &Array,
    ) -> World {
        let mut area = HashMap::new();
        let words = std::iter::once(array.state).chain(array.shape());
        for (i, word) in words.enumerate() {
            area.insert(table::descriptor(array.index) + 8 * i, word);
        }
        World {
            areas: vec![area; processes as usize],
            threads: vec![Waiting::default(); threads],
            asks,
            caches,
            fault,
            ..World::default()
        }
    }

    /// Whether a thread can go on.
    pub fn can_run(&self, thread: usize) -> bool {
        let Waiting { waits, seen, own } = self.threads[thread];
        !waits || self.changes - own != seen
    }

    /// A word of an area.
    pub fn word(&self, at: Rank, offset: usize) -> u64 {
        assert!(offset.is_multiple_of(8), "words are aligned");
        self.areas[at.0 as usize].get(&offset).copied().unwrap_or(0)
    }

    fn set(&mut self, at: Rank, offset: usize, value: u64) {
        let changes = u64::from(self.word(at, offset) != value);
        self.changes += changes;
        self.threads[self.current].own += changes;
        self.areas[at.0 as usize].insert(offset, value);
    }

    /// Adds a line to the trace.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        let current = self.current;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("t{current}: {}", line()));
        }
    }
}

/// The areas as one process sees them.
#[derive(Clone, Debug)]
pub struct Areas {
    /// The world.
    pub world: Shared,
    /// The process.
    pub rank: Rank,
}

impl Areas {
    async fn read(&self, at: Rank, offset: usize) -> u64 {
        Yield::default().await;
        let mut world = self.world.borrow_mut();
        let value = world.word(at, offset);
        world.note(|| format!("reads {offset:#x} of {}: {value:#x}", at.0));
        value
    }

    async fn write(&self, at: Rank, offset: usize, value: u64) {
        Yield::default().await;
        let mut world = self.world.borrow_mut();
        world.note(|| format!("writes {offset:#x} of {}: {value:#x}", at.0));
        world.set(at, offset, value);
    }
}

fn words(bytes: usize) -> impl Iterator<Item = usize> {
    assert!(bytes.is_multiple_of(8), "elements are words");
    (0..bytes).step_by(8)
}

fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("a whole word"))
}

impl Memory for Areas {
    type Buffer = Buffer;

    fn rank(&self) -> Rank {
        self.rank
    }

    fn processes(&self) -> u32 {
        self.world.borrow().areas.len() as u32
    }

    fn area_bytes(&self) -> usize {
        1 << 20
    }

    fn asks(&self, at: Rank) -> bool {
        at != self.rank && self.world.borrow().asks
    }

    fn caches(&self) -> bool {
        self.world.borrow().caches
    }

    async fn load(&self, at: Rank, offset: usize) -> u64 {
        self.read(at, offset).await
    }

    async fn load_words(&self, at: Rank, offset: usize, into: &mut [u64]) {
        for (i, word) in into.iter_mut().enumerate() {
            *word = self.read(at, offset + 8 * i).await;
        }
    }

    async fn store(&self, at: Rank, offset: usize, value: u64) {
        self.write(at, offset, value).await;
    }

    async fn store_words(&self, at: Rank, offset: usize, words: &[u64]) {
        for (i, word) in words.iter().enumerate() {
            self.write(at, offset + 8 * i, *word).await;
        }
    }

    async fn compare_exchange(&self, at: Rank, offset: usize, expected: u64, new: u64) -> u64 {
        Yield::default().await;
        let mut world = self.world.borrow_mut();
        let found = world.word(at, offset);
        world
            .note(|| format!("changes {offset:#x} of {}: {expected:#x} to {new:#x}, found {found:#x}", at.0));
        if found == expected {
            world.set(at, offset, new);
        }
        found
    }

    async fn copy_out(&self, at: Rank, offset: usize, into: &Buffer, to: usize, bytes: usize) {
        for i in words(bytes) {
            let word = self.read(at, offset + i).await;
            self.give(into, to + i, &word.to_le_bytes());
        }
    }

    async fn copy_in(&self, at: Rank, offset: usize, source: &Buffer, from: usize, bytes: usize) {
        for i in words(bytes) {
            let word = word_at(&source.borrow(), from + i);
            self.write(at, offset + i, word).await;
        }
    }

    async fn fetch(&self, at: Rank, offset: usize, bytes: usize) {
        for i in words(bytes) {
            let word = self.read(at, offset + i).await;
            self.write(self.rank, offset + i, word).await;
        }
    }

    async fn read_own(&self, offset: usize, into: &mut [u8]) {
        for i in words(into.len()) {
            let word = self.read(self.rank, offset + i).await;
            into[i..i + 8].copy_from_slice(&word.to_le_bytes());
        }
    }

    async fn write_own(&self, offset: usize, contents: &[u8]) {
        for i in words(contents.len()) {
            self.write(self.rank, offset + i, word_at(contents, i)).await;
        }
    }

    async fn give_back(&self, at: Rank, offset: usize, bytes: usize) {
        for i in words(bytes) {
            self.write(at, offset + i, 0).await;
        }
    }

    fn take(&self, source: &Buffer, from: usize, into: &mut [u8]) {
        into.copy_from_slice(&source.borrow()[from..from + into.len()]);
    }

    fn give(&self, into: &Buffer, to: usize, contents: &[u8]) {
        into.borrow_mut()[to..to + contents.len()].copy_from_slice(contents);
    }

    fn clear(&self, into: &Buffer, to: usize, bytes: usize) {
        into.borrow_mut()[to..to + bytes].fill(0);
    }

    async fn ask(&self, at: Rank, request: &[u8], reply: &mut [u8]) -> usize {
        let owner = Areas { world: self.world.clone(), rank: at };
        // The agent's own state is not that of the requester: only the message is.
        let mut space = vec![0; call::REPLY_BYTES];
        let length =
            Box::pin(call::serve(&owner, request, &mut space)).await.expect("a request of the protocol");
        reply[..length].copy_from_slice(&space[..length]);
        length
    }

    async fn pause(&self, _: u32) {
        let current = self.world.borrow().current;
        self.world.borrow_mut().threads[current].waits = true;
        Yield::default().await;
        let world = &mut *self.world.borrow_mut();
        let thread = &mut world.threads[current];
        (thread.waits, thread.seen) = (false, world.changes - thread.own);
    }

    fn fault(&self, fault: Fault) -> bool {
        self.world.borrow().fault == Some(fault)
    }
}
