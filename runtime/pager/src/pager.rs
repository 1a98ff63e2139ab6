//! What is done on faults and completions.

use std::collections::VecDeque;

use crate::page::{Page, Run, runs};
use crate::readahead::Readahead;
use crate::replacement::Replacement;
use crate::slots::{Extent, Slots};
use crate::statistics::Statistics;
use crate::system::System;

/// Pages of a read or write at most.
pub(crate) const IO_PAGES: u32 = 256;
/// Pages that leave together.
const BATCH: u32 = 256;
/// Part of the memory that is kept free or on its way out: one of so many.
const FREE_PART: u32 = 64;
/// Part of the memory that one window of pages in order may take: one of so many.
const WINDOW_PART: u32 = 16;
/// Part of the memory that is filled before pages are taken out of the program mapping to see whether they are used.
const UNMAP_PART: f64 = 0.9;
/// Pages that are taken out of it together, unless that is more than what is kept free.
const UNMAPPED: u32 = 64;
/// Windows that are looked at until one has something to read.
const WINDOWS: u32 = 4;
/// Pages of zeros that are given at once.
const ZERO_PAGES: u32 = 64;
/// How often a page is spared that no other process has in memory, if it is not used meanwhile.
const CHANCES: u16 = 2;
/// Pages that are spared at most for each that goes.
const SPARED_PART: u32 = 4;
/// Part of the memory that is being written at most, where not all of a batch is clean: one of so many.
const WRITING_PART: u32 = 4;

/// Known ways to get it wrong: tests ask for one at a time and have to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A page goes though it was stored to while it was written.
    StoredWhileWritten,
    /// A store to a page that the disk has is not noted.
    StoreNotNoted,
    /// A page that is being written is mapped so that stores do not trap.
    MapWhileWritten,
    /// A page counts as gone though another process is storing to it.
    RefusalIgnored,
    /// Stores do not trap while a page is written.
    NotProtected,
    /// A page that was read is taken for one that the disk does not have, and the program waits.
    WaiterForgotten,
    /// A page that never was written to disk is read from there.
    NeverWritten,
    /// A page whose write was for nothing counts as one that the disk has.
    KeptAsClean,
    /// A page that is spared is not put back.
    SparedLost,
    /// Stores to pages behind one that is stored to do not trap any more, and that is not noted.
    StoresAheadNotNoted,
    /// Pages behind one that is touched are mapped so that stores do not trap.
    MapAheadWithStores,
    /// Pages are discarded that somebody needs.
    DiscardedNeeded,
    /// Pages that were discarded are read from disk later.
    DiscardedToDisk,
    /// A page that there is no space for is forgotten.
    RequestDropped,
    /// The slot of a page that is stored to stays used.
    SlotLeaked,
    /// The slot of a page that is to be stored to is free while the page is read from there.
    SlotFreeWhileRead,
    /// The slot of a page is free as soon as the page is stored to, while it is still written there.
    SlotFreeWhileWritten,
    /// Pages that follow each other are read as if their slots did.
    SlotsTakenToFollow,
    /// Stores to a page that was read, and that the pager has not heard of, do not trap any more, and that is not noted.
    StoresWhileRead,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 19] = [
        Fault::StoredWhileWritten,
        Fault::StoreNotNoted,
        Fault::MapWhileWritten,
        Fault::RefusalIgnored,
        Fault::NotProtected,
        Fault::WaiterForgotten,
        Fault::NeverWritten,
        Fault::KeptAsClean,
        Fault::SparedLost,
        Fault::StoresAheadNotNoted,
        Fault::MapAheadWithStores,
        Fault::DiscardedNeeded,
        Fault::DiscardedToDisk,
        Fault::RequestDropped,
        Fault::SlotLeaked,
        Fault::SlotFreeWhileRead,
        Fault::SlotFreeWhileWritten,
        Fault::SlotsTakenToFollow,
        Fault::StoresWhileRead,
    ];
}

/// Where a page's contents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nowhere: zeros.
    Nowhere,
    /// In the memory file.
    Resident,
    /// In the file on disk alone.
    Disk,
    /// On their way from there.
    Reading,
    /// In the memory file, on their way to the file on disk.
    Writing,
}

/// What is known of a page: its place in the lowest bits, flags, then how often it was spared.
#[derive(Clone, Copy, Debug)]
struct Entry(u16);

