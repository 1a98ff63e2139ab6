//! Differences of blocks against their twins, as messages have them.
//!
//! Of each block the number of bytes that follow, and then what was changed:
//!
//! - A run of bytes: the offsets of the first and the last one in the block, and what they are.
//! - A group of [`GROUP`] bytes, where bytes change here and there, as those of integers whose upper bytes stay: an offset that is one too large, its offset, a bit for each of its bytes that was changed, and
//!   what those are.
//!
//! Where not all bytes of an aligned half of a word were changed, those that were also have with them what they had been: the home compares that with what is there, and so finds halves that others have changed, too
//! ([`GroupChange`]). In a run they are at its ends; halves in which there are two runs are in groups. Offsets have 16 bits.

use std::ops::Range;

use super::wire::Malformed;
use crate::fabric::{Fabric, GROUP};
use crate::types::Block;

const LENGTH_BYTES: usize = 4;
/// Two offsets.
const HEAD_BYTES: usize = 4;
const MASK_BYTES: usize = 8;
/// Longest block whose offsets have 16 bits.
const LONGEST_BLOCK: usize = 1 << 16;
/// Bytes of half a word: a variable that programs let race is mostly one.
const HALF: usize = 4;
/// The lowest bit of each half in the mask of a group.
const FIRST_OF_HALVES: u64 = u64::MAX / ((1 << HALF) - 1);

/// What was changed in a group of bytes of a block since its twin was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupChange<'a> {
    /// In the block.
    pub offset: usize,
    /// A bit for each byte that was changed.
    pub changed: u64,
    /// What those are, one after the other.
    pub new: &'a [u8],
    /// What those of them had been in whose aligned half of a word not all were changed ([`bytes_in_part`]), one after the other. Where another process has changed one of them to something else since then,
    /// the half stays as that process has left it: see `dsm_comm::diff`.
    pub old: &'a [u8],
}

impl GroupChange<'_> {
    /// The runs of bytes that were changed: their offsets in the block, and what they are.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut rest = self.new;
        runs_of(self.changed).map(move |run| {
            let (bytes, behind) = rest.split_at(run.len());
            rest = behind;
            (self.offset + run.start, bytes)
        })
    }
}

/// Those bytes of the mask of a group in whose halves of words not all are.
pub fn bytes_in_part(changed: u64) -> u64 {
    let whole = changed & changed >> 1;
    let whole = whole & whole >> 2 & FIRST_OF_HALVES;
    changed & !(whole * ((1 << HALF) - 1))
}

/// Whether a half of a word has bytes of two runs.
fn splits_half(changed: u64) -> bool {
    let last_of_halves = FIRST_OF_HALVES << (HALF - 1);
    let starts = changed & !((changed & !last_of_halves) << 1);
    let two_further = (starts >> 2) & (FIRST_OF_HALVES * 0b11);
    let three_further = (starts >> 3) & FIRST_OF_HALVES;
    starts & (two_further | three_further) != 0
}

/// Most bytes that the difference of a block takes: of each half three bytes and what they had been, in groups.
pub const fn most_bytes(block_bytes: usize) -> usize {
    assert!(block_bytes <= LONGEST_BLOCK);
    LENGTH_BYTES + block_bytes.div_ceil(GROUP) * (HEAD_BYTES + MASK_BYTES + GROUP / HALF * (HALF - 1) * 2)
}

/// Encodes the difference of an own block, and returns its length; `None` if there is not space enough.
pub(super) fn encode<F: Fabric>(fabric: &F, block: Block, into: &mut [u8]) -> Option<usize> {
    assert!(fabric.block_bytes(block) <= LONGEST_BLOCK);
    let mut encoder = Encoder::new(into);
    fabric.visit_changed_groups(block, |change| encoder.add_group(change));
    encoder.end()
}

struct Encoder<'a> {
    bytes: &'a mut [u8],
    /// May be more than there is space for.
    length: usize,
    /// Where the last run is, if nothing is behind it, and its offsets.
    run: Option<(usize, usize, usize)>,
}

impl<'a> Encoder<'a> {
    fn new(bytes: &'a mut [u8]) -> Self {
        Encoder { bytes, length: LENGTH_BYTES, run: None }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.put(self.length, bytes);
        self.length += bytes.len();
    }

    /// Appends the changes of a group, behind those that are there.
    fn add_group(&mut self, change: &GroupChange<'_>) {
        let GroupChange { offset, changed, new, mut old } = *change;
        let runs = (changed & !(changed << 1)).count_ones() as usize;
        if runs * HEAD_BYTES <= HEAD_BYTES + MASK_BYTES && !splits_half(changed) {
            return change.runs().for_each(|(offset, new)| old = self.add(offset, new, old));
        }
        self.run = None;
        self.append(&(offset as u16 + 1).to_le_bytes());
        self.append(&(offset as u16).to_le_bytes());
        self.append(&changed.to_le_bytes());
        self.append(new);
        self.append(old);
    }

