//! The synchronisation of the protocol's programs: who holds which lock, which barriers were passed; the protocol calls themselves are in `threads`.
//!
//! A model of what [`dsm_sync`] does, whose own code is run by [`crate::sync`] instead. Here it stays a model for two reasons. The search of all states tells states apart by a
//! digest, and what a thread has on the stack of a coroutine, where blocking code runs, has none. And a lock's slot, name, ticket and turn, or a barrier's counters, would be
//! accesses that all orders are tried of, of things that have nothing to do with blocks. The two meet at [`dsm_sync::Memory`]: what an acquire with a token brings is searched here,
//! that each acquire has the token which it needs, there.

use dsm_coherence::ReleaseToken;

use crate::hash::Digest;
use crate::oracle::Clocks;

/// A lock of the program.
#[derive(Clone, Debug, Default)]
struct Lock {
    held: bool,
    /// Process and what it told of its signature.
    last: Option<(usize, ReleaseToken)>,
    /// What its holder leaves behind when it is given back.
    next: Option<(usize, ReleaseToken)>,
    clocks: Clocks,
}

/// What a process signals to another one in a round of a barrier.
#[derive(Clone, Debug, Default)]
pub struct Signal {
    /// How far its signature was published.
    pub state: u64,
    /// Write notices that come along.
    pub notices: Vec<u8>,
}

impl Signal {
    /// Digest of everything here.
    pub fn digest(&self) -> u64 {
        self.notices.iter().fold(self.state, |digest, byte| crate::hash::mix(digest, u64::from(*byte)))
    }
}

/// A barrier of all processes.
#[derive(Clone, Debug, Default)]
struct Barrier {
    arrived: u32,
    /// Round, process, and what it signals.
    signals: Vec<(u32, usize, Signal)>,
    clocks: Clocks,
}

/// A process's own barrier of its threads.
#[derive(Clone, Debug, Default)]
struct Local {
    arrived: u32,
    generation: u32,
}

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub struct SyncState {
    locks: Vec<Lock>,
    barriers: Vec<Barrier>,
    locals: Vec<Local>,
    /// What each process has published: happens before whoever acquires from it.
    pub published: Vec<Clocks>,
    /// Flags set so far.
    pub flags: u64,
}

impl SyncState {
    /// Nothing held, no barrier passed.
    pub fn new(processes: usize, threads: usize, locks: usize) -> Self {
        SyncState {
            locks: vec![Lock { clocks: Clocks::new(threads), ..Lock::default() }; locks],
            barriers: Vec::new(),
            locals: vec![Local::default(); processes],
            published: vec![Clocks::new(threads); processes],
            flags: 0,
        }
    }

    /// Whether nobody holds a lock.
    pub fn lock_free(&self, lock: usize) -> bool {
        !self.locks[lock].held
    }

    /// Nobody takes a lock before somebody has handed it over.
    pub fn hold(&mut self, lock: usize) {
        self.locks[lock].held = true;
    }

    /// Takes a free lock; returns the process that had it last, how far its signature was published, and what happened before its release.
    pub fn take_lock(&mut self, lock: usize) -> (Option<(usize, ReleaseToken)>, Clocks) {
        let lock = &mut self.locks[lock];
        assert!(!lock.held, "the model's lock admits one holder");
        lock.held = true;
        (lock.last, lock.clocks.clone())
    }

    /// The holder of a lock is about to give it back.
    pub fn hand_over(&mut self, lock: usize, last: (usize, ReleaseToken), clocks: &Clocks) {
        let lock = &mut self.locks[lock];
        lock.next = Some(last);
        lock.clocks = clocks.clone();
    }

    /// It has done so: what it knew is published.
    pub fn give_lock(&mut self, lock: usize) {
        let lock = &mut self.locks[lock];
        lock.held = false;
        lock.last = lock.next.take();
        let (process, _) = lock.last.expect("a lock is handed over before");
        self.published[process].join(&lock.clocks);
    }

    fn barrier(&mut self, number: usize) -> &mut Barrier {
        while self.barriers.len() <= number {
            let clocks = Clocks::new(self.published[0].len());
            self.barriers.push(Barrier { clocks, ..Barrier::default() });
        }
        &mut self.barriers[number]
    }

    /// A thread's knowledge goes into a barrier.
    pub fn bring(&mut self, number: usize, clocks: &Clocks) {
        self.barrier(number).clocks.join(clocks);
    }

    /// What all threads brought to a barrier.
    pub fn brought(&mut self, number: usize) -> Clocks {
        self.barrier(number).clocks.clone()
    }

    /// A process has released and arrived.
    pub fn arrive(&mut self, number: usize) {
        self.barrier(number).arrived += 1;
    }

    /// Number of processes that arrived.
    pub fn arrived(&self, number: usize) -> u32 {
        self.barriers.get(number).map_or(0, |m| m.arrived)
    }

    /// A process has finished the rounds before `round` of a dissemination.
    pub fn signal(&mut self, number: u32, round: u32, process: usize, signal: Signal) {
        self.barrier(number as usize).signals.push((round, process, signal));
    }

    /// What it signalled then; `None`: it has not.
    pub fn signalled(&self, number: u32, round: u32, process: usize) -> Option<&Signal> {
        let signals = &self.barriers.get(number as usize)?.signals;
        signals.iter().find(|(r, p, _)| (*r, *p) == (round, process)).map(|s| &s.2)
    }

    /// A thread arrives at its process's barrier; returns how many have, and the generation.
    pub fn arrive_local(&mut self, process: usize) -> (u32, u32) {
        let local = &mut self.locals[process];
        local.arrived += 1;
        (local.arrived, local.generation)
    }

    /// Lets the process's threads go.
    pub fn pass_local(&mut self, process: usize) {
        let local = &mut self.locals[process];
        local.arrived = 0;
        local.generation += 1;
    }

    /// How often the process's barrier was passed.
    pub fn local_generation(&self, process: usize) -> u32 {
        self.locals[process].generation
    }

    /// Digest of everything here.
    pub fn digest(&self, d: &mut Digest) {
        for lock in &self.locks {
            d.add(u64::from(lock.held));
            for token in [lock.last, lock.next] {
                let (process, token) =
                    token.map_or((0, ReleaseToken::default()), |(p, token)| (p as u64 + 1, token));
                d.add(process);
                token.0.into_iter().for_each(|word| d.add(word));
            }
            lock.clocks.digest(d);
        }
        for m in &self.barriers {
            d.add(u64::from(m.arrived));
            let signals = m.signals.iter().fold(0u64, |a, (r, p, s)| {
                a.wrapping_add(crate::hash::mix(u64::from(*r) << 32 | *p as u64, s.digest()))
            });
            d.add(signals);
            m.clocks.digest(d);
        }
        for l in &self.locals {
            d.add(u64::from(l.arrived) << 32 | u64::from(l.generation));
        }
        for p in &self.published {
            p.digest(d);
        }
        d.add(self.flags);
    }
}
