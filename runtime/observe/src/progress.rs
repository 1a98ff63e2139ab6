//! What `dsm-top` shows of this process while it runs: who waits for what, which locks are held, how much and where its threads miss. The words are described in
//! [`dsm_abi::progress`].
//!
//! The record is a static whose pages [`init`] maps from the job's memory file, so that looking at a word costs no more than with any static. Each thread that
//! runs the program's code has words of its own, which only it writes: plain stores. What it does changes where it begins to wait, where its time is
//! added up as well. How long misses take, and at which addresses they are, is noted only while somebody looks.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

use dsm_abi::progress::{self, ALWAYS, RECORD_BYTES, RECORD_WORDS, thread as word};
use dsm_coherence::hash::fibonacci;

pub use dsm_abi::progress::Doing;

use crate::job::Job;
use crate::profile::ticks;

#[repr(C, align(4096))]
struct Record([AtomicU64; RECORD_WORDS]);

static RECORD: Record = Record([const { AtomicU64::new(0) }; RECORD_WORDS]);
const _: () = assert!(size_of::<Record>() == RECORD_BYTES);

/// A thread's words.
type Thread = &'static [AtomicU64; word::WORDS];

thread_local! {
    static THREAD: Cell<Option<Thread>> = const { Cell::new(None) };
}

/// Puts the record where the launcher reads it.
///
/// # Errors
/// The system's.
pub fn init(job: &Job) -> std::io::Result<()> {
    let Some(file) = job.job_fd else { return Ok(()) };
    map(libc::MAP_SHARED, file, progress::record_offset(job.rank))?;
    // SAFETY: takes no pointers.
    word(progress::HEADERS).store(unsafe { libc::getauxval(libc::AT_PHDR) }, Relaxed);
    Ok(())
}

/// In the child of a `fork`: what it does is not the job's.
pub fn detach() {
    // Without it the child would go on in the parent's record: no harm but a wrong picture.
    let _ = map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
}

/// Replaces the record's pages.
fn map(flags: i32, file: i32, offset: usize) -> std::io::Result<()> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_FIXED);
    let place = (&raw const RECORD).cast_mut().cast::<c_void>();
    // SAFETY: the pages are those of the static and hold nothing else; it is accessed by atomics only, by the launcher, too.
    let mapped = unsafe { libc::mmap(place, RECORD_BYTES, protection, flags, file, offset as i64) };
    if mapped == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[inline(always)]
fn word(index: usize) -> &'static AtomicU64 {
    &RECORD.0[index]
}

/// Adds to a word that nobody else changes.
#[inline(always)]
fn add(word: &AtomicU64, more: u64) {
    word.store(word.load(Relaxed).wrapping_add(more), Relaxed);
}

/// Whether times are measured and misses sampled.
#[inline(always)]
pub fn is_watched() -> bool {
    word(progress::WATCH).load(Relaxed) != 0
}

/// From now on, times are measured in any case.
pub fn watch_always() {
    word(progress::WATCH).store(ALWAYS, Relaxed);
}

/// How long after a look times are measured.
const ATTENTION: Duration = Duration::from_secs(10);

/// Something was measured: ends that if nobody has looked for a while.
pub fn measured(now: Instant) {
    static LAST: Mutex<Option<(u64, Instant)>> = Mutex::new(None);
    let seen = word(progress::WATCH).load(Relaxed);
    if seen == ALWAYS {
        return;
    }
    // A signal handler may have interrupted who has it.
    let Ok(mut last) = LAST.try_lock() else { return };
    match *last {
        Some((value, since)) if value == seen => {
            if now.saturating_duration_since(since) > ATTENTION {
                // A look at this moment counts from the next one on.
                word(progress::WATCH).store(0, Relaxed);
            }
        }
        _ => *last = Some((seen, now)),
    }
}

/// Nanoseconds of an activity, over all threads.
pub fn activity_time(activity: usize) -> &'static AtomicU64 {
    assert!(activity < progress::ACTIVITIES);
    word(progress::ACTIVITY_TIMES + activity)
}

