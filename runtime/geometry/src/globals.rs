//! The globals of the program and of its shared libraries in the shared data: each image's range of addresses at an offset of
//! its own.
//!
//! An image starts in a unit of its own, so that no chunk holds blocks of two images, and at least one block lies unused behind it,
//! so that blocks of two images never have consecutive numbers: an extent is consecutive memory. Offset and address lie at the same
//! distance from a multiple of a huge page, so that the data can be mapped by such pages.

use std::ops::Range;

use dsm_comm::segment::HUGE_PAGE;

use crate::blocks::{MAX_BLOCK_SHIFT, UNIT_SHIFT};

const MAX_BLOCK: usize = 1 << MAX_BLOCK_SHIFT;
const UNIT: usize = 1 << UNIT_SHIFT;

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Globals {
    images: Box<[Image]>,
    end: usize,
}

#[derive(Clone, Debug)]
struct Image {
    addresses: Range<usize>,
    offset: usize,
}

impl Globals {
    /// Places ranges of addresses behind each other; empty ones take no place.
    ///
    /// # Errors
    /// A sentence about a range that does not start at a multiple of the largest block.
    pub fn new(ranges: &[Range<usize>]) -> Result<Globals, String> {
        let mut end = 0;
        let mut images = Vec::new();
        for addresses in ranges.iter().filter(|r| !r.is_empty()) {
            if !addresses.start.is_multiple_of(MAX_BLOCK) {
                return Err(format!(
                    "shared globals start at {:#x}, which is no multiple of {MAX_BLOCK}; link with dsm-cc (shared libraries: \
                     the system's loader must keep their alignment, as that of glibc 2.35 does)",
                    addresses.start
                ));
            }
            end += addresses.start % HUGE_PAGE;
            images.push(Image { addresses: addresses.clone(), offset: end });
            end = (end + addresses.len() + MAX_BLOCK).next_multiple_of(UNIT);
        }
        Ok(Globals { images: images.into(), end })
    }

    /// First offset behind all images; a multiple of the unit.
    pub fn end_offset(&self) -> usize {
        self.end
    }

    /// The address ranges.
    #[inline]
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.images.iter().map(|image| image.addresses.clone())
    }

    /// The address ranges with their offsets.
    pub fn placed(&self) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
        self.images.iter().map(|image| (image.addresses.clone(), image.offset))
    }

    /// Offset of an address; `None` if it belongs to no image.
    #[inline]
    pub fn offset(&self, address: usize) -> Option<usize> {
        let image = self.images.iter().find(|image| image.addresses.contains(&address))?;
        Some(image.offset + (address - image.addresses.start))
    }

    /// Address at an offset below [`Globals::end_offset`].
    #[inline]
    pub fn address(&self, offset: usize) -> usize {
        let image = self.images.iter().rev().find(|image| image.offset <= offset);
        let image = image.expect("there are globals where an offset lies in them");
        image.addresses.start + (offset - image.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_offsets_agree() {
        let (library, program) = (0x7000_0000..0x7040_0000, 0x40_0000..0x41_0000);
        let g = Globals::new(&[library.clone(), 0..0, program.clone()]).unwrap();
        for address in [library.start, library.end - 1, program.start, program.end - 1] {
            assert_eq!(g.address(g.offset(address).unwrap()), address);
        }
        assert_eq!(g.offset(program.start), Some(2 * UNIT), "a whole unit has a gap behind it");
        assert_eq!((g.offset(library.end), g.ranges().count(), g.end_offset()), (None, 2, 3 * UNIT));
        let odd = 0x4040_0000 + 3 * MAX_BLOCK;
        let g = Globals::new(&[library, odd..odd + 1]).unwrap();
        assert_eq!(g.offset(odd), Some(2 * UNIT + 3 * MAX_BLOCK), "the same place in a huge page");
        assert_eq!(Globals::new(&[]).unwrap().end_offset(), 0);
        assert!(Globals::new(&[0..0, 0x1000..0x2000]).unwrap_err().contains("0x1000"));
    }
}
