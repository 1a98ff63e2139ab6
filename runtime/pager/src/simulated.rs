//! A simulated system, and threads whose accesses are checked, in any order that a seed decides.

use std::collections::{BTreeMap, BTreeSet};

use crate::page::{Page, Run};
use crate::pager::{Fault, Pager};
use crate::replacement::{Replacement, S3Fifo, SecondChance};
use crate::slots::Extent;
use crate::system::System;

const PAGES: u32 = 24;
const LIMIT: u32 = 12;
/// Pages of a window of accesses in order, in every second run.
const WINDOW: u32 = 3;
const THREADS: usize = 4;
const STEPS: usize = 2400;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// And whether the program wanted to store.
    Missing(Page, bool),
    Unmapped(Page, bool),
    Protected(Page),
    /// Another process asks for a page.
    Asked(Page),
}

#[derive(Debug)]
struct Transfer {
    extent: Extent,
    writes: bool,
    /// Pages whose contents the disk has taken, or given.
    taken: BTreeMap<u32, Option<u64>>,
    /// Of a read: whether somebody else than the pager places the pages, and those that are in memory already.
    is_placed: bool,
    placed: BTreeSet<u32>,
}

impl Transfer {
    fn of(runs: Vec<Run>, slot: u32, writes: bool) -> Transfer {
        let extent = Extent { slot, runs };
        Transfer { extent, writes, taken: BTreeMap::new(), is_placed: false, placed: BTreeSet::new() }
    }
}

/// Contents are numbers.
#[derive(Debug, Default)]
struct World {
    memory: BTreeMap<u32, u64>,
    /// By slot.
    disk: BTreeMap<u32, u64>,
    /// What a read has brought, and whether it is in memory already.
    arrived: BTreeMap<u32, Option<u64>>,
    is_placed: bool,
    /// Reads that were begun.
    reads: u64,
    /// Pages in the program mapping, and whether stores there trap.
    program: BTreeMap<u32, bool>,
    /// Pages where stores through the view trap.
    view: BTreeSet<u32>,
    /// Pages that another process is about to store to, and those that one has stored to.
    locked: BTreeSet<u32>,
    changed: BTreeSet<u32>,
    transfers: Vec<Transfer>,
    woken: BTreeSet<u32>,
    /// Pages that another process has asked for, and those that have been in memory since.
    asked: BTreeSet<u32>,
    answered: BTreeSet<u32>,
    /// Pages that another process has in memory.
    elsewhere: BTreeSet<u32>,
    /// Pages whose contents nobody needs.
    discardable: BTreeSet<u32>,
}

impl World {
    /// Pages are in memory: who has asked for them hears of it.
    fn answer(&mut self, run: Run) {
        self.answered.extend(run.pages().map(|page| page.0).filter(|page| self.asked.remove(page)));
    }
}

impl System for World {
    fn zero(&mut self, run: Run) {
        self.answer(run);
        for page in run.pages() {
            self.memory.entry(page.0).or_insert(0);
            self.program.insert(page.0, false);
            self.view.remove(&page.0);
        }
        self.wake(run);
    }

    fn place(&mut self, run: Run) {
        self.answer(run);
        if self.is_placed {
            return;
        }
        for page in run.pages() {
            let contents = self.arrived[&page.0].expect("what is read was written");
            self.memory.insert(page.0, contents);
            self.view.insert(page.0);
        }
    }

    fn map(&mut self, run: Run, stores: bool) {
        for page in run.pages() {
            assert!(self.memory.contains_key(&page.0), "page {} is not resident", page.0);
            self.program.insert(page.0, !stores);
        }
        self.wake(run);
    }

    fn unmap(&mut self, runs: &[Run]) {
        runs.iter().flat_map(|run| run.pages()).for_each(|page| _ = self.program.remove(&page.0));
    }

    fn protect(&mut self, run: Run) {
        for page in run.pages() {
            if let Some(traps) = self.program.get_mut(&page.0) {
                *traps = true;
            }
            self.view.insert(page.0);
            if !self.locked.contains(&page.0) {
                self.changed.remove(&page.0);
            }
        }
    }

