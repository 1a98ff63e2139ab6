//! `rand`, `random` and the `drand48` family: one generator of each for the job.
//!
//! The algorithms are the GNU C library's (`random_r`, `drand48_r`), so a seed gives the sequence that it gives to plain programs; their state lies in
//! words of process 0 that all processes change under a lock. A single process uses the C library's own functions.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::shared_object;
use crate::job::child;
use crate::job::library::set_errno;
use crate::{check, control, sync};
use dsm_comm::Word;
use dsm_threads::handler::Deferred;

/// Longest state.
const MOST: usize = 63;
/// Words of the job-wide state, first of the additive generator: its kind plus one; 0 before its first use.
const KIND: usize = 0;
/// Number of the older of the two words that are added next.
const REAR: usize = 1;
/// The program's buffer that the state belongs to; 0: the one from the start.
const BUFFER: usize = 2;
const STATE: usize = 3;
const LOCK: usize = STATE + MOST;
/// Then of the linear congruential one: whether it was set up, state, factor and summand.
const SET_48: usize = LOCK + 1;
const X_48: usize = SET_48 + 1;
const FACTOR_48: usize = SET_48 + 2;
const SUMMAND_48: usize = SET_48 + 3;
const LOCK_48: usize = SET_48 + 4;
/// The words that are locks, each behind those that it is for.
pub const LOCKS: [usize; 2] = [LOCK, LOCK_48];
/// First word that is free for others.
pub const END: usize = LOCK_48 + 1;

/// The state where that of the job is not mapped, while a thread of this process has the lock.
static COPY: [AtomicU64; END] = [const { AtomicU64::new(0) }; END];

/// A word of the state. Programs fill arrays by these functions: all of its words are looked up once.
#[inline]
fn word(i: usize) -> Word {
    if child::is_child() {
        return super::word(i);
    }
    static WORDS: OnceLock<[Word; END]> = OnceLock::new();
    let place = |i: usize| if is_far() { Word::of(&COPY[i]) } else { super::word(i) };
    WORDS.get_or_init(|| std::array::from_fn(place))[i]
}

fn is_far() -> bool {
    !control::is_mapped(0)
}

/// Runs `body`, which does nothing but some operations on the state, while no other thread of the job has the lock. Where the state is far, it comes in one message, and goes back in one with the lock.
fn locked<R>(lock: usize, body: impl FnOnce() -> R) -> R {
    let _deferred = Deferred::begin();
    let is_copied = is_far() && !child::is_child();
    let place = if is_copied { super::word(lock) } else { word(lock) };
    while place.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::thread::yield_now();
    }
    if !is_copied {
        let result = body();
        place.store(0, Ordering::Release);
        return result;
    }
    let first = if lock == LOCK { KIND } else { SET_48 };
    let mut words = [0; END];
    let words = &mut words[first..=lock];
    super::read_far(first, words);
    let copy = &COPY[first..=lock];
    copy.iter().zip(&*words).for_each(|(copy, word)| copy.store(*word, Ordering::Relaxed));
    let result = body();
    words.iter_mut().zip(copy).for_each(|(word, copy)| *word = copy.load(Ordering::Relaxed));
    words[lock - first] = 0;
    super::write_far(first, words);
    result
}

fn get(i: usize) -> u64 {
    word(i).load(Ordering::Relaxed)
}

fn set(i: usize, value: u64) {
    word(i).store(value, Ordering::Relaxed);
}

/// Degree, and distance of the two words, of each kind.
const KINDS: [(usize, usize); 5] = [(0, 0), (7, 3), (15, 1), (31, 3), (63, 1)];
/// The kind that programs begin with.
const FIRST_KIND: usize = 3;

fn state(i: usize) -> Word {
    word(STATE + i)
}

fn seed(kind: usize, seed: u32) {
    let (degree, _) = KINDS[kind];
    set(KIND, kind as u64 + 1);
    set(REAR, 0);
    let mut value = if seed == 0 { 1 } else { seed.cast_signed() };
    state(0).store(u64::from(value.cast_unsigned()), Ordering::Relaxed);
    for i in 1..degree {
        // 16807 * value modulo 2^31 - 1, without overflow.
        value = 16807i32.wrapping_mul(value % 127_773).wrapping_sub(2836i32.wrapping_mul(value / 127_773));
        if value < 0 {
            value = value.wrapping_add(i32::MAX);
        }
        state(i).store(u64::from(value.cast_unsigned()), Ordering::Relaxed);
    }
    for _ in 0..10 * degree {
        next();
    }
}

fn kind() -> usize {
    if get(KIND) == 0 {
        seed(FIRST_KIND, 1);
    }
    get(KIND) as usize - 1
}

