//! A process's memory, for what was touched only: 64-bit words, states, contents and twins of blocks, bit sets, published notices.
//!
//! Contents are shared between the copies of a block until one of them is written to, so a copy costs the simulator a record.

use std::rc::Rc;

use dsm_abi::state as abi;
use dsm_coherence::{Block, CARRIED_WORDS, Chunk, MarkKind, Notice, Rank, Word};

use crate::engine::Map;

/// Contents of a block.
pub type Bytes = Rc<[u8]>;

/// What a process has of a block.
#[derive(Clone, Debug)]
struct Record {
    link: u64,
    rd: u64,
    wr: u64,
    state: u8,
    data: Option<Bytes>,
    twin: Option<Bytes>,
}

/// What a process has of a chunk as a whole.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    records: u64,
    lease: u64,
    chunk_version: u64,
    replaced: u64,
    homes: u64,
    write_protected: u64,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Memory {
    blocks: Map<Block, Record>,
    chunks: Map<Chunk, Header>,
    marks: Map<(MarkKind, u8, u64), u64>,
    grant: u64,
    log_state: u64,
    cursors: Map<Rank, u64>,
    log_min: u64,
    log_carried: [[u64; CARRIED_WORDS]; 2],
    /// Published notices.
    pub notices: [Vec<Notice>; 2],
    /// Words of the runtime that never migrate.
    pub control: Map<u32, u64>,
    zero: Bytes,
}

impl Memory {
    /// Memory with blocks of zeros, as long as `zero`.
    pub fn new(zero: Bytes) -> Self {
        Memory {
            blocks: Map::default(),
            chunks: Map::default(),
            marks: Map::default(),
            grant: 0,
            log_state: 0,
            cursors: Map::default(),
            log_min: 0,
            log_carried: [[0; CARRIED_WORDS]; 2],
            notices: Default::default(),
            control: Map::default(),
            zero,
        }
    }

    fn record(&mut self, block: Block, home: bool) -> &mut Record {
        self.blocks.entry(block).or_insert_with(|| Record {
            link: 0,
            rd: 0,
            wr: 0,
            state: if home { abi::WRITABLE } else { abi::COLD },
            data: None,
            twin: None,
        })
    }

    /// Reads a word; 0 where nothing was written.
    pub fn word(&self, word: Word) -> u64 {
        let record = |block, field: fn(&Record) -> u64| self.blocks.get(&block).map_or(0, field);
        let header = |chunk| self.chunks.get(&chunk).copied().unwrap_or_default();
        match word {
            Word::Link(block) => record(block, |r| r.link),
            Word::Rd(block) => record(block, |r| r.rd),
            Word::Wr(block) => record(block, |r| r.wr),
            Word::Records(chunk) => header(chunk).records,
            Word::Lease(chunk) => header(chunk).lease,
            Word::ChunkVersion(chunk) => header(chunk).chunk_version,
            Word::Replaced(chunk) => header(chunk).replaced,
            Word::Homes(chunk) => header(chunk).homes,
            Word::WriteProtected(chunk) => header(chunk).write_protected,
            Word::Mark { kind, level, index } => self.marks.get(&(kind, level, index)).copied().unwrap_or(0),
            Word::Grant => self.grant,
            Word::LogState => self.log_state,
            Word::Cursor(peer) => self.cursors.get(&peer).copied().unwrap_or(0),
            Word::LogMin => self.log_min,
            Word::LogCarried { buffer, word } => self.log_carried[usize::from(buffer)][usize::from(word)],
            Word::Revoked | Word::RingTail(_) | Word::RingConsumed(_) | Word::RingEntry { .. } => 0,
        }
    }

    /// Writes a word. `home`: whether the process is the default home of the block that it belongs to.
    pub fn set_word(&mut self, word: Word, value: u64, home: bool) {
        match word {
            Word::Link(block) => self.record(block, home).link = value,
            Word::Rd(block) => self.record(block, home).rd = value,
            Word::Wr(block) => self.record(block, home).wr = value,
            Word::Records(chunk) => self.chunks.entry(chunk).or_default().records = value,
            Word::Lease(chunk) => self.chunks.entry(chunk).or_default().lease = value,
            Word::ChunkVersion(chunk) => self.chunks.entry(chunk).or_default().chunk_version = value,
            Word::Replaced(chunk) => self.chunks.entry(chunk).or_default().replaced = value,
            Word::Homes(chunk) => self.chunks.entry(chunk).or_default().homes = value,
            Word::WriteProtected(chunk) => self.chunks.entry(chunk).or_default().write_protected = value,
            Word::Mark { kind, level, index } => {
                if value == 0 {
                    self.marks.remove(&(kind, level, index));
                } else {
                    self.marks.insert((kind, level, index), value);
                }
            }
            Word::Grant => self.grant = value,
            Word::LogState => self.log_state = value,
            Word::Cursor(peer) => {
                self.cursors.insert(peer, value);
            }
            Word::LogMin => self.log_min = value,
            Word::LogCarried { buffer, word } => {
                self.log_carried[usize::from(buffer)][usize::from(word)] = value;
            }
            Word::Revoked => unreachable!("no part of the protocol is left out"),
            Word::RingTail(_) | Word::RingConsumed(_) | Word::RingEntry { .. } => {
                unreachable!("there are no rings")
            }
        }
    }

    /// State of a block.
    pub fn state(&self, block: Block, home: bool) -> u8 {
        let start = if home { abi::WRITABLE } else { abi::COLD };
        self.blocks.get(&block).map_or(start, |r| r.state)
    }

    /// Changes it.
    pub fn set_state(&mut self, block: Block, state: u8, home: bool) {
        self.record(block, home).state = state;
    }

    /// Contents of a block.
    pub fn data(&self, block: Block) -> Bytes {
        self.blocks.get(&block).and_then(|r| r.data.clone()).unwrap_or_else(|| self.zero.clone())
    }

    /// Replaces them.
    pub fn set_data(&mut self, block: Block, data: Bytes, home: bool) {
        self.record(block, home).data = Some(data);
    }

    /// Contents to be written to.
    pub fn data_mut(&mut self, block: Block, home: bool) -> &mut [u8] {
        let zero = self.zero.clone();
        Rc::make_mut(self.record(block, home).data.get_or_insert(zero))
    }

    /// Twin of a block.
    pub fn twin(&self, block: Block) -> Option<&Bytes> {
        self.blocks.get(&block)?.twin.as_ref()
    }

    /// Replaces or drops it.
    pub fn set_twin(&mut self, block: Block, twin: Option<Bytes>, home: bool) {
        self.record(block, home).twin = twin;
    }

    /// Writes the bytes in which `incoming` differs from the twin into the block, and makes `incoming` the twin.
    pub fn merge(&mut self, block: Block, incoming: &[u8], home: bool) {
        let twin = self.twin(block).expect("a block that is merged has a twin").clone();
        let data = self.data_mut(block, home);
        for ((own, old), new) in data.iter_mut().zip(twin.iter()).zip(incoming) {
            if old != new {
                *own = *new;
            }
        }
        self.set_twin(block, Some(incoming.into()), home);
    }

    /// Number of blocks that the process has touched.
    pub fn touched(&self) -> usize {
        self.blocks.len()
    }
}