    fn unprotect(&mut self, run: Run) {
        for page in run.pages() {
            if let Some(traps) = self.program.get_mut(&page.0) {
                *traps = false;
            }
            self.view.remove(&page.0);
        }
        self.wake(run);
    }

    fn wake(&mut self, run: Run) {
        self.woken.extend(run.first.0..run.end());
    }

    fn remove(&mut self, run: Run) -> bool {
        if run.pages().any(|page| self.locked.contains(&page.0) || self.changed.contains(&page.0)) {
            return false;
        }
        for page in run.pages() {
            self.memory.remove(&page.0).expect("what is removed was resident");
            self.program.remove(&page.0);
        }
        true
    }

    fn are_discardable(&mut self, run: Run) -> bool {
        run.pages().all(|page| self.discardable.contains(&page.0))
    }

    fn discard(&mut self, run: Run) -> bool {
        let locked = run.pages().any(|page| self.locked.contains(&page.0));
        if locked || !self.are_discardable(run) {
            return false;
        }
        for page in run.pages() {
            self.memory.remove(&page.0).expect("what is discarded was resident");
            self.program.remove(&page.0);
        }
        true
    }

    fn is_elsewhere(&mut self, page: Page) -> bool {
        self.elsewhere.contains(&page.0)
    }

    fn read(&mut self, run: Run, slot: u32) {
        self.reads += 1;
        let transfer =
            Transfer { is_placed: self.reads.is_multiple_of(2), ..Transfer::of(vec![run], slot, false) };
        self.transfers.push(transfer);
    }

    fn write(&mut self, Extent { slot, runs }: Extent) {
        self.transfers.push(Transfer::of(runs, slot, true));
    }
}

/// Who accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Program,
    View,
    Peer,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    page: u32,
    path: Path,
    stores: bool,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    access: Option<Access>,
    waits: bool,
    /// Of a peer: how far it is.
    phase: u8,
    /// Accesses in order go on behind the last one.
    last: u32,
}

struct Simulation<R> {
    pager: Pager<World, R>,
    threads: Vec<Thread>,
    events: Vec<Event>,
    expected: BTreeMap<u32, u64>,
    /// Pages that nobody has stored to since nobody needed them.
    unknown: BTreeSet<u32>,
    random: Random,
    /// One access of so many stores.
    store_part: usize,
    stores: u64,
}

impl<R: Replacement> Simulation<R> {
    fn new(seed: u64, policy: R, fault: Option<Fault>) -> Self {
        let mut pager = Pager::new(World::default(), policy, PAGES, LIMIT);
        fault.into_iter().for_each(|fault| pager.seed(fault));
        if !seed.is_multiple_of(3) {
            pager.cooperate();
        }
        if seed.is_multiple_of(2) {
            pager.set_windows(WINDOW);
        }
        Simulation {
            pager,
            threads: vec![Thread::default(); THREADS],
            events: Vec::new(),
            expected: BTreeMap::new(),
            unknown: BTreeSet::new(),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            store_part: if seed % 5 < 2 { 2 } else { 5 },
            stores: 0,
        }
    }

    fn choose(&mut self, thread: usize) {
        let random = &mut self.random;
        let last = self.threads[thread].last;
        let page = if random.below(4) > 0 { (last + 1) % PAGES } else { random.below(PAGES as usize) as u32 };
        let path = match random.below(6) {
            0 => Path::View,
            1 => Path::Peer,
            _ => Path::Program,
        };
        // A page has one peer at a time: its records are locked.
        let taken = |t: &Thread| t.access.is_some_and(|a| a.path == Path::Peer && a.page == page);
        let path = if self.threads.iter().any(taken) { Path::Program } else { path };
        // Who stores to a page that nobody needs says first that it is needed.
        let discardable = self.pager.system().discardable.remove(&page);
        let access = Access { page, path, stores: discardable || random.below(self.store_part) == 0 };
        self.threads[thread] = Thread { access: Some(access), waits: false, phase: 0, last: page };
    }

