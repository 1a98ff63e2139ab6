//! `DSM_PROFILE`: which variables, allocations and source lines miss and are falsely shared, and what threads wait for.
//!
//! What costs time is noted where it is spent, in slow paths only: [`miss`] by the return address of the check, the part of memory and the state that refused;
//! [`changed`] and [`released`] at releases, which compare blocks with their twins; [`waited`] by barrier, region and lock. Of a thread's misses the first 4096 are all noted, then a
//! [`mod@sample`]. Each process keeps its tables in its segment. At the end process 0 reads all of them ([`collect`]), finds names for addresses ([`names`]), draws
//! conclusions ([`findings`]) and writes them down ([`report`]).
//!
//! Off, it costs one look at a flag in each slow path.

mod collect;
mod findings;
mod names;
mod offsets;
mod places;
mod report;
mod sample;
mod table;
mod usage;

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use dsm_abi::state;
use dsm_coherence::Extent;

use crate::config;
use crate::memory;
use dsm_abi::state::Access;
use dsm_geometry::Geometry;
use offsets::Offsets;
use sample::Sampler;
use table::{Shape, Table};

pub use report::{prepare, write};

/// Misses of an access in a part of memory.
const MISSES: Shape = Shape { words: table::KEY_WORDS + miss_word::COUNT, records: 1 << 15 };
/// Blocks that went back and forth.
const BLOCKS: Shape = Shape { words: table::KEY_WORDS + block_word::COUNT, records: 1 << 14 };
/// What threads waited for.
const WAITS: Shape = Shape { words: table::KEY_WORDS + wait_word::COUNT, records: 1 << 11 };
/// Words of the process: see [`process_word`].
const HEADER_WORDS: usize = 8;

const MISSES_AT: usize = HEADER_WORDS;
const BLOCKS_AT: usize = MISSES_AT + MISSES.area_words();
const WAITS_AT: usize = BLOCKS_AT + BLOCKS.area_words();
/// Bytes of a process's tables.
pub const AREA_BYTES: usize = 8 * (WAITS_AT + WAITS.area_words());

/// Words about a process as a whole.
mod process_word {
    /// Ticks of the clock in a second.
    pub const TICKS_PER_SECOND: usize = 0;
    /// Misses that found no space.
    pub const LOST: usize = 1;
    /// Ticks from the start to the end.
    pub const TICKS: usize = 2;
}

/// Words of a record of misses. Its key: return address of the access, then part of memory, access and state.
mod miss_word {
    /// Misses.
    pub const MISSES: usize = 0;
    /// Blocks that they were for.
    pub const BLOCKS: usize = 1;
    /// Misses for a single block.
    pub const SINGLE: usize = 2;
    /// Bytes that the program asked for.
    pub const BYTES: usize = 3;
    /// What they took.
    pub const TICKS: usize = 4;
    /// Lowest address.
    pub const LOW: usize = 5;
    /// Highest address.
    pub const HIGH: usize = 6;
    /// The distance that the most recent misses mostly have from the thread's misses of the same access before.
    pub const STRIDE: usize = 7;
    /// How far it leads over others: the majority vote of Boyer and Moore.
    pub const VOTES: usize = 8;
    /// Misses at the distance that led then.
    pub const STRIDED: usize = 9;
    /// Misses of blocks that were not all zeros: somebody had written there.
    pub const FILLED: usize = 10;
    /// The calls that led there the first time, where the access has no address of its own.
    pub const FRAMES: usize = 11;
    pub const COUNT: usize = FRAMES + super::FRAMES;
}

/// Words of a record of a block. Its key: first address and size.
mod block_word {
    use super::offsets;

    /// The block's share of the time of misses of copies that somebody else's write or reading has ended.
    pub const TICKS: usize = 0;
    /// Its share of the time of releases that found it changed.
    pub const RELEASE_TICKS: usize = 1;
    /// Misses that it was part of, and releases that found it changed.
    pub const MISSES: usize = 2;
    pub const CHANGES: usize = 3;
    /// Return address of the last access to write, and to read.
    pub const LAST_WRITE: usize = 4;
    pub const LAST_READ: usize = 5;
    /// Bytes that were to be read at misses, those that were to be written, and those that differed from the twin at releases.
    pub const READ: usize = 6;
    pub const WRITTEN: usize = READ + offsets::WORDS;
    pub const CHANGED: usize = WRITTEN + offsets::WORDS;
    pub const COUNT: usize = CHANGED + offsets::WORDS;
}

