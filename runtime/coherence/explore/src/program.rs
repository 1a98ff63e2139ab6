//! Programs that the explorer runs: their operations, their text form, and a generator of programs without data races.

use std::fmt;

use dsm_coherence::Fault;

use crate::hash::Random;
use crate::oracle::Use;

/// One operation of a thread. Addresses are bytes of the shared data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads `len` bytes.
    Read {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Writes `len` bytes.
    Write {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
        /// What each becomes.
        value: u8,
    },
    /// As `Write`, for code that is known to write all of the bytes before anything else happens.
    Overwrite {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
        /// What each becomes.
        value: u8,
    },
    /// Checks before loads that do not happen, as of a range that is fetched at once.
    Fetch {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Checks before stores that do not happen, as of a buffer that is not filled.
    Permit {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Takes a lock.
    Lock(usize),
    /// Gives it back.
    Unlock(usize),
    /// Meets all threads.
    Barrier,
    /// Adds one atomically.
    Atomic {
        /// The byte.
        addr: usize,
    },
    /// Reads a byte that others add to atomically.
    Look {
        /// The byte.
        addr: usize,
    },
    /// Writes a flag and flushes.
    SetFlag {
        /// The flag.
        addr: usize,
        /// What it becomes.
        value: u8,
    },
    /// Meets all threads and begins to use all blocks anew, as after a change of the block size.
    Adopt,
    /// Gives the memory of twins back that the process does not need.
    Free,
    /// Flushes and reads until the flag is set.
    WaitFlag {
        /// The flag.
        addr: usize,
        /// What to wait for.
        value: u8,
    },
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Read { addr, len } => write!(f, "r{addr}+{len}"),
            Op::Write { addr, len, value } => write!(f, "w{addr}+{len}={value:#x}"),
            Op::Overwrite { addr, len, value } => write!(f, "o{addr}+{len}={value:#x}"),
            Op::Fetch { addr, len } => write!(f, "fetch{addr}+{len}"),
            Op::Permit { addr, len } => write!(f, "permit{addr}+{len}"),
            Op::Lock(l) => write!(f, "lock{l}"),
            Op::Unlock(l) => write!(f, "unlock{l}"),
            Op::Barrier => write!(f, "barrier"),
            Op::Atomic { addr } => write!(f, "a{addr}"),
            Op::Look { addr } => write!(f, "look{addr}"),
            Op::SetFlag { addr, value } => write!(f, "set{addr}={value:#x}"),
            Op::Adopt => write!(f, "adopt"),
            Op::Free => write!(f, "free"),
            Op::WaitFlag { addr, value } => write!(f, "wait{addr}={value:#x}"),
        }
    }
}

/// How processes meet at a barrier.
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

/// Which schedules of the meetings at the end, where every thread looks at every byte, are searched.
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
    /// Number of blocks.
    pub blocks: usize,
    /// Bytes of each.
    pub block_bytes: usize,
    /// Distance of the blocks' numbers.
    pub stride: u64,
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
    /// Whether every interval's first store to a block is seen, as where races are looked for.
    pub watch: bool,
    /// How stores become visible.
    pub memory: Memory,
    /// Whether to meet often enough at the end that twins and exclusive blocks come to rest and can be checked.
    pub settle: bool,
    /// How the meetings at the end are scheduled by exhaustive searches.
    pub closing: Closing,
    /// The operations of each thread of all processes.
    pub ops: Vec<Vec<Op>>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} processes x {} threads, {} blocks of {} bytes, stride {}, {} with a home, {} notices, {:?} barriers",
            self.processes,
            self.threads,
            self.blocks,
            self.block_bytes,
            self.stride,
            self.home_run,
            self.notices,
            self.barrier
        )?;
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
    /// Reads the operations of each thread from text, for instance `"w0=1 barrier"`; see the tests.
    pub fn parse(processes: usize, blocks: usize, block_bytes: usize, threads: &[&str]) -> Program {
        let mut roles = vec![Use::Plain; blocks * block_bytes];
        let mut locks = 1;
        let ops = threads
            .iter()
            .map(|text| text.split_whitespace().map(|word| parse_op(word, &mut roles, &mut locks)).collect())
            .collect();
        Program {
            processes,
            threads: threads.len() / processes,
            blocks,
            block_bytes,
            stride: 1,
            home_run: 1,
            notices: 64,
            barrier: BarrierKind::AllToAll,
            locks,
            roles,
            fault: None,
            watch: false,
            memory: Memory::Buffered,
            settle: true,
            closing: Closing::Free,
            ops,
        }
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

    /// The same with fewer schedules: no store buffers, and only one meeting at the end.
    pub fn short(mut self) -> Program {
        self.memory = Memory::Prompt;
        self.settle = false;
        self
    }

    /// The same with one schedule for the meetings at the end.
    pub fn closing_in_order(mut self) -> Program {
        self.closing = Closing::InOrder;
        self
    }

    /// The same with a broken rule.
    pub fn fault(mut self, fault: Fault) -> Program {
        self.fault = Some(fault);
        self
    }

    /// The same with barriers by dissemination.
    pub fn dissemination(mut self) -> Program {
        self.barrier = BarrierKind::Dissemination;
        self
    }
}