/// The calling thread runs the program's code from now on.
pub fn begin_thread() {
    for number in 0..progress::THREADS {
        let words = thread(number);
        // SAFETY: takes no pointers.
        let id = unsafe { libc::gettid() } as u64;
        if words[word::ID].compare_exchange(0, id, Relaxed, Relaxed).is_ok() {
            words[word::SINCE].store(ticks(), Relaxed);
            word(progress::THREADS_USED).fetch_max(number as u64 + 1, Relaxed);
            return THREAD.set(Some(words));
        }
    }
    word(progress::THREADS_LEFT_OUT).fetch_add(1, Relaxed);
}

/// The calling thread ends.
pub fn end_thread() {
    match THREAD.take() {
        Some(words) => {
            words[word::DOING..].iter().for_each(|word| word.store(0, Relaxed));
            words[word::ID].store(0, Release);
        }
        None => _ = word(progress::THREADS_LEFT_OUT).fetch_sub(1, Relaxed),
    }
}

fn thread(number: usize) -> Thread {
    let words = RECORD.0[progress::THREADS_AT + number * word::WORDS..].first_chunk();
    words.expect("a thread's words lie in the record")
}

/// What a thread does, until the value is dropped.
pub struct Now {
    words: Option<Thread>,
    /// What it did before: kind, object and participants.
    before: [u64; 3],
}

impl Now {
    /// The calling thread waits for `object`, an address or 0, as one of so many processes.
    #[inline]
    pub fn begin(doing: Doing, object: u64, participants: u32) -> Now {
        let words = THREAD.get();
        let before = words.map_or([0; 3], |words| change(words, [doing as u64, object, participants.into()]));
        Now { words, before }
    }

    /// The same, unless it is known already what the thread waits for.
    #[inline]
    pub fn begin_other() -> Now {
        let is_known = |words: &Thread| words[word::DOING].load(Relaxed) != Doing::Runs as u64;
        match THREAD.get().is_some_and(|words| is_known(&words)) {
            true => Now { words: None, before: [0; 3] },
            false => Now::begin(Doing::Other, 0, 0),
        }
    }
}

impl Drop for Now {
    #[inline]
    fn drop(&mut self) {
        if let Some(words) = self.words {
            change(words, self.before);
        }
    }
}

/// Adds up the time of what the thread did, and returns that.
fn change(words: Thread, now: [u64; 3]) -> [u64; 3] {
    const PLACES: [usize; 3] = [word::DOING, word::OBJECT, word::PARTICIPANTS];
    let before = PLACES.map(|place| words[place].load(Relaxed));
    let time = ticks();
    let since = words[word::SINCE].load(Relaxed);
    if let Some(total) = words.get(word::TIMES + before[0] as usize) {
        add(total, time.saturating_sub(since));
    }
    words[word::SINCE].store(time, Relaxed);
    for (place, value) in PLACES.into_iter().zip(now) {
        words[place].store(value, Relaxed);
    }
    before
}

/// Calls `work`, which executes a region's function.
pub fn in_region<R>(function: u64, work: impl FnOnce() -> R) -> R {
    let words = THREAD.get();
    let outer = words.map(|words| words[word::FUNCTION].swap(function, Relaxed));
    let result = work();
    if let (Some(words), Some(outer)) = (words, outer) {
        words[word::FUNCTION].store(outer, Relaxed);
    }
    result
}

/// The process has come to a region of several processes, which has this number in all of them.
pub fn begin_region(number: u32) {
    word(progress::REGION).store(number.into(), Relaxed);
    word(progress::BARRIERS).store(0, Relaxed);
}

/// The process has come to a barrier of several processes.
pub fn arrive() {
    add(word(progress::BARRIERS), 1);
}

/// The calling thread has taken a lock.
#[inline]
pub fn hold(name: u64) {
    if let Some(words) = THREAD.get()
        && let Some(free) = held(words).iter().find(|held| held.load(Relaxed) == 0)
    {
        free.store(name, Relaxed);
    }
}

/// It passes the lock on.
#[inline]
pub fn pass_on(name: u64) {
    if let Some(words) = THREAD.get()
        && let Some(known) = held(words).iter().find(|held| held.load(Relaxed) == name)
    {
        return known.store(0, Relaxed);
    }
    forget(name);
}

