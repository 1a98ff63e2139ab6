//! What threads do besides the program's own work, as time: measured only where `DSM_STATS` or a [`mod@trace`] asks for it, or while somebody looks ([`progress`]), since
//! looking at the clock takes about as long as a short operation.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dsm_abi::progress::ACTIVITIES;

use crate::{progress, trace};

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

const NAMES: [&str; ACTIVITIES] =
    ["miss_us", "fetch_us", "release_us", "acquire_us", "wait_us", "taskwait_us"];

/// Whether a trace is written.
static TRACED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Nanoseconds of this thread that were counted.
    static COUNTED: Cell<u64> = const { Cell::new(0) };
}

/// Whether time is measured, and whatever else is counted for the table alone.
#[inline(always)]
pub fn is_measured() -> bool {
    progress::is_watched()
}

/// From now on, time is measured.
pub fn measure() {
    progress::watch_always();
}

/// From now on, what takes time is an event of the trace, or no longer.
pub fn trace(is_on: bool) {
    TRACED.store(is_on, Ordering::Relaxed);
}

/// Whether what takes time is traced.
#[inline]
pub fn is_traced() -> bool {
    TRACED.load(Ordering::Relaxed)
}

/// Calls `work` and counts its time, without that of activities inside of it. `event`: what it is in a trace, if anything.
#[inline(always)]
pub fn spent<R>(
    activity: Activity,
    event: impl FnOnce() -> Option<trace::Event>,
    work: impl FnOnce() -> R,
) -> R {
    let (is_measured, is_traced) = (is_measured(), TRACED.load(Ordering::Relaxed));
    match is_measured | is_traced {
        false => work(),
        true => watched((is_measured, is_traced), activity, event, work),
    }
}

#[cold]
fn watched<R>(
    (is_measured, is_traced): (bool, bool),
    activity: Activity,
    event: impl FnOnce() -> Option<trace::Event>,
    work: impl FnOnce() -> R,
) -> R {
    let open = if is_traced { event().map(trace::Open::new) } else { None };
    let result = if is_measured { measured(activity, work) } else { work() };
    if let Some(open) = open {
        open.end();
    }
    result
}

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
        let spent = |activity, work: &dyn Fn()| spent(activity, || None, work);
        spent(Activity::Acquire, &|| sleep(1));
        measure();
        spent(Activity::Release, &|| {
            sleep(1);
            spent(Activity::Wait, &|| sleep(60));
        });
        assert_eq!(of(Activity::Acquire), 0);
        assert!(of(Activity::Wait) >= 60_000);
        assert!((1_000..60_000).contains(&of(Activity::Release)), "{}", of(Activity::Release));
    }
}
