//! The memory of twins: which pages of them exist, and giving back those that nobody has used for a while.
//!
//! Each process's segment has two bits for every page of its twins: *present*, and *recent*, used since the last look. Peers that leave a twin behind set
//! them too. Above the bound (`DSM_TWINS`) a process looks at some of its barriers: what is recent stays, since what one interval needs the next one most
//! likely needs too, and what is not goes back to the system if the protocol needs none of the twins in it.
//! Where there is a pager, a process looks at each barrier, and the pager discards what the protocol does not need, instead of writing it, when it needs space.
//!
//! A page that is not present is a hole: its twins are zero. The twin of a block that was a hole itself when its home was taken is left there without being written (`fabric/holes.rs`).

use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_coherence::Extent;
use dsm_comm::segment;
use dsm_comm::{Segments, Word};

use super::geometry::{Geometry, PAGE};
use crate::paging;
use crate::{self as memory, config, fabric, race};

/// Barriers between two looks: a page goes back after so many intervals in which it was not used, and at most twice as many.
const INTERVAL: u32 = 4;

/// The bits of all processes. `Copy`: it is addresses.
#[derive(Clone, Copy, Debug)]
pub struct TwinPages {
    geometry: &'static Geometry,
    segments: Segments,
}

impl TwinPages {
    /// The bits in these segments.
    pub fn new(geometry: &'static Geometry, segments: Segments) -> TwinPages {
        TwinPages { geometry, segments }
    }

    fn present(self, at: u32) -> Word {
        self.segments.word(at, self.geometry.twin_count_offset())
    }

    fn peak(self, at: u32) -> Word {
        self.segments.word(at, self.geometry.twin_count_offset() + 8)
    }

    fn summary(self, at: u32, index: usize) -> Word {
        self.segments.word(at, self.geometry.twin_summary_offset() + 8 * index)
    }

    /// Bits of 64 pages: present, recent.
    fn group(self, at: u32, group: usize) -> [Word; 2] {
        let offset = self.geometry.twin_bits_offset() + 16 * group;
        [self.segments.word(at, offset), self.segments.word(at, offset + 8)]
    }

    /// Present and greatest number of bytes of a process's twins.
    pub fn bytes(self, at: u32) -> (u64, u64) {
        let bytes = |pages: Word| pages.load(Ordering::Relaxed) * PAGE as u64;
        (bytes(self.present(at)), bytes(self.peak(at)))
    }

    /// The pages of an extent's twins, by number of their group, with their bits in it.
    fn pages(self, extent: Extent) -> impl Iterator<Item = (usize, u64)> {
        let start = self.geometry.data_offset(extent.first);
        let bytes = extent.count as usize * self.geometry.block_bytes(extent.first);
        let (first, last) = (start / PAGE, (start + bytes - 1) / PAGE);
        (first / 64..=last / 64).map(move |group| {
            let from = first.max(group * 64) % 64;
            let to = last.min(group * 64 + 63) % 64;
            (group, u64::MAX >> (63 - to) & u64::MAX << from)
        })
    }

    /// Twins are about to be written at a process.
    #[inline]
    pub fn use_them(self, at: u32, extent: Extent) {
        for (group, mask) in self.pages(extent) {
            let [present, recent] = self.group(at, group);
            if recent.load(Ordering::Relaxed) & mask != mask {
                recent.fetch_or(mask, Ordering::Relaxed);
            }
            // Only while none of these twins is needed is their bit taken away, and nobody writes one then.
            if present.load(Ordering::Relaxed) & mask != mask {
                if self.geometry.is_paged() {
                    paging::need(&self.segments, self.geometry, at, self.offsets(extent));
                }
                let new = !present.fetch_or(mask, Ordering::Relaxed) & mask;
                self.summary(at, group / 64).fetch_or(1 << (group % 64), Ordering::Relaxed);
                let pages = u64::from(new.count_ones());
                let now = self.present(at).fetch_add(pages, Ordering::Relaxed) + pages;
                self.peak(at).fetch_max(now, Ordering::Relaxed);
            }
        }
    }

