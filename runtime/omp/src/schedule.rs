//! Arithmetic of loop schedules: pure functions over iteration numbers `0..trip`.
//!
//! Loop bounds of all four integer types are widened to `i128`, so nothing here overflows; trip counts are
//! truncated to the width of the loop variable, because flang describes an empty unsigned loop by bounds whose
//! trip count wraps to zero.

/// Codes of `sched_type` in calls that compilers emit.
pub mod code {
    /// Chunks of fixed size, round robin.
    pub const STATIC_CHUNKED: i32 = 33;
    /// One contiguous share each.
    pub const STATIC: i32 = 34;
    /// Chunks on demand.
    pub const DYNAMIC_CHUNKED: i32 = 35;
    /// Shrinking chunks on demand.
    pub const GUIDED_CHUNKED: i32 = 36;
    /// As the `run-sched-var` says.
    pub const RUNTIME: i32 = 37;
    /// Linearly shrinking chunks.
    pub const TRAPEZOIDAL: i32 = 39;
    /// `schedule(simd: static, chunk)`: chunks of fixed size, round robin, with a SIMD width of one.
    pub const STATIC_BALANCED_CHUNKED: i32 = 45;
    /// Guided, with chunks rounded up to the SIMD width.
    pub const GUIDED_SIMD: i32 = 46;
    /// As `RUNTIME`, with chunks rounded up to the SIMD width.
    pub const RUNTIME_SIMD: i32 = 47;
    /// Distance from a code to that of its ordered variant.
    pub const ORDERED: i32 = 32;
    /// `dist_schedule(static, chunk)`.
    pub const DISTRIBUTE_CHUNKED: i32 = 91;
    /// `dist_schedule(static)`.
    pub const DISTRIBUTE: i32 = 92;
    /// First of the variants whose chunks must not be merged; they lie this much above the plain ones.
    pub const NO_MERGE: i32 = 128;
    /// Modifier bit: a thread's chunks may come in any order.
    pub const NONMONOTONIC: i32 = 1 << 30;
    /// Modifier bits: monotonic, nonmonotonic, and what the pass says of the assignment of chunks to threads.
    pub const MODIFIERS: i32 = (1 << 29) | NONMONOTONIC | dsm_abi::schedule::ANY_THREAD;
}

/// Integer types of loop variables.
pub trait LoopInt: Copy {
    /// Widens.
    fn wide(self) -> i128;
    /// Truncates.
    fn narrow(value: i128) -> Self;
    /// Truncates a trip count to the type's width.
    fn trip(value: i128) -> u64;
}

macro_rules! loop_int {
    ($($t:ty => $u:ty),*) => {
        $(impl LoopInt for $t {
            fn wide(self) -> i128 {
                self as i128
            }
            fn narrow(value: i128) -> $t {
                value as $t
            }
            fn trip(value: i128) -> u64 {
                u64::from(value as $u)
            }
        })*
    };
}

loop_int!(i32 => u32, u32 => u32, i64 => u64, u64 => u64);

/// A canonical loop `for (i = lower; i <= upper; i += stride)` (or `>=` if the stride is negative).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Loop {
    /// First value of the loop variable.
    pub lower: i128,
    /// Distance of consecutive values.
    pub stride: i128,
    /// Number of iterations.
    pub trip: u64,
}

impl Loop {
    /// A loop from the bounds a compiler passes.
    pub fn new<T: LoopInt>(lower: T, upper: T, stride: i128) -> Loop {
        let (lower, upper) = (lower.wide(), upper.wide());
        let empty = if stride > 0 { upper < lower } else { lower < upper };
        let trip = if empty || stride == 0 { 0 } else { T::trip((upper - lower) / stride + 1) };
        Loop { lower, stride, trip }
    }

    /// Value of the loop variable in iteration `i`.
    pub fn value(&self, i: u64) -> i128 {
        self.lower + i128::from(i) * self.stride
    }

    /// The value behind the last one, twice: no iterations. Where that wraps in the type, bounds that are empty by themselves.
    pub fn behind<T: LoopInt>(&self) -> (i128, i128) {
        let end = self.value(self.trip);
        if T::narrow(end).wide() == end { (end, end) } else { self.bounds(Share::EMPTY) }
    }

    /// First and last value of `share`; an empty range if it has no iterations.
    pub fn bounds(&self, share: Share) -> (i128, i128) {
        match share.count {
            // Small constants: `upper + stride` could wrap in the loop variable's type and look non-empty.
            0 if self.stride > 0 => (1, 0),
            0 => (0, 1),
            count => (self.value(share.first), self.value(share.first + count - 1)),
        }
    }
}

/// Consecutive iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// First iteration.
    pub first: u64,
    /// Number of iterations.
    pub count: u64,
    /// Whether the loop's last iteration is among these, or in a later chunk of the same thread.
    pub last: bool,
}

impl Share {
    const EMPTY: Share = Share { first: 0, count: 0, last: false };
}

/// Contiguous shares whose sizes differ by at most one.
pub fn block(trip: u64, part: u32, parts: u32) -> Share {
    let (part, parts) = (u64::from(part), u64::from(parts));
    let (small, extra) = (trip / parts, trip % parts);
    let count = small + u64::from(part < extra);
    if count == 0 {
        return Share::EMPTY;
    }
    let first = part * small + part.min(extra);
    Share { first, count, last: first + count == trip }
}

/// As [`block`], but all shares are multiples of `width`, except the one that ends the loop.
pub fn blocks_of(width: u64, trip: u64, part: u32, parts: u32) -> Share {
    let groups = block(trip.div_ceil(width), part, parts);
    let first = groups.first * width;
    Share { first, count: groups.count.saturating_mul(width).min(trip - first), last: groups.last }
}

