//! The thread that answers page faults.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::advice::Advice;
use super::disk::{self, Arrived, Disk, DiskError, Done};
use super::userfault::{Kind, SYSTEM_PAGE, Userfault, UserfaultError};
use crate::page::{PAGE_BYTES, Page, Run};
use crate::pager::Pager;
use crate::replacement::Replacement;
use crate::slots::Extent;
use crate::statistics::Statistics;
use crate::system::System;

/// How often the pager tries again to free space.
const STARVED: Duration = Duration::from_millis(1);

/// Runs that are written and then leave before the pager looks whether somebody waits: each takes a system call.
const LEAVING: usize = 32;

/// Of pages that get zeros together, those that are mapped before the others.
const ZEROED_FIRST: u32 = 4;

/// Part of the program mapping.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Where it is.
    pub addresses: Range<usize>,
    /// Offset in the memory file.
    pub offset: usize,
}

/// The memory file as the runtime has it mapped, from its beginning.
#[derive(Clone, Debug)]
pub struct View(pub Range<usize>);

/// What other processes of the host do with the memory file, and this one with theirs.
pub trait Peers: Send {
    /// From now on it counts what other processes store to the pages; who is just about to, has.
    fn watch(&mut self, run: Run);

    /// Calls `remove` while no other process can store to the pages, unless one has since [`Peers::watch`] or does so now. Returns whether it did.
    fn exclude(&mut self, run: Run, remove: &mut dyn FnMut()) -> bool;

    /// Whether nobody needs what is in the pages.
    fn are_discardable(&mut self, run: Run) -> bool;

    /// Calls `remove` while nobody can begin to need what is in the pages, unless somebody does. Returns whether it did.
    fn drop_discardable(&mut self, run: Run, remove: &mut dyn FnMut()) -> bool;

    /// Says whether pages are in the memory file. If they are, requests for them are answered.
    fn set_present(&mut self, run: Run, present: bool);

    /// Asks another process's pager for a page of its memory file. [`Handle::notify`] follows when it may have answered.
    fn request(&mut self, rank: u32, page: Page);

    /// Whether another process has answered a request: its page was in its memory file since. A request is over then.
    fn take_answer(&mut self, rank: u32, page: Page) -> bool;

    /// Answers the requests of other processes for pages that are there, and hands on the other pages that they have asked for.
    fn take_requests(&mut self, take: &mut dyn FnMut(Page));
}

/// Nobody else has the memory file mapped.
#[derive(Debug)]
pub struct SingleProcess;

impl Peers for SingleProcess {
    fn watch(&mut self, _run: Run) {}

    fn exclude(&mut self, _run: Run, remove: &mut dyn FnMut()) -> bool {
        remove();
        true
    }

    fn are_discardable(&mut self, _run: Run) -> bool {
        false
    }

    fn drop_discardable(&mut self, _run: Run, _remove: &mut dyn FnMut()) -> bool {
        false
    }

    fn set_present(&mut self, _run: Run, _present: bool) {}

    fn request(&mut self, _rank: u32, _page: Page) {}

    fn take_answer(&mut self, _rank: u32, _page: Page) -> bool {
        true
    }

    fn take_requests(&mut self, _take: &mut dyn FnMut(Page)) {}
}

/// The mappings and the disk: the pager's [`System`].
struct Linux<P> {
    userfault: Arc<Userfault>,
    /// In the order of their offsets.
    mappings: Vec<Mapping>,
    view: View,
    disk: Disk,
    advice: Advice,
    peers: P,
    /// What a read has brought.
    arrived: Option<Arrived>,
    /// Pages that must not wait for other hosts, because somebody waits for them who may serve these.
    urgent: HashSet<Page>,
}

fn in_view(View(view): &View, run: Run) -> Range<usize> {
    let start = view.start + run.offset();
    start..(start + run.bytes()).min(view.end)
}

impl<P: Peers> Linux<P> {
    /// Addresses of pages in the view.
    fn in_view(&self, run: Run) -> Range<usize> {
        in_view(&self.view, run)
    }