    /// Whether none of an extent's twins is in a page that is present: they are zero.
    #[inline]
    pub fn are_holes(self, at: u32, extent: Extent) -> bool {
        self.pages(extent).all(|(group, mask)| self.group(at, group)[0].load(Ordering::Relaxed) & mask == 0)
    }

    /// Whether all of an extent's twins are in pages that are present.
    #[inline]
    pub fn are_present(self, at: u32, extent: Extent) -> bool {
        self.pages(extent)
            .all(|(group, mask)| self.group(at, group)[0].load(Ordering::Relaxed) & mask == mask)
    }

    /// Segment offsets of an extent's twins.
    fn offsets(self, extent: Extent) -> Range<usize> {
        let start = self.geometry.twin_offset(extent.first);
        start..start + extent.count as usize * self.geometry.block_bytes(extent.first)
    }

    /// Gives the pages of own twins that nobody needs back to the system, whole pages only; where there is a pager, when it needs space.
    pub fn give_back(self, extent: Extent) {
        let at = memory::get().rank();
        let offsets = self.offsets(extent);
        let (start, bytes) = (offsets.start, offsets.len());
        if !start.is_multiple_of(PAGE) || !bytes.is_multiple_of(PAGE) {
            return;
        }
        if self.geometry.is_paged() {
            paging::release_contents(&self.segments, self.geometry, at, offsets);
            return self.forget(at, extent);
        }
        // SAFETY: twins of blocks of this process, all in one mapping of the segment; the caller says that nobody uses what is in them.
        if !unsafe { segment::give_back(self.segments.own().address(start), bytes) } {
            return;
        }
        self.forget(at, extent);
    }

    fn forget(self, at: u32, extent: Extent) {
        for (group, mask) in self.pages(extent) {
            let gone = self.group(at, group)[0].fetch_and(!mask, Ordering::Relaxed) & mask;
            self.present(at).fetch_sub(gone.count_ones().into(), Ordering::Relaxed);
        }
    }

    /// The pages that are there and, without a pager, were not used since this was last called, as blocks of one chunk each and whole pages. Begins a new time of use.
    fn idle(self, at: u32) -> Vec<Extent> {
        let mut idle = Vec::new();
        for index in 0..self.geometry.twin_groups().div_ceil(64) {
            let mut groups = self.summary(at, index).load(Ordering::Relaxed);
            while groups != 0 {
                let group = index * 64 + groups.trailing_zeros() as usize;
                groups &= groups - 1;
                let [present, recent] = self.group(at, group);
                // A page whose contents were given up, and that is needed again before the pager needs space, has cost nothing.
                let used = if self.geometry.is_paged() { 0 } else { recent.swap(0, Ordering::Relaxed) };
                self.idle_of(group, present.load(Ordering::Relaxed) & !used, &mut idle);
            }
        }
        idle
    }

    fn idle_of(self, group: usize, mut pages: u64, out: &mut Vec<Extent>) {
        let blocks = self.geometry.blocks();
        while pages != 0 {
            let first = pages.trailing_zeros();
            let count = (pages >> first).trailing_ones();
            let from = (group * 64 + first as usize) * PAGE;
            let last = from + count as usize * PAGE - 1;
            // Blocks larger than a page are used whole, so that their pages are idle together.
            let end = blocks.run_end(from, last);
            let (a, b) = (blocks.block(from), blocks.block(end));
            out.extend(Extent::new(a, b.0 - a.0 + 1).chunks());
            let done = (end / PAGE % 64) as u32;
            pages &= u64::MAX.checked_shl(done + 1).unwrap_or(0);
        }
    }
}

/// After a global synchronisation. Called by one thread of the process at a time.
pub fn after_sync() {
    static SYNCS: AtomicU32 = AtomicU32::new(0);
    let Some(shared) = memory::shared() else { return };
    let (pages, me) = (shared.twins, memory::get().rank());
    if pages.bytes(me).0 <= config::get().twin_bytes() as u64 || race::is_on() {
        return;
    }
    let looks =
        shared.twins.geometry.is_paged() || SYNCS.fetch_add(1, Ordering::Relaxed) % INTERVAL == INTERVAL - 1;
    if !looks {
        return;
    }
    for extent in pages.idle(me) {
        fabric::run(pin!(shared.coherence.free_twins(extent)));
    }
}
