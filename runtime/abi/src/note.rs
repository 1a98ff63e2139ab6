//! The ELF note of every instrumented object: section `.note.dsm`, owner "dsm", type 1.
//!
//! Layout (all fields little-endian `u32`): namesz = 4, descsz = 8, type, "dsm\0", abi version, line shift.

/// Section name; the prefix makes LLVM and the linkers give it type `SHT_NOTE`.
pub const SECTION: &str = ".note.dsm";
/// Owner, with the terminating NUL.
pub const OWNER: [u8; 4] = *b"dsm\0";
/// Note type.
pub const TYPE: u32 = 1;
/// Size of an encoded note, bytes.
pub const SIZE: usize = 24;

/// What a note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// [`crate::ABI_VERSION`] of the pass that compiled the object.
    pub abi_version: u32,
    /// Base-two logarithm of the line size.
    pub line_shift: u32,
}

impl Note {
    /// The note's bytes.
    pub const fn encode(self) -> [u8; SIZE] {
        let words = [4, 8, TYPE, u32::from_le_bytes(OWNER), self.abi_version, self.line_shift];
        let mut out = [0; SIZE];
        let mut i = 0;
        while i < SIZE {
            out[i] = words[i / 4].to_le_bytes()[i % 4];
            i += 1;
        }
        out
    }

    /// Reads the note at the start of `bytes`; `None` if they are not one.
    pub fn decode(bytes: &[u8]) -> Option<Note> {
        let word = |i: usize| bytes.get(4 * i..4 * i + 4)?.try_into().ok().map(u32::from_le_bytes);
        let header = [word(0)?, word(1)?, word(2)?, word(3)?];
        if header != [4, 8, TYPE, u32::from_le_bytes(OWNER)] {
            return None;
        }
        Some(Note { abi_version: word(4)?, line_shift: word(5)? })
    }

    /// All notes of a section; a relocatable link or an archive member may hold several.
    pub fn decode_all(mut bytes: &[u8]) -> impl Iterator<Item = Option<Note>> + '_ {
        core::iter::from_fn(move || {
            if bytes.is_empty() {
                return None;
            }
            let note = Note::decode(bytes);
            bytes = bytes.get(SIZE..).filter(|_| note.is_some()).unwrap_or(&[]);
            Some(note)
        })
    }

    /// Whether one is among the notes of any owner, as a loaded file's note segment has them.
    pub fn is_in(mut bytes: &[u8]) -> bool {
        while let Some(header) = bytes.get(..12) {
            let word =
                |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
            let padded = |i: usize| (word(i) as usize).next_multiple_of(4);
            if Note::decode(bytes).is_some() {
                return true;
            }
            bytes = bytes.get(12 + padded(0) + padded(4)..).unwrap_or(&[]);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let note = Note { abi_version: 7, line_shift: 12 };
        assert_eq!(Note::decode(&note.encode()), Some(note));
    }

    #[test]
    fn refuses_other_owners_and_short_input() {
        let mut bytes = Note { abi_version: 1, line_shift: 6 }.encode();
        assert_eq!(Note::decode(&bytes[..SIZE - 1]), None);
        bytes[12] = b'G';
        assert_eq!(Note::decode(&bytes), None);
    }

    #[test]
    fn is_found_behind_others() {
        let mut bytes = [0; 24 + SIZE];
        for (i, word) in [4u32, 5, 3, u32::from_le_bytes(*b"GNU\0"), 1, 2].into_iter().enumerate() {
            bytes[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
        }
        assert!(!Note::is_in(&bytes[..24]) && !Note::is_in(&bytes[..7]));
        bytes[24..].copy_from_slice(&Note { abi_version: 1, line_shift: 6 }.encode());
        assert!(Note::is_in(&bytes) && !Note::is_in(&bytes[..40]));
    }
}
