//! Sets of small numbers.

/// A set of numbers: of steps, in the run, or of deeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steps(Vec<u64>);

impl Steps {
    /// The numbers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| 64 * at + bit)
        })
    }

    /// Adds a number.
    pub fn insert(&mut self, step: usize) {
        if self.0.len() <= step / 64 {
            self.0.resize(step / 64 + 1, 0);
        }
        self.0[step / 64] |= 1 << (step % 64);
    }

    /// Whether a number is in the set.
    pub fn contains(&self, step: usize) -> bool {
        self.0.get(step / 64).is_some_and(|word| word >> (step % 64) & 1 != 0)
    }

    /// Adds those of another set.
    pub fn join(&mut self, other: &Steps) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Whether the sets have a number in common.
    pub fn intersects(&self, other: &Steps) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}
