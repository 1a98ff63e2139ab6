//! The memory of twins: where each is, which pages of them exist, and giving back those that nobody has used for a while.
//!
//! The twin of a block that is a page or several lies in pages of a [`pool`] of `DSM_TWINS` bytes, from when it is made until it is dropped: processes need few twins at a time, of many blocks one after the other. While
//! the pool is used up, and for smaller blocks, twins have places of their own, as many bytes behind each other as the data. There, each process's segment has two bits for every page of its twins: *present*, and *recent*, used since the last look. Peers that leave a twin behind set
//! them too. Above the bound (`DSM_TWINS`) a process looks at some of its barriers: what is recent stays, since what one interval needs the next one most
//! likely needs too, and what is not goes back to the system if the protocol needs none of the twins in it.
//! Where there is a pager, a process looks at each barrier, and the pager discards what the protocol does not need, instead of writing it, when it needs space.
//!
//! A page that is not present is a hole: its twins are zero. The twin of a block that was a hole itself when its home was taken is left there without being written (`fabric/holes.rs`).

mod pool;

use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_coherence::{Block, Extent};
use dsm_comm::segment;
use dsm_comm::{Half, Segments, Word};

use super::geometry::{Geometry, PAGE};
use crate::paging;
use crate::{self as memory, config, fabric, race};
use pool::Pool;

/// Barriers between two looks: a page goes back after so many intervals in which it was not used, and at most twice as many.
const INTERVAL: u32 = 4;

/// Most bytes of a pool: its address space is taken from that of the heap.
const MOST_POOL_BYTES: usize = 4 << 30;

/// Pages of the pool of each process of a job of so many. None where twins stay when they are not needed: what races are looked for with, and what a pager
/// writes to disk by its place.
pub fn pool_pages(processes: u32) -> usize {
    match processes == 1 || race::is_on() || paging::limit().is_some() {
        true => 0,
        false => config::get().twin_bytes().min(MOST_POOL_BYTES) / PAGE,
    }
}

/// A part of the twins of an extent.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Bytes of the extent in front of it.
    pub start: usize,
    /// Its segment offset.
    pub twin: usize,
    /// Its length.
    pub bytes: usize,
}

