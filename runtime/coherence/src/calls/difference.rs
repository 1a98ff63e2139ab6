//! Differences of blocks against their twins, as messages have them.
//!
//! Of each block the number of bytes that follow, and then what was changed. Runs of bytes, where that is shorter: the offsets of the first and the last one in the block, and what they are.
//! Where bytes change here and there, as those of integers whose upper bytes stay, each group of [`GROUP`] bytes: an offset that is one too large, its offset, a bit for each of its bytes that was changed, and
//! its bytes up to the last one that was. So a block takes a fifth more than its size at most. Offsets have 16 bits.

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

/// Most bytes that the difference of a block takes.
pub const fn most_bytes(block_bytes: usize) -> usize {
    assert!(block_bytes <= LONGEST_BLOCK);
    LENGTH_BYTES + block_bytes.div_ceil(GROUP) * (HEAD_BYTES + MASK_BYTES + GROUP)
}

/// Encodes the difference of an own block, and returns its length; `None` if there is not space enough.
pub(super) fn encode<F: Fabric>(fabric: &F, block: Block, into: &mut [u8]) -> Option<usize> {
    assert!(fabric.block_bytes(block) <= LONGEST_BLOCK);
    let mut encoder = Encoder::new(into);
    fabric.visit_changed_groups(block, |offset, changed, bytes| encoder.add_group(offset, changed, bytes));
    encoder.end()
}

struct Encoder<'a> {
    bytes: &'a mut [u8],
    /// May be more than there is space for.
    length: usize,
    /// Where the last run is, and its offsets.
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

    /// Appends the changed bytes of a group, behind those that are there.
    fn add_group(&mut self, offset: usize, changed: u64, bytes: &[u8; GROUP]) {
        if changed == u64::MAX {
            return self.add(offset, bytes);
        }
        let runs = (changed & !(changed << 1)).count_ones() as usize;
        let bytes_of_runs = runs * HEAD_BYTES + changed.count_ones() as usize;
        if bytes_of_runs <= HEAD_BYTES + MASK_BYTES + reach(changed) {
            return runs_of(changed).for_each(|run| self.add(offset + run.start, &bytes[run]));
        }
        self.run = None;
        let ([a, b], [c, d]) = ((offset as u16 + 1).to_le_bytes(), (offset as u16).to_le_bytes());
        self.put(self.length, &[a, b, c, d]);
        self.put(self.length + HEAD_BYTES, &changed.to_le_bytes());
        let bytes = &bytes[..reach(changed)];
        self.put(self.length + HEAD_BYTES + MASK_BYTES, bytes);
        self.length += HEAD_BYTES + MASK_BYTES + bytes.len();
    }

    /// Appends bytes from an offset on, behind those that are there.
    fn add(&mut self, offset: usize, bytes: &[u8]) {
        let (at, first) = match self.run {
            Some((at, first, last)) if last + 1 == offset => (at, first),
            _ => {
                self.length += HEAD_BYTES;
                (self.length - HEAD_BYTES, offset)
            }
        };
        self.put(self.length, bytes);
        self.length += bytes.len();
        let last = offset + bytes.len() - 1;
        let ([a, b], [c, d]) = ((first as u16).to_le_bytes(), (last as u16).to_le_bytes());
        self.put(at, &[a, b, c, d]);
        self.run = Some((at, first, last));
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
                let (change, behind) = first_change(changes).ok_or(Malformed)?;
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
        Changes(changes)
    }
}

/// What was changed in a part of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change<'a> {
    /// These bytes from the offset on.
    Run(usize, &'a [u8]),
    /// Of the bytes from the offset on, those whose bits are set.
    Group(usize, u64, &'a [u8]),
}

impl Change<'_> {
    /// Offset behind it.
    fn end(&self) -> usize {
        let (Change::Run(offset, bytes) | Change::Group(offset, _, bytes)) = self;
        offset + bytes.len()
    }
}

/// Changes of a block.
pub(crate) struct Changes<'a>(&'a [u8]);

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (change, rest) = first_change(self.0)?;
        self.0 = rest;
        Some(change)
    }
}

