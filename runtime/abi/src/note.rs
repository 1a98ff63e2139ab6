//! The ELF note of every instrumented object: section `.note.dsm`, owner "dsm", type 1.
//!
//! Layout (all fields little-endian `u32`): namesz = 4, descsz = 12, type, "dsm\0", abi version, line shift, way of checking. Behind it may stand one of
//! type 2 whose contents are text: the options of the pass that are not as usual, padded with NUL to a multiple of 4; and one of type 3, padded
//! likewise: the calls that hand memory which may be shared to functions that the pass has no body of and knows nothing about. Each function is a
//! line of four fields with tabs between: its name, the file and the line of the first call, and how many calls there are. One of type 4 says what
//! the module has of OpenMP ([`OpenMp`]).
//!
//! LLVM bitcode has no sections; there the name of the note's variable says the same: `__dsm_note.<abi version>.<line shift>.<way of checking>`.

/// Section name; the prefix makes LLVM and the linkers give it type `SHT_NOTE`.
pub const SECTION: &str = ".note.dsm";
/// Owner, with the terminating NUL.
pub const OWNER: [u8; 4] = *b"dsm\0";
/// Note type.
pub const TYPE: u32 = 1;
/// Type of the note with the options.
pub const OPTIONS_TYPE: u32 = 2;
/// Type of the note with the calls of unknown functions.
pub const CALLS_TYPE: u32 = 3;
/// Type of the note about OpenMP.
pub const OPENMP_TYPE: u32 = 4;
/// What the name of the note's variable begins with.
pub const VARIABLE: &str = "__dsm_note.";
/// Size of an encoded note, bytes.
pub const SIZE: usize = 28;

/// One note of the section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Of [`TYPE`].
    Note(Note),
    /// Of [`OPTIONS_TYPE`], without the padding.
    Options(&'a [u8]),
    /// Of [`CALLS_TYPE`], without the padding.
    Calls(&'a [u8]),
    /// Of [`OPENMP_TYPE`].
    OpenMp(OpenMp<'a>),
}

/// What a module has of OpenMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMp<'a> {
    /// It calls the OpenMP library. Text: `used`.
    Used,
    /// Nothing. Text: `none`.
    Absent,
    /// Directives that start threads or tasks, which were not compiled: without `-fopenmp` they mean nothing. Text: `ignored`, the file and the line of
    /// the first, with tabs between.
    Ignored {
        /// Source file.
        file: &'a str,
        /// Its line, from 1.
        line: u32,
    },
}

impl<'a> OpenMp<'a> {
    /// Reads the text of the note.
    pub fn from_text(text: &'a [u8]) -> Option<OpenMp<'a>> {
        let mut fields = core::str::from_utf8(text).ok()?.split('\t');
        let found = match (fields.next()?, fields.next(), fields.next()) {
            ("used", None, _) => OpenMp::Used,
            ("none", None, _) => OpenMp::Absent,
            ("ignored", Some(file), Some(line)) => OpenMp::Ignored { file, line: line.parse().ok()? },
            _ => return None,
        };
        fields.next().is_none().then_some(found)
    }
}

/// Header of a note with a text whose contents, padding included, have `len` bytes.
pub const fn text_header(kind: u32, len: usize) -> [u8; 16] {
    let words = [4, len as u32, kind, u32::from_le_bytes(OWNER)];
    let mut out = [0; 16];
    let mut i = 0;
    while i < 16 {
        out[i] = words[i / 4].to_le_bytes()[i % 4];
        i += 1;
    }
    out
}

/// What a note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// [`crate::ABI_VERSION`] of the pass that compiled the object.
    pub abi_version: u32,
    /// Base-two logarithm of the line size.
    pub line_shift: u32,
    /// How accesses are checked.
    pub checking: Checking,
}

/// How accesses to shared memory are checked. All objects of a program agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checking {
    /// By code in front of them.
    #[default]
    Inline,
    /// By the protection of pages.
    Mprotect,
}