    /// One step of a thread that has an access.
    fn step(&mut self, at: usize) -> Result<(), String> {
        let Some(Access { page, path, stores }) = self.threads[at].access else { return Ok(()) };
        let phase = self.threads[at].phase;
        let world = self.pager.system();
        if path == Path::Peer && phase < 2 {
            if phase == 0 {
                world.locked.insert(page)
            } else {
                stores && world.changed.insert(page)
            };
            self.threads[at].phase += 1;
            return Ok(());
        }
        let event = match path {
            Path::Peer if !world.memory.contains_key(&page) => {
                world.asked.insert(page);
                Some(Event::Asked(Page(page)))
            }
            _ if !world.memory.contains_key(&page) => {
                Some(Event::Missing(Page(page), stores && path == Path::Program))
            }
            Path::Program if !world.program.contains_key(&page) => Some(Event::Unmapped(Page(page), stores)),
            Path::Program if stores && world.program[&page] => Some(Event::Protected(Page(page))),
            Path::View if stores && world.view.contains(&page) => Some(Event::Protected(Page(page))),
            _ => None,
        };
        if let Some(event) = event {
            world.woken.remove(&page);
            self.threads[at].waits = true;
            if !self.events.contains(&event) {
                self.events.push(event);
            }
            return Ok(());
        }
        if stores {
            self.stores += 1;
            world.memory.insert(page, self.stores);
            self.expected.insert(page, self.stores);
            self.unknown.remove(&page);
        } else if !self.unknown.contains(&page) {
            let (found, expected) = (world.memory[&page], self.expected.get(&page).copied().unwrap_or(0));
            if found != expected {
                return Err(format!("page {page}: {path:?} found {found} where {expected} was stored"));
            }
        }
        if path == Path::Peer {
            world.locked.remove(&page);
        }
        self.threads[at].access = None;
        Ok(())
    }

    fn deliver(&mut self) {
        let event = self.events.swap_remove(self.random.below(self.events.len()));
        match event {
            Event::Missing(page, stores) => self.pager.missing(page, stores),
            Event::Unmapped(page, stores) => self.pager.unmapped(page, stores),
            Event::Protected(page) => self.pager.protected(page),
            Event::Asked(page) if self.pager.system().memory.contains_key(&page.0) => {
                self.pager.system().answer(Run::single(page));
            }
            Event::Asked(page) => self.pager.missing(page, false),
        }
    }

    /// A page of a read gets into memory before the pager hears of it, where the disk has given it.
    fn place(&mut self) {
        let which = self.random.below(self.pager.system().transfers.len());
        let world = self.pager.system();
        let Transfer { writes: false, is_placed: true, taken, placed, .. } = &mut world.transfers[which]
        else {
            return;
        };
        let Some((page, contents)) = taken.iter().find(|(page, _)| !placed.contains(page)) else { return };
        world.memory.insert(*page, contents.expect("what is read was written"));
        world.view.insert(*page);
        placed.insert(*page);
    }

    /// The disk takes a page, or all of a transfer is done.
    fn transfer(&mut self) {
        let which = self.random.below(self.pager.system().transfers.len());
        let whole = self.random.below(3) == 0;
        let world = self.pager.system();
        let Transfer { extent, writes, taken, .. } = &mut world.transfers[which];
        let pages = extent.runs.iter().flat_map(|run| run.pages()).map(|page| page.0).zip(extent.slot..);
        let rest: Vec<(u32, u32)> = pages.filter(|(page, _)| !taken.contains_key(page)).collect();
        for (page, slot) in rest.iter().take(if whole { rest.len() } else { 1 }) {
            if *writes && let Some(contents) = world.memory.get(page) {
                world.disk.insert(*slot, *contents);
            }
            taken.insert(*page, world.disk.get(slot).copied());
        }
        if !whole {
            return;
        }
        let Transfer { extent, writes, taken, is_placed, placed } = world.transfers.swap_remove(which);
        if writes {
            return self.written(extent);
        }
        for (page, contents) in taken.iter().filter(|(page, _)| is_placed && !placed.contains(page)) {
            world.memory.insert(*page, contents.expect("what is read was written"));
            world.view.insert(*page);
        }
        (world.arrived, world.is_placed) = (taken, is_placed);
        self.pager.read_done(extent.runs[0]);
    }