/// Chunk number `round` of thread `part` in a round-robin schedule.
pub fn chunked(trip: u64, chunk: u64, part: u32, parts: u32, round: u64) -> Share {
    let chunk = chunk.max(1);
    let number = round.saturating_mul(u64::from(parts)).saturating_add(u64::from(part));
    let first = number.saturating_mul(chunk);
    if first >= trip {
        return Share::EMPTY;
    }
    let last = ((trip - 1) / chunk) % u64::from(parts) == u64::from(part);
    Share { first, count: chunk.min(trip - first), last }
}

/// Size of the next guided chunk when `remaining` iterations are left; at least `chunk`, a multiple of `width`.
pub fn guided_chunk(remaining: u64, chunk: u64, width: u64, parts: u32) -> u64 {
    let wanted = (remaining / (2 * u64::from(parts))).max(chunk).max(1);
    wanted.div_ceil(width.max(1)).saturating_mul(width.max(1)).min(remaining)
}

/// Most chunks of a dynamic schedule that a thread asks for at once.
const MOST_CHUNKS: u64 = 8;

/// How many chunks of a dynamic schedule a thread asks for at once where that takes a message: a small part of the `remaining` chunks, so that what it has not begun is worth
/// nobody's waiting for; one by one in the end.
pub fn chunks_at_once(remaining: u64, parts: u32) -> u64 {
    (remaining / (16 * u64::from(parts))).clamp(1, MOST_CHUNKS)
}

/// Process `p` of `processes` has the threads `split(k, p, processes)..split(k, p + 1, processes)` of a team of
/// `k`; with fewer threads than processes the first `k` processes have one each.
pub fn first_thread(threads: u32, process: u32, processes: u32) -> u32 {
    if threads <= processes {
        return process.min(threads);
    }
    (u64::from(process) * u64::from(threads) / u64::from(processes)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every iteration belongs to exactly one share, in order, and exactly one share is the last.
    fn assert_partition(trip: u64, shares: &[Share]) {
        let mut owner = vec![0; trip as usize];
        for share in shares {
            (share.first..share.first + share.count).for_each(|i| owner[i as usize] += 1);
        }
        assert!(owner.iter().all(|&n| n == 1), "{trip}: {shares:?}");
    }

    #[test]
    fn blocks_partition_and_name_one_last() {
        for trip in [0, 1, 2, 3, 7, 8, 9, 100] {
            for parts in 1..=9 {
                let shares: Vec<_> = (0..parts).map(|p| block(trip, p, parts)).collect();
                assert_partition(trip, &shares);
                assert_eq!(shares.iter().filter(|s| s.last).count(), usize::from(trip > 0));
                let wide: Vec<_> = (0..parts).map(|p| blocks_of(4, trip, p, parts)).collect();
                assert_partition(trip, &wide);
                assert_eq!(wide.iter().filter(|s| s.last).count(), usize::from(trip > 0));
                assert!(wide.iter().all(|s| s.last || s.count % 4 == 0), "{trip}: {wide:?}");
            }
        }
        assert_eq!(blocks_of(u64::MAX, 9, 0, 2), Share { first: 0, count: 9, last: true });
    }

    #[test]
    fn chunks_partition_and_name_one_last() {
        for trip in [1, 5, 16, 17] {
            for parts in 1..=5 {
                for chunk in [1, 3, 20] {
                    let mut shares = Vec::new();
                    for part in 0..parts {
                        shares.extend((0..20).map(|r| chunked(trip, chunk, part, parts, r)));
                    }
                    shares.retain(|s| s.count > 0);
                    assert_partition(trip, &shares);
                    let owner = |s: &&Share| s.first + s.count == trip && s.last;
                    assert_eq!(shares.iter().filter(owner).count(), 1);
                }
            }
        }
    }

    #[test]
    fn bounds_of_extreme_loops() {
        let full = Loop::new(i32::MIN, i32::MAX - 1, 1);
        assert_eq!(full.trip, u64::from(u32::MAX));
        assert_eq!(Loop::new(5_i32, 4, 1).trip, 0);
        assert_eq!(Loop::new(0_u32, u32::MAX, 1).trip, 0, "flang's empty loop");
        assert_eq!(Loop::new(10_i64, 1, -3), Loop { lower: 10, stride: -3, trip: 4 });
        let top = Loop::new(i32::MAX - 1, i32::MAX, 1);
        let share = block(top.trip, 3, 4);
        assert_eq!(top.bounds(share), (1, 0), "an idle thread's range must not wrap");
    }

    #[test]
    fn guided_chunks_shrink_and_end() {
        let mut remaining = 1000;
        let mut previous = u64::MAX;
        while remaining > 0 {
            let size = guided_chunk(remaining, 3, 1, 4);
            assert!(size >= 3.min(remaining) && size <= previous.max(3));
            previous = size;
            remaining -= size;
        }
        assert_eq!(guided_chunk(100, 3, 8, 4), 16);
    }

    #[test]
    fn chunks_are_asked_for_one_by_one_in_the_end() {
        let at_once = |remaining| chunks_at_once(remaining, 2);
        assert_eq!([0, 1, 63, 64, 255, 256, 1 << 40].map(at_once), [1, 1, 1, 2, 7, 8, 8]);
    }

    #[test]
    fn threads_spread_over_processes() {
        let split = |k, n| (0..=n).map(|p| first_thread(k, p, n)).collect::<Vec<_>>();
        assert_eq!(split(8, 4), [0, 2, 4, 6, 8]);
        assert_eq!(split(5, 2), [0, 2, 5]);
        assert_eq!(split(2, 4), [0, 1, 2, 2, 2]);
        assert_eq!(split(1, 3), [0, 1, 1, 1]);
    }
}