    /// Appends a run of bytes from an offset on, behind those that are there. Returns what is left of what bytes had been.
    fn add<'o>(&mut self, offset: usize, new: &[u8], old: &'o [u8]) -> &'o [u8] {
        let ends = Ends::of(offset, new.len());
        let (old_first, old) = old.split_at(ends.first);
        let (old_last, old) = old.split_at(ends.last);
        let (at, first) = match self.run {
            // Inside the block the run of the group before ends, and this one begins, where a half does.
            Some((at, first, last)) if last + 1 == offset => (at, first),
            _ => {
                let at = self.length;
                self.length += HEAD_BYTES;
                self.append(old_first);
                (at, offset)
            }
        };
        self.append(new);
        self.append(old_last);
        let last = offset + new.len() - 1;
        let ([a, b], [c, d]) = ((first as u16).to_le_bytes(), (last as u16).to_le_bytes());
        self.put(at, &[a, b, c, d]);
        self.run = Some((at, first, last));
        old
    }

    fn end(mut self) -> Option<usize> {
        let length = (self.length - LENGTH_BYTES) as u32;
        self.put(0, &length.to_le_bytes());
        (self.length <= self.bytes.len()).then_some(self.length)
    }
}

/// Differences of some blocks, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differences<'a>(&'a [u8]);

impl<'a> Differences<'a> {
    /// Those of a message, of blocks of so many bytes.
    ///
    /// # Errors
    /// They are not.
    pub(super) fn decode(blocks: impl Iterator<Item = usize>, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = bytes;
        for block_bytes in blocks {
            let mut changes;
            (changes, rest) = split(rest).ok_or(Malformed)?;
            while !changes.is_empty() {
                let (change, behind) = first_encoded(changes).ok_or(Malformed)?;
                if change.end() > block_bytes {
                    return Err(Malformed);
                }
                changes = behind;
            }
        }
        if rest.is_empty() { Ok(Differences(bytes)) } else { Err(Malformed) }
    }

    /// Those that [`encode`] made.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Differences(bytes)
    }

    /// Those of the next block; none when all have been.
    pub(crate) fn next_block(&mut self) -> Changes<'a> {
        let (changes, rest) = split(self.0).unwrap_or_default();
        self.0 = rest;
        Changes { encoded: changes, run: None }
    }
}

/// What was changed in a part of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change<'a> {
    /// These bytes from the offset on.
    Run(usize, &'a [u8]),
    Group(GroupChange<'a>),
}

/// Changes of a block.
pub(crate) struct Changes<'a> {
    encoded: &'a [u8],
    /// What is left of the last run.
    run: Option<Run<'a>>,
}

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let run = match self.run.take() {
            Some(run) => run,
            None => {
                let (encoded, rest) = first_encoded(self.encoded)?;
                self.encoded = rest;
                match encoded {
                    Encoded::Run(run) => run,
                    Encoded::Group(change) => return Some(Change::Group(change)),
                }
            }
        };
        let (change, rest) = run.split();
        self.run = rest;
        Some(change)
    }
}

/// A change as it is encoded.
enum Encoded<'a> {
    Run(Run<'a>),
    Group(GroupChange<'a>),
}

impl Encoded<'_> {
    /// Offset behind what was changed.
    fn end(&self) -> usize {
        match self {
            Encoded::Run(run) => run.offset + run.new.len(),
            Encoded::Group(change) => change.offset + GROUP - change.changed.leading_zeros() as usize,
        }
    }
}

/// A run of bytes, or what is left of it.
#[derive(Clone, Copy)]
struct Run<'a> {
    offset: usize,
    new: &'a [u8],
    /// What those had been that are in halves with other bytes, at either end.
    old_first: &'a [u8],
    old_last: &'a [u8],
}

impl<'a> Run<'a> {
    /// The change of the first bytes, which are in one half of a word or in whole ones, and what is left.
    fn split(self) -> (Change<'a>, Option<Run<'a>>) {
        let Run { offset, new, old_first, old_last } = self;
        let (bytes, old) = match (old_first.len(), new.len() - old_last.len()) {
            (0, 0) => (new.len(), old_last),
            (0, in_whole_halves) => (in_whole_halves, &[][..]),
            (in_first, _) => (in_first, old_first),
        };
        let (now, later) = new.split_at(bytes);
        let rest = Run { offset: offset + bytes, new: later, old_first: &[], old_last };
        let change = if old.is_empty() { Change::Run(offset, now) } else { part_of_half(offset, now, old) };
        (change, (!later.is_empty()).then_some(rest))
    }
}