impl Checking {
    /// All of them, by their numbers in notes.
    pub const ALL: [Checking; 2] = [Checking::Inline, Checking::Mprotect];

    /// Name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Checking::Inline => "inline",
            Checking::Mprotect => "mprotect",
        }
    }

    /// The one of this name.
    pub fn parse(name: &str) -> Option<Checking> {
        Checking::ALL.into_iter().find(|checking| checking.name() == name)
    }
}

impl Note {
    /// The note's bytes.
    pub const fn encode(self) -> [u8; SIZE] {
        let owner = u32::from_le_bytes(OWNER);
        let words = [4, 12, TYPE, owner, self.abi_version, self.line_shift, self.checking as u32];
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
        if header != [4, 12, TYPE, u32::from_le_bytes(OWNER)] {
            return None;
        }
        let checking = *Checking::ALL.get(word(6)? as usize)?;
        Some(Note { abi_version: word(4)?, line_shift: word(5)?, checking })
    }

    /// Reads the name of a note's variable behind [`VARIABLE`]; what follows the numbers does not matter.
    pub fn from_name(text: &[u8]) -> Option<Note> {
        let number = |text: &[u8]| -> Option<(u32, usize)> {
            let len = text.iter().take_while(|c| c.is_ascii_digit()).count();
            core::str::from_utf8(&text[..len]).ok()?.parse().ok().map(|n| (n, len))
        };
        let (abi_version, len) = number(text)?;
        let rest = text[len..].strip_prefix(b".")?;
        let (line_shift, len) = number(rest)?;
        let (checking, _) = number(rest[len..].strip_prefix(b".")?)?;
        Some(Note { abi_version, line_shift, checking: *Checking::ALL.get(checking as usize)? })
    }

    /// All notes of a section; a relocatable link or an archive member may hold several. `None` for what is no note of this module's.
    pub fn decode_all(mut bytes: &[u8]) -> impl Iterator<Item = Option<Entry<'_>>> + '_ {
        core::iter::from_fn(move || {
            if bytes.is_empty() {
                return None;
            }
            let (entry, len) = match Note::decode(bytes) {
                Some(note) => (Some(Entry::Note(note)), SIZE),
                None => text_entry(bytes).map_or((None, bytes.len()), |(entry, len)| (Some(entry), len)),
            };
            bytes = bytes.get(len..).unwrap_or(&[]);
            Some(entry)
        })
    }

    /// Those among the notes of any owner, as a loaded file's note segment has them.
    pub fn decode_segment(mut bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> + '_ {
        core::iter::from_fn(move || {
            while let Some(header) = bytes.get(..12) {
                let word =
                    |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
                let padded = |i: usize| (word(i) as usize).next_multiple_of(4);
                let entry = match Note::decode(bytes) {
                    Some(note) => Some(Entry::Note(note)),
                    None => text_entry(bytes).map(|(entry, _)| entry),
                };
                bytes = bytes.get(12 + padded(0) + padded(4)..).unwrap_or(&[]);
                if entry.is_some() {
                    return entry;
                }
            }
            None
        })
    }
}

/// The note with a text at the start of `bytes`, and its length.
fn text_entry(bytes: &[u8]) -> Option<(Entry<'_>, usize)> {
    let options = || text(OPTIONS_TYPE, bytes).map(|(text, len)| (Entry::Options(text), len));
    let calls = || text(CALLS_TYPE, bytes).map(|(text, len)| (Entry::Calls(text), len));
    let openmp = || {
        let (text, len) = text(OPENMP_TYPE, bytes)?;
        OpenMp::from_text(text).map(|openmp| (Entry::OpenMp(openmp), len))
    };
    options().or_else(calls).or_else(openmp)
}

