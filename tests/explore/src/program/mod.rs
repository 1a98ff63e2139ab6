//! Programs that the explorer runs: their operations, their text form, and a generator of programs without data races.

mod generate;
mod op;
mod parse;

use std::fmt;

use dsm_coherence::{Fault, Part, Parts};

use crate::oracle::Use;
pub use generate::{Bounds, generate};
pub use op::Op;

/// How a barrier is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Everybody acquires from everybody.
    AllToAll,
    /// Rounds of partners at doubling distance.
    Dissemination,
}

/// How a thread's stores become visible to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// One by one, in order, at any later time.
    Buffered,
    /// All stores of a step at once, before the thread's next step. Fewer schedules.
    Prompt,
}

/// Which schedules of the barriers at the end, where every thread looks at every byte, are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// All, as of the operations.
    Free,
    /// One, the default order, once all threads have come to the end of their operations.
    InOrder,
}

/// A program and the shape of the machine it runs on.
#[derive(Clone, Debug)]
pub struct Program {
    /// Number of processes.
    pub processes: usize,
    /// Threads of each.
    pub threads: usize,
    /// Bytes of each block.
    pub sizes: Vec<usize>,
    /// What the same bytes are divided into by the first of two [`Op::Adopt`], and no longer by the second; nothing: their sizes stay.
    pub resized: Vec<usize>,
    /// Distance of neighbouring blocks' numbers, if they are of one size.
    pub stride: u64,
    /// Number of the first block.
    pub first: u64,
    /// Number of neighbouring blocks that have the same default home.
    pub home_run: usize,
    /// Bound of the signature.
    pub notices: usize,
    /// How barriers work.
    pub barrier: BarrierKind,
    /// Number of locks.
    pub locks: usize,
    /// How each byte is used.
    pub roles: Vec<Use>,
    /// Rule of the protocol to break.
    pub fault: Option<Fault>,
    /// Parts of the protocol that are left out.
    pub without: Parts,
    /// Whether every interval's first store to a block is seen, as where races are looked for.
    pub watch: bool,
    /// Whether calls are messages that agents execute, and contents are placed after the reply, or else run inline by who makes them.
    pub by_agents: bool,
    /// Whether single blocks are read without the agents, with marks in rings, where that is possible.
    pub one_sided: bool,
    /// How stores become visible.
    pub memory: Memory,
    /// Whether there are barriers enough at the end that twins and exclusive blocks come to rest and can be checked.
    pub quiesce: bool,
    /// How the barriers at the end are scheduled by exhaustive searches.
    pub closing: Closing,
    /// The operations of each thread of all processes.
    pub ops: Vec<Vec<Op>>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} processes x {} threads, blocks of {:?} bytes, number {} and {} more each, {} with a home, {} notices, {:?} barriers",
            self.processes,
            self.threads,
            self.sizes,
            self.first,
            self.stride,
            self.home_run,
            self.notices,
            self.barrier
        )?;
        if !self.resized.is_empty() {
            writeln!(f, "  from time to time blocks of {:?} bytes", self.resized)?;
        }
        if self.by_agents {
            writeln!(f, "  calls are executed by agents")?;
        }
        if self.one_sided {
            writeln!(f, "  single blocks are read without them")?;
        }
        for (t, ops) in self.ops.iter().enumerate() {
            write!(f, "  t{t} (p{}):", t / self.threads)?;
            for op in ops {
                write!(f, " {op}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Program {
    /// Number of data bytes.
    pub fn bytes(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// The same with so many neighbouring blocks at one default home.
    pub fn home_run(mut self, blocks: usize) -> Program {
        self.home_run = blocks;
        self
    }

    /// The same with a bounded signature.
    pub fn notices(mut self, notices: usize) -> Program {
        self.notices = notices;
        self
    }

    /// The same with fewer schedules: no store buffers, and only one barrier at the end.
    pub fn short(mut self) -> Program {
        self.memory = Memory::Prompt;
        self.quiesce = false;
        self
    }

    /// The same with one schedule for the barriers at the end.
    pub fn closing_in_order(mut self) -> Program {
        self.closing = Closing::InOrder;
        self
    }

    /// The same without some parts of the protocol.
    pub fn without(mut self, parts: Parts) -> Program {
        self.without = parts;
        // Who looks at every store needs twins.
        self.watch &= !self.protects_pages();
        self
    }

    /// Number of the threads that run operations.
    pub fn total(&self) -> usize {
        self.processes * self.threads
    }

    /// Whether checks are those of page protection, one step with their accesses, and a thread of each process takes permissions to store back when others ask for them.
    pub fn protects_pages(&self) -> bool {
        self.without.has(Part::MultipleWriters)
    }

    /// The same with blocks of other sizes from one [`Op::Adopt`] to the next.
    pub fn resized(mut self, sizes: &[usize]) -> Program {
        self.resized = sizes.to_vec();
        self
    }

    /// The same with a broken rule.
    pub fn fault(mut self, fault: Fault) -> Program {
        self.fault = Some(fault);
        self
    }

    /// The same with calls executed by agents.
    pub fn by_agents(mut self) -> Program {
        self.by_agents = true;
        self
    }

    /// The same with calls executed by agents, and single blocks read without them.
    pub fn one_sided(self) -> Program {
        Program { one_sided: true, ..self.by_agents() }
    }

    /// The same with barriers by dissemination.
    pub fn dissemination(mut self) -> Program {
        self.barrier = BarrierKind::Dissemination;
        self
    }
}
