//! What a thread remembers of the grids that it checks.
//!
//! A loop over a collapsed nest checks, in each iteration, a column, a plane or the like: the same lines again as in the iteration before, until it leaves them. So each place in the program where a grid is
//! checked has a memory in each thread: the last grid that was found valid there, and how far to either side of all its repetitions lines are valid, too. It holds as long as no state in the process allows less than
//! before ([`StateTable::restrictions`](crate::memory::table::StateTable::restrictions)), so it is worth what a look at the states would be. How far a check looks ahead grows while grids follow each other.

use std::cell::Cell;

use dsm_coherence::hash::fibonacci;
use dsm_threads::handler;

use crate::check::{Access, ensure_grid, ensure_joined, has_effect, joined, state_granularity};
use crate::posted::deferred;
use crate::window::{BESIDE_MAX, BESIDE_MIN, Surroundings, beside};
use crate::{checked, memory};

/// Places whose grids a thread remembers, a power of two.
const PLACES: usize = 256;
/// Fewer repetitions than this are looked at as fast as they are remembered.
const LEAST_REPETITIONS: usize = 4;

/// A check of a grid, but for where it is: see [`ensure_at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    place: usize,
    access: Access,
    len: usize,
    strides: [(usize, usize); 2],
}

/// Grids of one shape that are known to be valid: those from any address between `first` and `last`.
#[derive(Clone, Copy, Debug)]
struct Grids {
    shape: Shape,
    restrictions: u64,
    first: usize,
    last: usize,
    /// Whether grids follow each other towards lower addresses.
    backwards: bool,
}

impl Grids {
    const NONE: Grids = Grids {
        shape: Shape { place: 0, access: Access::Read, len: 0, strides: [(0, 0); 2] },
        restrictions: 0,
        first: 1,
        last: 0,
        backwards: false,
    };

    fn has(&self, shape: &Shape, address: usize, restrictions: u64) -> bool {
        self.restrictions == restrictions
            && (self.first..=self.last).contains(&address)
            && self.shape == *shape
    }

    /// The grid from `address`, of the same shape. `beside`: how many bytes before and behind each of its repetitions are valid, too.
    fn moved(self, address: usize, beside: (usize, usize), granularity: usize) -> Grids {
        let backwards =
            if self.touches(address, granularity) { address < self.first } else { self.backwards };
        let (first, last) = (address.saturating_sub(beside.0), address.saturating_add(beside.1));
        Grids { first, last, backwards, ..self }
    }

    /// How many bytes before or behind each repetition of the next grid, which begins at `address`, are looked at: if it follows these, the more the more are known; if it begins elsewhere, as with the next
    /// row of a matrix, as many as were known here.
    fn ahead(&self, address: usize, granularity: usize) -> (usize, usize) {
        let (known, most) = (self.last.wrapping_sub(self.first), BESIDE_MAX * granularity);
        let (bytes, backwards) = match self.touches(address, granularity) {
            true => ((2 * known).clamp(BESIDE_MIN * granularity, most), address < self.first),
            false => (known.min(most), self.backwards),
        };
        if backwards { (bytes, 0) } else { (0, bytes) }
    }

    fn touches(&self, address: usize, granularity: usize) -> bool {
        let near = self.shape.len + granularity;
        address.wrapping_sub(self.last) <= near || self.first.wrapping_sub(address) <= near
    }
}

/// End of the last repetition of a grid.
fn end_of(address: usize, len: usize, strides: [(usize, usize); 2]) -> usize {
    strides
        .iter()
        .fold(address.wrapping_add(len), |end, (step, count)| end.wrapping_add(step.wrapping_mul(*count)))
}

thread_local! {
    static GRIDS: [Cell<Grids>; PLACES] = const { [const { Cell::new(Grids::NONE) }; PLACES] };
}

fn slot_of(place: usize) -> usize {
    // Places of one loop lie side by side.
    fibonacci(place as u64, PLACES.ilog2()) as usize
}

