//! What core files have of shared memory.
//!
//! The kernel would make each page of a mapped memory file to write it: terabytes of address space, hundreds of gigabytes in fact. So the state table, the
//! peers' segments and the shared region are left out from the start, and who reports a crash puts back what is in use of the
//! process's own copy of the heap and the shared stacks. The globals are there in any case.

use std::ops::Range;

use dsm_comm::segment;

use super::{MEMORY, Memory};

/// Holes below this size are made, instead of a mapping of their own.
const LEAST_HOLE: usize = 1 << 20;
/// Parts at most; the kernel bounds the number of mappings, and two come of each.
const PARTS: usize = 16_000;

impl Memory {
    /// Leaves memory out that nobody looks at, or that is reserved only.
    pub(super) fn leave_out_of_core(&self) {
        segment::dump(self.table.addresses(), false);
        if self.shared.is_some() {
            segment::dump(self.geometry.region(), false);
            segment::dump(self.geometry.views(), false);
        }
    }
}

/// Puts the memory of the shared region that is in use into the core file. For signal handlers: makes system calls only.
pub fn complete_core() {
    let Some(Memory { geometry, shared: Some(shared), .. }) = MEMORY.get() else { return };
    let (region, offset) = (geometry.region(), geometry.region_offset());
    let resident = shared.own_file.resident(offset..offset + region.len());
    joined(resident, LEAST_HOLE).take(PARTS).for_each(|part| {
        let start = region.start + part.start - offset;
        segment::dump(start..start + part.len(), true);
    });
}

/// Ranges in order, those with a small hole between them as one.
fn joined(
    mut ranges: impl Iterator<Item = Range<usize>>,
    least_hole: usize,
) -> impl Iterator<Item = Range<usize>> {
    let mut next = ranges.next();
    std::iter::from_fn(move || {
        let mut part = next.take()?;
        for range in ranges.by_ref() {
            if range.start - part.end >= least_hole {
                next = Some(range);
                break;
            }
            part.end = range.end;
        }
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_holes_are_filled() {
        let ranges = [0..4, 5..9, 20..21, 29..30, 40..50];
        assert!(joined(ranges.clone().into_iter(), 9).eq([0..9, 20..30, 40..50]));
        assert!(joined(ranges.clone().into_iter(), 1).eq(ranges));
        assert!(joined(std::iter::empty(), 1).next().is_none());
    }
}
