//! Where things are in the model: each process has one array of 64-bit cells, and every word, state, data byte, lock and notice is a cell.

use std::ops::Range;

use dsm_coherence::{Block, CHUNK_BLOCKS, Chunk, Extent, Gate, MarkKind, Notice, Rank, Word};

/// Number of a cell.
pub type Loc = u32;

/// Sizes of a run, and the numbering of its cells.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Number of blocks that programs use.
    pub blocks: usize,
    bytes: usize,
    /// Bytes of each block.
    places: Vec<Range<usize>>,
    /// Number of each block: each size has numbers of its own, with gaps where blocks have another.
    numbers: Vec<u64>,
    /// Whether a block's number tells its position.
    in_order: bool,
    /// Positions of the blocks before and after the bytes are divided anew.
    divisions: [Vec<usize>; 2],
    /// Distance of neighbours' numbers: 1 puts them into one extent, 64 into chunks of their own, 4096 into summary words of their own.
    stride: u64,
    /// Number of the first block.
    first: u64,
    /// Number of neighbouring blocks that have the same default home.
    pub home_run: usize,
    /// Space for notices in a buffer.
    pub notices: usize,
    processes: usize,
    /// Read marks in each ring, see [`Layout::with_rings`].
    ring_entries: u64,
    chunks: Vec<u64>,
    middles: Vec<u64>,
    tops: Vec<u64>,
}

/// Numbers of one size of blocks: as many as a word of the highest summary leads to.
const SIZE_SHIFT: u32 = 18;

/// What a cell is, for rules that depend on who may touch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Written by the process alone, read by peers.
    Published,
    /// Written by peers.
    Remote,
    /// Touched by the threads of the process alone.
    Local,
}

impl Layout {
    /// The layout for a number of processes and blocks of so many bytes, of four sizes at most. `resized`: the sizes that the same bytes are divided into after
    /// a change, if there is one. Numbers begin at `first`, and then are `stride` apart.
    ///
    /// # Panics
    /// With `resized`, if these are not as many bytes, or a block begins elsewhere than at a multiple of its size.
    pub fn new(
        processes: usize,
        sizes: &[usize],
        resized: &[usize],
        (first, stride): (u64, u64),
        home_run: usize,
        notices: usize,
    ) -> Self {
        let mut kinds: Vec<usize> = Vec::new();
        let (mut places, mut numbers) = (Vec::new(), Vec::new());
        for divided in [sizes, resized] {
            let mut at = 0;
            for (index, size) in divided.iter().enumerate() {
                let kind = kinds.iter().position(|kind| kind == size).unwrap_or_else(|| {
                    kinds.push(*size);
                    kinds.len() - 1
                });
                let index = match resized.is_empty() {
                    true => index,
                    false => {
                        assert!(at % size == 0, "a number stands for one place in all divisions");
                        at / size
                    }
                };
                places.push(at..at + size);
                numbers.push(((kind as u64) << SIZE_SHIFT) + first + index as u64 * stride);
                at += size;
            }
        }
        let bytes: usize = sizes.iter().sum();
        assert!(resized.is_empty() || resized.iter().sum::<usize>() == bytes, "the bytes stay the same");
        // A block that has its size before and after is the same block.
        let mut divisions = [(0..sizes.len()).collect::<Vec<_>>(), Vec::new()];
        let mut all: Vec<(u64, Range<usize>)> = Vec::new();
        for (index, (number, place)) in numbers.into_iter().zip(places).enumerate() {
            let known = all.iter().position(|(other, _)| *other == number);
            let at = known.unwrap_or(all.len());
            if known.is_none() {
                all.push((number, place));
            }
            if index >= sizes.len() {
                divisions[1].push(at);
            }
        }
        let (numbers, places): (Vec<u64>, Vec<Range<usize>>) = all.into_iter().unzip();
        let unique = |shift: u64| {
            let mut v: Vec<u64> = numbers.iter().map(|number| number / shift).collect();
            v.sort_unstable();
            v.dedup();
            v
        };
        Layout {
            blocks: numbers.len(),
            bytes,
            places,
            stride,
            first,
            home_run,
            notices,
            processes,
            ring_entries: 0,
            chunks: unique(CHUNK_BLOCKS),
            middles: unique(CHUNK_BLOCKS * 64),
            tops: unique(CHUNK_BLOCKS * 64 * 64),
            numbers,
            in_order: resized.is_empty(),
            divisions,
        }
    }

    /// The same with rings of so many read marks.
    pub fn with_rings(mut self, entries: u64) -> Self {
        self.ring_entries = entries;
        self
    }

