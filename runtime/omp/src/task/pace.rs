//! When tasks go to processes on other hosts: where it seems worth the messages.
//!
//! How long a task will take, with all that descends from it, nobody knows before. But a batch that came back sooner than [some times](TIMES_COST) what handing it over takes could as well
//! have been run here. Each such batch doubles the time until the next one may go; a batch that took longer ends that. What descends from a batch of another process stays here as long as that, or two
//! processes that wait for each other's tasks would pass on ever smaller ones. A look at a request is a message itself: between two of them passes as much time as handing a batch over takes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{control, sync};

/// What handing a batch over takes, as long as none has been, in nanoseconds: three messages by TCP.
const USUAL_COST: u64 = 80_000;
/// A batch that is worthwhile takes at least so many times that: it also has to be fetched, and its end to be heard of.
const TIMES_COST: u32 = 5;
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(16);

/// The least that handing a batch over took, in nanoseconds.
static COST: AtomicU64 = AtomicU64::new(USUAL_COST);
/// When the last look was, in nanoseconds of [`clock`].
static LAST_LOOK: AtomicU64 = AtomicU64::new(0);
/// The present pause, in nanoseconds; 0 where there is none.
static PAUSE: AtomicU64 = AtomicU64::new(0);
/// Its end, in nanoseconds of [`clock`].
static END: AtomicU64 = AtomicU64::new(0);

/// Time since the first call.
fn clock() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Whether there are processes on other hosts.
pub fn has_far_peers() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| !(0..sync::size()).all(control::is_mapped))
}

/// Handing a batch over took so long.
pub fn note_cost(took: Duration) {
    COST.fetch_min(took.as_nanos() as u64, Ordering::Relaxed);
}

fn cost() -> Duration {
    Duration::from_nanos(COST.load(Ordering::Relaxed))
}

/// What a batch takes at least that is worth its messages.
pub fn worthwhile() -> Duration {
    TIMES_COST * cost()
}

/// The pause behind a batch that took so long, and the pause before.
fn next(pause: Duration, took: Duration) -> Duration {
    if took >= worthwhile() { Duration::ZERO } else { (2 * pause).clamp(SHORTEST, LONGEST) }
}

/// A batch that went to another host was reported to have ended, so long after.
pub fn note_end(took: Duration) {
    let pause = next(Duration::from_nanos(PAUSE.load(Ordering::Relaxed)), took);
    PAUSE.store(pause.as_nanos() as u64, Ordering::Relaxed);
    END.store((clock() + pause).as_nanos() as u64, Ordering::Relaxed);
}

/// How long nothing goes to other hosts from now on.
pub fn pause_left() -> Duration {
    if PAUSE.load(Ordering::Relaxed) == 0 {
        return Duration::ZERO;
    }
    Duration::from_nanos(END.load(Ordering::Relaxed)).saturating_sub(clock())
}

/// Whether the last look at requests on other hosts was long enough ago.
pub fn may_look() -> bool {
    clock() >= Duration::from_nanos(LAST_LOOK.load(Ordering::Relaxed)) + cost()
}

/// There is a look at such a request now.
pub fn note_look() {
    LAST_LOOK.store(clock().as_nanos() as u64, Ordering::Relaxed);
}

/// What descends from batches that have come since does not go on yet.
pub fn new_since() -> Option<Instant> {
    Instant::now().checked_sub(worthwhile())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_a_batch_is_worthwhile() {
        let mut pause = Duration::ZERO;
        for milliseconds in [1, 2, 4, 8, 16, 16] {
            pause = next(pause, worthwhile() / 2);
            assert_eq!(pause, Duration::from_millis(milliseconds));
        }
        assert_eq!(next(pause, worthwhile()), Duration::ZERO);
    }
}