    /// The pager hears of a write, or of a part of it first.
    fn written(&mut self, mut extent: Extent) {
        let first = extent.take(1 + self.random.below(extent.pages() as usize) as u32);
        if !extent.runs.is_empty() {
            let pages = extent.runs.iter().flat_map(|run| run.pages());
            let taken = pages.map(|page| (page.0, None)).collect();
            let rest = Transfer { taken, ..Transfer::of(extent.runs, extent.slot, true) };
            self.pager.system().transfers.push(rest);
        }
        self.pager.write_done(&first);
    }

    /// Threads whose accesses may be possible now try again.
    fn wake(&mut self) {
        let world = self.pager.system();
        for thread in &mut self.threads {
            let Some(access) = thread.access.filter(|_| thread.waits) else { continue };
            // A peer hears of its answer only, not whether the page is still there.
            let heard = if access.path == Path::Peer { &world.answered } else { &world.woken };
            if heard.contains(&access.page) {
                thread.waits = false;
            }
        }
        world.woken.clear();
        world.answered.clear();
    }

    fn run(&mut self) -> Result<(), String> {
        for left in (0..STEPS).rev() {
            self.advance(left > 0)?;
            let resident = self.pager.system().memory.len();
            if resident > LIMIT as usize {
                return Err(format!("{resident} pages are resident"));
            }
            if !self.pager.has_right_slots() {
                return Err("a slot is leaked or missing".into());
            }
            if !self.pager.can_leave() {
                return Err("a resident page is in no queue".into());
            }
        }
        for _ in 0..100 * STEPS {
            if self.threads.iter().all(|thread| thread.access.is_none()) {
                return Ok(());
            }
            self.advance(false)?;
        }
        Err(format!("threads wait for ever: {:?}", self.threads))
    }

    fn advance(&mut self, goes_on: bool) -> Result<(), String> {
        let kind = self.random.below(9);
        if kind == 0 && !self.events.is_empty() {
            self.deliver();
        } else if kind == 1 && !self.pager.system().transfers.is_empty() {
            if self.random.below(2) == 0 {
                self.place();
            } else {
                self.transfer();
            }
        } else if kind == 3 {
            let page = self.random.below(PAGES as usize) as u32;
            let elsewhere = &mut self.pager.system().elsewhere;
            if !elsewhere.remove(&page) {
                elsewhere.insert(page);
            }
        } else if kind == 4 {
            let page = self.random.below(PAGES as usize) as u32;
            // Who accesses it needs it.
            if self.threads.iter().all(|thread| thread.access.is_none_or(|access| access.page != page)) {
                self.pager.system().discardable.insert(page);
                self.unknown.insert(page);
            }
        } else if kind == 2 && self.pager.is_starved() {
            self.pager.make_free();
        } else {
            let at = self.random.below(THREADS);
            if self.threads[at].access.is_none() && goes_on {
                self.choose(at);
            }
            if !self.threads[at].waits {
                self.step(at)?;
            }
        }
        self.wake();
        Ok(())
    }
}

/// The first seed that finds something wrong.
fn search<R: Replacement + Default>(seeds: u64, fault: Option<Fault>) -> Option<(u64, String)> {
    (1..=seeds).find_map(|seed| {
        let outcome = std::panic::catch_unwind(|| Simulation::new(seed, R::default(), fault).run());
        match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some((seed, error)),
            Err(_) => Some((seed, "a panic".into())),
        }
    })
}

#[test]
fn every_load_finds_the_last_store() {
    let failures = [search::<S3Fifo>(3000, None), search::<SecondChance>(1000, None)];
    assert_eq!(failures, [None, None], "seed and what it found");
}

#[test]
fn seeded_faults_are_found() {
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<Fault> =
        Fault::ALL.into_iter().filter(|fault| search::<S3Fifo>(3000, Some(*fault)).is_none()).collect();
    _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