fn next() -> u32 {
    let (degree, distance) = KINDS[kind()];
    let load = |i: usize| state(i).load(Ordering::Relaxed) as u32;
    if degree == 0 {
        let value = load(0).wrapping_mul(1_103_515_245).wrapping_add(12345) & 0x7fff_ffff;
        state(0).store(value.into(), Ordering::Relaxed);
        return value;
    }
    let rear = get(REAR) as usize;
    // Less than once around: a division would take longer than all else.
    let around = |i: usize| if i < degree { i } else { i - degree };
    let front = around(rear + distance);
    let value = load(front).wrapping_add(load(rear));
    state(front).store(value.into(), Ordering::Relaxed);
    set(REAR, around(rear + 1) as u64);
    value >> 1
}

unsafe extern "C" {
    fn srandom(seed: u32);
    fn random() -> i64;
    fn initstate(seed: u32, buffer: *mut i8, bytes: usize) -> *mut i8;
    fn setstate(buffer: *mut i8) -> *mut i8;
    fn drand48() -> f64;
    fn lrand48() -> i64;
    fn mrand48() -> i64;
    fn erand48(state: *mut u16) -> f64;
    fn nrand48(state: *mut u16) -> i64;
    fn jrand48(state: *mut u16) -> i64;
    fn srand48(seed: i64);
    fn seed48(state: *mut u16) -> *mut u16;
    fn lcong48(words: *mut u16);
}

/// `srand`, `srandom`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_srandom(value: u32) {
    if sync::size() == 1 {
        // SAFETY: any seed will do.
        return unsafe { srandom(value) };
    }
    locked(LOCK, || seed(kind(), value));
}

/// `random`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_random() -> i64 {
    if sync::size() == 1 {
        // SAFETY: takes a lock of its own.
        return unsafe { random() };
    }
    locked(LOCK, next).into()
}

/// `rand`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_rand() -> i32 {
    __dsm_random() as i32
}

/// The state as the C library has it in a buffer: kind and position, then the words.
struct Saved {
    /// The program's buffer that the state belongs to; 0: none.
    buffer: usize,
    contents: [u32; MOST + 1],
    /// How many of these there are.
    count: usize,
}

impl Saved {
    /// The present state; while the lock is held.
    fn present() -> Saved {
        let kind = kind();
        let count = KINDS[kind].0.max(1) + 1;
        let header = get(REAR) as usize * KINDS.len() + kind;
        let content = |i: usize| match i {
            0 => header as u32,
            i if i < count => state(i - 1).load(Ordering::Relaxed) as u32,
            _ => 0,
        };
        Saved { buffer: get(BUFFER) as usize, contents: std::array::from_fn(content), count }
    }

    /// Writes it into its buffer, or a new one; the buffer.
    fn put_away(&self) -> *mut i8 {
        let bytes = 4 * self.count;
        let buffer = if self.buffer == 0 { shared_object(bytes) } else { self.buffer };
        check::writable(buffer, bytes);
        // SAFETY: the program's buffer has space for the kind that it was given for; it is writable now.
        unsafe { (buffer as *mut u8).copy_from_nonoverlapping(self.contents.as_ptr().cast(), bytes) };
        buffer as *mut i8
    }
}

/// `initstate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_initstate(value: u32, buffer: *mut i8, bytes: usize) -> *mut i8 {
    if sync::size() == 1 {
        // SAFETY: the program's arguments.
        return unsafe { initstate(value, buffer, bytes) };
    }
    let Some(kind) = [8, 32, 64, 128, 256].iter().rposition(|least| bytes >= *least) else {
        set_errno(libc::EINVAL);
        return std::ptr::null_mut();
    };
    let before = locked(LOCK, || {
        let before = Saved::present();
        seed(kind, value);
        set(BUFFER, buffer as u64);
        before
    });
    before.put_away()
}

/// `setstate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setstate(buffer: *mut i8) -> *mut i8 {
    if sync::size() == 1 {
        // SAFETY: the program's argument.
        return unsafe { setstate(buffer) };
    }
    let before = locked(LOCK, Saved::present).put_away();
    let load = |i: usize| {
        check::readable(buffer as usize + 4 * i, 4);
        // SAFETY: a buffer that one of these functions filled, made readable.
        unsafe { buffer.cast::<u32>().add(i).read_unaligned() }
    };
    let header = load(0) as usize;
    let (kind, rear) = (header % KINDS.len(), header / KINDS.len());
    let words: Vec<u32> = (1..=KINDS[kind].0.max(1)).map(load).collect();
    locked(LOCK, || {
        set(KIND, kind as u64 + 1);
        set(REAR, rear as u64);
        for (i, value) in words.iter().enumerate() {
            state(i).store((*value).into(), Ordering::Relaxed);
        }
        set(BUFFER, buffer as u64);
    });
    before
}