    /// Read marks in each ring.
    pub fn ring_entries(&self) -> u64 {
        self.ring_entries
    }

    /// Number of data bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of a block.
    pub fn block_bytes(&self, block: Block) -> usize {
        self.places[self.index(block)].len()
    }

    /// Bytes of the longest block.
    pub fn longest_block(&self) -> usize {
        self.places.iter().map(|place| place.len()).max().unwrap_or(0)
    }

    /// Positions of the blocks that there are in a division of the bytes.
    pub fn division(&self, division: usize) -> &[usize] {
        &self.divisions[division]
    }

    /// Whether a block is one in a division of the bytes.
    pub fn is_current(&self, block: Block, division: usize) -> bool {
        self.in_order || self.divisions[division].contains(&self.index(block))
    }

    /// The block of a division that is where a block is or was.
    pub fn current(&self, block: Block, division: usize) -> Block {
        match self.is_current(block, division) {
            true => block,
            false => self.block(self.index_at(self.addr(block), division)),
        }
    }

    /// Position of the block that holds a byte.
    pub fn index_at(&self, addr: usize, division: usize) -> usize {
        let division = &self.divisions[division];
        division[division.partition_point(|index| self.places[*index].end <= addr)]
    }

    /// Position of a block among the used ones.
    pub fn index(&self, block: Block) -> usize {
        self.used(block).unwrap_or_else(|| panic!("{block:?} unused"))
    }

    fn used(&self, block: Block) -> Option<usize> {
        if !self.in_order {
            return self.numbers.iter().position(|number| *number == block.0);
        }
        let number = (block.0 & ((1 << SIZE_SHIFT) - 1)).checked_sub(self.first)?;
        let index = (number / self.stride) as usize;
        (self.numbers.get(index) == Some(&block.0)).then_some(index)
    }

    /// The used block at a position.
    pub fn block(&self, index: usize) -> Block {
        Block(self.numbers[index])
    }

    /// The extents that cover a run of bytes in a division of them.
    pub fn extents(&self, addr: usize, len: usize, division: usize) -> Vec<Extent> {
        let mut extents: Vec<Extent> = Vec::new();
        let covers =
            |index: &&usize| self.places[**index].start < addr + len && addr < self.places[**index].end;
        for block in self.divisions[division].iter().filter(covers).map(|index| self.block(*index)) {
            match extents.last_mut() {
                Some(last) if last.end() == block => last.count += 1,
                _ => extents.push(Extent::single(block)),
            }
        }
        extents
    }

    /// The blocks of an extent of [`Layout::extents`] of which no byte is left out.
    pub fn whole(&self, extent: Extent, addr: usize, len: usize) -> Option<Extent> {
        let inside = |block: &Block| {
            let first = self.addr(*block);
            addr <= first && first + self.block_bytes(*block) <= addr + len
        };
        let first = extent.blocks().find(inside)?;
        let count = extent.blocks().filter(inside).count() as u64;
        Some(Extent::new(first, count))
    }

    /// Number of words of the highest level of a bit set.
    pub fn top_mark_words(&self) -> u64 {
        self.tops.last().map_or(0, |top| top + 1)
    }

    fn marks(&self) -> usize {
        self.chunks.len() + self.middles.len() + self.tops.len()
    }

    fn base_marks(&self) -> usize {
        4 * self.blocks + self.bytes()
    }

    fn base_words(&self) -> usize {
        self.base_marks() + MarkKind::ALL.len() * self.marks()
    }

    fn base_records(&self) -> usize {
        self.base_words() + 6 + self.chunks.len()
    }

    fn base_notices(&self) -> usize {
        self.base_records() + 6 * self.chunks.len()
    }

    fn header(&self, word: usize, chunk: Chunk) -> Option<usize> {
        let position = self.chunks.iter().position(|c| *c == chunk.0)?;
        Some(self.base_records() + word * self.chunks.len() + position)
    }

    /// The used blocks of a chunk, as bits of its mark words.
    pub fn existing(&self, chunk: Chunk) -> u64 {
        let blocks = (0..self.blocks).map(|index| self.block(index));
        blocks.filter(|block| block.chunk() == chunk).fold(0, |mask, block| mask | block.bit())
    }

    fn base_twins(&self) -> usize {
        self.base_notices() + 2 * self.notices
    }

    /// Number of cells of a process.
    pub fn cells(&self) -> usize {
        self.base_rings()
            + if self.ring_entries == 0 { 0 } else { self.processes * (2 + self.ring_entries as usize) }
    }

