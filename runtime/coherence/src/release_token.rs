//! Release tokens: how far a signature is published, and its last notices, piggybacked on the word or message that orders an acquire after a release.
//! TreadMarks piggybacks notices on lock grants in the same way.

use crate::types::{Block, Extent, Notice, Rank};

/// What a release hands to the acquires that follow it: the state word of the published signature, and its last notices, which often are all
/// that the acquirer does not know yet. Locks and barriers carry it as five opaque words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReleaseToken(pub [u64; ReleaseToken::WORDS]);

/// Notices in a token.
pub(crate) const TAIL: usize = 2;
const COUNT_SHIFT: u32 = 40;
const WRITER_SHIFT: u32 = 48;
const MERGED_SHIFT: u32 = 63;

/// A state word alone.
impl From<u64> for ReleaseToken {
    fn from(state: u64) -> ReleaseToken {
        let mut token = ReleaseToken::default();
        token.0[0] = state;
        token
    }
}

impl ReleaseToken {
    /// Words.
    pub const WORDS: usize = 1 + 2 * TAIL;

    #[inline(always)]
    pub(crate) fn state(self) -> u64 {
        self.0[0]
    }

    /// Notice number `back` from the end of the list, from 1 on, if the token has it.
    #[inline(always)]
    pub(crate) fn tail(self, back: usize) -> Option<Notice> {
        let [place, wr_ts] = *self.0[1..].chunks_exact(2).nth(back - 1)? else { return None };
        let field = |shift: u32, bits: u32| place >> shift & ((1 << bits) - 1);
        (wr_ts != 0).then(|| Notice {
            writer: Rank(field(WRITER_SHIFT, MERGED_SHIFT - WRITER_SHIFT) as u32),
            extent: Extent::new(Block(field(0, COUNT_SHIFT)), field(COUNT_SHIFT, WRITER_SHIFT - COUNT_SHIFT)),
            wr_ts,
            merged: place >> MERGED_SHIFT != 0,
        })
    }

    /// Makes a notice number `back` from the end.
    #[inline(always)]
    pub(crate) fn set_tail(&mut self, back: usize, notice: Notice) {
        let (first, count, writer) = (notice.extent.first.0, notice.extent.count, u64::from(notice.writer.0));
        let fits = first >> COUNT_SHIFT == 0
            && count >> (WRITER_SHIFT - COUNT_SHIFT) == 0
            && writer >> (MERGED_SHIFT - WRITER_SHIFT) == 0;
        let merged = u64::from(notice.merged) << MERGED_SHIFT;
        let place = first | count << COUNT_SHIFT | writer << WRITER_SHIFT | merged;
        // A notice that does not fit is left out.
        let words = if fits { [place, notice.wr_ts] } else { [0; 2] };
        self.0[2 * back - 1..=2 * back].copy_from_slice(&words);
    }

    /// A notice follows the last one.
    #[inline(always)]
    pub(crate) fn push(&mut self, notice: Notice) {
        for word in (3..ReleaseToken::WORDS).rev() {
            self.0[word] = self.0[word - 2];
        }
        self.set_tail(1, notice);
    }

    /// The same notices at another state of the signature.
    #[inline(always)]
    pub(crate) fn at(mut self, state: u64) -> ReleaseToken {
        self.0[0] = state;
        self
    }
}

/// Bits of a state word that hold the length.
pub(crate) const LENGTH_BITS: u32 = 21;
/// Greatest length of a published list.
pub(crate) const LENGTH_MAX: usize = (1 << LENGTH_BITS) - 1;

/// A sequence number and a length in a word. Of the sequence number 43 bits are left: a state is mistaken for an older one of the same process by who comes
/// back to it after 2^42 lists, each begun by a synchronisation of its own, which takes weeks at one in a microsecond.
#[inline(always)]
pub(crate) fn state_word(sequence: u64, length: usize) -> u64 {
    sequence << LENGTH_BITS | length as u64
}

/// Whether a process that has read up to `cursor` has read all that was published when the state word was `state`. Who has read of a newer list has read what it repeats of the older one: no state
/// of it is from before that.
#[inline(always)]
pub(crate) fn is_read(cursor: u64, state: u64) -> bool {
    if cursor == state {
        return true;
    }
    let (sequence, length) = split_state(state);
    let (read, until) = split_state(cursor);
    if sequence == read { length <= until } else { is_newer(read, sequence) }
}

/// Whether a sequence number is greater than another one, as they wrap.
fn is_newer(sequence: u64, other: u64) -> bool {
    let wrapping = (sequence << LENGTH_BITS).wrapping_sub(other << LENGTH_BITS);
    wrapping != 0 && wrapping >> (u64::BITS - 1) == 0
}

/// Splits a state word into sequence number and length.
#[inline(always)]
pub(crate) fn split_state(word: u64) -> (u64, u32) {
    (word >> LENGTH_BITS, (word & LENGTH_MAX as u64) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_tell_lists_apart() {
        for sequence in [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 43) - 1] {
            for length in [0, 1, 1 << 20, LENGTH_MAX] {
                assert_eq!(split_state(state_word(sequence, length)), (sequence, length as u32));
            }
        }
    }

    #[test]
    fn who_has_read_of_a_newer_list_has_read_the_older_one() {
        let last = (1 << 43) - 1;
        for (read, published, known) in
            [((4, 2), (4, 2), true), ((4, 2), (4, 3), false), ((4, 0), (3, 9), true), ((3, 9), (4, 0), false)]
        {
            assert_eq!(is_read(state_word(read.0, read.1), state_word(published.0, published.1)), known);
        }
        assert!(
            is_read(state_word(0, 1), state_word(last, 5)) && !is_read(state_word(last, 5), state_word(0, 1))
        );
    }

    #[test]
    fn a_token_has_the_notice_or_nothing() {
        for (first, count, writer, fits) in [
            (5, 3, 1, true),
            ((1 << 40) - 1, 255, (1 << 15) - 1, true),
            (1 << 40, 1, 1, false),
            (1 << 41, 1, 1, false),
            (5, 256, 1, false),
            (5, 1, 1 << 15, false),
            (5, 1, 1 << 16, false),
        ] {
            for merged in [false, true] {
                let extent = Extent::new(Block(first), count);
                let notice = Notice { writer: Rank(writer), extent, wr_ts: 9, merged };
                let mut token = ReleaseToken::default();
                token.push(notice);
                assert_eq!(token.tail(1), fits.then_some(notice));
            }
        }
    }

    #[test]
    fn a_token_has_the_tail_as_far_as_it_fits() {
        assert_eq!(ReleaseToken::default().tail(1), None);
        let near = Notice { writer: Rank(1), extent: Extent::single(Block(4)), wr_ts: 3, merged: false };
        let wide = Notice { writer: Rank(3), extent: Extent::new(Block(7), 256), wr_ts: 9, merged: true };
        let far = Notice {
            writer: Rank(1023),
            extent: Extent::new(Block((1 << 40) - 1), 255),
            wr_ts: u64::MAX,
            merged: false,
        };
        let mut token = ReleaseToken::default();
        token.push(near);
        assert_eq!((token.tail(1), token.tail(2)), (Some(near), None));
        token.push(wide);
        assert_eq!((token.tail(1), token.tail(2)), (None, Some(near)));
        token.push(far);
        let token = token.at(7);
        assert_eq!((token.state(), token.tail(1), token.tail(2), token.tail(3)), (7, Some(far), None, None));
    }
}