/// Words of a record of waits. Its key: what kind, and what of that kind.
mod wait_word {
    /// Times.
    pub const COUNT_OF: usize = 0;
    /// What they took, and the longest.
    pub const TICKS: usize = 1;
    pub const LONGEST: usize = 2;
    /// The calls that led there the first time.
    pub const FRAMES: usize = 3;
    pub const COUNT: usize = FRAMES + super::FRAMES;
}

/// Calls that are kept where an event has no address of its own: those of the runtime come first.
const FRAMES: usize = 12;
/// Calls that are kept of an allocation.
pub const CALLERS: usize = 4;
/// The first misses of a thread, and the first changed blocks of its releases, which are all noted.
const ALL_MISSES: u32 = 4096;
const ALL_CHANGED: u32 = 1024;
/// Of the lock operations of a thread, one in so many is measured.
const LOCKS_EVERY: u32 = 8;
/// Accesses whose last misses a thread knows.
const LAST_MISSES: usize = 64;
/// Most blocks that the time of a release is divided among.
const CHANGED_MOST: usize = 16;
/// Most blocks of one miss that are looked at one by one.
const BLOCKS_OF_MISS: u64 = 16;

/// What the calling thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Wait {
    /// A barrier: the source position that the compiler passes.
    Barrier = 1,
    /// The end of a region in process 0: the region's function.
    Join = 2,
    /// Behind a region, in the others, until the next one begins: the region's function.
    Idle = 3,
    /// Not waited: what process 0 ran alone behind a region: its function.
    Serial = 4,
    /// A lock: its name.
    Lock = 5,
    /// An atomic operation on a variable that another process has, with its address.
    Atomic = 6,
}

struct Profile {
    misses: Table,
    blocks: Table,
    waits: Table,
    header: &'static [AtomicU64],
    geometry: &'static Geometry,
    start: (u64, Instant),
}

static ON: AtomicBool = AtomicBool::new(false);
/// Whether threads of several processes have shared loops in chunks of fixed size.
static SHARES_CHUNKS: AtomicBool = AtomicBool::new(false);
static PROFILE: OnceLock<Profile> = OnceLock::new();

thread_local! {
    /// Return address of the access that the thread is making possible; 0 if unknown.
    static PLACE: Cell<usize> = const { Cell::new(0) };
    static LOCKS: Cell<u32> = const { Cell::new(0) };
    /// Records of blocks that the thread's release has found changed so far, and their number.
    static CHANGED: [Cell<Option<&'static [AtomicU64]>>; CHANGED_MOST] = const { [const { Cell::new(None) }; CHANGED_MOST] };
    static CHANGED_COUNT: Cell<usize> = const { Cell::new(0) };
    /// How many it has found, and how many those stand for that were chosen to be noted.
    static CHANGED_ALL: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    static CHANGED_SAMPLER: Cell<Sampler> = const { Cell::new(Sampler::new(ALL_CHANGED)) };
    static MISS_SAMPLER: Cell<Sampler> = const { Cell::new(Sampler::new(ALL_MISSES)) };
    /// Accesses that missed, and where they did last; by a hash of the return address.
    static LAST: [Cell<(u64, u64)>; LAST_MISSES] = const { [const { Cell::new((0, 0)) }; LAST_MISSES] };
}

/// Whether a profile was asked for, and there is anything to profile: several processes.
pub fn is_wanted() -> bool {
    !config::get().profile.is_empty()
}

/// Whether events are noted.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Threads of several processes share a loop in chunks of fixed size (`schedule(static, CHUNK)`).
pub fn chunks_are_shared() {
    SHARES_CHUNKS.store(true, Relaxed);
}

/// Starts noting. Memory is set up, and no code of the program runs yet.
pub fn init() {
    let Some(memory) = memory::get().filter(|_| is_wanted()) else { return };
    let geometry = memory.geometry;
    let area = memory.segments.own().words(geometry.profile_offset(), AREA_BYTES / 8);
    // The unwinder is loaded before anything needs it.
    places::frames().for_each(drop);
    let profile = Profile {
        misses: Table::new(MISSES, &area[MISSES_AT..BLOCKS_AT]),
        blocks: Table::new(BLOCKS, &area[BLOCKS_AT..WAITS_AT]),
        waits: Table::new(WAITS, &area[WAITS_AT..]),
        header: &area[..HEADER_WORDS],
        geometry,
        start: (ticks(), Instant::now()),
    };
    if PROFILE.set(profile).is_ok() {
        ON.store(true, Relaxed);
    }
}

/// Stops noting, and leaves what process 0 needs to know of the clock.
pub fn deposit() {
    if memory::rank() == 0 {
        ends_alone();
    }
    ON.store(false, Relaxed);
    let Some(profile) = PROFILE.get() else { return };
    let (ticks_then, then) = profile.start;
    let passed = ticks() - ticks_then;
    let per_second = passed as f64 / then.elapsed().as_secs_f64();
    profile.header[process_word::TICKS_PER_SECOND].store(per_second as u64, Relaxed);
    profile.header[process_word::TICKS].store(passed, Relaxed);
}

/// A clock that takes a few nanoseconds to look at.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return PROFILE.get().map_or(0, |p| p.start.1.elapsed().as_nanos() as u64);
}