/// The bits and pools of all processes. `Copy`: it is addresses.
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

    fn pool(self, at: u32) -> Pool {
        Pool::new(self.geometry, self.segments, at)
    }

    /// Number and one of the pool's page that has the twin of the page of data at an offset; 0 if its twin is in its own place.
    fn slot(self, at: u32, data_offset: usize) -> Half {
        self.segments.half(at, self.geometry.twin_slot_offset(data_offset))
    }

    fn block_bytes(self, extent: Extent) -> usize {
        self.geometry.block_bytes(extent.first)
    }

    /// Whether twins of the blocks of an extent may be in the pool. Others lie behind each other in their own places.
    #[inline]
    pub fn may_pool(self, extent: Extent) -> bool {
        self.geometry.twin_pool_pages() > 0 && self.block_bytes(extent) >= PAGE
    }

    /// Segment offsets of the pages of an extent's data; only of blocks that may be in the pool.
    fn data_pages(self, extent: Extent) -> impl Iterator<Item = usize> {
        let start = self.geometry.data_offset(extent.first);
        (start..start + extent.count as usize * self.block_bytes(extent)).step_by(PAGE)
    }

    /// Whether the twin of a block is in the pool: all of it is, or nothing.
    #[inline]
    fn is_pooled(self, at: u32, block: Block) -> bool {
        self.may_pool(Extent::single(block))
            && self.slot(at, self.geometry.data_offset(block)).load(Ordering::Relaxed) != 0
    }

    /// Where the twins of an extent are in a process's segment.
    #[inline]
    pub fn pieces(self, at: u32, extent: Extent) -> impl Iterator<Item = Piece> {
        let (data, fixed) =
            (self.geometry.data_offset(extent.first), self.geometry.twin_offset(extent.first));
        let bytes = extent.count as usize * self.block_bytes(extent);
        let may_pool = self.may_pool(extent);
        let step = if may_pool { PAGE } else { bytes };
        (0..bytes).step_by(step).map(move |start| {
            let slot = if may_pool { self.slot(at, data + start).load(Ordering::Relaxed) } else { 0 };
            let twin = match slot.checked_sub(1) {
                Some(page) => self.geometry.twin_pool_offset(page),
                None => fixed + start,
            };
            Piece { start, twin, bytes: step }
        })
    }

    /// Segment offset of a byte of a process's twin of a block.
    pub fn offset(self, at: u32, block: Block, byte: usize) -> usize {
        let slot = match self.may_pool(Extent::single(block)) {
            true => self.slot(at, self.geometry.data_offset(block) + byte).load(Ordering::Relaxed),
            false => 0,
        };
        match slot.checked_sub(1) {
            Some(page) => self.geometry.twin_pool_offset(page) + byte % PAGE,
            None => self.geometry.twin_offset(block) + byte,
        }
    }

    /// New twins are about to be written at a process, from end to end. Whatever was in those of these blocks before is not needed.
    #[inline]
    pub fn begin(self, at: u32, extent: Extent) {
        if !self.may_pool(extent) {
            return self.use_them(at, extent);
        }
        for block in extent.blocks() {
            if !self.is_pooled(at, block) && !self.take(at, block) {
                self.use_them(at, Extent::single(block));
            }
        }
    }

    /// Takes pages of the pool for a block's twin, if there are as many.
    fn take(self, at: u32, block: Block) -> bool {
        let extent = Extent::single(block);
        for data in self.data_pages(extent) {
            let Some((page, fresh)) = self.pool(at).take() else {
                self.drop(at, extent);
                return false;
            };
            if fresh {
                self.count_peak(at);
            }
            self.slot(at, data).store(page + 1, Ordering::Relaxed);
        }
        true
    }

    /// Twins of a process are not needed any more.
    #[inline]
    pub fn drop(self, at: u32, extent: Extent) {
        if !self.may_pool(extent) {
            return;
        }
        for data in self.data_pages(extent) {
            let slot = self.slot(at, data);
            if let Some(page) = slot.load(Ordering::Relaxed).checked_sub(1) {
                slot.store(0, Ordering::Relaxed);
                self.pool(at).give_back(page);
            }
        }
    }

    /// Present and greatest number of bytes of a process's twins.
    pub fn bytes(self, at: u32) -> (u64, u64) {
        (self.present_pages(at) * PAGE as u64, self.peak(at).load(Ordering::Relaxed) * PAGE as u64)
    }

    fn present_pages(self, at: u32) -> u64 {
        self.present(at).load(Ordering::Relaxed) + self.pool(at).pages()
    }

    fn count_peak(self, at: u32) {
        self.peak(at).fetch_max(self.present_pages(at), Ordering::Relaxed);
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

    /// Twins of a process that are in their own places are about to be written.
    #[inline]
    fn use_them(self, at: u32, extent: Extent) {
        for (group, mask) in self.pages(extent) {
            let [present, recent] = self.group(at, group);
            if recent.load(Ordering::Relaxed) & mask != mask {
                recent.fetch_or(mask, Ordering::Relaxed);
            }
            // Only while none of these twins is needed is their bit taken away, and nobody writes one then.
            if present.load(Ordering::Relaxed) & mask != mask {
                if self.geometry.is_paged() {
                    paging::unmark_discardable(&self.segments, self.geometry, at, self.offsets(extent));
                }
                let new = !present.fetch_or(mask, Ordering::Relaxed) & mask;
                self.summary(at, group / 64).fetch_or(1 << (group % 64), Ordering::Relaxed);
                self.present(at).fetch_add(new.count_ones().into(), Ordering::Relaxed);
                self.count_peak(at);
            }
        }
    }

    /// Parts of twins that there are at a process are about to be written.
    #[inline]
    pub fn change(self, at: u32, extent: Extent) {
        if !self.may_pool(extent) {
            return self.use_them(at, extent);
        }
        extent
            .blocks()
            .filter(|block| !self.is_pooled(at, *block))
            .for_each(|block| self.use_them(at, Extent::single(block)));
    }

    /// Whether none of an extent's twins is in a page that is present: they are zero.
    #[inline]
    pub fn are_holes(self, at: u32, extent: Extent) -> bool {
        (!self.may_pool(extent) || extent.blocks().all(|block| !self.is_pooled(at, block)))
            && self.are_holes_in_place(at, extent)
    }

    fn are_holes_in_place(self, at: u32, extent: Extent) -> bool {
        self.pages(extent).all(|(group, mask)| self.group(at, group)[0].load(Ordering::Relaxed) & mask == 0)
    }

    /// Whether all of an extent's twins are in pages that are present.
    #[inline]
    pub fn are_present(self, at: u32, extent: Extent) -> bool {
        if self.may_pool(extent) && extent.blocks().all(|block| self.is_pooled(at, block)) {
            return true;
        }
        self.pages(extent)
            .all(|(group, mask)| self.group(at, group)[0].load(Ordering::Relaxed) & mask == mask)
    }

    /// Segment offsets of the own places of an extent's twins.
    fn offsets(self, extent: Extent) -> Range<usize> {
        let start = self.geometry.twin_offset(extent.first);
        start..start + extent.count as usize * self.geometry.block_bytes(extent.first)
    }

    /// Gives the own places of this process's twins that nobody needs back to the system, whole pages only; where there is a pager, when it needs space.
    pub fn give_back(self, extent: Extent) {
        let at = memory::get().rank();
        let offsets = self.offsets(extent);
        let (start, bytes) = (offsets.start, offsets.len());
        if !start.is_multiple_of(PAGE) || !bytes.is_multiple_of(PAGE) {
            return;
        }
        if self.geometry.is_paged() {
            paging::mark_discardable(&self.segments, self.geometry, at, offsets);
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