/// The runs of bits in a mask.
pub(crate) fn runs_of(mut mask: u64) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let start = mask.trailing_zeros();
        let length = mask.checked_shr(start)?.trailing_ones();
        let behind = u64::MAX.checked_shl(start + length).unwrap_or(0);
        mask &= behind;
        Some(start as usize..(start + length) as usize)
    })
}

/// Bytes of a group up to the last one that was changed.
fn reach(changed: u64) -> usize {
    GROUP - changed.leading_zeros() as usize
}

/// The changes of the first block, and what is behind them.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// The first change, and what is behind it.
fn first_change(changes: &[u8]) -> Option<(Change<'_>, &[u8])> {
    let ([a, b, c, d], rest) = changes.split_first_chunk::<HEAD_BYTES>()?;
    let offset = |low: u8, high: u8| usize::from(u16::from_le_bytes([low, high]));
    let (first, last) = (offset(*a, *b), offset(*c, *d));
    if first == last + 1 && last.is_multiple_of(GROUP) {
        let (changed, rest) = rest.split_first_chunk::<MASK_BYTES>()?;
        let changed = u64::from_le_bytes(*changed);
        let (contents, rest) = rest.split_at_checked(reach(changed))?;
        return Some((Change::Group(last, changed, contents), rest));
    }
    let length = last.checked_sub(first)? + 1;
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((Change::Run(first, contents), rest))
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
            let bytes = std::array::from_fn(|at| (number * GROUP + at) as u8 + 1);
            if mask != 0 {
                encoder.add_group(number * GROUP, mask, &bytes);
            }
        }
        encoder.end()
    }

    /// What changes of a block write.
    fn written(changes: Changes<'_>) -> Vec<Option<u8>> {
        let mut found = vec![None; BLOCK];
        for change in changes {
            match change {
                Change::Run(offset, bytes) => {
                    (offset..).zip(bytes).for_each(|(at, byte)| found[at] = Some(*byte));
                }
                Change::Group(offset, changed, bytes) => {
                    for at in runs_of(changed).flatten() {
                        found[offset + at] = Some(bytes[at]);
                    }
                }
            }
        }
        found
    }

    /// Every second, third and so on byte, from each of the first on; all from one on, all up to one, and none.
    fn patterns() -> impl Iterator<Item = Vec<bool>> {
        let every = |step: usize, first: usize| (0..BLOCK).map(|at| at >= first && at % step == 0).collect();
        let up_to = (0..=BLOCK).map(|end| (0..BLOCK).map(|at| at < end).collect());
        let pairs = (2..40).map(|step| (0..BLOCK).map(|at| at % step < 2).collect());
        (1..9)
            .flat_map(move |step| [0, 1, 5, GROUP, BLOCK].map(|first| every(step, first)))
            .chain(up_to)
            .chain(pairs)
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
            let expected: Vec<_> =
                changed.iter().enumerate().map(|(at, changed)| changed.then_some(at as u8 + 1)).collect();
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
        let right = [7, 0, 0, 0, 1, 0, 3, 0, 1, 2, 3];
        assert!(decode(1, &right).is_ok() && decode(0, &[]).is_ok() && decode(2, &[0; 8]).is_ok());
        assert!(decode(0, &right).is_err() && decode(2, &right).is_err());
        for less in 0..right.len() {
            assert!(decode(1, &right[..less]).is_err());
        }
        // The end of the block, of the runs, and a run that ends before it begins.
        for (at, byte) in [(6, 4), (4, 2), (0, 6), (0, 8), (4, 4)] {
            let mut wrong = right;
            wrong[at] = byte;
            assert!(decode(1, &wrong).is_err(), "byte {at} = {byte}");
        }
        let right = [15, 0, 0, 0, 1, 0, 0, 0, 0b101, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9];
        assert!(decode(1, &right).is_ok());
        for less in 0..right.len() {
            assert!(decode(1, &right[..less]).is_err());
        }
        // More or fewer bytes than the mask has, and an offset that no group has.
        for (at, byte) in [(8, 0b1101), (8, 1), (15, 1), (4, 2), (6, 1)] {
            let mut wrong = right;
            wrong[at] = byte;
            assert!(decode(1, &wrong).is_err(), "byte {at} = {byte}");
        }
    }
}