/// The disk has the same contents, and stores of this process trap.
const CLEAN: u16 = 8;
/// Stored to since the write began.
const STORED: u16 = 16;
/// The program waits for it.
const WANTED: u16 = 32;
/// It waits for it to store to it.
const STORES: u16 = 64;
/// It was to go and has been spared, once.
const SPARED: u16 = 128;

impl Entry {
    fn place(self) -> Place {
        match self.0 & 7 {
            0 => Place::Nowhere,
            1 => Place::Resident,
            2 => Place::Disk,
            3 => Place::Reading,
            _ => Place::Writing,
        }
    }

    fn at(place: Place) -> Entry {
        Entry(place as u16)
    }

    fn spared(self) -> u16 {
        self.0 / SPARED
    }

    fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }

    fn with(self, flag: u16) -> Entry {
        Entry(self.0 | flag)
    }

    fn without(self, flag: u16) -> Entry {
        Entry(self.0 & !flag)
    }
}

/// A pager of one memory file. Every page of it counts that is resident or on its way; there are never more than the limit.
#[derive(Debug)]
pub struct Pager<S, R> {
    system: S,
    replacement: R,
    /// Pages that are brought in order.
    readahead: Readahead,
    /// Pages that are touched in order after they were taken out of the program mapping.
    touches: Readahead,
    /// Pages that are stored to in order while the disk has the same contents.
    stores: Readahead,
    entries: Vec<u16>,
    slots: Slots,
    /// Pages with contents, wherever these are.
    contents: u32,
    /// Pages that may be resident.
    limit: u32,
    /// Pages that are, those being written among them.
    resident: u32,
    reading: u32,
    writing: u32,
    /// Pages that somebody wants and there is no space for.
    starved: VecDeque<Page>,
    statistics: Statistics,
    /// Pages that came since pages were taken out of the program mapping.
    came: u32,
    /// Whether other processes use the same data.
    processes_share: bool,
    fault: Option<Fault>,
}

fn is_resident(entries: &[u16], page: Page) -> bool {
    matches!(Entry(entries[page.0 as usize]).place(), Place::Resident | Place::Writing)
}

impl<S: System, R: Replacement> Pager<S, R> {
    /// A pager of `pages` pages, of which `limit` may be resident; none is.
    pub fn new(system: S, replacement: R, pages: u32, limit: u32) -> Pager<S, R> {
        let limit = limit.max(1);
        let window = limit / WINDOW_PART;
        Pager {
            system,
            replacement,
            readahead: Readahead::new(window.min(2 * IO_PAGES)),
            touches: Readahead::new(window.min(IO_PAGES)),
            stores: Readahead::new(window.min(IO_PAGES)),
            entries: vec![0; pages as usize],
            slots: Slots::new(pages),
            contents: 0,
            limit,
            resident: 0,
            reading: 0,
            writing: 0,
            starved: VecDeque::new(),
            statistics: Statistics::default(),
            came: 0,
            processes_share: false,
            fault: None,
        }
    }

    /// Other processes use the same data from now on, and give each other what they have in memory.
    pub fn cooperate(&mut self) {
        self.processes_share = true;
    }

    /// Windows of pages in order have so many at most.
    #[cfg(test)]
    pub(crate) fn set_windows(&mut self, most: u32) {
        [&mut self.readahead, &mut self.touches, &mut self.stores]
            .into_iter()
            .for_each(|windows| *windows = Readahead::new(most));
    }

