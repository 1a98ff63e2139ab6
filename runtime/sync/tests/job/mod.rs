//! Threads that stand for processes, over words under one mutex.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use dsm_coherence::ReleaseToken;
use dsm_sync::{Cell, Edge, Layout, Memory, Process, State, Waiting, Words};

const BYTES: usize = Local::LAYOUT.end();

/// The words of all processes.
pub struct Shared {
    processes: u32,
    halves: Mutex<Vec<u32>>,
    changed: Condvar,
    mailboxes: Vec<Mutex<()>>,
    /// Whom locks were acquired from.
    pub acquired: Mutex<BTreeSet<u32>>,
}

/// A process.
#[derive(Clone)]
pub struct Local {
    pub shared: Arc<Shared>,
    pub rank: u32,
}

pub fn job(processes: u32) -> Vec<Local> {
    let halves = Mutex::new(vec![0; processes as usize * BYTES / 4]);
    let mailboxes = (0..processes).map(|_| Mutex::default()).collect();
    let (changed, acquired) = (Condvar::new(), Mutex::default());
    let shared = Arc::new(Shared { processes, halves, changed, mailboxes, acquired });
    (0..processes).map(|rank| Local { shared: shared.clone(), rank }).collect()
}

impl Local {
    fn words(&self) -> MutexGuard<'_, Vec<u32>> {
        self.shared.halves.lock().expect("no thread panics")
    }

    fn update(&self, (line, at): (usize, usize), change: impl FnOnce(u64) -> u64) -> u64 {
        let (mut words, at) = (self.words(), (line + at) / 4);
        let old = u64::from(words[at]) | u64::from(words[at + 1]) << 32;
        let new = change(old);
        words[at..at + 2].copy_from_slice(&[new as u32, (new >> 32) as u32]);
        self.shared.changed.notify_all();
        old
    }

    fn update_half(&self, (line, at): (usize, usize), change: impl FnOnce(u32) -> u32) -> u32 {
        let mut words = self.words();
        let word = &mut words[(line + at) / 4];
        let old = *word;
        *word = change(old);
        self.shared.changed.notify_all();
        old
    }
}

impl Words for Local {
    type Line = usize;

    const LAYOUT: Layout = Layout::packed(0, 16, 16, (128, 32, 4), 2, (32, 16), 8);

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.shared.processes
    }

    fn line(&self, at: u32, offset: usize) -> usize {
        at as usize * BYTES + offset
    }

    fn load(&self, line: usize, at: usize) -> u64 {
        self.update((line, at), |old| old)
    }

    fn store(&self, line: usize, at: usize, value: u64) {
        self.update((line, at), |_| value);
    }

    fn fetch_add(&self, line: usize, at: usize, value: u64) -> u64 {
        self.update((line, at), |old| old.wrapping_add(value))
    }

    fn fetch_or(&self, line: usize, at: usize, bits: u64) -> u64 {
        self.update((line, at), |old| old | bits)
    }

    fn compare_exchange(&self, line: usize, at: usize, expected: u64, new: u64) -> u64 {
        self.update((line, at), |old| if old == expected { new } else { old })
    }

    fn load_half(&self, line: usize, at: usize) -> u32 {
        self.update_half((line, at), |old| old)
    }

    fn store_half(&self, line: usize, at: usize, value: u32) {
        self.update_half((line, at), |_| value);
    }

    fn fetch_add_half(&self, line: usize, at: usize, value: u32) -> u32 {
        self.update_half((line, at), |old| old.wrapping_add(value))
    }

    fn read_words(&self, at: u32, offset: usize, into: &mut [u64]) {
        let line = self.line(at, offset);
        into.iter_mut().enumerate().for_each(|(i, word)| *word = self.load(line, 8 * i));
    }

    fn write_words(&self, at: u32, offset: usize, words: &[u64]) {
        let line = self.line(at, offset);
        words.iter().enumerate().for_each(|(i, word)| self.store(line, 8 * i, *word));
    }

    fn post(&self, line: usize, at: usize, value: u64) {
        self.store(line, at, value);
    }

    fn post_half(&self, line: usize, at: usize, value: u32) {
        self.store_half(line, at, value);
    }

    fn post_and_wake(&self, cell: Cell<usize>, value: u32, _mask: u32) {
        self.store_half(cell.line, cell.value, value);
    }

    fn wait(&self, cell: Cell<usize>, _mask: u32, _: Waiting, until: impl Fn(u32) -> bool) -> u32 {
        let mut words = self.words();
        loop {
            let value = words[(cell.line + cell.value) / 4];
            if until(value) {
                return value;
            }
            words = self.shared.changed.wait(words).expect("no thread panics");
        }
    }

    fn spin(&self, _cell: Cell<usize>, _until: impl Fn(u32) -> bool) -> Option<u32> {
        None
    }

    fn sleep(&self, cell: Cell<usize>, until: impl Fn(u32) -> bool) -> u32 {
        self.wait(cell, dsm_sync::ALL, Waiting::Reduction, until)
    }

    fn guard_mailbox(&self) -> impl Sized {
        self.shared.mailboxes[self.rank as usize].lock().expect("no thread panics")
    }

    fn add_and_wake(&self, cell: Cell<usize>, value: u32) -> u32 {
        self.fetch_add_half(cell.line, cell.value, value)
    }

    fn store_and_wake(&self, cell: Cell<usize>, value: u32, _mask: u32) {
        self.store_half(cell.line, cell.value, value);
    }

    fn wake(&self, _cell: Cell<usize>) {}

    fn delegate_turn(&self, slot: usize, ticket: u32) {
        let process = self.clone();
        std::thread::spawn(move || Process::new(&State::new(), &process).pass_turn(slot, ticket));
    }

    fn too_many_locks(&self, slots: usize) -> ! {
        panic!("more than {slots} locks")
    }
}

impl Memory for Local {
    fn release(&self) {}

    fn release_then(&self, _: impl FnOnce() -> Edge, then: impl FnOnce(ReleaseToken)) {
        then(ReleaseToken::from(7));
    }

    fn published(&self) -> u64 {
        7
    }

    fn acquire(&self, from: u32, token: ReleaseToken, _: impl FnOnce() -> Edge) {
        assert_eq!(token, ReleaseToken::from(7));
        self.shared.acquired.lock().expect("no thread panics").insert(from);
    }

    fn acquire_published(&self, from: u32) {
        self.acquire(from, ReleaseToken::from(7), || Edge::Lock { slot: 0, ticket: 0 });
    }
}