    /// Addresses of pages in the program mapping.
    fn in_program(&self, run: Run) -> impl Iterator<Item = Range<usize>> {
        let (from, to) = (run.offset(), run.offset() + run.bytes());
        let first = self.mappings.partition_point(|mapping| mapping.offset + mapping.addresses.len() <= from);
        self.mappings[first..].iter().take_while(move |mapping| mapping.offset < to).map(move |mapping| {
            let at = |offset: usize| mapping.addresses.start + (offset - mapping.offset);
            let end = to.min(mapping.offset + mapping.addresses.len());
            at(from.max(mapping.offset))..at(end)
        })
    }

    /// Page of an address, if it is one of the own memory file.
    fn page(&self, address: usize) -> Option<Page> {
        let offset = if self.view.0.contains(&address) {
            address - self.view.0.start
        } else {
            let mapping = self.mappings.iter().find(|mapping| mapping.addresses.contains(&address))?;
            mapping.offset + (address - mapping.addresses.start)
        };
        Some(Page((offset / PAGE_BYTES) as u32))
    }

    /// Removes pages if `exclude` lets it, of which the disk has the contents or nobody needs them.
    fn remove_by(&mut self, run: Run, exclude: impl FnOnce(&mut P, Run, &mut dyn FnMut()) -> bool) -> bool {
        let addresses = self.in_view(run);
        let remove = &mut || {
            // SAFETY: a part of the view; who touches the pages waits for the pager.
            unsafe { libc::madvise(addresses.start as *mut _, addresses.len(), libc::MADV_REMOVE) };
        };
        self.peers.set_present(run, false);
        let removed = exclude(&mut self.peers, run, remove);
        if !removed {
            self.peers.set_present(run, true);
        }
        removed
    }

    /// Gives zeros to pages, and wakes who waits for one of them.
    fn zero_together(&self, run: Run) {
        let mut mapped = 0;
        for addresses in self.in_program(run) {
            mapped += addresses.len();
            self.userfault.zero(addresses);
        }
        let in_view = self.in_view(run);
        if mapped < in_view.len() {
            // Between the parts of the program mapping.
            self.userfault.zero(in_view);
        } else {
            // Who accesses the view finds the page in the file.
            self.userfault.wake(in_view);
        }
    }
}

impl<P: Peers> System for Linux<P> {
    fn zero(&mut self, run: Run) {
        // Who waits for the first one goes on with these while the others are made.
        let first = Run { count: run.count.min(ZEROED_FIRST), ..run };
        self.zero_together(first);
        if first.end() < run.end() {
            self.zero_together(Run::between(first.end(), run.end()));
        }
        self.peers.set_present(run, true);
    }

    fn place(&mut self, run: Run) {
        let Arrived { run: read, buffer, is_placed, .. } = self.arrived.as_ref().expect("a read is done");
        assert!(read.first <= run.first && run.end() <= read.end());
        if !is_placed {
            let from = buffer.address().wrapping_add(run.offset() - read.offset());
            // SAFETY: the buffer has the contents of all pages of the read.
            unsafe { self.userfault.copy(self.in_view(run), from) };
        }
        if !self.urgent.is_empty() {
            run.pages().for_each(|page| _ = self.urgent.remove(&page));
        }
        self.peers.set_present(run, true);
    }

    fn map(&mut self, run: Run, stores: bool) {
        self.in_program(run).for_each(|addresses| self.userfault.map(addresses, stores));
    }

    fn unmap(&mut self, runs: &[Run]) {
        let ranges: Vec<Range<usize>> = runs.iter().flat_map(|run| self.in_program(*run)).collect();
        // SAFETY: the pages stay in the memory file; who touches them waits for the pager.
        unsafe { self.advice.give(&ranges, libc::MADV_DONTNEED) };
    }

    fn hand_over(&mut self) {
        self.disk.submit();
    }

    fn protect(&mut self, run: Run) {
        self.peers.watch(run);
        self.in_program(run).for_each(|addresses| self.userfault.protect(addresses, true));
        self.userfault.protect(self.in_view(run), true);
    }

    fn unprotect(&mut self, run: Run) {
        self.in_program(run).for_each(|addresses| self.userfault.protect(addresses, false));
        self.userfault.protect(self.in_view(run), false);
    }

