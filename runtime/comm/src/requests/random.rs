//! Irregularity by seed.

use std::time::Duration;

/// A splitmix64 generator: any seed will do.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of one user: each has its own, so that threads do not share a sequence.
    pub(crate) fn new(seed: u64, user: u64) -> Random {
        let mut random = Random(seed ^ user.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// How many of `bytes` bytes, at least one, go or come next.
    pub(crate) fn piece(&mut self, bytes: usize) -> usize {
        let most = [13, 1 << 12, 1 << 16, usize::MAX][self.below(4)];
        1 + self.below(bytes.clamp(1, most))
    }

    /// How long a request waits, if it does.
    pub(super) fn delay(&mut self) -> Option<Duration> {
        self.below(8).eq(&0).then(|| Duration::from_micros(self.below(201) as u64))
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