fn parse_op(word: &str, roles: &mut [Use], locks: &mut usize) -> Op {
    let split = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
    let (name, rest) = word.split_at(split);
    let (place, value) = rest.split_once('=').unwrap_or((rest, "0"));
    let (addr, len) = place.split_once('+').unwrap_or((place, "1"));
    let number = |s: &str| s.parse::<usize>().unwrap_or(0);
    let (addr, len, value) = (number(addr), number(len), number(value) as u8);
    match name {
        "r" => Op::Read { addr, len },
        "w" => Op::Write { addr, len, value },
        "o" => Op::Overwrite { addr, len, value },
        "fetch" => Op::Fetch { addr, len },
        "permit" => Op::Permit { addr, len },
        "lock" | "unlock" => {
            *locks = (*locks).max(addr + 1);
            if name == "lock" { Op::Lock(addr) } else { Op::Unlock(addr) }
        }
        "barrier" => Op::Barrier,
        "adopt" => Op::Adopt,
        "free" => Op::Free,
        "a" => {
            roles[addr] = Use::Atomic;
            Op::Atomic { addr }
        }
        "look" => {
            roles[addr] = Use::Atomic;
            Op::Look { addr }
        }
        "set" | "wait" => {
            roles[addr] = Use::Flag;
            if name == "set" { Op::SetFlag { addr, value } } else { Op::WaitFlag { addr, value } }
        }
        _ => panic!("no such operation: {word}"),
    }
}

/// Bounds for generated programs.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Greatest number of processes.
    pub processes: usize,
    /// Greatest number of threads of a process.
    pub threads: usize,
    /// Greatest number of blocks.
    pub blocks: usize,
    /// Greatest number of operations of a thread.
    pub ops: usize,
}

/// How a byte may be used between two barriers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Owned(usize),
    Shared,
    Locked(usize),
    Atomic,
    Flag,
    /// Written by the first thread before its flag is set, used by the second one after it.
    Handed(usize, usize),
}