/// The change of some bytes of a half of a word.
fn part_of_half<'a>(offset: usize, new: &'a [u8], old: &'a [u8]) -> Change<'a> {
    let at = offset % GROUP;
    Change::Group(GroupChange { offset: offset - at, changed: ((1 << new.len()) - 1) << at, new, old })
}

/// How many bytes of a run are in halves of words with others that are not in it.
struct Ends {
    first: usize,
    /// 0 if the last one is in the same half as the first.
    last: usize,
}

impl Ends {
    fn of(offset: usize, bytes: usize) -> Self {
        let end = offset + bytes;
        let first = (offset.next_multiple_of(HALF) - offset).min(bytes);
        Ends { first, last: (end % HALF).min(bytes - first) }
    }
}

/// The runs of bits in a mask.
fn runs_of(mut mask: u64) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let start = mask.trailing_zeros();
        let length = mask.checked_shr(start)?.trailing_ones();
        let behind = u64::MAX.checked_shl(start + length).unwrap_or(0);
        mask &= behind;
        Some(start as usize..(start + length) as usize)
    })
}

/// The changes of the first block, and what is behind them.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// The first change, and what is behind it.
fn first_encoded(changes: &[u8]) -> Option<(Encoded<'_>, &[u8])> {
    let ([a, b, c, d], rest) = changes.split_first_chunk::<HEAD_BYTES>()?;
    let offset = |low: u8, high: u8| usize::from(u16::from_le_bytes([low, high]));
    let (first, last) = (offset(*a, *b), offset(*c, *d));
    if first == last + 1 && last.is_multiple_of(GROUP) {
        let (changed, rest) = rest.split_first_chunk::<MASK_BYTES>()?;
        let changed = u64::from_le_bytes(*changed);
        let (new, rest) = rest.split_at_checked(changed.count_ones() as usize)?;
        let (old, rest) = rest.split_at_checked(bytes_in_part(changed).count_ones() as usize)?;
        return Some((Encoded::Group(GroupChange { offset: last, changed, new, old }), rest));
    }
    let bytes = last.checked_sub(first)? + 1;
    let ends = Ends::of(first, bytes);
    let (old_first, rest) = rest.split_at_checked(ends.first)?;
    let (new, rest) = rest.split_at_checked(bytes)?;
    let (old_last, rest) = rest.split_at_checked(ends.last)?;
    Some((Encoded::Run(Run { offset: first, new, old_first, old_last }), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 2 * GROUP;

    fn encoded(changed: &[bool], into: &mut [u8]) -> Option<usize> {
        let mut encoder = Encoder::new(into);
        for (number, group) in changed.chunks(GROUP).enumerate() {
            let mask =
                group.iter().enumerate().fold(0, |mask, (at, changed)| mask | u64::from(*changed) << at);
            let offset = number * GROUP;
            let of = |mask: u64| {
                (0..GROUP).filter(move |at| mask >> at & 1 == 1).map(move |at| (offset + at) as u8 + 1)
            };
            let (new, old): (Vec<_>, Vec<_>) =
                (of(mask).collect(), of(bytes_in_part(mask)).map(|byte| !byte).collect());
            if mask != 0 {
                encoder.add_group(&GroupChange { offset, changed: mask, new: &new, old: &old });
            }
        }
        encoder.end()
    }

    /// What changes of a block write, and whether it is known what that had been.
    fn written(changes: Changes<'_>) -> Vec<Option<(u8, bool)>> {
        let mut found = vec![None; BLOCK];
        for change in changes {
            match change {
                Change::Run(offset, bytes) => {
                    assert!(offset.is_multiple_of(HALF) && bytes.len().is_multiple_of(HALF));
                    (offset..).zip(bytes).for_each(|(at, byte)| found[at] = Some((*byte, false)));
                }
                Change::Group(change) => {
                    let mut old = change.old.iter();
                    for (offset, bytes) in change.runs() {
                        for (at, byte) in (offset..).zip(bytes) {
                            let is_known = bytes_in_part(change.changed) >> (at % GROUP) & 1 == 1;
                            assert!(found[at].is_none() && (!is_known || old.next() == Some(&!byte)));
                            found[at] = Some((*byte, is_known));
                        }
                    }
                    assert_eq!(old.next(), None);
                }
            }
        }
        found
    }

    /// Changes in one half of a word are in one group: it stays as a whole, or changes as a whole.
    #[test]
    fn halves_of_words_are_not_divided() {
        for changed in patterns() {
            let mut message = [0; most_bytes(BLOCK)];
            let length = encoded(&changed, &mut message).expect("there is space");
            let mut differences =
                Differences::decode([BLOCK].into_iter(), &message[..length]).expect("it is right");
            let mut changes_of_half = [0; BLOCK / HALF];
            for change in differences.next_block() {
                if let Change::Group(change) = change {
                    let halves = (0..GROUP / HALF).filter(|half| change.changed >> (half * HALF) & 0xf != 0);
                    halves.for_each(|half| changes_of_half[change.offset / HALF + half] += 1);
                }
            }
            assert!(changes_of_half.iter().all(|changes| *changes < 2), "{changed:?}");
        }
    }

    /// Every second, third and so on byte, from each of the first on; all from one on, all up to one, and none.
    fn patterns() -> impl Iterator<Item = Vec<bool>> {
        let every = |step: usize, first: usize| (0..BLOCK).map(|at| at >= first && at % step == 0).collect();
        let up_to = (0..=BLOCK).map(|end| (0..BLOCK).map(|at| at < end).collect());
        let pairs = (2..40).map(|step| (0..BLOCK).map(|at| at % step < 2).collect());
        let halves =
            (0..256).map(|bits: u32| (0..BLOCK).map(|at| at / 8 == 3 && bits >> (at % 8) & 1 == 1).collect());
        (1..9)
            .flat_map(move |step| [0, 1, 5, GROUP, BLOCK].map(|first| every(step, first)))
            .chain(up_to)
            .chain(pairs)
            .chain(halves)
    }

    #[test]
    fn what_is_encoded_comes_out() {
        for changed in patterns() {
            let mut message = [0xaa; 2 * most_bytes(BLOCK)];
            let first = encoded(&changed, &mut message).expect("there is space");
            assert!(first <= most_bytes(BLOCK));
            let second = encoded(&[true; BLOCK], &mut message[first..]).expect("there is space");
            let message = &message[..first + second];
            let mut differences = Differences::decode([BLOCK; 2].into_iter(), message).expect("it is right");
            let is_in_part = |at: usize| !changed[at - at % HALF..][..HALF].iter().all(|changed| *changed);
            let expected: Vec<_> =
                (0..BLOCK).map(|at| changed[at].then(|| (at as u8 + 1, is_in_part(at)))).collect();
            assert_eq!(written(differences.next_block()), expected);
            let all: [u8; BLOCK] = std::array::from_fn(|at| at as u8 + 1);
            assert_eq!(differences.next_block().collect::<Vec<_>>(), [Change::Run(0, &all)]);
            assert_eq!(differences.next_block().count(), 0);
        }
    }

    #[test]
    fn what_has_no_space_is_refused() {
        for changed in patterns() {
            let mut message = [0; most_bytes(BLOCK)];
            let length = encoded(&changed, &mut message).expect("there is space");
            for less in 0..length {
                assert_eq!(encoded(&changed, &mut message[..less]), None);
            }
        }
    }

    #[test]
    fn runs_of_a_mask_are_its_bits() {
        let runs = |mask| runs_of(mask).map(|run| (run.start, run.end)).collect::<Vec<_>>();
        assert_eq!(runs(0), []);
        assert_eq!(runs(u64::MAX), [(0, 64)]);
        assert_eq!(runs(1 << 63 | 0b1011), [(0, 2), (3, 4), (63, 64)]);
    }

    #[test]
    fn what_nobody_encodes_is_refused() {
        fn decode(blocks: usize, message: &[u8]) -> Result<Differences<'_>, Malformed> {
            Differences::decode(std::iter::repeat_n(4, blocks), message)
        }
        // Bytes 1 to 3 with what they had been.
        let right = [10, 0, 0, 0, 1, 0, 3, 0, 1, 2, 3, 7, 8, 9];
        assert!(decode(1, &right).is_ok() && decode(0, &[]).is_ok() && decode(2, &[0; 8]).is_ok());
        assert!(decode(0, &right).is_err() && decode(2, &right).is_err());
        for less in 0..right.len() {
            assert!(decode(1, &right[..less]).is_err());
        }
        // The end of the block, of the runs, and a run that ends before it begins.
        for (at, byte) in [(6, 4), (4, 2), (0, 9), (0, 11), (4, 4)] {
            let mut wrong = right;
            wrong[at] = byte;
            assert!(decode(1, &wrong).is_err(), "byte {at} = {byte}");
        }
        let right = [16, 0, 0, 0, 1, 0, 0, 0, 0b101, 0, 0, 0, 0, 0, 0, 0, 7, 9, 1, 3];
        assert!(decode(1, &right).is_ok());
        for less in 0..right.len() {
            assert!(decode(1, &right[..less]).is_err());
        }
        // More bytes than there are, nothing of what they had been to be there, more than the block has, and an offset that no group has.
        for (at, byte) in [(9, 1), (8, 0b111), (12, 1), (15, 1), (4, 3), (6, 1)] {
            let mut wrong = right;
            wrong[at] = byte;
            assert!(decode(1, &wrong).is_err(), "byte {at} = {byte}");
        }
    }
}