    fn wake(&mut self, run: Run) {
        self.in_program(run).for_each(|addresses| self.userfault.wake(addresses));
        self.userfault.wake(self.in_view(run));
    }

    fn remove(&mut self, run: Run) -> bool {
        self.remove_by(run, P::exclude)
    }

    fn are_discardable(&mut self, run: Run) -> bool {
        self.peers.are_discardable(run)
    }

    fn discard(&mut self, run: Run) -> bool {
        self.remove_by(run, P::drop_discardable)
    }

    fn is_elsewhere(&mut self, page: Page) -> bool {
        !self.disk.may_be_elsewhere(page) || self.disk.is_near(page)
    }

    fn read(&mut self, run: Run, slot: u32) {
        self.disk.read(run, slot, |page| self.urgent.contains(&page));
    }

    fn write(&mut self, extent: Extent) {
        let view = &self.view;
        // SAFETY: the pager has just protected the pages, which are resident and mapped for good.
        unsafe { self.disk.write(extent, |run| in_view(view, run)) };
    }
}

/// What other threads tell the service, and what it tells them.
#[derive(Clone, Debug)]
pub struct Handle {
    notified: Arc<OwnedFd>,
    statistics: Arc<Mutex<Statistics>>,
}

impl Handle {
    /// Other processes have asked for pages, or answered requests.
    pub fn notify(&self) {
        let one = 1u64;
        // SAFETY: adds to the counter of an event.
        unsafe { libc::write(self.notified.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// What was counted so far.
    pub fn statistics(&self) -> Statistics {
        *self.statistics.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A fault in another process's memory file, as this process has it mapped.
struct Awaited {
    rank: u32,
    page: Page,
    address: usize,
}

/// A pager with its mappings; [`Service::run`] is the thread.
pub struct Service<P, R> {
    pager: Pager<Linux<P>, R>,
    /// Other processes' memory files, as this process has them mapped.
    views: Vec<(u32, View)>,
    awaited: Vec<Awaited>,
    /// What has got to disk, and is still in memory.
    written: VecDeque<Extent>,
    handle: Handle,
}

impl<P: Peers, R: Replacement> Service<P, R> {
    /// Takes over the faults of the mappings and views; `resident` are the offsets of the file that have contents already. `limit` is the most memory, bytes.
    ///
    /// # Errors
    /// The system cannot hand them over.
    pub fn new(
        (mappings, view): (Vec<Mapping>, View),
        views: Vec<(u32, View)>,
        (mut disk, limit): (Disk, usize),
        peers: P,
        replacement: R,
        resident: impl Iterator<Item = Range<usize>>,
    ) -> Result<Service<P, R>, UserfaultError> {
        let userfault = Arc::new(Userfault::new()?);
        for mapping in &mappings {
            userfault.register(mapping.addresses.clone(), true)?;
        }
        for View(addresses) in views.iter().map(|(_, view)| view).chain([&view]) {
            userfault.register(addresses.clone(), false)?;
        }
        disk.place_at(userfault.clone(), view.0.clone());
        let pages = view.0.len().div_ceil(PAGE_BYTES) as u32;
        let (advice, urgent) = (Advice::new(), HashSet::new());
        let system = Linux { userfault, mappings, view, disk, advice, peers, arrived: None, urgent };
        let has_near = system.disk.has_near();
        let mut pager = Pager::new(system, replacement, pages, (limit / PAGE_BYTES) as u32);
        if has_near {
            pager.cooperate();
        }
        for range in resident {
            let run = Run::between(
                (range.start / PAGE_BYTES) as u32,
                range.end.div_ceil(PAGE_BYTES).min(pages as usize) as u32,
            );
            // What of the pages has no contents gets zeros.
            pager.system().zero(run);
            run.pages().for_each(|page| pager.adopt(page));
        }
        let notified = disk::event().map_err(UserfaultError::Features)?;
        let handle = Handle { notified: Arc::new(notified), statistics: Arc::default() };
        Ok(Service { pager, views, awaited: Vec::new(), written: VecDeque::new(), handle })
    }

    /// See [`Handle`].
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Answers faults for as long as the process lives.
    ///
    /// # Errors
    /// A transfer failed.
    pub fn run(mut self) -> Result<std::convert::Infallible, DiskError> {
        let notified = self.handle.notified.as_raw_fd();
        let linux = self.pager.system();
        linux.disk.start([linux.userfault.as_fd().as_raw_fd(), notified])?;
        loop {
            let longest = match self.written.is_empty() {
                true => self.pager.is_starved().then_some(STARVED),
                false => Some(Duration::ZERO),
            };
            let [has_faults, is_notified] = self.pager.system().disk.wait(longest);
            if has_faults {
                self.answer_faults();
            }
            if is_notified {
                disk::clear(notified);
                self.answer_peers();
                self.take_answers();
            }
            while let Some(done) = self.pager.system().disk.next()? {
                self.finish(done);
            }
            self.leave();
            if self.pager.is_starved() {
                self.pager.make_free();
            }
            let copied = self.pager.system().disk.copied();
            *self.handle.statistics.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) =
                Statistics { copied, ..self.pager.statistics() };
        }
    }

    fn answer_faults(&mut self) {
        let mut faults = Vec::new();
        let linux = self.pager.system();
        while linux.userfault.read(|address, kind, stores| faults.push((address, kind, stores))) {}
        for (address, kind, stores) in faults {
            let linux = self.pager.system();
            let in_program = !linux.view.0.contains(&address);
            match linux.page(address) {
                Some(page) => match kind {
                    Kind::Missing if in_program => self.pager.missing(page, stores),
                    Kind::Missing => self.missing_in_view(page),
                    Kind::Unmapped => self.pager.unmapped(page, stores),
                    Kind::Protected => self.pager.protected(page),
                },
                None => self.ask_peer(address),
            }
        }
    }

    /// An access of the runtime, or of another process of this host, found nothing.
    fn missing_in_view(&mut self, page: Page) {
        let is_out = self.pager.is_out(page);
        let linux = self.pager.system();
        if is_out {
            linux.urgent.insert(page);
            linux.disk.overtake(page);
        }
        self.pager.missing(page, false);
    }

    /// An access to another process's memory file found nothing.
    fn ask_peer(&mut self, address: usize) {
        let Some((rank, view)) = self.views.iter().find(|(_, view)| view.0.contains(&address)) else {
            return;
        };
        let page = Page(((address - view.0.start) / PAGE_BYTES) as u32);
        self.awaited.push(Awaited { rank: *rank, page, address: address / SYSTEM_PAGE * SYSTEM_PAGE });
        let rank = *rank;
        self.pager.system().peers.request(rank, page);
    }

    fn answer_peers(&mut self) {
        let mut wanted = Vec::new();
        self.pager.system().peers.take_requests(&mut |page| wanted.push(page));
        wanted.into_iter().for_each(|page| self.missing_in_view(page));
    }

    /// Accesses to other processes' memory files whose pages have been there try again.
    fn take_answers(&mut self) {
        let linux = self.pager.system();
        self.awaited.retain(|awaited| {
            let is_answered = linux.peers.take_answer(awaited.rank, awaited.page);
            if is_answered {
                linux.userfault.wake(awaited.address..awaited.address + SYSTEM_PAGE);
            }
            !is_answered
        });
    }

    /// Some of what has got to disk leaves memory: pages in order at once, scattered ones some at a time.
    fn leave(&mut self) {
        let Some(extent) = self.written.front_mut() else { return };
        let pages = extent.runs.iter().take(LEAVING).map(|run| run.count).sum();
        let leaving = extent.take(pages);
        if extent.runs.is_empty() {
            self.written.pop_front();
        }
        self.pager.write_done(&leaving);
    }

    fn finish(&mut self, done: Done) {
        let mut arrived = match done {
            Done::Read(arrived) => arrived,
            Done::Written(extent) => return self.written.push_back(extent),
        };
        let wanted = std::mem::take(&mut arrived.wanted);
        self.pager.system().arrived = Some(arrived);
        wanted.into_iter().for_each(|run| self.pager.read_done(run));
        let linux = self.pager.system();
        if let Some(Arrived { buffer, .. }) = linux.arrived.take() {
            linux.disk.recycle(buffer);
        }
    }
}
