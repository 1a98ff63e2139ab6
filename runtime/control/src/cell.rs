//! A word to wait on: spin briefly, then sleep. Works across processes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dsm_comm::Half;
use dsm_threads::fence::fence;
use dsm_threads::futex;
use dsm_threads::wait::Waitable;
use dsm_threads::yielding::Yielding;

use dsm_config as config;
use dsm_observe::progress::Now;
use dsm_observe::time::{self, Activity};
use dsm_observe::trace::Event;

/// How long a waiting thread looks before it sleeps.
static SPIN_NS: AtomicU64 = AtomicU64::new(0);
/// How often it looks before it lets others have the core in between.
static LOOKS: AtomicU32 = AtomicU32::new(1);
/// Whether it looks as long as that even if others keep the core: the user said how long.
static INSISTS: AtomicBool = AtomicBool::new(false);

/// Decides how threads wait. Where the job has more threads for this process's cores than there are of those, whoever waits lets others have the core after the first
/// look; else after about as long as it takes to fall asleep and be woken. `threads` is the number of those that may use the same cores.
pub fn init(threads: u32) {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let config = config::get();
    let spin_us = config.spin_us();
    let looks = if threads > cores || spin_us == 0 { 1 } else { 200 };
    SPIN_NS.store(u64::from(spin_us) * 1000, Ordering::Relaxed);
    LOOKS.store(looks, Ordering::Relaxed);
    INSISTS.store(spin_us > config::Config::default().spin_us(), Ordering::Relaxed);
}

fn spin_ns() -> u64 {
    SPIN_NS.load(Ordering::Relaxed)
}

fn looks() -> u32 {
    LOOKS.load(Ordering::Relaxed)
}

fn spins_anyway() -> bool {
    INSISTS.load(Ordering::Relaxed)
}

/// What waiting threads of this process found out about yielding.
static YIELDING: Yielding = Yielding::new();
/// Looks between two yields: about as long as a yield takes.
const LOOKS_BETWEEN: u32 = 20;

/// Looks at the word until `until(value)`, for as long as waiting threads spin in this job; `None` when it took too long.
///
/// First without the kernel, for what another core is about to do; then letting whoever is waited for have this core in between, unless others keep it.
/// At a word that is far away, each look is a message: there is none.
pub fn spin(word: impl Waitable, until: impl Fn(u32) -> bool) -> Option<u32> {
    if !word.is_mapped() {
        return None;
    }
    let look = |times: u32| {
        (0..times).find_map(|_| {
            let value = word.load();
            if until(value) {
                return Some(value);
            }
            std::hint::spin_loop();
            None
        })
    };
    let looks = looks();
    if let Some(value) = look(looks) {
        return Some(value);
    }
    let spin_ns = spin_ns();
    let insists = spins_anyway();
    if spin_ns == 0 || !(insists || YIELDING.begin()) {
        return None;
    }
    let deadline = Instant::now() + Duration::from_nanos(spin_ns);
    loop {
        let kept_turn = YIELDING.yield_core();
        if let Some(value) = look(looks.min(LOOKS_BETWEEN)) {
            if kept_turn {
                YIELDING.note_success();
            }
            return Some(value);
        }
        if !(kept_turn || insists) || Instant::now() >= deadline {
            return None;
        }
    }
}

/// Lets others have the core for a moment. For threads that poll what nobody would wake them for.
pub fn pass_core() {
    YIELDING.yield_or_sleep();
}

/// What a thread polled for came while it let others have the core.
pub fn polled() {
    YIELDING.note_success();
}

/// Looks that take about a microsecond; fewer where threads share cores.
pub fn short_looks() -> u32 {
    const LOOKS: u32 = 100;
    looks().min(LOOKS)
}

