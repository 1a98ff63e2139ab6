//! Where pages come from when processes that use the same data give each other what they have in memory: `cargo bench -p dsm-pager --bench cooperation`. The pagers decide as they do in a
//! program; disk and processes are simulated. Counts, not times.

#[path = "random.rs"]
mod random;

use std::cell::RefCell;
use std::rc::Rc;

use dsm_pager::replacement::S3Fifo;
use dsm_pager::{Extent, Page, Pager, Run, System};
use random::Random;

const PAGES: u32 = 8192;
/// Accesses of each process before anything is counted, and those that are.
const WARM: usize = 3 * PAGES as usize;
const COUNTED: usize = 4 * PAGES as usize;

/// How many processes have each page in memory.
type Copies = Rc<RefCell<Vec<u32>>>;

/// The system of a process: transfers are done as soon as the pager has asked for them.
struct Simulated {
    copies: Copies,
    resident: Vec<bool>,
    mapped: Vec<bool>,
    reads: Vec<Run>,
    writes: Vec<Extent>,
}

impl Simulated {
    fn arrive(&mut self, run: Run, mapped: bool) {
        for page in run.pages().map(|page| page.0 as usize) {
            self.resident[page] = true;
            self.mapped[page] = mapped;
            self.copies.borrow_mut()[page] += 1;
        }
    }
}

impl System for Simulated {
    fn zero(&mut self, run: Run) {
        self.arrive(run, true);
    }

    fn place(&mut self, run: Run) {
        self.arrive(run, false);
    }

    fn map(&mut self, run: Run, _stores: bool) {
        run.pages().for_each(|page| self.mapped[page.0 as usize] = true);
    }

    fn unmap(&mut self, runs: &[Run]) {
        runs.iter().flat_map(|run| run.pages()).for_each(|page| self.mapped[page.0 as usize] = false);
    }

    fn protect(&mut self, _run: Run) {}

    fn unprotect(&mut self, _run: Run) {}

    fn wake(&mut self, _run: Run) {}

    fn remove(&mut self, run: Run) -> bool {
        for page in run.pages().map(|page| page.0 as usize) {
            self.resident[page] = false;
            self.mapped[page] = false;
            self.copies.borrow_mut()[page] -= 1;
        }
        true
    }

    fn are_discardable(&mut self, _run: Run) -> bool {
        false
    }

    fn discard(&mut self, _run: Run) -> bool {
        false
    }

    fn is_elsewhere(&mut self, page: Page) -> bool {
        self.copies.borrow()[page.0 as usize] > u32::from(self.resident[page.0 as usize])
    }

    fn read(&mut self, run: Run, _slot: u32) {
        self.reads.push(run);
    }

    fn write(&mut self, extent: Extent) {
        self.writes.push(extent);
    }
}

struct Process {
    pager: Pager<Simulated, S3Fifo>,
    /// Pages that came from another process, and from disk.
    copied: u64,
    read: u64,
}

impl Process {
    fn new(copies: &Copies, limit: u32, spares: bool) -> Process {
        let none = vec![false; PAGES as usize];
        let system = Simulated {
            copies: copies.clone(),
            resident: none.clone(),
            mapped: none,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        let mut pager = Pager::new(system, S3Fifo::default(), PAGES, limit);
        if spares {
            pager.cooperate();
        }
        Process { pager, copied: 0, read: 0 }
    }

    fn access(&mut self, page: u32) {
        let system = self.pager.system();
        match (system.resident[page as usize], system.mapped[page as usize]) {
            (true, true) => return,
            (true, false) => self.pager.unmapped(Page(page), false),
            (false, _) => self.pager.missing(Page(page), false),
        }
        loop {
            let system = self.pager.system();
            if let Some(run) = system.reads.pop() {
                let copied = run.pages().filter(|page| system.copies.borrow()[page.0 as usize] > 0).count();
                self.copied += copied as u64;
                self.read += u64::from(run.count) - copied as u64;
                self.pager.read_done(run);
            } else if let Some(extent) = system.writes.pop() {
                self.pager.write_done(&extent);
            } else {
                return;
            }
        }
    }
}

/// What process `p` accesses as number `i`.
type Trace = fn(&mut Random, p: usize, i: usize) -> u32;

const TRACES: [(&str, Trace); 4] = [
    ("a scan, all at the same place", |_, _, i| i as u32 % PAGES),
    ("a scan, each somewhere else", |_, p, i| (i as u32 + 641 * p as u32) % PAGES),
    ("at random", |random, _, _| random.below(PAGES)),
    ("zipf", |random, _, _| random.zipf(PAGES)),
];

/// Pages of all processes that came from other processes, and from disk.
fn transfers(processes: usize, limit: u32, spares: bool, trace: Trace) -> [u64; 2] {
    let copies: Copies = Rc::new(RefCell::new(vec![0; PAGES as usize]));
    let mut all: Vec<Process> = (0..processes).map(|_| Process::new(&copies, limit, spares)).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let counts = |all: &[Process]| all.iter().fold([0, 0], |[c, r], p| [c + p.copied, r + p.read]);
    let mut before = [0, 0];
    for i in 0..WARM + COUNTED {
        if i == WARM {
            before = counts(&all);
        }
        for (p, process) in all.iter_mut().enumerate() {
            process.access(trace(&mut random, p, i));
        }
    }
    let [copied, read] = counts(&all);
    [copied - before[0], read - before[1]]
}

fn main() {
    println!(
        "{:30} {:>6} {:>9} {:>8} {:>8} {:>14}",
        "trace", "memory", "processes", "copied", "disk", "disk, no chance"
    );
    for (name, trace) in TRACES {
        for part in [2, 4] {
            for processes in [1, 2, 4, 32, 256] {
                let share = |count: u64| count as f64 / (processes * COUNTED) as f64;
                let [copied, read] = transfers(processes, PAGES / part, true, trace);
                let [_, plain] = transfers(processes, PAGES / part, false, trace);
                let memory = format!("1/{part}");
                println!(
                    "{name:30} {memory:>6} {processes:>9} {:>8.3} {:>8.3} {:>14.3}",
                    share(copied),
                    share(read),
                    share(plain)
                );
            }
        }
    }
}
