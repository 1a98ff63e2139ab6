//! The two words of a page: its place, in its entry and in caches, and its header at a process.

use crate::memory::Rank;

const VERSION_SHIFT: u32 = 16;
const LEAVING: u64 = 1 << 14;
const ARRIVING: u64 = 1 << 15;
const PUTS: u64 = LEAVING - 1;

/// Where a page is: process and version. 0 stands for no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The process that has it.
    pub at: Rank,
    /// Number of moves of the page up to this one.
    pub version: u64,
}

impl Place {
    /// As a word.
    pub fn encode(self) -> u64 {
        self.version << VERSION_SHIFT | u64::from(self.at.0 + 1)
    }

    /// From a word.
    #[inline]
    pub fn decode(word: u64) -> Option<Place> {
        let rank = (word & ((1 << VERSION_SHIFT) - 1)).checked_sub(1)?;
        Some(Place { at: Rank(rank as u32), version: word >> VERSION_SHIFT })
    }
}

/// Header of a page at a process. All zero if the page is not there: versions begin with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header(pub u64);

impl Header {
    /// The page is not here.
    pub const ABSENT: Header = Header(0);

    /// The page is here in this version, open for puts, of which none is under way.
    pub fn open(version: u64) -> Header {
        Header(version << VERSION_SHIFT)
    }

    /// The page is coming here in this version.
    pub fn arriving(version: u64) -> Header {
        Header(version << VERSION_SHIFT | ARRIVING)
    }

    /// Whether the page is here, in this version.
    #[inline]
    pub fn has(self, version: u64) -> bool {
        self.0 >> VERSION_SHIFT == version
    }

    /// Whether the page is on its way from or to here.
    #[inline]
    pub fn is_moving(self) -> bool {
        self.0 & (LEAVING | ARRIVING) != 0
    }

    /// Whether the page is on its way to here.
    pub fn is_arriving(self) -> bool {
        self.0 & ARRIVING != 0
    }

    /// Puts under way.
    pub fn puts(self) -> u64 {
        self.0 & PUTS
    }

    /// With one more put, if there is space for its count.
    #[inline]
    pub fn with_put(self) -> Option<Header> {
        (self.puts() < PUTS).then_some(Header(self.0 + 1))
    }

    /// With one put less.
    #[inline]
    pub fn without_put(self) -> Header {
        assert!(self.puts() > 0, "a put ends that has begun");
        Header(self.0 - 1)
    }

    /// Without admission of puts.
    pub fn leaving(self) -> Header {
        Header(self.0 | LEAVING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_from_words() {
        for place in [Place { at: Rank(0), version: 1 }, Place { at: Rank(1023), version: 1 << 40 }] {
            assert_eq!(Place::decode(place.encode()), Some(place));
        }
        assert_eq!(Place::decode(0), None);
    }

    #[test]
    fn headers_keep_version_and_count_apart() {
        let full = (0..PUTS).fold(Header::open(7), |header, _| header.with_put().expect("space"));
        assert_eq!((full.puts(), full.has(7), full.is_moving(), full.with_put()), (PUTS, true, false, None));
        assert_eq!(full.leaving().without_put().puts(), PUTS - 1);
        assert!(full.leaving().is_moving() && Header::arriving(7).is_arriving() && !Header::ABSENT.has(7));
    }
}