/// Looks at the word for about a microsecond, less where threads share cores; whether `until(value)` came.
pub fn look(word: impl Waitable, until: impl Fn(u32) -> bool) -> bool {
    let looks = if word.is_mapped() { short_looks() } else { 0 };
    for _ in 0..looks {
        if until(word.load()) {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}

fn is_traced() -> Option<Event> {
    Some(Event::wait())
}

/// Waits until `until(value)`, sleeping where needed. `sleepers` counts who may be asleep; `mask` tells them apart (see [`wake`]).
pub fn wait<W: Waitable>(word: W, sleepers: W, mask: u32, until: impl Fn(u32) -> bool) -> u32 {
    let _now = Now::begin_other();
    time::spent(Activity::Wait, is_traced, || {
        spin(word, &until).unwrap_or_else(|| word.sleep(sleepers, mask, until))
    })
}

/// As [`wait`] for a word of another process that is not mapped and was `seen`: no look at it is sent before the request to wait.
pub fn wait_change(word: Half, sleepers: Half, mask: u32, seen: u32, until: impl Fn(u32) -> bool) -> u32 {
    let _now = Now::begin_other();
    time::spent(Activity::Wait, is_traced, || word.sleep_until_changed(sleepers, mask, seen, until))
}

/// Wakes those who wait on the word with a mask that shares a bit. The word was changed (SeqCst, or with a full fence behind it) before.
pub fn wake<W: Waitable>(word: W, sleepers: W, mask: u32) {
    word.wake(sleepers, mask);
}

/// Changes the word with a release, as [`wake`] wants it, and wakes.
#[inline(always)]
pub fn store_and_wake(word: Half, value: u32, sleepers: Half, mask: u32) {
    word.store_and_wake(value, sleepers, mask, fence);
}

/// Whether a counter that wraps around has come to `count`.
fn is_from(value: u32, count: u32) -> bool {
    value.wrapping_sub(count) < u32::MAX / 2
}

/// A word with its own count of sleepers: two adjacent 32-bit words.
#[derive(Clone, Copy)]
pub struct Cell {
    value: Half,
    sleepers: Half,
}

impl Cell {
    pub(crate) fn new(value: Half, sleepers: Half) -> Cell {
        Cell { value, sleepers }
    }

    /// The word itself.
    pub fn value(self) -> Half {
        self.value
    }

    /// Wakes those who wait; the word was changed as for [`wake`].
    pub fn wake(self) {
        wake(self.value, self.sleepers, futex::ALL);
    }

    /// Adds one; returns the old value.
    pub fn increment(self) -> u32 {
        self.increase(1)
    }

    /// Adds a number; returns the old value.
    pub fn increase(self, number: u32) -> u32 {
        self.value.add_and_wake(number, self.sleepers, futex::ALL)
    }

    /// Whether the cell has been incremented to `count` (with wrap-around).
    pub fn has_reached(self, count: u32) -> bool {
        is_from(self.get(), count)
    }

    /// Current value.
    pub fn get(self) -> u32 {
        self.value.load(Ordering::SeqCst)
    }

    /// Waits until the cell has been incremented to `count` (with wrap-around).
    pub fn wait_reached(self, count: u32) {
        wait(self.value, self.sleepers, futex::ALL, |value| is_from(value, count));
    }

    /// As [`Cell::wait_until`], but sleeps at once.
    pub fn sleep_until(self, until: impl Fn(u32) -> bool) -> u32 {
        self.value.sleep(self.sleepers, futex::ALL, until)
    }

    /// Waits until `until` holds for the value; returns it.
    pub fn wait_until(self, until: impl Fn(u32) -> bool) -> u32 {
        wait(self.value, self.sleepers, futex::ALL, until)
    }
}

/// Sleepers on words of this process, by the word's address.
static SLEEPERS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

fn sleepers(word: &AtomicU32) -> &'static AtomicU32 {
    &SLEEPERS[(word.as_ptr() as usize >> 6) % SLEEPERS.len()]
}

/// Waits for another thread of this process: spins briefly, then sleeps until `until` holds for the word; returns that.
pub fn wait_local(word: &AtomicU32, until: impl Fn(u32) -> bool) -> u32 {
    wait(word, sleepers(word), futex::ALL, until)
}

/// Wakes the threads in [`wait_local`] on the word, which was changed (SeqCst) before.
pub fn wake_local(word: &AtomicU32) {
    wake(word, sleepers(word), futex::ALL);
}
