//! What threads do besides the program's own work, as time: measured only where `DSM_STATS` asks for it, since looking at the clock takes about as
//! long as a short operation.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// What a thread is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Making blocks accessible, apart from their contents.
    Miss,
    /// Copying contents of runs of blocks from their writers and homes.
    Fetch,
    /// Publishing what was written.
    Release,
    /// Taking in what others published.
    Acquire,
    /// Waiting for other threads, at whatever they synchronise by.
    Wait,
    /// Waiting in `taskwait` or at the end of a `taskgroup`, without a task to run.
    TaskWait,
}

const NAMES: [&str; 6] = ["miss_us", "fetch_us", "release_us", "acquire_us", "wait_us", "taskwait_us"];

static MEASURED: AtomicBool = AtomicBool::new(false);
static NANOSECONDS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

thread_local! {
    /// Nanoseconds of this thread that were counted.
    static COUNTED: Cell<u64> = const { Cell::new(0) };
}

/// Whether time is measured, and whatever else is counted for the table alone.
#[inline(always)]
pub fn is_measured() -> bool {
    MEASURED.load(Ordering::Relaxed)
}

/// From now on, time is measured.
pub fn measure() {
    MEASURED.store(true, Ordering::Relaxed);
}

/// Calls `work` and counts its time, without that of activities inside of it.
#[inline(always)]
pub fn spent<R>(activity: Activity, work: impl FnOnce() -> R) -> R {
    match is_measured() {
        false => work(),
        true => measured(activity, work),
    }
}

#[cold]
fn measured<R>(activity: Activity, work: impl FnOnce() -> R) -> R {
    let (start, before) = (Instant::now(), COUNTED.get());
    let result = work();
    let all = start.elapsed().as_nanos() as u64;
    let inside = COUNTED.get() - before;
    NANOSECONDS[activity as usize].fetch_add(all.saturating_sub(inside), Ordering::Relaxed);
    COUNTED.set(before + all);
    result
}

/// Names and microseconds, over all threads of the process.
pub fn values() -> impl Iterator<Item = (&'static str, u64)> {
    NAMES.into_iter().zip(&NANOSECONDS).map(|(name, time)| (name, time.load(Ordering::Relaxed) / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn time_is_counted_once_and_only_when_asked_for() {
        let sleep = |ms| std::thread::sleep(Duration::from_millis(ms));
        let of = |activity: Activity| values().nth(activity as usize).map_or(0, |(_, us)| us);
        spent(Activity::Acquire, || sleep(1));
        measure();
        spent(Activity::Release, || {
            sleep(1);
            spent(Activity::Wait, || sleep(60));
        });
        assert_eq!(of(Activity::Acquire), 0);
        assert!(of(Activity::Wait) >= 60_000);
        assert!((1_000..60_000).contains(&of(Activity::Release)), "{}", of(Activity::Release));
    }
}
