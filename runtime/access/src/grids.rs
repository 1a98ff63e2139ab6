//! What a thread remembers of the grids that it checks.
//!
//! A loop over a collapsed nest checks, in each iteration, a column, a plane or the like: the same lines again as in the iteration before, until it leaves them. So each place in the program where a grid is
//! checked has a memory in each thread: the last grid that was found valid there, and how far to either side of all its repetitions lines are valid, too. It holds as long as no state in the process allows less than
//! before ([`StateTable::restrictions`](crate::memory::table::StateTable::restrictions)), so it is worth what a look at the states would be. How far a check looks ahead grows while grids follow each other.

use std::cell::Cell;

use dsm_threads::handler;

use crate::check::{Access, ensure_joined, has_effect, joined};
use crate::window::{BESIDE_MAX, BESIDE_MIN, valid_around};
use crate::{checked, memory};

/// Places whose grids a thread remembers, a power of two.
const PLACES: usize = 256;
/// Fewer repetitions than this are looked at as fast as they are remembered.
const LEAST_REPETITIONS: usize = 4;

/// A grid of which it is known that it is valid from any address between `first` and `last`: see [`ensure_joined`].
#[derive(Clone, Copy, Debug)]
struct Grid {
    place: usize,
    access: Access,
    len: usize,
    strides: [(usize, usize); 2],
    restrictions: u64,
    first: usize,
    last: usize,
}

impl Grid {
    const NONE: Grid = Grid {
        place: 0,
        access: Access::Read,
        len: 0,
        strides: [(0, 0); 2],
        restrictions: 0,
        first: 1,
        last: 0,
    };

    fn is_like(&self, other: &Grid) -> bool {
        (self.place, self.len, self.strides, self.access)
            == (other.place, other.len, other.strides, other.access)
    }

    fn has(&self, other: &Grid) -> bool {
        self.restrictions == other.restrictions
            && (self.first..=self.last).contains(&other.first)
            && self.is_like(other)
    }

    /// How many bytes before or behind each repetition of `next` are looked at: none unless it follows this grid, and the more the more are known.
    fn ahead(&self, next: &Grid, line: usize) -> (usize, usize) {
        let bytes = (2 * self.last.wrapping_sub(self.first)).clamp(BESIDE_MIN * line, BESIDE_MAX * line);
        let near = next.len + line;
        if !self.is_like(next) {
            (0, 0)
        } else if next.first > self.last && next.first - self.last <= near {
            (0, bytes)
        } else if next.first < self.first && self.first - next.first <= near {
            (bytes, 0)
        } else {
            (0, 0)
        }
    }

    /// The valid grid, and those beside it: `around` tells for the first and the last byte of a repetition how many bytes before and behind are valid, too.
    fn widened(self, around: impl Fn(usize, usize) -> (usize, usize)) -> Grid {
        let [(step, count), (outer_step, outer_count)] = self.strides;
        let (mut before, mut behind) = (usize::MAX, usize::MAX);
        for j in 0..=outer_count {
            for i in 0..=count {
                let first =
                    self.first.wrapping_add(i.wrapping_mul(step)).wrapping_add(j.wrapping_mul(outer_step));
                let beside = around(first, first.wrapping_add(self.len - 1));
                (before, behind) = (before.min(beside.0), behind.min(beside.1));
            }
        }
        Grid { first: self.first.saturating_sub(before), last: self.first.saturating_add(behind), ..self }
    }
}

thread_local! {
    static GRIDS: [Cell<Grid>; PLACES] = const { [const { Cell::new(Grid::NONE) }; PLACES] };
}

fn slot_of(place: usize) -> usize {
    // Multiplicative hashing: places of one loop lie side by side.
    (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (usize::BITS - PLACES.ilog2())
}

/// [`ensure_grid`](crate::check::ensure_grid), of the access that returns to `place`.
pub fn ensure_at(place: usize, address: usize, len: usize, strides: [(usize, usize); 2], access: Access) {
    if !has_effect() || len == 0 {
        return;
    }
    let (address, len, strides, access) = joined(address, len, strides, access);
    let repetitions = strides.iter().fold(1, |all: usize, (_, count)| all.saturating_mul(count + 1));
    // A handler may have interrupted this function.
    if repetitions < LEAST_REPETITIONS || checked::is_on() || handler::is_over_user_code() {
        return ensure_joined(address, len, strides, access);
    }
    let table = memory::get().table();
    let restrictions = table.restrictions();
    let grid = Grid { place, access, len, strides, restrictions, first: address, last: address };
    let known = GRIDS.try_with(|grids| {
        let cell = &grids[slot_of(place)];
        let old = cell.get();
        if old.has(&grid) {
            return;
        }
        ensure_joined(address, len, strides, access);
        // What was missed is not valid for sure: others may have taken it meanwhile.
        if table.restrictions() != restrictions {
            return;
        }
        // Where each grid is behind a synchronisation of its own, a look beside it is for nothing.
        if !old.is_like(&grid) || old.restrictions != restrictions {
            return cell.set(grid);
        }
        let ahead = old.ahead(&grid, 1 << memory::get().geometry().line_shift());
        cell.set(grid.widened(|first, last| valid_around(first, last, ahead, access)));
    });
    if known.is_err() {
        // The thread is ending.
        ensure_joined(address, len, strides, access);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(first: usize) -> Grid {
        let strides = [(10_000, 2), (100_000, 1)];
        Grid { place: 8, access: Access::Read, len: 40, strides, restrictions: 3, first, last: first }
    }

    #[test]
    fn a_grid_is_known_as_far_as_all_repetitions_are_valid() {
        // Lines of 1000 bytes: the repetitions begin at 300 in each.
        let around = |first: usize, last: usize| (first % 1000, 999 - last % 1000);
        let known = grid(300).widened(around);
        assert_eq!((known.first, known.last), (0, 960));
        assert!(known.has(&grid(0)) && known.has(&grid(960)) && !known.has(&grid(961)));
        assert!(!known.has(&Grid { restrictions: 4, ..grid(300) }), "a state may allow less");
        assert!(!known.has(&Grid { access: Access::Write, ..grid(300) }));
        assert!(!known.has(&Grid { len: 41, ..grid(300) }));
        assert!(!known.has(&Grid { strides: [(10_000, 2), (100_000, 2)], ..grid(300) }));
        assert!(!Grid::NONE.has(&Grid { first: 0, ..Grid::NONE }), "nothing is known at first");
    }

    #[test]
    fn grids_that_follow_each_other_are_looked_at_ahead() {
        let known = grid(300).widened(|first, last| (first % 1000, 999 - last % 1000));
        assert_eq!(known.ahead(&grid(961), 1000), (0, 4000));
        assert_eq!(known.ahead(&grid(5000), 1000), (0, 0));
        let wide = Grid { last: 40_000, ..known };
        assert_eq!(wide.ahead(&grid(40_001), 1000), (0, 64_000));
        assert_eq!(Grid { first: 1000, ..wide }.ahead(&grid(999), 1000), (64_000, 0));
    }
}