/// Generates a program from a seed. It has no data races: in each phase between barriers a byte is one thread's, or read only, or
/// used under one lock, or handed over by a flag.
pub fn generate(seed: u64, bounds: Bounds) -> Program {
    let mut random = Random::new(seed);
    let r = &mut random;
    let processes = 2 + r.below(bounds.processes - 1);
    let threads = 1 + r.below(bounds.threads);
    let blocks = 1 + r.below(bounds.blocks);
    let block_bytes = [2, 2, 3, 4][r.below(4)];
    let total = processes * threads;
    let mut program = Program {
        processes,
        threads,
        blocks,
        block_bytes,
        stride: [1, 1, 64, 4096][r.below(4)],
        home_run: [1, 1, 2, 4, 16][r.below(5)],
        notices: [2, 2, 3, 4, 8, 64][r.below(6)],
        barrier: [BarrierKind::AllToAll, BarrierKind::Dissemination][r.below(2)],
        locks: 1 + r.below(3),
        fault: None,
        watch: seed % 16 == 5,
        memory: Memory::Buffered,
        settle: true,
        closing: Closing::Free,
        roles: vec![Use::Plain; blocks * block_bytes],
        ops: vec![Vec::new(); total],
    };
    let bytes = program.roles.len();
    for role in &mut program.roles {
        if r.chance(8) {
            *role = Use::Atomic;
        }
    }
    // As for atomic reads.
    let whole = ((seed >> 3) % 4 == 1).then_some(block_bytes);
    let mut value = 0u8;
    let phases = 1 + r.below(1 + bounds.ops / 4);
    for phase in 0..phases {
        if phase > 0 {
            let adopt = threads == 1 && (seed >> 4) % 8 == phase as u64;
            let meet = if adopt { Op::Adopt } else { Op::Barrier };
            program.ops.iter_mut().for_each(|ops| ops.push(meet));
        }
        let (mut roles, flag) = phase_roles(r, &mut program, total);
        if whole.is_some() {
            unite(&mut roles, block_bytes, phase);
        }
        let length = bounds.ops.div_ceil(phases);
        for t in 0..total {
            let mut ops = Vec::new();
            thread_phase(r, t, length, &mut roles, &mut value, flag, program.locks, whole, &mut ops);
            // Bits of the seed, not of the generator: as for atomic reads.
            if (seed + t as u64 + phase as u64).is_multiple_of(4) {
                ops.insert((seed >> 2) as usize % (ops.len() + 1), Op::Free);
            }
            if whole.is_some() {
                add_unused_checks(&mut ops, bytes, seed >> 5, t + phase);
            }
            program.ops[t].extend(ops);
        }
    }
    debug_assert!(bytes == program.roles.len());
    program
}

/// Adds checks of bytes that others may be using.
fn add_unused_checks(ops: &mut Vec<Op>, bytes: usize, seed: u64, number: usize) {
    let seed = seed as usize + 7 * number;
    let addr = seed % bytes;
    let len = (1 + seed / 3 % 5).min(bytes - addr);
    let place = seed / 2 % (ops.len() + 1);
    match seed % 5 {
        0 | 1 => ops.insert(place, Op::Fetch { addr, len }),
        2 => ops.insert(place, Op::Permit { addr, len }),
        _ => {}
    }
}

/// Gives some blocks one role, so that they can be overwritten.
fn unite(roles: &mut [Role], block_bytes: usize, phase: usize) {
    for (number, block) in roles.chunks_mut(block_bytes).enumerate() {
        let plain = |role: &Role| !matches!(role, Role::Atomic | Role::Flag);
        if !(number + phase).is_multiple_of(3) && block.iter().all(plain) {
            block.fill(block[0]);
        }
    }
}

type FlagUse = Option<(usize, usize, usize)>;

fn phase_roles(r: &mut Random, program: &mut Program, total: usize) -> (Vec<Role>, FlagUse) {
    let style = r.below(4);
    let mut flag = None;
    if r.chance(30) && total > 1 {
        let addr = r.below(program.roles.len());
        if program.roles[addr] == Use::Plain
            && program.ops.iter().all(|ops| !ops.iter().any(|op| uses(op, addr)))
        {
            program.roles[addr] = Use::Flag;
            let from = r.below(total);
            flag = Some((addr, from, (from + 1 + r.below(total - 1)) % total));
        }
    }
    let roles = program
        .roles
        .clone()
        .iter()
        .map(|role| match role {
            Use::Atomic => Role::Atomic,
            Use::Flag => Role::Flag,
            Use::Plain => match (r.below(10), flag) {
                (0..=3, Some((_, from, to))) => Role::Handed(from, to),
                (n, _) => match style {
                    0 if n < 8 => Role::Owned(r.below(total)),
                    1 if n < 8 => Role::Locked(r.below(program.locks)),
                    _ if n < 3 => Role::Owned(r.below(total)),
                    _ if n < 7 => Role::Locked(r.below(program.locks)),
                    _ => Role::Shared,
                },
            },
        })
        .collect();
    (roles, flag)
}

fn uses(op: &Op, a: usize) -> bool {
    match *op {
        Op::Read { addr, len } | Op::Write { addr, len, .. } | Op::Overwrite { addr, len, .. } => {
            (addr..addr + len).contains(&a)
        }
        Op::Atomic { addr } | Op::Look { addr } | Op::SetFlag { addr, .. } | Op::WaitFlag { addr, .. } => {
            addr == a
        }
        Op::Lock(_) | Op::Unlock(_) | Op::Barrier | Op::Adopt | Op::Free => false,
        Op::Fetch { .. } | Op::Permit { .. } => false,
    }
}