/// Calls `access`, whose misses belong to the code that returns to `pc`.
#[inline(always)]
pub fn at<R>(pc: usize, access: impl FnOnce() -> R) -> R {
    let is_on = is_on();
    if is_on {
        PLACE.set(pc);
    }
    let result = access();
    if is_on {
        PLACE.set(0);
    }
    result
}

/// A miss, as the check sees it.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// Blocks that are asked for.
    pub extent: Extent,
    /// First and last address that the access touches, in these blocks or beyond.
    pub bytes: (usize, usize),
    /// What it needs.
    pub access: Access,
    /// The state that refused.
    pub state: u8,
}

/// Calls `work`, which makes the blocks of a miss accessible, and notes it.
#[cold]
pub fn miss(miss: Miss, work: impl FnOnce()) {
    match (sample(&MISS_SAMPLER), PROFILE.get()) {
        (weight @ 1.., Some(profile)) => profile.miss(miss, weight, work),
        _ => work(),
    }
}

/// How many events of the calling thread the next one stands for; 0 if it is left out.
fn sample(sampler: &'static std::thread::LocalKey<Cell<Sampler>>) -> u64 {
    sampler.with(|cell| {
        let mut sampler = cell.get();
        let weight = sampler.next();
        cell.set(sampler);
        weight
    })
}

/// A record of misses is for memory of so many bytes.
const PART_SHIFT: u32 = 16;
/// Stands for all parts, when there is no space for more records.
const ANY_PART: u64 = u64::MAX >> 8;

/// Second word of the key of a record of misses.
fn miss_key(part: u64, access: Access, state: u8) -> u64 {
    part << 8 | (access as u64) << 4 | u64::from(state)
}

/// Access, as its number, and state of a record of misses.
fn access_and_state(key: u64) -> (u64, u8) {
    (key >> 4 & 0xf, (key & 0xf) as u8)
}

/// Adds to a word that other threads may change at the same time, whose changes may be lost.
fn add(word: &AtomicU64, more: u64) {
    word.store(word.load(Relaxed).wrapping_add(more), Relaxed);
}

impl Profile {
    /// `weight`: how many misses it stands for.
    fn miss(&self, miss: Miss, weight: u64, work: impl FnOnce()) {
        let pc = PLACE.get() as u64;
        let Miss { extent, access, state, .. } = miss;
        let (start, bytes) = (self.geometry.address(extent.first), self.geometry.block_bytes(extent.first));
        let low = miss.bytes.0.max(start);
        let high = miss.bytes.1.min(start + extent.count as usize * bytes - 1);
        let key = |part| [pc, miss_key(part, access, state)];
        let begin = |words: &[AtomicU64]| {
            words[miss_word::LOW].store(u64::MAX, Relaxed);
            if pc == 0 {
                places::keep(&words[miss_word::FRAMES..]);
            }
        };
        let record = (self.misses.find_or_add(key(low as u64 >> PART_SHIFT), begin))
            .or_else(|| self.misses.find_or_add(key(ANY_PART), begin));
        let Some(words) = record else {
            self.header[process_word::LOST].fetch_add(1, Relaxed);
            return work();
        };
        words[miss_word::MISSES].fetch_add(weight, Relaxed);
        words[miss_word::BLOCKS].fetch_add(weight * extent.count, Relaxed);
        add(&words[miss_word::SINGLE], weight * u64::from(extent.count == 1));
        add(&words[miss_word::BYTES], weight * (high - low + 1) as u64);
        note_range(words, low as u64, high as u64, distance(pc, low as u64), weight);
        let before = ticks();
        work();
        let took = weight * (ticks() - before);
        add(&words[miss_word::TICKS], took);
        add(&words[miss_word::FILLED], weight * u64::from(is_filled(start, bytes)));
        if state != state::COLD {
            self.note_blocks(miss, bytes, weight, took);
        }
    }