/// Another thread of the process may have taken it.
#[cold]
fn forget(name: u64) {
    let used = word(progress::THREADS_USED).load(Relaxed) as usize;
    for words in (0..used).map(thread) {
        for held in held(words) {
            let _ = held.compare_exchange(name, 0, Relaxed, Relaxed);
        }
    }
}

#[inline(always)]
fn held(words: Thread) -> &'static [AtomicU64] {
    &words[word::HELD..word::HELD + word::LOCKS]
}

/// An access at `address` has missed; the blocks have so many bytes.
#[inline]
pub fn miss(address: usize, bytes: usize) {
    let Some(words) = THREAD.get() else { return };
    add(&words[word::MISSES], 1);
    add(&words[word::BYTES], bytes as u64);
    if is_watched() {
        sample(words[word::MISSES].load(Relaxed), address);
    }
}

/// Keeps one in eight addresses in place of an older one.
#[cold]
fn sample(number: u64, address: usize) {
    if number.is_multiple_of(8) {
        let place = fibonacci(number, 32) as usize % progress::SAMPLES;
        word(progress::SAMPLED + place).store(address as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(places: [usize; N]) -> [u64; N] {
        let words = THREAD.get().expect("the thread has words");
        places.map(|place| words[place].load(Relaxed))
    }

    const STATE: [usize; 3] = [word::DOING, word::OBJECT, word::PARTICIPANTS];

    /// Each test in a thread of its own, as the test harness has it.
    fn in_thread(work: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                begin_thread();
                work();
                end_thread();
                assert!(THREAD.get().is_none());
            });
        });
    }

    #[test]
    fn what_a_thread_waits_for_ends_with_the_wait() {
        in_thread(|| {
            let barrier = Now::begin(Doing::Barrier, 0, 2);
            {
                let _task = Now::begin(Doing::Runs, 0, 0);
                let _lock = Now::begin(Doing::Lock, 0x1000, 0);
                let _sleep = Now::begin_other();
                assert_eq!(read(STATE), [Doing::Lock as u64, 0x1000, 0]);
            }
            assert_eq!(read(STATE), [Doing::Barrier as u64, 0, 2]);
            drop(barrier);
            assert_eq!(read(STATE), [0; 3]);
            let _other = Now::begin_other();
            assert_eq!(read(STATE), [Doing::Other as u64, 0, 0]);
        });
    }

    #[test]
    fn all_time_is_counted_once() {
        in_thread(|| {
            let [start] = read([word::SINCE]);
            for _ in 0..100 {
                let _barrier = Now::begin(Doing::Barrier, 0, 2);
                let _lock = Now::begin(Doing::Lock, 7, 0);
            }
            let [end] = read([word::SINCE]);
            let times: u64 =
                read(std::array::from_fn::<_, { Doing::COUNT }, _>(|i| word::TIMES + i)).iter().sum();
            assert_eq!(times, end - start);
        });
    }

    #[test]
    fn locks_are_known_while_they_are_held() {
        in_thread(|| {
            let held = || read([word::HELD, word::HELD + 1, word::HELD + 2, word::HELD + 3]);
            (1..=5).for_each(hold);
            assert_eq!(held(), [1, 2, 3, 4]);
            [5, 2].into_iter().for_each(pass_on);
            assert_eq!(held(), [1, 0, 3, 4]);
            // An omp lock may be passed on by another thread.
            in_thread(|| pass_on(3));
            assert_eq!(held(), [1, 0, 0, 4]);
        });
    }

    #[test]
    fn words_of_a_thread_that_has_ended_are_another_ones() {
        let used = || word(progress::THREADS_USED).load(Relaxed);
        for _ in 0..2 * progress::THREADS {
            in_thread(|| miss(64, 128));
        }
        assert!(used() < progress::THREADS as u64);
        in_thread(|| {
            miss(64, 128);
            assert_eq!(read([word::MISSES, word::BYTES]), [1, 128]);
        });
    }
}