/// [`crate::check::ensure_grid`], of the access that returns to `place`.
pub fn ensure_at(place: usize, address: usize, len: usize, strides: [(usize, usize); 2], access: Access) {
    if !has_effect() || len == 0 {
        return;
    }
    let repetitions = strides.iter().fold(1, |all: usize, (_, count)| all.saturating_mul(count + 1));
    // A handler may have interrupted this function.
    if repetitions < LEAST_REPETITIONS || checked::is_on() || handler::is_over_user_code() {
        return ensure_grid(address, len, strides, access);
    }
    let table = memory::get().table();
    let restrictions = table.restrictions();
    let shape = Shape { place, access, len, strides };
    let known = GRIDS.try_with(|grids| {
        let cell = &grids[slot_of(place)];
        let old = cell.get();
        // `count_restriction` runs after the state is set. Between the two, a thread may see the new state, keep an addition
        // because of it, and read the old count here; so nothing is taken for valid while additions are kept.
        if old.has(&shape, address, restrictions) && deferred::is_nothing_kept() {
            return;
        }
        let (start, len, strides, access) = joined(address, len, strides, access);
        // Where each grid is behind a synchronisation of its own, a look beside it is for nothing.
        if old.shape == shape && old.restrictions == restrictions {
            let granularity = state_granularity();
            let ahead = old.ahead(address, granularity);
            let surroundings = Surroundings::of(start, end_of(start, len, strides) - 1, ahead, access);
            let around = |first, last| surroundings.valid(first, last);
            if let Some(beside) = beside(start, len, strides, around) {
                return cell.set(old.moved(address, beside, granularity));
            }
        }
        ensure_joined(start, len, strides, access);
        // What was missed is not valid for sure: others may have taken it meanwhile.
        if table.restrictions() == restrictions {
            cell.set(Grids { shape, restrictions, first: address, last: address, backwards: false });
        }
    });
    if known.is_err() {
        // The thread is ending.
        ensure_grid(address, len, strides, access);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape =
        Shape { place: 8, access: Access::Read, len: 40, strides: [(10_000, 2), (100_000, 1)] };

    fn known(first: usize, last: usize) -> Grids {
        Grids { shape: SHAPE, restrictions: 3, first, last, backwards: false }
    }

    #[test]
    fn grids_are_known_as_far_as_all_repetitions_are_valid() {
        // Lines of 1000 bytes: the repetitions begin at 300 in each, but for those of the second row.
        let around = |first: usize, last: usize| Some((first % 1000, 999 - last % 1000));
        let sides = beside(300, SHAPE.len, [(10_000, 2), (100_100, 1)], around);
        assert_eq!(sides, Some((300, 560)));
        assert_eq!(
            beside(300, SHAPE.len, SHAPE.strides, |first, _| (first < 100_000).then_some((1, 1))),
            None
        );
        let grids = known(0, 0).moved(300, (300, 560), 1000);
        assert_eq!((grids.first, grids.last), (0, 860));
        assert!(grids.has(&SHAPE, 0, 3) && grids.has(&SHAPE, 860, 3) && !grids.has(&SHAPE, 861, 3));
        assert!(!grids.has(&SHAPE, 300, 4), "a state may allow less");
        assert!(!grids.has(&Shape { access: Access::Write, ..SHAPE }, 300, 3));
        assert!(!grids.has(&Shape { len: 41, ..SHAPE }, 300, 3));
        assert!(!grids.has(&Shape { strides: [(10_000, 2), (100_000, 2)], ..SHAPE }, 300, 3));
        assert!(!Grids::NONE.has(&Grids::NONE.shape, 0, 0), "nothing is known at first");
    }

    #[test]
    fn grids_that_follow_each_other_are_looked_at_ahead() {
        assert_eq!(known(0, 960).ahead(961, 1000), (0, 4000));
        let wide = known(1000, 40_000);
        assert_eq!(wide.ahead(40_001, 1000), (0, 64_000));
        assert_eq!(wide.ahead(999, 1000), (64_000, 0));
        // Elsewhere as far as here, the way that they followed each other.
        assert_eq!(wide.ahead(70_000, 1000), (0, 39_000));
        assert_eq!(wide.moved(999, (900, 0), 1000).ahead(70_000, 1000), (900, 0));
        assert_eq!(wide.moved(70_000, (0, 500), 1000).ahead(200_000, 1000), (0, 500));
    }
}
