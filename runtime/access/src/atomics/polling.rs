//! Threads that wait by reading a variable again and again: who is to change it may need their core.
//!
//! A thread that finds the same value many times in a row, and does next to nothing between, counts as one. It may be none: a loop that looks at a flag that is seldom set, or at a level of a log, does as
//! little. So it gives its core away for a moment after it has read for as long as it was without it the last time, within bounds: one that waits leaves the core to others where these keep it, and one that
//! computes loses little where nobody wants the core.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dsm_abi::atomic::order;

use super::release_for;
use crate::control::cell;
use crate::memory;
use crate::sync::regions;

/// Reads that are timed together, at least.
const TIMED: u32 = 32;
/// Reads that a thread of a single process executes by itself before the next one comes here.
const GRANTED: u32 = 63;
/// Time from one read to the next up to which a thread does next to nothing else: in a job of one process, and in one of several, where the read takes most of it.
const CLOSE: [Duration; 2] = [Duration::from_nanos(150), Duration::from_micros(1)];
/// Bounds of the time for which a thread reads before it gives its core away.
const READS_FOR: (Duration, Duration) = (Duration::from_micros(5), Duration::from_micros(20));

/// What a thread has read last.
#[derive(Clone, Copy)]
struct Polled {
    address: usize,
    value: u64,
    /// How often in a row, without the first.
    times: u32,
    /// How often since that was timed last.
    untimed: u32,
    timed: Option<Instant>,
    /// Since when reads have been close to each other.
    close: Option<Instant>,
    reads_for: Duration,
}

impl Polled {
    const fn first(address: usize, value: u64) -> Polled {
        Polled { address, value, times: 0, untimed: 0, timed: None, close: None, reads_for: READS_FOR.0 }
    }

    /// Some reads have ended, of a process that may have peers or not. Whether the thread is to give its core away.
    fn ended(&mut self, now: Instant, has_peers: bool) -> bool {
        let close = std::mem::take(&mut self.untimed) * CLOSE[usize::from(has_peers)];
        let began = self.timed.replace(now).filter(|began| now - *began <= close);
        self.close = began.map(|began| self.close.unwrap_or(began));
        self.close.is_some_and(|close| now - close >= self.reads_for)
    }

    /// The thread has its core again.
    fn has_core(&mut self, since: Instant, now: Instant) {
        self.reads_for = (now - since).clamp(READS_FOR.0, READS_FOR.1);
        (self.timed, self.close) = (Some(now), None);
    }
}

thread_local! {
    static LAST: Cell<Polled> = const { Cell::new(Polled::first(0, 0)) };
    /// How many loads the thread had left when that was looked at last.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

unsafe extern "C" {
    safe fn dsm_rt_loads_left() -> u32;
    safe fn dsm_rt_set_loads_left(count: u32);
}

/// Lets the thread execute some loads by itself. In a job of one process.
pub(super) fn grant_loads() {
    LEFT.set(GRANTED);
    dsm_rt_set_loads_left(GRANTED);
}

/// Has the thread execute none by itself until it is granted some.
pub(super) fn take_loads() {
    LEFT.set(0);
    dsm_rt_set_loads_left(0);
}

/// How many the thread has executed since this was asked last.
fn loads_taken() -> u32 {
    let before = LEFT.get();
    if before == 0 {
        return 0;
    }
    let left = dsm_rt_loads_left();
    LEFT.set(left);
    before.saturating_sub(left)
}

/// A thread has read a variable atomically. Gives tasks away when it finds the same value of the same variable again, and the core when it does nothing else for some time.
pub fn poll(address: usize, value: u64) {
    let mut last = LAST.get();
    if (last.address, last.value) != (address, value) {
        loads_taken();
        LAST.set(Polled::first(address, value));
        if last.times > TIMED {
            cell::polled();
        }
        return;
    }
    // Those between were of the same variable, most likely.
    let reads = 1 + loads_taken();
    last.times = last.times.saturating_add(reads);
    last.untimed = last.untimed.saturating_add(reads);
    LAST.set(last);
    release_for(order::RELAXED);
    (regions::get().serve_while_polling)();
    if last.untimed >= TIMED {
        let now = Instant::now();
        if last.ended(now, memory::shared().is_some()) {
            let _quiescent = memory::threads::Quiescent::begin();
            cell::pass_core();
            last.has_core(now, Instant::now());
        }
        LAST.set(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a thread gives its core away in so many reads, each of which takes some nanoseconds with what the thread does between. Without the core it is for so many microseconds.
    fn passes(reads: u32, nanoseconds: u64, without: u64) -> u32 {
        let mut polled = Polled::first(8, 0);
        let (mut now, mut count) = (Instant::now(), 0);
        for _ in 0..reads / TIMED {
            now += TIMED * Duration::from_nanos(nanoseconds);
            polled.untimed += TIMED;
            if polled.ended(now, false) {
                count += 1;
                let since = now;
                now += Duration::from_micros(without);
                polled.has_core(since, now);
            }
        }
        count
    }

    #[test]
    fn who_computes_between_reads_keeps_the_core() {
        assert_eq!(passes(100_000, 200, 1), 0);
    }

    #[test]
    fn who_only_reads_gives_it_away() {
        // One millisecond.
        let often = passes(100_000, 10, 1);
        assert!((120..=200).contains(&often), "{often}");
        // With it for a fifth of the time where others have it for a moment, and for less where they keep it.
        let naps = passes(100_000, 10, 70);
        assert!((45..=60).contains(&naps), "{naps}");
        assert_eq!(passes(100_000, 10, 3000), naps);
    }
}