    /// Numbers of marks taken out of each reader's ring, tails, and places.
    fn base_rings(&self) -> usize {
        self.base_cursors() + self.processes + 2 + 2 * CARRIED_WORDS
    }

    /// A store to it passes a lock of the program on.
    pub fn hand_over(&self) -> Loc {
        (self.base_cursors() + self.processes) as Loc
    }

    fn base_cursors(&self) -> usize {
        self.base_twins() + self.bytes()
    }

    /// Cell of a word; `None` for words that stay zero because no used block has to do with them.
    pub fn word(&self, word: Word) -> Option<Loc> {
        let at = match word {
            Word::Link(b) => self.used(b)?,
            Word::Rd(b) => self.blocks + self.used(b)?,
            Word::Wr(b) => 2 * self.blocks + self.used(b)?,
            Word::Records(chunk) => self.header(0, chunk)?,
            Word::Lease(chunk) => self.header(1, chunk)?,
            Word::ChunkVersion(chunk) => self.header(2, chunk)?,
            Word::Replaced(chunk) => self.header(3, chunk)?,
            Word::Homes(chunk) => self.header(4, chunk)?,
            Word::WriteProtected(chunk) => self.header(5, chunk)?,
            Word::Mark { kind, level, index } => {
                let (skip, list) = match level {
                    0 => (0, &self.chunks),
                    1 => (self.chunks.len(), &self.middles),
                    _ => (self.chunks.len() + self.middles.len(), &self.tops),
                };
                let position = list.iter().position(|i| *i == index)?;
                self.base_marks() + kind as usize * self.marks() + skip + position
            }
            Word::Grant => self.base_words(),
            Word::LogState => self.base_words() + 1,
            Word::Cursor(peer) => self.base_cursors() + peer.0 as usize,
            Word::LogMin => self.base_words() + 2,
            Word::Revoked => self.base_cursors() + self.processes + 1,
            Word::LogCarried { buffer, word } if usize::from(word) < CARRIED_WORDS => {
                let list = self.base_cursors() + self.processes + 2 + usize::from(buffer) * CARRIED_WORDS;
                list + usize::from(word)
            }
            // The lists that are explored are too short for it.
            Word::LogCarried { .. } => return None,
            _ if self.ring_entries == 0 => return None,
            Word::RingConsumed(reader) => self.base_rings() + reader.0 as usize,
            Word::RingTail(reader) => self.base_rings() + self.processes + reader.0 as usize,
            Word::RingEntry { reader, slot } => {
                let ring = u64::from(reader.0) * self.ring_entries;
                self.base_rings() + 2 * self.processes + (ring + slot) as usize
            }
        };
        Some(at as Loc)
    }

    /// State of a block.
    pub fn state(&self, block: Block) -> Loc {
        (3 * self.blocks + self.index(block)) as Loc
    }

    /// A data byte.
    pub fn data(&self, addr: usize) -> Loc {
        (4 * self.blocks + addr) as Loc
    }

    /// A twin's byte.
    pub fn twin(&self, addr: usize) -> Loc {
        (self.base_twins() + addr) as Loc
    }

    /// First data byte of a block.
    pub fn addr(&self, block: Block) -> usize {
        self.places[self.index(block)].start
    }

    /// A gate's lock.
    pub fn gate(&self, gate: Gate) -> Loc {
        (self.base_words() + 3 + gate as usize) as Loc
    }

    /// Whether a release keeps the process's other threads inside the runtime.
    pub fn exclusive(&self) -> Loc {
        (self.base_words() + 5) as Loc
    }

    /// A chunk's lock.
    pub fn chunk(&self, chunk: Chunk) -> Loc {
        let position = self.chunks.iter().position(|c| *c == chunk.0).expect("a chunk with used blocks");
        (self.base_words() + 6 + position) as Loc
    }

    /// A notice in a buffer.
    pub fn notice(&self, buffer: u8, index: u32) -> Loc {
        assert!((index as usize) < self.notices, "notice {index} is beyond the buffer");
        (self.base_notices() + usize::from(buffer) * self.notices + index as usize) as Loc
    }

