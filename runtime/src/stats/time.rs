//! What threads do besides the program's own work, as time: measured only where `DSM_STATS` asks for it, or while somebody looks ([`crate::progress`]), since looking at
//! the clock takes about as long as a short operation.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Instant;

use dsm_abi::progress::ACTIVITIES;

use crate::progress;

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
}

const NAMES: [&str; ACTIVITIES] = ["miss_us", "fetch_us", "release_us", "acquire_us", "wait_us"];

thread_local! {
    /// Nanoseconds of this thread that were counted.
    static COUNTED: Cell<u64> = const { Cell::new(0) };
}

/// From now on, time is measured.
pub fn measure() {
    progress::watch_always();
}

/// Calls `work` and counts its time, without that of activities inside of it.
#[inline(always)]
pub fn spent<R>(activity: Activity, work: impl FnOnce() -> R) -> R {
    match progress::is_watched() {
        false => work(),
        true => measured(activity, work),
    }
}

#[cold]
fn measured<R>(activity: Activity, work: impl FnOnce() -> R) -> R {
    let (start, before) = (Instant::now(), COUNTED.get());
    let result = work();
    let end = Instant::now();
    let all = (end - start).as_nanos() as u64;
    let inside = COUNTED.get() - before;
    progress::activity_time(activity as usize).fetch_add(all.saturating_sub(inside), Ordering::Relaxed);
    COUNTED.set(before + all);
    progress::measured(end);
    result
}

/// Names and microseconds, over all threads of the process.
pub fn values() -> impl Iterator<Item = (&'static str, u64)> {
    let of = |activity| progress::activity_time(activity).load(Ordering::Relaxed) / 1000;
    NAMES.into_iter().enumerate().map(move |(activity, name)| (name, of(activity)))
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
