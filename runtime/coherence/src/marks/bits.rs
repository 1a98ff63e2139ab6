//! A fabric for the tests of bit sets: it has their words and nothing else.

use std::fmt::Debug;

use crate::Fault;
use crate::fabric::{Fabric, Gate, Word};
use crate::types::{Block, Chunk, Extent, Header, Notice, Rank, Record, Timestamp};

/// What a read-modify-write does.
#[derive(Clone, Copy)]
pub enum Change {
    Or(u64),
    And(u64),
}

#[cfg(not(loom))]
mod words {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::{Change, Rank, Word};

    /// All words of all processes, 0 if they are not there.
    #[derive(Debug, Default)]
    pub struct Words(Mutex<BTreeMap<(Rank, Word), u64>>);

    impl Words {
        pub fn load(&self, at: Rank, word: Word) -> u64 {
            self.0.lock().unwrap().get(&(at, word)).copied().unwrap_or(0)
        }

        pub fn change(&self, at: Rank, word: Word, change: Change) -> u64 {
            let mut words = self.0.lock().unwrap();
            let value = words.entry((at, word)).or_default();
            let old = *value;
            *value = match change {
                Change::Or(bits) => old | bits,
                Change::And(bits) => old & bits,
            };
            old
        }

        /// The words that are not 0.
        pub fn left(&self) -> Vec<(Rank, Word)> {
            self.0.lock().unwrap().iter().filter(|(_, value)| **value != 0).map(|(word, _)| *word).collect()
        }
    }
}

#[cfg(loom)]
mod words {
    use loom::sync::atomic::{AtomicU64, Ordering, fence};

    use super::{Change, Rank, Word};

    /// Words that a model uses, of one process. The model knows sequential consistency between fences only.
    #[derive(Debug)]
    pub struct Words(pub Vec<(Word, AtomicU64)>);

    impl Words {
        fn find(&self, word: Word) -> Option<&AtomicU64> {
            self.0.iter().find(|(name, _)| *name == word).map(|(_, value)| value)
        }

        fn of(&self, word: Word) -> &AtomicU64 {
            self.find(word).expect("a word of the model")
        }

        /// Sets that the model does not use are empty.
        pub fn load(&self, _: Rank, word: Word) -> u64 {
            self.find(word).map_or(0, |value| value.load(Ordering::Acquire))
        }

        pub fn change(&self, _: Rank, word: Word, change: Change) -> u64 {
            let old = match change {
                Change::Or(bits) => self.of(word).fetch_or(bits, Ordering::AcqRel),
                Change::And(bits) => self.of(word).fetch_and(bits, Ordering::AcqRel),
            };
            fence(Ordering::SeqCst);
            old
        }
    }
}

pub use words::Words;

/// One process's bit sets.
#[derive(Debug)]
pub struct Bits {
    pub me: Rank,
    pub levels: u8,
    pub top_words: u64,
    pub words: Words,
    pub fault: Option<Fault>,
}

/// Operations that bit sets do not need.
macro_rules! not_needed {
    ($(fn $name:ident($($type:ty),*) $(-> $out:ty)?;)* $(async $asyncness:ident($($argument:ty),*) $(-> $output:ty)?;)*) => {
        $(fn $name(&self, $(_: $type),*) $(-> $out)? { unreachable!() })*
        $(async fn $asyncness(&self, $(_: $argument),*) $(-> $output)? { unreachable!() })*
    };
}

impl Fabric for Bits {
    type Exclusive<T: Send + Debug> = std::sync::Mutex<T>;
    type Guard<'a> = ();
    type Handle = ();

    fn rank(&self) -> Rank {
        self.me
    }

    fn mark_levels(&self) -> u8 {
        self.levels
    }

    fn top_mark_words(&self) -> u64 {
        self.top_words
    }

    async fn load(&self, at: Rank, word: Word) -> u64 {
        self.words.load(at, word)
    }

    async fn fetch_or(&self, at: Rank, word: Word, bits: u64) -> u64 {
        self.words.change(at, word, Change::Or(bits))
    }

    async fn swap_own(&self, word: Word, new: u64) -> u64 {
        assert_eq!(new, 0, "bits are taken");
        self.words.change(self.me, word, Change::And(0))
    }

    async fn clear_own(&self, word: Word, bits: u64) -> u64 {
        self.words.change(self.me, word, Change::And(!bits)) & !bits
    }

    fn own(&self, word: Word) -> u64 {
        self.words.load(self.me, word)
    }

    fn or_own(&self, word: Word, bits: u64) -> u64 {
        let now = self.own(word);
        if now & bits == bits { now } else { self.words.change(self.me, word, Change::Or(bits)) }
    }

    fn fault(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn take_own(&self, word: Word) -> u64 {
        self.words.change(self.me, word, Change::And(0))
    }

    fn set_own(&self, word: Word, value: u64) {
        self.words.change(self.me, word, Change::And(0));
        self.words.change(self.me, word, Change::Or(value));
    }

    fn size(&self) -> u32 {
        3
    }

    fn ring_entries(&self) -> u64 {
        4
    }

    not_needed! {
        fn handle(Rank, Block);
        fn target_of(()) -> (Rank, Block);
        fn block_bytes(Block) -> usize;
        fn default_home(Block) -> Rank;
        fn write_notices(u8, u32, &[Notice]);
        fn own_links(Extent, &mut [Record]);
        fn own_records(Extent, &mut [Record]);
        fn set_own_stamps(Extent, impl Fn(Block) -> [Timestamp; 2]);
        fn set_own_links(Extent, u64);
        fn state(Block) -> u8;
        fn set_state(Extent, u8);
        fn state_run(Extent) -> u64;
        fn make_twin(Extent);
        fn drop_twin(Extent);
        fn changed(Extent) -> u64;
        fn merge(Extent, &[u8], Rank);
        fn visit_changes(Block, impl FnMut(usize, &[u8]));
        fn patch_twin(Block, usize, &[u8]);
        fn overwrite(Extent, &[u8]);
        fn fence();
        fn gate_free(Gate) -> bool;
        fn begin_exclusive(bool) -> bool;
        fn is_only_thread() -> bool;
        fn end_exclusive();
        async cas(Rank, Word, u64, u64) -> u64;
        async post_store(Rank, Word, u64);
        async flush(Rank);
        async wait_change(Rank, Word, u64) -> u64;
        async fetch(Rank, Extent);
        async load_bytes(Rank, Block, usize, usize) -> u64;
        async update_bytes(Rank, Block, usize, usize, dsm_abi::atomic::Update) -> u64;
        async snapshot(Rank, Extent, &mut [u8]);
        async post_twin(Rank, Extent, &[u8]);
        async post_diff(Rank, Extent);
        async post_bytes(Rank, Block, usize, &[u8]);
        async read_records(Rank, Extent, &mut [Record]);
        async read_header(Rank, Chunk) -> Header;
        async post_stamps(Rank, Extent, impl Fn(Block) -> [Timestamp; 2]);
        async post_links(Rank, Extent, u64);
        async read_notices(Rank, u8, u32, u32, &mut Vec<Notice>);
        async lock_chunk(Chunk);
        async try_lock_chunk(Chunk) -> Option<Self::Guard<'_>>;
        async lock_gate(Gate);
    }
}
