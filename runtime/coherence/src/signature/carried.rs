//! Where readers go on in a list that has begun anew.
//!
//! A new list begins with what is left of the one before, in its order. Who has read the one before up to some place has read what is left of that part, too. The writer publishes, for
//! places at distances 0, 1, 2, 4, ... from the end of the old list, how much of what was in front of them is left. A reader that has not read n notices of the old list goes on from
//! the next place at least as far from the end, and reads fewer than 2n of the old list again. Most have read all, or all but what came in the last barrier.

use crate::Fault;
use crate::fabric::{Fabric, Word};
use crate::release_token::LENGTH_BITS;

/// Words that say so: one for the end of the old list, and one for each power of two that may be a distance from it.
pub const CARRIED_WORDS: usize = 1 + LENGTH_BITS as usize;

/// Shift of the number of notices of the old list that were published, in each word. Below is a place in the new one.
const LENGTH: u32 = 32;

/// Distance from the end of the old list that a word is about.
fn distance(word: u8) -> u32 {
    if word == 0 { 0 } else { 1 << (word - 1) }
}

/// Notices of the old list that were published.
pub(crate) fn length(word: u64) -> u32 {
    (word >> LENGTH) as u32
}

/// Place in the new list where a reader goes on.
pub(crate) fn place(word: u64) -> u32 {
    word as u32
}

/// The word for a reader of the first `until` of `length` notices; None: it has to read the new list from its beginning.
pub(crate) fn word(length: u32, until: u32) -> Option<u8> {
    let unread = length.checked_sub(until)?;
    let word = if unread == 0 { 0 } else { 1 + unread.next_power_of_two().trailing_zeros() as u8 };
    (distance(word) <= length).then_some(word)
}

/// Stores the words. The new list begins with notices from `places` of the old one, in ascending order; those from `length` on were not published.
/// Two lists take turns, as their notices do: who still reads the old one finds its words as they were.
pub(super) fn write<F: Fabric>(fabric: &F, buffer: u8, length: u32, places: &[u32]) {
    let buffer = if fabric.fault(Fault::CarriedInPlace) { 0 } else { buffer };
    for word in (0..CARRIED_WORDS as u8).take_while(|word| distance(*word) <= length) {
        let end = length - distance(word);
        let left = places.partition_point(|place| *place < end) as u64;
        fabric.set_own(Word::LogCarried { buffer, word }, u64::from(length) << LENGTH | left);
    }
}

/// As [`place`] of the own words for a reader of `until` notices.
pub(crate) fn own<F: Fabric>(fabric: &F, buffer: u8, until: u32) -> u32 {
    let load = |word| fabric.own(Word::LogCarried { buffer, word });
    word(length(load(0)), until).map_or(0, |word| place(load(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_goes_on_where_it_has_read_all_in_front_and_reads_little_twice() {
        for length in 0..70 {
            for until in 0..=length {
                let unread = length - until;
                match word(length, until) {
                    Some(word) => {
                        let twice = distance(word).checked_sub(unread).expect("nothing is left out");
                        assert!(twice < unread.max(1), "{unread} unread, {twice} twice");
                        assert!(usize::from(word) < CARRIED_WORDS);
                    }
                    None => assert!(unread.next_power_of_two() > length),
                }
            }
        }
    }

    #[test]
    fn what_was_never_published_is_not_skipped() {
        assert_eq!(word(3, 4), None);
    }
}
