//! Differences of blocks against their twins, as messages have them.
//!
//! Of each block the number of bytes that follow, and then its runs of changed bytes: the offsets of the first and the last one in the block, and what they are. Offsets have 16 bits,
//! so a block of which every other byte was changed takes two and a half times its size.

use super::wire::Malformed;
use crate::fabric::Fabric;
use crate::types::Block;

const LENGTH_BYTES: usize = 4;
const RUN_BYTES: usize = 4;
/// Longest block whose offsets have 16 bits.
const LONGEST_BLOCK: usize = 1 << 16;

/// Most bytes that the difference of a block takes.
pub const fn most_bytes(block_bytes: usize) -> usize {
    assert!(block_bytes <= LONGEST_BLOCK);
    LENGTH_BYTES + block_bytes.div_ceil(2) * RUN_BYTES + block_bytes
}

/// Encodes the difference of an own block, and returns its length; `None` if there is not space enough.
pub(super) fn encode<F: Fabric>(fabric: &F, block: Block, into: &mut [u8]) -> Option<usize> {
    assert!(fabric.block_bytes(block) <= LONGEST_BLOCK);
    let mut encoder = Encoder::new(into);
    fabric.visit_changes(block, |offset, bytes| encoder.add(offset, bytes));
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

    /// Appends bytes from an offset on, behind those that are there.
    fn add(&mut self, offset: usize, bytes: &[u8]) {
        let (at, first) = match self.run {
            Some((at, first, last)) if last + 1 == offset => (at, first),
            _ => {
                self.length += RUN_BYTES;
                (self.length - RUN_BYTES, offset)
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
            let mut runs;
            (runs, rest) = split(rest).ok_or(Malformed)?;
            while !runs.is_empty() {
                let (offset, contents, behind) = first_run(runs).ok_or(Malformed)?;
                if offset + contents.len() > block_bytes {
                    return Err(Malformed);
                }
                runs = behind;
            }
        }
        if rest.is_empty() { Ok(Differences(bytes)) } else { Err(Malformed) }
    }

    /// Those that [`encode`] made.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Differences(bytes)
    }

    /// Those of the next block; none when all have been.
    pub(crate) fn next_block(&mut self) -> Runs<'a> {
        let (runs, rest) = split(self.0).unwrap_or_default();
        self.0 = rest;
        Runs(runs)
    }
}

/// Runs of changed bytes of a block: offset and contents.
pub(crate) struct Runs<'a>(&'a [u8]);

impl<'a> Iterator for Runs<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (offset, contents, rest) = first_run(self.0)?;
        self.0 = rest;
        Some((offset, contents))
    }
}

/// The runs of the first block, and what is behind them.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// Offset and contents of the first run, and what is behind it.
fn first_run(runs: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let ([a, b, c, d], rest) = runs.split_first_chunk::<RUN_BYTES>()?;
    let (first, last) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
    let length = usize::from(last).checked_sub(first.into())? + 1;
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((first.into(), contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 64;

    fn encoded(changed: &[bool], into: &mut [u8]) -> Option<usize> {
        let mut encoder = Encoder::new(into);
        let each = changed.iter().enumerate().filter(|(_, changed)| **changed);
        each.for_each(|(at, _)| encoder.add(at, &[at as u8 + 1]));
        encoder.end()
    }

    /// Every second, third and so on byte, from each of the first on; and none.
    fn patterns() -> impl Iterator<Item = Vec<bool>> {
        let every = |step: usize, first: usize| (0..BLOCK).map(|at| at >= first && at % step == 0).collect();
        (1..9).flat_map(move |step| [0, 1, 5, BLOCK].map(|first| every(step, first)))
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
            let mut found = vec![false; BLOCK];
            for (offset, bytes) in differences.next_block() {
                for (at, byte) in (offset..).zip(bytes) {
                    assert_eq!(*byte, at as u8 + 1);
                    found[at] = true;
                }
            }
            assert_eq!(found, changed);
            assert_eq!(
                differences.next_block().map(|(at, bytes)| (at, bytes.len())).collect::<Vec<_>>(),
                [(0, 64)]
            );
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
    }
}