const MASK_48: u64 = (1 << 48) - 1;
const FACTOR: u64 = 0x5_deec_e66d;
const SUMMAND: u64 = 0xb;

fn set_up_48() {
    if get(SET_48) == 0 {
        seed_48(0);
    }
}

fn seed_48(state: u64) {
    set(SET_48, 1);
    set(X_48, state);
    set(FACTOR_48, FACTOR);
    set(SUMMAND_48, SUMMAND);
}

fn step_48(state: u64) -> u64 {
    state.wrapping_mul(get(FACTOR_48)).wrapping_add(get(SUMMAND_48)) & MASK_48
}

fn next_48() -> u64 {
    locked(LOCK_48, || {
        set_up_48();
        set(X_48, step_48(get(X_48)));
        get(X_48)
    })
}

/// The three words of a state of the program.
unsafe fn load_48(words: *const u16) -> u64 {
    check::readable(words as usize, 6);
    // SAFETY: the caller's three words, made readable.
    let words = unsafe { words.cast::<[u16; 3]>().read_unaligned() };
    words.iter().rev().fold(0, |state, word| state << 16 | u64::from(*word))
}

unsafe fn store_48(words: *mut u16, state: u64) {
    check::writable(words as usize, 6);
    // SAFETY: the caller's three words, writable now.
    unsafe { words.cast::<[u16; 3]>().write_unaligned([0, 16, 32].map(|shift| (state >> shift) as u16)) };
}

/// A step of a state that is the program's; factor and summand are the job's.
unsafe fn next_of(words: *mut u16) -> u64 {
    // SAFETY: as the program promises.
    unsafe {
        let state = load_48(words);
        let next = locked(LOCK_48, || {
            set_up_48();
            step_48(state)
        });
        store_48(words, next);
        next
    }
}

fn to_double(state: u64) -> f64 {
    state as f64 / (1u64 << 48) as f64
}

fn to_long(state: u64) -> i64 {
    (state >> 17) as i64
}

fn to_signed(state: u64) -> i64 {
    ((state >> 16) as i32).into()
}

/// Functions of the family: its name here, the C library's, and what a state becomes.
macro_rules! family {
    ($($own:ident $library:ident $of:ident $of_library:ident $result:ty = $convert:expr;)*) => {$(
        #[doc = concat!("`", stringify!($library), "`.")]
        #[unsafe(no_mangle)]
        extern "C" fn $own() -> $result {
            if sync::size() == 1 {
                // SAFETY: no arguments.
                return unsafe { $library() };
            }
            $convert(next_48())
        }

        #[doc = concat!("`", stringify!($of_library), "`.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $of(words: *mut u16) -> $result {
            if sync::size() == 1 {
                // SAFETY: the program's argument.
                return unsafe { $of_library(words) };
            }
            // SAFETY: the program passes three words.
            $convert(unsafe { next_of(words) })
        }
    )*};
}

family! {
    __dsm_drand48 drand48 __dsm_erand48 erand48 f64 = to_double;
    __dsm_lrand48 lrand48 __dsm_nrand48 nrand48 i64 = to_long;
    __dsm_mrand48 mrand48 __dsm_jrand48 jrand48 i64 = to_signed;
}

/// `srand48`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_srand48(value: i64) {
    if sync::size() == 1 {
        // SAFETY: any seed will do.
        return unsafe { srand48(value) };
    }
    locked(LOCK_48, || seed_48((value as u64 & 0xffff_ffff) << 16 | 0x330e));
}

/// `seed48`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_seed48(words: *mut u16) -> *mut u16 {
    if sync::size() == 1 {
        // SAFETY: the program's argument.
        return unsafe { seed48(words) };
    }
    let before = shared_object(6) as *mut u16;
    // SAFETY: the program passes three words; the object has space for three.
    unsafe {
        let state = load_48(words);
        locked(LOCK_48, || {
            set_up_48();
            store_48(before, get(X_48));
            seed_48(state);
        });
    }
    before
}

/// `lcong48`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_lcong48(words: *mut u16) {
    if sync::size() == 1 {
        // SAFETY: the program's argument.
        return unsafe { lcong48(words) };
    }
    check::readable(words as usize, 14);
    // SAFETY: the program passes seven words: state, factor, summand.
    let (state, factor, summand) =
        unsafe { (load_48(words), load_48(words.add(3)), words.add(6).read_unaligned()) };
    locked(LOCK_48, || {
        seed_48(state);
        set(FACTOR_48, factor);
        set(SUMMAND_48, summand.into());
    });
}
