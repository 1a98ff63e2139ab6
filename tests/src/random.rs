//! A small reproducible random number generator (splitmix64): equal seeds give equal sequences on every
//! machine and in every version, which a library's generator does not promise.

/// Generator state.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator whose whole sequence is determined by `seed`.
    pub fn new(seed: u64) -> Self {
        // One mixed step apart, so that neighbouring seeds do not give shifted copies of one sequence.
        let mut first = Self(seed.wrapping_mul(0xD1B5_4A32_D192_ED03).wrapping_add(1));
        let state = first.next();
        Self(state)
    }

    /// 64 random bits.
    #[allow(clippy::should_implement_trait, reason = "not an iterator: it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no random number");
        self.next() % bound
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of `items`.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// True in `numerator` of `denominator` cases.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_fixes_the_sequence() {
        let mut a = Random::new(7);
        let mut b = Random::new(7);
        let first: Vec<u64> = (0..8).map(|_| a.next()).collect();
        assert!(first.iter().all(|v| *v == b.next()));
        assert_ne!(first[0], Random::new(8).next());
    }

    #[test]
    fn bounds_hold() {
        let mut r = Random::new(1);
        assert!((0..1000).all(|_| (3..=9).contains(&r.between(3, 9))));
    }
}
