//! Small programs on one array.

use std::fmt;

use dsm_arrays::Fault;

use crate::hash::Random;

/// An operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Gets elements: from an index on, so many.
    Get(u64, u64),
    /// Puts such elements, all with a value that no other put has.
    Put(u64, u64),
    /// Moves the pages of such elements to the thread's process.
    Own(u64, u64),
}

/// Threads with their operations on an array whose pages have two elements of eight bytes.
#[derive(Clone, Debug)]
pub struct Program {
    /// Number of processes.
    pub processes: u32,
    /// Elements of the array.
    pub elements: u64,
    /// Process and operations of each thread.
    pub threads: Vec<(u32, Vec<Op>)>,
    /// Operations that are done before, one after the other.
    pub beginning: Vec<(u32, Op)>,
    /// Whether processes ask each other, or have each other's area mapped.
    pub asks: bool,
    /// Whether they remember places.
    pub caches: bool,
    /// The rule that is broken.
    pub fault: Option<Fault>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { processes, elements, asks, caches, fault, .. } = self;
        writeln!(
            f,
            "{processes} processes, {elements} elements, asks: {asks}, caches: {caches}, fault: {fault:?}"
        )?;
        for (rank, op) in &self.beginning {
            writeln!(f, "before: process {rank}: {op:?}")?;
        }
        for (number, (rank, ops)) in self.threads.iter().enumerate() {
            writeln!(f, "t{number}: process {rank}: {ops:?}")?;
        }
        Ok(())
    }
}

/// A program that is a function of its seed.
pub fn generate(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let processes = 2 + random.below(2) as u32;
    let elements = [2, 4, 8][random.below(3)];
    let op = |random: &mut Random| {
        let index = random.below(elements as usize) as u64;
        let count = if random.chance(70) { 1 } else { 1 + random.below((elements - index) as usize) as u64 };
        match random.below(3) {
            0 => Op::Get(index, count),
            1 => Op::Put(index, count),
            _ => Op::Own(index, count),
        }
    };
    let rank = |random: &mut Random| random.below(processes as usize) as u32;
    let beginning = (0..random.below(4)).map(|_| (rank(&mut random), op(&mut random))).collect();
    let threads = (0..2 + random.below(3))
        .map(|_| (rank(&mut random), (0..1 + random.below(4)).map(|_| op(&mut random)).collect()))
        .collect();
    let asks = random.chance(30);
    Program { processes, elements, threads, beginning, asks, caches: !random.chance(20), fault: None }
}

/// Programs whose schedules are all run, up to some preemptions.
pub fn directed() -> Vec<Program> {
    let get = |index| Op::Get(index, 1);
    let put = |index| Op::Put(index, 1);
    let own = |index| Op::Own(index, 1);
    let get_both = Op::Get(0, 2);
    let program = |processes, beginning: &[(u32, Op)], threads: &[(u32, &[Op])]| Program {
        processes,
        elements: 2,
        threads: threads.iter().map(|(rank, ops)| (*rank, ops.to_vec())).collect(),
        beginning: beginning.to_vec(),
        asks: false,
        caches: true,
        fault: None,
    };
    vec![
        // The first puts of two processes, and of two threads of one.
        program(2, &[], &[(0, &[put(0), get(1)]), (1, &[put(1), get(0)])]),
        program(2, &[], &[(0, &[put(0), get(1)]), (0, &[put(1), get(0)])]),
        // Put, get and own at the same time.
        program(2, &[(0, put(0))], &[(0, &[put(1), get(0)]), (1, &[own(0), put(0)])]),
        program(2, &[(0, put(0)), (1, get(0))], &[(0, &[own(0), put(1)]), (1, &[own(0), get_both])]),
        program(3, &[(0, put(0)), (2, get(0))], &[(1, &[own(0), put(0)]), (2, &[get_both, get_both])]),
        program(3, &[(0, put(0))], &[(1, &[own(0)]), (2, &[own(0)]), (0, &[put(1)])]),
        // A page that leaves and comes back while somebody reads.
        program(
            2,
            &[(0, put(0)), (1, get(0))],
            &[(1, &[own(0), put(0)]), (0, &[own(0), get(0)]), (1, &[get_both])],
        ),
        program(3, &[(0, put(0)), (2, get(0))], &[(1, &[own(0)]), (0, &[own(0)]), (2, &[get_both])]),
        // Threads of the process that the page comes to.
        program(2, &[(0, put(0))], &[(1, &[own(0), put(0)]), (1, &[own(0), get(0), put(1)])]),
    ]
}