    /// Notes what of the blocks the access touches.
    fn note_blocks(&self, miss: Miss, bytes: usize, weight: u64, took: u64) {
        let Miss { extent, bytes: (low, high), access, .. } = miss;
        let pc = PLACE.get() as u64;
        // Of many, the first ones and the last: what several processes write in parts of their own is shared where the parts meet.
        let first = extent.blocks().take((extent.count.min(BLOCKS_OF_MISS) - 1) as usize);
        for block in first.chain(extent.blocks().last()) {
            let start = self.geometry.address(block);
            let key = [start as u64, bytes as u64];
            let record = match self.blocks.find(key) {
                None if self.is_left_out(key) => None,
                None => self.blocks.find_or_add(key, |_| ()),
                found => found,
            };
            let Some(words) = record else { continue };
            let touched = low.max(start) - start..=high.min(start + bytes - 1) - start;
            let touched = Offsets::of(*touched.start(), *touched.end(), bytes);
            let (offsets, last) = match access {
                Access::Read => (block_word::READ, block_word::LAST_READ),
                _ => (block_word::WRITTEN, block_word::LAST_WRITE),
            };
            touched.add_to(&words[offsets..]);
            words[last].store(pc, Relaxed);
            add(&words[block_word::TICKS], took / extent.count);
            add(&words[block_word::MISSES], weight);
        }
    }

    /// The fuller the table is, the fewer blocks are added: the same ones in every process, so that what they did can be compared.
    fn is_left_out(&self, key: table::Key) -> bool {
        let one_in = match self.blocks.fill() {
            0..128 => 1,
            128..192 => 8,
            _ => 64,
        };
        !(table::hash(key) >> 32).is_multiple_of(one_in)
    }
}

/// How far the miss at `low` lies from the thread's last one of the access at `pc`, if that is known.
fn distance(pc: u64, low: u64) -> Option<u64> {
    if pc == 0 {
        return None;
    }
    let place = table::hash([pc, 0]) as usize % LAST_MISSES;
    let (last_pc, last) = LAST.with(|all| all[place].replace((pc, low)));
    (last_pc == pc).then(|| low.wrapping_sub(last))
}

/// Whether a block of `bytes` at `start`, which was just made accessible, is not all zeros.
fn is_filled(start: usize, bytes: usize) -> bool {
    // SAFETY: a block of the shared data is mapped and aligned to words; it may be written meanwhile.
    let word = |i: usize| unsafe { AtomicU64::from_ptr((start as *mut u64).add(i)) }.load(Relaxed);
    (0..bytes / 8).any(|i| word(i) != 0)
}

/// Remembers how far the misses of a record reach and how far they lie from each other.
fn note_range(words: &[AtomicU64], low: u64, high: u64, distance: Option<u64>, weight: u64) {
    let load = |word: usize| words[word].load(Relaxed);
    if low < load(miss_word::LOW) {
        words[miss_word::LOW].store(low, Relaxed);
    }
    if high > load(miss_word::HIGH) {
        words[miss_word::HIGH].store(high, Relaxed);
    }
    let Some(distance) = distance else { return };
    if distance == load(miss_word::STRIDE) {
        add(&words[miss_word::VOTES], 1);
        add(&words[miss_word::STRIDED], weight);
    } else if load(miss_word::VOTES) == 0 {
        words[miss_word::STRIDE].store(distance, Relaxed);
        words[miss_word::VOTES].store(1, Relaxed);
    } else {
        add(&words[miss_word::VOTES], u64::MAX);
    }
}

