//! What all processes have noted, as process 0 reads it at the end.

use dsm_comm::Segments;

use super::offsets::{self, Offsets};
use super::table::{self, KEY_WORDS};
use super::{
    AREA_BYTES, BLOCKS, BLOCKS_AT, HEADER_WORDS, MISSES, MISSES_AT, WAITS, WAITS_AT, Wait, access_and_state,
    block_word, miss_word, places, process_word, wait_word,
};
use dsm_abi::state::Access;
use dsm_geometry::Geometry;

/// Misses of one access in one part of memory.
#[derive(Clone, Debug)]
pub struct Misses {
    /// Process.
    pub rank: u32,
    /// Return address of the access; 0 if unknown.
    pub pc: usize,
    /// What the access needed.
    pub access: Access,
    /// The state that refused.
    pub state: u8,
    /// Misses.
    pub misses: u64,
    /// Blocks that they were for.
    pub blocks: u64,
    /// Misses for one block alone.
    pub single: u64,
    /// Bytes that the program asked for.
    pub bytes: u64,
    /// Time.
    pub seconds: f64,
    /// Lowest and highest address.
    pub range: (usize, usize),
    /// The part of them that found a block that was not all zeros.
    pub filled: f64,
    /// The most frequent distance of a miss from the one before, and how many had it.
    pub stride: i64,
    /// See there.
    pub strided: u64,
}

/// What a process did to a block that went back and forth.
#[derive(Clone, Debug)]
pub struct BlockUse {
    /// Process.
    pub rank: u32,
    /// First address.
    pub address: usize,
    /// Size.
    pub bytes: usize,
    /// Time of its misses.
    pub seconds: f64,
    /// Its share of the time of releases that found it changed.
    pub released: f64,
    /// Misses that it was part of.
    pub misses: u64,
    /// Releases that found it changed.
    pub changes: u64,
    /// Bytes that were read when the block missed.
    pub read: Offsets,
    /// Bytes that were written: those that releases found, else those that were to be written when the block missed.
    pub written: Offsets,
    /// Return address of the last write that missed, and of the last read; 0 if there was none.
    pub last_write: usize,
    /// See there.
    pub last_read: usize,
}

/// What threads of a process waited for.
#[derive(Clone, Debug)]
pub struct Waited {
    /// Process.
    pub rank: u32,
    /// What kind.
    pub kind: Wait,
    /// What of that kind.
    pub what: u64,
    /// Times.
    pub times: u64,
    /// Time, over all threads.
    pub seconds: f64,
    /// The longest.
    pub longest: f64,
    /// The call in the program; 0 if unknown.
    pub call: usize,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Collected {
    /// Misses by access and part of memory.
    pub misses: Vec<Misses>,
    /// Blocks by process.
    pub blocks: Vec<BlockUse>,
    /// Waits.
    pub waits: Vec<Waited>,
    /// Misses that found no space in the tables.
    pub lost: u64,
    /// What process 0 ran.
    pub seconds: f64,
}

/// Reads the tables of all processes.
pub fn collect(segments: &Segments, geometry: &Geometry) -> Collected {
    let mut all = Collected::default();
    let mut clock = 1e9;
    for rank in 0..geometry.processes() {
        let area = geometry.profile_offset();
        let mut header = [0; HEADER_WORDS];
        segments.read_words(rank, area, &mut header);
        // A process that hangs has not said how fast its clock is.
        if header[process_word::TICKS_PER_SECOND] != 0 {
            clock = header[process_word::TICKS_PER_SECOND] as f64;
        }
        if rank == 0 {
            all.seconds = header[process_word::TICKS] as f64 / clock;
        }
        all.lost += header[process_word::LOST];
        let read = |at: usize, shape| {
            debug_assert!(8 * at < AREA_BYTES);
            table::read(segments, rank, area + 8 * at, shape)
        };
        all.misses.extend(read(MISSES_AT, MISSES).iter().filter_map(|words| misses(rank, words, clock)));
        all.blocks.extend(read(BLOCKS_AT, BLOCKS).iter().map(|words| block(rank, words, clock)));
        all.waits.extend(read(WAITS_AT, WAITS).iter().filter_map(|words| waited(rank, words, clock)));
    }
    all
}

fn misses(rank: u32, words: &[u64], clock: f64) -> Option<Misses> {
    let (number, state) = access_and_state(words[1]);
    let access =
        [Access::Read, Access::Write, Access::Overwrite].into_iter().find(|a| *a as u64 == number)?;
    let (pc, words) = (words[0] as usize, &words[KEY_WORDS..]);
    let count = words[miss_word::MISSES];
    Some(Misses {
        rank,
        pc: if pc != 0 { pc } else { places::in_program(&words[miss_word::FRAMES..]).unwrap_or(0) },
        access,
        state,
        misses: count,
        blocks: words[miss_word::BLOCKS],
        single: words[miss_word::SINGLE],
        bytes: words[miss_word::BYTES],
        seconds: words[miss_word::TICKS] as f64 / clock,
        range: (words[miss_word::LOW] as usize, words[miss_word::HIGH] as usize),
        filled: words[miss_word::FILLED] as f64 / count.max(1) as f64,
        stride: words[miss_word::STRIDE] as i64,
        strided: words[miss_word::STRIDED],
    })
}

fn block(rank: u32, words: &[u64], clock: f64) -> BlockUse {
    let (address, bytes, words) = (words[0] as usize, words[1] as usize, &words[KEY_WORDS..]);
    let kept = |at: usize| Offsets::kept(&words[at..][..offsets::WORDS]);
    let changed = kept(block_word::CHANGED);
    BlockUse {
        rank,
        address,
        bytes,
        seconds: words[block_word::TICKS] as f64 / clock,
        released: words[block_word::RELEASE_TICKS] as f64 / clock,
        misses: words[block_word::MISSES],
        changes: words[block_word::CHANGES],
        read: kept(block_word::READ),
        written: if changed.is_empty() { kept(block_word::WRITTEN) } else { changed },
        last_write: words[block_word::LAST_WRITE] as usize,
        last_read: words[block_word::LAST_READ] as usize,
    }
}

fn waited(rank: u32, words: &[u64], clock: f64) -> Option<Waited> {
    let kinds = [Wait::Barrier, Wait::Join, Wait::Idle, Wait::Serial, Wait::Lock, Wait::Atomic];
    let kind = kinds.into_iter().find(|kind| *kind as u64 == words[0])?;
    let (what, words) = (words[1], &words[KEY_WORDS..]);
    Some(Waited {
        rank,
        kind,
        what,
        times: words[wait_word::COUNT_OF],
        seconds: words[wait_word::TICKS] as f64 / clock,
        longest: words[wait_word::LONGEST] as f64 / clock,
        call: places::in_program(&words[wait_word::FRAMES..]).unwrap_or(0),
    })
}
