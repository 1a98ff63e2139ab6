//! Whose Fortran units are. Each process has its own connections and buffers, as its copy of flang's library keeps them in private memory.
//!
//! Standard output (6) and error (0) are connected everywhere, standard input (5) is process 0's. Any other unit belongs to the process that
//! connected it, these three too once the program has opened them: a table in the control words keeps the owners. The library hands out
//! numbers for `newunit=` from -1 down; those of process `r` go under numbers that are smaller by `r * RANGE`, which name the owner.

use crate::control::Watched;
use crate::job::die;
use crate::stdio::mailbox;
use crate::sync;

/// Of the program, with its own number in every process.
pub const STANDARD_ERROR: i32 = 0;
/// Process 0's.
pub const STANDARD_INPUT: i32 = 5;
/// As [`STANDARD_ERROR`].
pub const STANDARD_OUTPUT: i32 = 6;

/// Numbers of each process for `newunit=`; more than the library has.
const RANGE: i32 = 4096;

/// Words of the table.
const TABLE_WORDS: usize = 1024;

crate::control::declare! {
    /// Which process a unit is connected in, in process 0.
    static UNITS: Watched, TABLE_WORDS;
}

/// Set in a word of the table that has served a unit; the owner's rank plus one, or 0, lies below, the unit above.
const IN_USE: u64 = 1 << 31;

fn key(unit: i32) -> u64 {
    u64::from(unit.cast_unsigned()) << 32 | IN_USE
}

/// Looks for the unit's word: calls `found(word, contents)` for it, or for the free word where it could be, until that gives a result;
/// `None` if the unit is not there and the table is full.
fn look_up<R>(unit: i32, mut found: impl FnMut(Watched, u64) -> Option<R>) -> Option<R> {
    let first = unit as usize % TABLE_WORDS;
    for step in 0..TABLE_WORDS {
        let word = UNITS.shared((first + step) % TABLE_WORDS);
        loop {
            let contents = word.load();
            if contents != 0 && contents & !(IN_USE - 1) != key(unit) {
                break;
            }
            if let Some(result) = found(word, contents) {
                return Some(result);
            }
        }
    }
    None
}

fn rank_in(contents: u64) -> Option<u32> {
    (contents & (IN_USE - 1)).checked_sub(1).map(|rank| rank as u32)
}

/// The process that has the unit connected.
pub fn owner(unit: i32) -> Option<u32> {
    look_up(unit, |_, contents| Some(rank_in(contents))).flatten()
}

/// Makes this process the owner unless there is one; the owner.
pub fn claim(unit: i32) -> u32 {
    let me = sync::rank();
    let claimed = look_up(unit, |word, contents| {
        if let Some(rank) = rank_in(contents) {
            return Some(rank);
        }
        let taken = word.compare_exchange(contents, key(unit) | u64::from(me + 1)).is_ok();
        taken.then(|| {
            mailbox::serve();
            me
        })
    });
    claimed.unwrap_or_else(|| {
        die(&format!(
            "the job has used more than {TABLE_WORDS} different unit numbers; use newunit= or fewer numbers"
        ))
    })
}

/// The unit is not connected any more.
pub fn release(unit: i32) {
    let mine = key(unit) | u64::from(sync::rank() + 1);
    look_up(unit, |word, contents| {
        (contents != mine || word.compare_exchange(mine, key(unit)).is_ok()).then_some(())
    });
}

/// The number by which all processes know a unit of this one.
pub fn for_all(own: i32) -> i32 {
    if own < 0 { own - sync::rank() as i32 * RANGE } else { own }
}

/// Owner of a negative number, and the number there.
pub fn split(unit: i32) -> (u32, i32) {
    let rank = -(unit + 1) / RANGE;
    (rank as u32, unit + rank * RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_name_their_owner() {
        for rank in 0..3 {
            for own in [-1, -2, -129, -RANGE] {
                assert_eq!(split(own - rank * RANGE), (rank as u32, own));
            }
        }
    }
}