/// The text of the note of this type at the start of `bytes`, and the note's length.
fn text(kind: u32, bytes: &[u8]) -> Option<(&[u8], usize)> {
    let len = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
    let text = bytes.get(16..16usize.checked_add(len)?)?;
    let end = text.iter().position(|c| *c == 0).unwrap_or(len);
    (bytes[..16] == text_header(kind, len) && len.is_multiple_of(4)).then_some((&text[..end], 16 + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(abi_version: u32, line_shift: u32) -> Note {
        Note { abi_version, line_shift, checking: Checking::Inline }
    }

    #[test]
    fn round_trip() {
        let note = note(7, 12);
        assert_eq!(Note::decode(&note.encode()), Some(note));
        let note = Note { checking: Checking::Mprotect, ..note };
        assert_eq!(Note::decode(&note.encode()), Some(note));
    }

    #[test]
    fn refuses_other_owners_and_short_input() {
        let mut bytes = note(1, 6).encode();
        assert_eq!(Note::decode(&bytes[..SIZE - 1]), None);
        bytes[12] = b'G';
        assert_eq!(Note::decode(&bytes), None);
    }

    #[test]
    fn names_and_options_are_read() {
        let note = note(12, 10);
        assert_eq!(Note::from_name(b"12.10.0printf"), Some(note));
        assert_eq!(Note::from_name(b"12.10.1.7"), Some(Note { checking: Checking::Mprotect, ..note }));
        assert!(
            [&b"12."[..], b"12.10", b"12.10.2", b".10", b"x.1", b""]
                .iter()
                .all(|name| Note::from_name(name).is_none())
        );
        let mut bytes = [0; SIZE + 16 + 8];
        bytes[..SIZE].copy_from_slice(&note.encode());
        bytes[SIZE..SIZE + 16].copy_from_slice(&text_header(OPTIONS_TYPE, 8));
        bytes[SIZE + 16..SIZE + 22].copy_from_slice(b"merge,");
        let all = [Some(Entry::Note(note)), Some(Entry::Options(b"merge,"))];
        assert!(Note::decode_all(&bytes).eq(all));
        assert!(Note::decode_all(&bytes[..SIZE + 20]).any(|entry| entry.is_none()));
        bytes[SIZE..SIZE + 16].copy_from_slice(&text_header(CALLS_TYPE, 8));
        assert_eq!(Note::decode_all(&bytes).nth(1), Some(Some(Entry::Calls(b"merge,"))));
    }

    #[test]
    fn is_found_behind_others() {
        let mut bytes = [0; 24 + SIZE];
        for (i, word) in [4u32, 5, 3, u32::from_le_bytes(*b"GNU\0"), 1, 2].into_iter().enumerate() {
            bytes[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
        }
        assert_eq!(Note::decode_segment(&bytes[..24]).chain(Note::decode_segment(&bytes[..7])).next(), None);
        let note = note(1, 6);
        bytes[24..].copy_from_slice(&note.encode());
        assert!(Note::decode_segment(&bytes).eq([Entry::Note(note)]));
        assert_eq!(Note::decode_segment(&bytes[..40]).next(), None);
    }

    #[test]
    fn openmp_has_three_texts() {
        assert_eq!(OpenMp::from_text(b"used"), Some(OpenMp::Used));
        assert_eq!(OpenMp::from_text(b"none"), Some(OpenMp::Absent));
        let ignored = OpenMp::Ignored { file: "a b.c", line: 3 };
        assert_eq!(OpenMp::from_text(b"ignored\ta b.c\t3"), Some(ignored));
        for wrong in [
            &b""[..],
            b"use",
            b"used\tx",
            b"ignored\ta.c",
            b"ignored\ta.c\tx",
            b"ignored\ta.c\t3\t4",
            b"\xff",
        ] {
            assert_eq!(OpenMp::from_text(wrong), None);
        }
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&text_header(OPENMP_TYPE, 4));
        bytes[16..].copy_from_slice(b"used");
        assert!(Note::decode_all(&bytes).eq([Some(Entry::OpenMp(OpenMp::Used))]));
        assert!(Note::decode_segment(&bytes).eq([Entry::OpenMp(OpenMp::Used)]));
        bytes[16..].copy_from_slice(b"uses");
        assert!(Note::decode_all(&bytes).eq([None]));
    }
}