/// At a release: the block of `bytes` at `address` differs from its twin.
///
/// # Safety
/// Block and twin are mapped, for `bytes` bytes each, and aligned to words.
#[cold]
pub unsafe fn changed(address: usize, bytes: usize, own: *const u8, twin: *const u8) {
    let Some(profile) = PROFILE.get() else { return };
    let weight = sample(&CHANGED_SAMPLER);
    let (found, chosen) = CHANGED_ALL.get();
    CHANGED_ALL.set((found + 1, chosen + weight));
    if weight == 0 {
        return;
    }
    let Some(words) = profile.blocks.find([address as u64, bytes as u64]) else { return };
    add(&words[block_word::CHANGES], weight);
    let count = CHANGED_COUNT.get();
    if count < CHANGED_MOST {
        CHANGED.with(|all| all[count].set(Some(words)));
        CHANGED_COUNT.set(count + 1);
    }
    let word = |at: *const u8, i: usize| {
        // SAFETY: word `i` of what the caller promises; it may be written meanwhile.
        unsafe { AtomicU64::from_ptr(at.cast_mut().cast::<u64>().add(i)) }.load(Relaxed)
    };
    let offsets = Offsets::of_difference(bytes, |i| word(own, i) ^ word(twin, i));
    offsets.add_to(&words[block_word::CHANGED..]);
}

/// A release has ended that began at `since`.
#[inline(always)]
pub fn released(since: u64) {
    if since != 0 && CHANGED_ALL.get().0 != 0 {
        share_release(ticks().saturating_sub(since));
    }
}

/// Divides the time among the blocks that were noted; it stands for that of as many releases as these stand for blocks.
#[cold]
fn share_release(took: u64) {
    let (found, chosen) = CHANGED_ALL.take();
    let count = CHANGED_COUNT.take() as u64;
    CHANGED.with(|all| {
        for words in all.iter().map_while(Cell::take) {
            add(&words[block_word::RELEASE_TICKS], took * chosen / found / count);
        }
    });
}

/// The time now, for [`waited`] and [`released`]; 0 if nothing is noted.
#[inline(always)]
pub fn now() -> u64 {
    if is_on() { ticks() } else { 0 }
}

/// The same for one in [`LOCKS_EVERY`] calls of the thread, else 0: for what takes less than a microsecond.
#[inline(always)]
pub fn now_and_then() -> u64 {
    if !is_on() {
        return 0;
    }
    let number = LOCKS.get().wrapping_add(1);
    LOCKS.set(number);
    if number.is_multiple_of(LOCKS_EVERY) { ticks() } else { 0 }
}

/// The thread went on; `since` is when it began to wait.
#[inline(always)]
pub fn waited(kind: Wait, what: u64, since: u64) {
    if since != 0 {
        note_wait(kind, what, since);
    }
}

#[cold]
fn note_wait(kind: Wait, what: u64, since: u64) {
    let Some(profile) = PROFILE.get() else { return };
    let took = ticks().saturating_sub(since);
    let begin = |words: &[AtomicU64]| places::keep(&words[wait_word::FRAMES..]);
    let Some(words) = profile.waits.find_or_add([kind as u64, what], begin) else { return };
    let times = if matches!(kind, Wait::Lock | Wait::Atomic) { LOCKS_EVERY.into() } else { 1 };
    words[wait_word::COUNT_OF].fetch_add(times, Relaxed);
    words[wait_word::TICKS].fetch_add(times * took, Relaxed);
    words[wait_word::LONGEST].fetch_max(took, Relaxed);
}

/// The function of the last region, 0 before the first one, and when it ended.
static LAST_REGION: AtomicU64 = AtomicU64::new(0);
static ALONE_SINCE: AtomicU64 = AtomicU64::new(0);

/// A region of several processes has ended: process 0 runs alone from now on. `task` is the region's function, 0 at the start.
pub fn begins_alone(task: u64) {
    if is_on() {
        LAST_REGION.store(task, Relaxed);
        ALONE_SINCE.store(ticks(), Relaxed);
    }
}

/// Process 0 starts a region, or ends.
pub fn ends_alone() {
    if is_on() {
        waited(Wait::Serial, LAST_REGION.load(Relaxed), ALONE_SINCE.load(Relaxed));
    }
}

/// Another process goes on after it had no region since `since`.
pub fn idled(since: u64) {
    waited(Wait::Idle, LAST_REGION.load(Relaxed), since);
}

/// Of an allocation, the calls that led to it: those behind the one that returns to `site`.
#[cold]
pub fn callers(site: usize) -> [usize; CALLERS] {
    places::behind(site)
}
