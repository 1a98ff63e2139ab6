//! The private copies of a reduction as they lie in a message from one process to another.

/// Most copies of a message.
pub const MOST_COPIES: usize = 16;
/// Longest message, words.
pub const MOST_WORDS: usize = 128;
/// Bytes that each copy is aligned to.
pub const ALIGN: usize = 16;

/// Where the copies of a reduction lie in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packing<'a> {
    /// Bytes of each.
    pub bytes: &'a [u64],
    /// Word of the message that each begins at.
    pub starts: [usize; MOST_COPIES],
    /// Words of the message.
    pub words: usize,
}

impl<'a> Packing<'a> {
    /// `None` if they do not fit.
    pub fn of(bytes: &'a [u64]) -> Option<Packing<'a>> {
        let mut packing = Packing { bytes, starts: [0; MOST_COPIES], words: 0 };
        for (index, bytes) in bytes.iter().enumerate() {
            *packing.starts.get_mut(index)? = packing.words;
            packing.words += usize::try_from(*bytes).ok()?.div_ceil(ALIGN).checked_mul(ALIGN / 8)?;
            if packing.words > MOST_WORDS {
                return None;
            }
        }
        Some(packing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_aligned_and_fit() {
        let packing = Packing::of(&[8, 48, 1]).expect("they fit");
        assert_eq!((&packing.starts[..3], packing.words), (&[0, 2, 8][..], 10));
        assert!(Packing::of(&[1; MOST_COPIES]).is_some() && Packing::of(&[1; MOST_COPIES + 1]).is_none());
        assert!(Packing::of(&[1024]).is_some() && Packing::of(&[1025]).is_none());
        assert!(Packing::of(&[u64::MAX, 1]).is_none());
    }
}
