//! Array descriptors of flang (ISO_Fortran_binding.h with flang's addendum).
//!
//! A descriptor is {address, element bytes, version, rank, type, attribute, flags, rank x {lower bound, extent, stride}};
//! with flag 1 an addendum {type description, length parameters...} follows.

use crate::check;

/// One dimension.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Dimension {
    pub(super) lower: i64,
    pub(super) extent: i64,
    stride: i64,
}

/// A descriptor without its dimensions.
#[repr(C)]
pub(super) struct Header {
    pub(super) base: usize,
    element: usize,
    version: i32,
    rank: u8,
    kind: u8,
    attribute: u8,
    extra: u8,
}

const MOST_RANKS: usize = 15;
/// `Header::extra`: an addendum follows the dimensions.
pub(super) const HAS_ADDENDUM: u8 = 1;
/// `Header::attribute` of allocatable variables.
const ALLOCATABLE_VARIABLE: u8 = 2;
/// Bytes of the addendum: type description and one length parameter.
pub(super) const ADDENDUM: usize = 16;
/// Bytes between pieces of a section that are checked as one.
const SMALL_GAP: i64 = 1024;
/// Elements of an array that are looked at together.
pub(super) struct Piece {
    /// Address of the first.
    first: i64,
    bytes: i64,
    /// Number of dimensions in it.
    dimensions: usize,
    /// Whether there are bytes between the elements.
    pub(super) gaps: bool,
}

/// What was read of a descriptor.
pub(super) struct Array {
    pub(super) base: usize,
    pub(super) element: usize,
    /// Type code of ISO_Fortran_binding.h.
    pub(super) kind: i8,
    pub(super) rank: usize,
    pub(super) dimensions: [Dimension; MOST_RANKS],
    /// Address of the description of the elements' derived type, or 0.
    pub(super) derived: usize,
    /// Bytes of the descriptor.
    pub(super) bytes: usize,
    /// An allocatable, which is contiguous.
    pub(super) allocatable: bool,
    /// An allocatable or a pointer, so the library may change the descriptor.
    pub(super) reallocatable: bool,
}

impl Array {
    /// Reads the descriptor at `address`; `None` if that is no descriptor in use.
    ///
    /// # Safety
    /// A descriptor of flang begins there.
    pub(super) unsafe fn read(address: usize) -> Option<Array> {
        check::readable(address, size_of::<Header>());
        // SAFETY: the caller's promise; it was made readable.
        let header = unsafe { (address as *const Header).read_unaligned() };
        let rank = usize::from(header.rank);
        if rank > MOST_RANKS {
            return None;
        }
        let rest = address + size_of::<Header>();
        let bytes = rank * size_of::<Dimension>();
        let has_addendum = header.extra & HAS_ADDENDUM != 0;
        let tail = bytes + if has_addendum { ADDENDUM } else { 0 };
        check::readable(rest, tail);
        let mut dimensions = [Dimension { lower: 0, extent: 0, stride: 0 }; MOST_RANKS];
        // SAFETY: a descriptor has as many dimensions as its rank, then perhaps an addendum; they were made readable.
        let derived = unsafe {
            dimensions.as_mut_ptr().copy_from_nonoverlapping(rest as *const Dimension, rank);
            if has_addendum { ((rest + bytes) as *const usize).read_unaligned() } else { 0 }
        };
        Some(Array {
            base: header.base,
            element: header.element,
            kind: header.kind.cast_signed(),
            rank,
            dimensions,
            derived,
            bytes: size_of::<Header>() + tail,
            allocatable: header.attribute == ALLOCATABLE_VARIABLE,
            reallocatable: header.attribute != 0,
        })
    }

    pub(super) fn elements(&self) -> i64 {
        self.dimensions[..self.rank].iter().map(|d| d.extent.max(0)).product()
    }

    /// Calls `piece(address, bytes)` for contiguous pieces that cover all elements.
    pub(super) fn pieces(&self, piece: &mut impl FnMut(usize, usize)) {
        if self.base == 0 || self.element == 0 || self.elements() == 0 {
            return;
        }
        let Piece { first, bytes, dimensions, .. } = self.piece();
        walk(first, bytes, &self.dimensions[dimensions..self.rank], piece);
    }

    /// Dimensions that lie next to each other, or nearly so, make one piece.
    pub(super) fn piece(&self) -> Piece {
        let (mut first, mut bytes, mut inner, mut gaps) = (self.base as i64, self.element as i64, 0, false);
        for dimension in &self.dimensions[..self.rank] {
            let step = dimension.stride.abs();
            if dimension.extent > 1 && step > bytes + SMALL_GAP {
                break;
            }
            gaps |= dimension.extent > 1 && step > bytes;
            let span = (dimension.extent - 1) * step;
            if dimension.stride < 0 {
                first -= span;
            }
            bytes += span;
            inner += 1;
        }
        Piece { first, bytes, dimensions: inner, gaps }
    }

    /// Calls `visit(address)` for every element.
    pub(super) fn each(&self, visit: &mut impl FnMut(usize)) {
        if self.base != 0 && self.elements() != 0 {
            walk(self.base as i64, 0, &self.dimensions[..self.rank], &mut |address, _| visit(address));
        }
    }
}

fn walk(at: i64, bytes: i64, dimensions: &[Dimension], piece: &mut impl FnMut(usize, usize)) {
    match dimensions.split_last() {
        None => piece(at as usize, bytes as usize),
        Some((outer, inner)) => {
            for index in 0..outer.extent {
                walk(at + index * outer.stride, bytes, inner, piece);
            }
        }
    }
}