    /// Gets one thing wrong from now on.
    pub fn seed(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// The system below.
    pub fn system(&mut self) -> &mut S {
        &mut self.system
    }

    /// What was counted so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Number of resident pages, those on their way from disk among them.
    pub fn resident(&self) -> u32 {
        self.resident + self.reading
    }

    /// Whether a page's contents are on disk alone, or on their way from there.
    pub fn is_out(&self, page: Page) -> bool {
        matches!(self.place(page), Place::Disk | Place::Reading)
    }

    /// A page has contents already: in the memory file, mapped, stored to.
    pub fn adopt(&mut self, page: Page) {
        if self.place(page) == Place::Nowhere {
            self.set(page, Entry::at(Place::Resident));
            self.resident += 1;
            self.contents += 1;
            self.replacement.insert(page);
        }
    }

    fn place(&self, page: Page) -> Place {
        self.entry(page).place()
    }

    fn entry(&self, page: Page) -> Entry {
        Entry(self.entries[page.0 as usize])
    }

    fn set(&mut self, page: Page, entry: Entry) {
        self.entries[page.0 as usize] = entry.0;
    }

    /// A page is stored to: the disk does not have its contents any more.
    fn forget_slot(&mut self, page: Page) {
        if !self.seeded(Fault::SlotLeaked) {
            self.slots.release(page);
        }
    }

    fn seeded(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// An access found nothing in the memory file: of the program (`stores`: one that stores), of the runtime, or of another process.
    pub fn missing(&mut self, page: Page, stores: bool) {
        self.statistics.faults += 1;
        self.want(page, stores);
        self.make_free();
    }

    fn want(&mut self, page: Page, stores: bool) {
        let entry = self.entry(page);
        match entry.place() {
            Place::Nowhere => self.zero_from(page),
            Place::Disk => self.read_from(page, stores),
            Place::Reading => self.set(page, entry.with(WANTED | if stores { STORES } else { 0 })),
            // The access was in front of what has brought the page.
            Place::Resident | Place::Writing => self.system.wake(Run::single(page)),
        }
    }

    /// An access of the program found the page in the memory file, and not in the program mapping.
    pub fn unmapped(&mut self, page: Page, stores: bool) {
        self.statistics.faults += 1;
        let entry = self.entry(page);
        if stores && entry.place() == Place::Resident && !self.seeded(Fault::StoreNotNoted) {
            self.set(page, entry.without(CLEAN));
            self.forget_slot(page);
        }
        match entry.place() {
            Place::Resident | Place::Writing => self.map_touched(page),
            _ => self.want(page, stores),
        }
        self.make_free();
    }

    /// Maps a page that is touched, and those behind that are not mapped either if touches come in order.
    fn map_touched(&mut self, page: Page) {
        // Nothing tells whether a resident page is mapped.
        let entries = &self.entries;
        let window = self.touches.missing(page, |page| is_resident(entries, page));
        let end = window.end().min(self.entries.len() as u32);
        let (mut read_only, mut writable) = (Vec::new(), Vec::new());
        for next in (page.0..end).map(Page) {
            let entry = self.entry(next);
            if next != page && entry.place() != Place::Resident {
                continue;
            }
            let in_use = self.replacement.touched(next);
            // A page that was spared is not mapped either.
            if next != page && !in_use && entry.spared() == 0 {
                continue;
            }
            self.statistics.in_use += u64::from(in_use);
            let entry = entry.without(entry.spared() * SPARED);
            self.set(next, entry);
            let stores_trap =
                self.stores_trap(entry) && (next == page || !self.seeded(Fault::MapAheadWithStores));
            if stores_trap { read_only.push(next) } else { writable.push(next) }
        }
        for run in runs(&mut read_only, IO_PAGES) {
            self.system.map(run, false);
        }
        for run in runs(&mut writable, IO_PAGES) {
            self.system.map(run, true);
        }
        for page in (page.0..end).map(Page) {
            if let Some(window) = self.readahead.touched(page) {
                self.read_ahead(window);
            }
        }
    }

    /// Whether stores to a resident page are to trap.
    fn stores_trap(&self, entry: Entry) -> bool {
        let written = entry.place() == Place::Writing && !self.seeded(Fault::MapWhileWritten);
        entry.has(CLEAN) || written && !entry.has(STORED)
    }

    /// A store trapped.
    pub fn protected(&mut self, page: Page) {
        self.statistics.faults += 1;
        let entry = self.entry(page);
        match entry.place() {
            Place::Resident => self.allow_stores(page),
            Place::Writing => {
                self.set(page, entry.with(STORED));
                if self.seeded(Fault::SlotFreeWhileWritten) {
                    self.slots.release(page);
                }
                self.system.unprotect(Run::single(page));
            }
            Place::Reading if self.seeded(Fault::StoresWhileRead) => self.system.unprotect(Run::single(page)),
            // Read and in memory, if it is the runtime's access: the store traps again until the pager hears of it, which is as soon as it has answered what waits.
            _ => self.system.wake(Run::single(page)),
        }
    }

    /// Notes stores to a resident page, and to those behind that the disk has if stores come in order.
    fn allow_stores(&mut self, page: Page) {
        let entries = &self.entries;
        let window = self
            .stores
            .missing(page, |page| is_resident(entries, page) && !Entry(entries[page.0 as usize]).has(CLEAN));
        let run = self.leading(window, |entry| entry.place() == Place::Resident && entry.has(CLEAN));
        for next in run.pages() {
            let fault = if next == page { Fault::StoreNotNoted } else { Fault::StoresAheadNotNoted };
            if !self.seeded(fault) {
                self.set(next, self.entry(next).without(CLEAN));
                self.forget_slot(next);
            }
        }
        self.system.unprotect(run);
    }

    /// Gives zeros, to pages behind as well if accesses come in order.
    fn zero_from(&mut self, page: Page) {
        let entries = &self.entries;
        let window = self.readahead.missing(page, |page| is_resident(entries, page));
        let window = Run { count: window.count.min(ZERO_PAGES), ..window };
        let wanted = self.leading(window, |entry| entry.place() == Place::Nowhere);
        let space = self.reserve(wanted.count);
        if space == 0 {
            return self.starve(page);
        }
        let run = Run { count: wanted.count.min(space), ..wanted };
        if self.seeded(Fault::NeverWritten) {
            self.reading += run.count;
            run.pages().for_each(|page| self.set(page, Entry::at(Place::Reading).with(WANTED)));
            return self.system.read(run, 0);
        }
        self.system.zero(run);
        self.contents += run.count;
        self.statistics.zeroed += u64::from(run.count);
        self.resident += run.count;
        self.came += run.count;
        for page in run.pages() {
            self.set(page, Entry::at(Place::Resident));
            self.replacement.insert(page);
        }
    }

    fn read_from(&mut self, page: Page, stores: bool) {
        let entries = &self.entries;
        let window = self.readahead.missing(page, |page| is_resident(entries, page));
        if self.reserve(1) == 0 {
            return self.starve(page);
        }
        self.read_window(window);
        if let Some(next) = self.readahead.follow(window).filter(|_| window.count > 1) {
            self.read_ahead(next);
        }
        let entry = self.entry(page);
        debug_assert_eq!(entry.place(), Place::Reading);
        self.statistics.read_ahead -= 1;
        self.set(page, entry.with(WANTED | if stores { STORES } else { 0 }));
        if stores && self.seeded(Fault::SlotFreeWhileRead) {
            self.slots.release(page);
        }
    }

    /// Reads what of a window is on disk before anybody wants it, or of one of the next if that is nothing.
    fn read_ahead(&mut self, mut window: Run) {
        for _ in 0..WINDOWS {
            if self.reserve(1) == 0 {
                return;
            }
            if let Some(first) = self.read_window(window) {
                return self.readahead.mark(window, first);
            }
            let Some(next) = self.readahead.follow(window) else { return };
            window = next;
        }
    }

    /// Reads what of a window is on disk, as far as there is space. Returns the first page of that.
    fn read_window(&mut self, window: Run) -> Option<Page> {
        let mut first = None;
        let end = window.end().min(self.entries.len() as u32);
        let mut at = window.first.0;
        while at < end {
            let from = at;
            while at < end && at - from < IO_PAGES && self.place(Page(at)) == Place::Disk {
                at += 1;
            }
            if at == from {
                at += 1;
                continue;
            }
            let space = self.reserve(at - from);
            if space == 0 {
                break;
            }
            first.get_or_insert(Page(from));
            at = from + (at - from).min(space);
            let run = Run::between(from, at);
            run.pages().for_each(|page| self.set(page, Entry::at(Place::Reading)));
            self.reading += run.count;
            self.statistics.read += u64::from(run.count);
            self.statistics.read_ahead += u64::from(run.count);
            self.read(run);
        }
        first
    }

    /// Begins to read pages, wherever the disk has them.
    fn read(&mut self, mut run: Run) {
        while run.count > 0 {
            let (mut extent, slot) = self.slots.extent(run);
            if self.seeded(Fault::SlotsTakenToFollow) {
                extent = run;
            }
            self.system.read(extent, slot);
            self.statistics.reads += 1;
            run = Run { first: Page(extent.end()), count: run.count - extent.count };
        }
    }

    /// The first pages of a run that are alike; at least one.
    fn leading(&self, run: Run, alike: impl Fn(Entry) -> bool) -> Run {
        let end = run.end().min(self.entries.len() as u32);
        let first = run.first.0;
        let count = (first..end).take_while(|at| alike(self.entry(Page(*at)))).count().max(1);
        Run { first: run.first, count: count as u32 }
    }

    fn starve(&mut self, page: Page) {
        self.statistics.waited_for_frames += 1;
        if self.seeded(Fault::RequestDropped) {
            return;
        }
        self.starved.push_back(page);
    }

    /// Pages have come from disk.
    pub fn read_done(&mut self, run: Run) {
        self.system.place(run);
        self.reading -= run.count;
        self.resident += run.count;
        self.came += run.count;
        // What was wanted is mapped at once, and what was read ahead with it, but for the page whose touch brings the next window.
        let is_wanted = run.pages().any(|page| self.entry(page).has(WANTED));
        let (mut mapped, mut stored) = (Vec::new(), Vec::new());
        for page in run.pages() {
            let entry = self.entry(page);
            let wanted = entry.has(WANTED) && !self.seeded(Fault::WaiterForgotten);
            self.replacement.insert(page);
            if wanted && entry.has(STORES) {
                self.set(page, Entry::at(Place::Resident));
                self.forget_slot(page);
                stored.push(page);
                continue;
            }
            self.set(page, Entry::at(Place::Resident).with(CLEAN));
            if wanted || !self.readahead.is_marker(page) && (is_wanted || run.count > 1) {
                mapped.push(page);
            }
        }
        for run in runs(&mut mapped, IO_PAGES) {
            self.system.map(run, false);
        }
        for run in runs(&mut stored, IO_PAGES) {
            self.system.map(run, true);
        }
        self.make_free();
    }

    /// Pages have got to disk.
    pub fn write_done(&mut self, extent: &Extent) {
        self.writing -= extent.pages();
        let (mut kept, mut leaving) = (Vec::new(), Vec::new());
        for page in extent.runs.iter().flat_map(|run| run.pages()) {
            let stored = self.entry(page).has(STORED) && !self.seeded(Fault::StoredWhileWritten);
            if stored { kept.push(page) } else { leaving.push(page) }
        }
        self.statistics.written += u64::from(extent.pages());
        for run in runs(&mut leaving, IO_PAGES) {
            if !self.remove(run) {
                kept.extend(run.pages());
            }
        }
        self.statistics.stored_while_written += kept.len() as u64;
        self.keep(&mut kept);
        self.make_free();
    }

    /// Whether somebody waits for space: [`Pager::make_free`] has to be called again, even if nothing happens.
    pub fn is_starved(&self) -> bool {
        !self.starved.is_empty()
    }

    /// Pages that were to leave stay, with contents that the disk does not have.
    fn keep(&mut self, pages: &mut [Page]) {
        let flags = if self.seeded(Fault::KeptAsClean) { CLEAN } else { 0 };
        for page in pages.iter() {
            self.set(*page, Entry::at(Place::Resident).with(flags));
            if flags == 0 {
                self.forget_slot(*page);
            }
            self.replacement.insert(*page);
        }
        for run in runs(pages, IO_PAGES) {
            self.system.unprotect(run);
        }
    }

    /// Takes pages out of the memory file that the disk has, unless another process has stored to them.
    fn remove(&mut self, run: Run) -> bool {
        let removed = self.system.remove(run) || self.seeded(Fault::RefusalIgnored);
        if removed {
            run.pages().for_each(|page| self.set(page, Entry::at(Place::Disk)));
            self.resident -= run.count;
        }
        removed
    }

    /// Who waits for space tries again.
    fn feed(&mut self) {
        for _ in 0..self.starved.len() {
            if self.resident + self.reading >= self.limit {
                return;
            }
            let Some(page) = self.starved.pop_front() else { return };
            self.want(page, false);
        }
    }

    /// Space for pages that come in: how many of `count` there is space for now.
    fn reserve(&mut self, count: u32) -> u32 {
        let free = |pager: &Self| pager.limit - (pager.resident + pager.reading);
        if free(self) < count && self.writing < (self.limit / WRITING_PART).max(1) {
            self.evict(count - free(self));
        }
        count.min(free(self))
    }

    /// Keeps some pages free or on their way out, and the program mapping tells which of the others are used.
    pub fn make_free(&mut self) {
        let target = (self.limit / FREE_PART).max(1);
        let free = self.limit - (self.resident + self.reading);
        let leaving = free + self.writing;
        if leaving < target && !self.replacement.is_empty() {
            self.system.hand_over();
            self.evict(target - leaving);
        }
        let is_due = self.came >= UNMAPPED.min(target);
        if is_due && f64::from(self.resident) >= UNMAP_PART * f64::from(self.limit) {
            self.came = 0;
            self.system.hand_over();
            self.unmap_old();
        }
        self.feed();
    }

    fn unmap_old(&mut self) {
        let mut old: Vec<Page> =
            std::iter::from_fn(|| self.replacement.unmap()).take(BATCH as usize).collect();
        let runs: Vec<Run> = runs(&mut old, IO_PAGES).collect();
        self.system.unmap(&runs);
    }

    /// Pages that go, at most `count`. What no other process has in memory stays in the queue some times (N-chance forwarding, M. Dahlin et al., OSDI 1994, without the
    /// forwarding), so that processes that use the same data keep different parts of it.
    fn choose(&mut self, count: u32) -> Vec<Page> {
        let (mut chosen, mut spared) = (Vec::new(), Vec::new());
        while chosen.len() < count as usize {
            let Some(page) = self.replacement.evict() else { break };
            let entry = self.entry(page);
            let may_stay = entry.spared() < CHANCES && spared.len() < (SPARED_PART * count) as usize;
            if may_stay && self.processes_share && !self.system.is_elsewhere(page) {
                self.set(page, Entry(entry.0 + SPARED));
                spared.push(page);
            } else {
                chosen.push(page);
            }
        }
        let missing = (count as usize).saturating_sub(chosen.len()).min(spared.len());
        chosen.extend(spared.drain(..missing));
        if !self.seeded(Fault::SparedLost) {
            spared.iter().for_each(|page| self.replacement.keep(*page));
        }
        self.statistics.spared += spared.len() as u64;
        chosen
    }

    /// Pages leave of which nobody needs the contents.
    fn discard(&mut self, run: Run) {
        if self.system.discard(run) || self.seeded(Fault::DiscardedNeeded) {
            let place = if self.seeded(Fault::DiscardedToDisk) { Place::Disk } else { Place::Nowhere };
            for page in run.pages() {
                self.set(page, Entry::at(place));
                self.forget_slot(page);
            }
            self.resident -= run.count;
            self.contents -= run.count;
            self.statistics.discarded += u64::from(run.count);
        } else {
            // Somebody has just begun to need them.
            for page in run.pages() {
                self.set(page, self.entry(page).without(self.entry(page).spared() * SPARED));
                self.replacement.insert(page);
            }
        }
    }

    /// At least `count` pages begin to leave, and some more, so that reads and writes are large.
    fn evict(&mut self, count: u32) {
        let (mut clean, mut stored, mut discardable) = (Vec::new(), Vec::new(), Vec::new());
        for page in self.choose(count.max(BATCH.min(self.limit / FREE_PART)).max(1)) {
            if self.system.are_discardable(Run::single(page)) || self.seeded(Fault::DiscardedNeeded) {
                discardable.push(page);
            } else if self.entry(page).has(CLEAN) {
                clean.push(page);
            } else {
                stored.push(page);
            }
        }
        for run in runs(&mut discardable, IO_PAGES) {
            self.discard(run);
        }
        for run in runs(&mut clean, IO_PAGES) {
            if self.remove(run) {
                self.statistics.left_clean += u64::from(run.count);
            } else {
                let mut pages: Vec<Page> = run.pages().collect();
                self.keep(&mut pages);
            }
        }
        self.write(&mut stored);
    }

    /// Begins to write pages that the disk does not have.
    fn write(&mut self, pages: &mut [Page]) {
        let runs: Vec<Run> = runs(pages, IO_PAGES).collect();
        for run in &runs {
            run.pages().for_each(|page| self.set(page, Entry::at(Place::Writing)));
            self.writing += run.count;
            if !self.seeded(Fault::NotProtected) {
                self.system.protect(*run);
            }
        }
        for extent in self.slots.assign(&runs, self.contents, IO_PAGES) {
            self.system.write(extent);
            self.statistics.writes += 1;
        }
    }

    /// Whether each resident page is in a queue or on its way out.
    #[cfg(test)]
    pub(crate) fn can_leave(&self) -> bool {
        self.replacement.len() + self.writing as usize == self.resident as usize
    }

    /// Whether each page has a slot that the disk has or gets, and nothing else has one.
    #[cfg(test)]
    pub(crate) fn has_right_slots(&self) -> bool {
        let on_disk = |page: &Page| {
            let entry = self.entry(*page);
            entry.has(CLEAN) || matches!(entry.place(), Place::Disk | Place::Reading | Place::Writing)
        };
        let pages = || (0..self.entries.len() as u32).map(Page);
        pages().all(|page| on_disk(&page) == self.slots.slot(page).is_some())
            && pages().filter(on_disk).count() == self.slots.count().0 as usize
    }
}