#[allow(clippy::too_many_arguments)]
fn thread_phase(
    r: &mut Random,
    t: usize,
    length: usize,
    roles: &mut [Role],
    value: &mut u8,
    flag: FlagUse,
    locks: usize,
    whole: Option<usize>,
    ops: &mut Vec<Op>,
) {
    let mut next = || {
        *value = if *value >= 0xe0 { 1 } else { *value + 1 };
        *value
    };
    let flag_value = flag.map(|(addr, ..)| 1 + (addr as u8 & 0x3f));
    let mine = flag.filter(|(_, from, to)| *from == t || *to == t);
    let at_flag = r.below(length + 1);
    let mut passed = false;
    let mut step = 0;
    while step < length {
        if let Some((addr, from, _)) = mine
            && !passed
            && step >= at_flag
        {
            passed = true;
            let value = flag_value.expect("a flag has a value");
            ops.push(if from == t { Op::SetFlag { addr, value } } else { Op::WaitFlag { addr, value } });
            step += 1;
            continue;
        }
        let may = |role: Role, held: Option<usize>| match role {
            Role::Owned(o) => (o == t, o == t),
            Role::Shared => (true, false),
            Role::Locked(l) => (held == Some(l), held == Some(l)),
            Role::Handed(from, to) => {
                let ok = (from == t && !passed) || (to == t && passed);
                (ok, ok)
            }
            Role::Atomic | Role::Flag => (false, false),
        };
        let addr = r.below(roles.len());
        match roles[addr] {
            Role::Atomic => {
                // Bytes of the addresses, not of the generator: the programs of old seeds stay what they are.
                let look = (addr + t + step).is_multiple_of(3);
                ops.push(if look { Op::Look { addr } } else { Op::Atomic { addr } });
            }
            Role::Locked(l) if l < locks => {
                ops.push(Op::Lock(l));
                for _ in 0..1 + r.below(3) {
                    let addr = if r.chance(60) { addr } else { r.below(roles.len()) };
                    access(r, addr, roles, |role| may(role, Some(l)), &mut next, whole, ops);
                    step += 1;
                }
                ops.push(Op::Unlock(l));
            }
            _ => access(r, addr, roles, |role| may(role, None), &mut next, whole, ops),
        }
        step += 1;
    }
    if let Some((addr, from, _)) = mine
        && !passed
    {
        let value = flag_value.expect("a flag has a value");
        ops.push(if from == t { Op::SetFlag { addr, value } } else { Op::WaitFlag { addr, value } });
    }
}

/// Adds an access at `addr` or the first allowed byte behind it, stretched as far as allowed in some cases, over a block of `whole` bytes too.
fn access(
    r: &mut Random,
    addr: usize,
    roles: &[Role],
    may: impl Fn(Role) -> (bool, bool),
    next: &mut impl FnMut() -> u8,
    whole: Option<usize>,
    ops: &mut Vec<Op>,
) {
    let Some(addr) = (addr..roles.len()).chain(0..addr).find(|a| may(roles[*a]).0) else { return };
    let write = may(roles[addr]).1 && r.chance(60);
    let ok = |a: usize| if write { may(roles[a]).1 } else { may(roles[a]).0 };
    let longest = if r.chance(25) { [4, 4, 8, 32][r.below(4)] } else { 1 };
    let len = (addr..(addr + longest).min(roles.len())).take_while(|a| ok(*a)).count();
    let Some(block) = whole.filter(|_| write) else {
        return ops.push(if write { Op::Write { addr, len, value: next() } } else { Op::Read { addr, len } });
    };
    let (first, value) = (addr / block * block, next());
    // What may be there already does not differ from a twin.
    let value = if value % 3 == 0 { 0 } else { value };
    let all = (first..first + block).all(ok);
    ops.push(match value % 4 {
        0..=2 if all => Op::Overwrite { addr: first, len: (addr + len - first).max(block), value },
        3 if !all => Op::Write { addr, len, value },
        _ => Op::Overwrite { addr, len, value },
    });
}