    /// Who touches a cell.
    pub fn class(&self, loc: Loc) -> Class {
        let at = loc as usize;
        let marks = self.base_marks();
        if at < 3 * self.blocks || at == self.base_words() {
            return Class::Remote;
        }
        if (3 * self.blocks..4 * self.blocks).contains(&at) {
            return Class::Local;
        }
        if (marks..self.base_words()).contains(&at) {
            let kind = (at - marks) / self.marks();
            let remote = kind == MarkKind::Read as usize || kind == MarkKind::Taken as usize;
            // A miss that takes a home looks whether stores are under way there, or mostly are.
            let looked_at = kind == MarkKind::Dirty as usize || kind == MarkKind::Contended as usize;
            let other = if looked_at { Class::Published } else { Class::Local };
            return if remote { Class::Remote } else { other };
        }
        if (self.base_words() + 3..self.base_records()).contains(&at) {
            return Class::Local;
        }
        if (self.base_records()..self.base_notices()).contains(&at) {
            return Class::Remote;
        }
        if loc == self.hand_over() {
            return Class::Published;
        }
        if at >= self.base_rings() {
            let is_own = at < self.base_rings() + self.processes;
            return if is_own { Class::Published } else { Class::Remote };
        }
        if Some(loc) == self.word(Word::Revoked) {
            return Class::Remote;
        }
        if at > self.base_cursors() + self.processes + 1 {
            return Class::Published;
        }
        if at >= self.base_cursors() {
            return Class::Local;
        }
        if at >= self.base_twins() { Class::Remote } else { Class::Published }
    }

    /// A cell's name in traces.
    pub fn name(&self, loc: Loc) -> String {
        let at = loc as usize;
        let b = self.blocks;
        match at {
            _ if at < b => format!("link[{at}]"),
            _ if at < 2 * b => format!("rd[{}]", at - b),
            _ if at < 3 * b => format!("wr[{}]", at - 2 * b),
            _ if at < 4 * b => format!("state[{}]", at - 3 * b),
            _ if at < self.base_marks() => format!("data[{}]", at - 4 * b),
            _ if at < self.base_words() => {
                let at = at - self.base_marks();
                format!("{:?}.{}", MarkKind::ALL[at / self.marks()], at % self.marks())
            }
            _ if (self.base_records()..self.base_notices()).contains(&at) => {
                let at = at - self.base_records();
                format!(
                    "{} {}",
                    ["records lock", "lease", "chunk version", "replaced", "homes", "write-protected"]
                        [at / self.chunks.len()],
                    at % self.chunks.len()
                )
            }
            _ if at < self.base_records() => {
                let at = at - self.base_words();
                ["grant", "log", "logmin", "gate publish", "gate acquire", "exclusive"]
                    .get(at)
                    .map_or_else(|| format!("chunk lock {}", at - 6), |s| (*s).to_string())
            }
            _ if at < self.base_twins() => format!("notice[{}]", at - self.base_notices()),
            _ if at < self.base_cursors() => format!("twin[{}]", at - self.base_twins()),
            _ if loc == self.hand_over() => "hand-over".to_string(),
            _ if Some(loc) == self.word(Word::Revoked) => "revoked".to_string(),
            _ if at >= self.base_rings() => {
                let at = at - self.base_rings();
                match at / self.processes {
                    0 => format!("consumed[{at}]"),
                    1 => format!("tail[{}]", at - self.processes),
                    _ => format!("ring[{}]", at - 2 * self.processes),
                }
            }
            _ if at > self.base_cursors() + self.processes + 1 => {
                format!("carried[{}]", at - self.base_cursors() - self.processes - 2)
            }
            _ => format!("cursor[{}]", at - self.base_cursors()),
        }
    }
}

/// Words of [`Word::LogCarried`] for each list: for lists of up to 127 notices.
const CARRIED_WORDS: usize = 8;

/// Where a notice's first block, number of blocks and writer begin in a cell. Below is the version, above whether it is a merged one.
const FIRST: u32 = 24;
const COUNT: u32 = 46;
const WRITER: u32 = 58;
const MERGED: u32 = 63;

/// A notice as a cell's value.
pub fn pack(notice: Notice) -> u64 {
    let (first, count, writer) = (notice.extent.first.0, notice.extent.count, u64::from(notice.writer.0));
    assert!(notice.wr_ts >> FIRST == 0 && first >> (COUNT - FIRST) == 0);
    assert!(count >> (WRITER - COUNT) == 0 && writer >> (MERGED - WRITER) == 0);
    notice.wr_ts | first << FIRST | count << COUNT | writer << WRITER | u64::from(notice.merged) << MERGED
}

/// The notice in a cell.
pub fn unpack(value: u64) -> Notice {
    let field = |from: u32, to: u32| value >> from & ((1 << (to - from)) - 1);
    Notice {
        writer: Rank(field(WRITER, MERGED) as u32),
        extent: Extent::new(Block(field(FIRST, COUNT)), field(COUNT, WRITER)),
        wr_ts: field(0, FIRST),
        merged: value >> MERGED != 0,
    }
}
