//! A generator of programs without data races.

use dsm_coherence::{CHUNK_BLOCKS, Part, Parts};

use super::{BarrierKind, Closing, Memory, Op, Program};
use crate::hash::{Random, mix};
use crate::oracle::Use;

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
    let sizes = sizes(seed, blocks, block_bytes);
    let starts: Vec<usize> = (0..=blocks).map(|index| sizes[..index].iter().sum()).collect();
    let mut program = Program {
        processes,
        threads,
        roles: vec![Use::Plain; sizes.iter().sum()],
        resized: Vec::new(),
        sizes,
        stride: [1, 1, 64, 4096][r.below(4)],
        // Extents go from one chunk to the next.
        first: if (seed >> 5) % 4 == 1 { CHUNK_BLOCKS - 2 } else { 0 },
        home_run: [1, 1, 2, 4, 16][r.below(5)],
        notices: [2, 2, 3, 4, 8, 64][r.below(6)],
        barrier: [BarrierKind::AllToAll, BarrierKind::Dissemination][r.below(2)],
        locks: 1 + r.below(3),
        fault: None,
        without: Parts::default(),
        watch: seed % 16 == 5,
        by_agents: seed % 3 == 1,
        one_sided: seed % 6 == 4,
        memory: Memory::Buffered,
        quiesce: true,
        closing: Closing::Free,
        ops: vec![Vec::new(); total],
    };
    let bytes = program.roles.len();
    for role in &mut program.roles {
        if r.chance(8) {
            *role = Use::Atomic;
        }
    }
    // As for atomic reads.
    let whole = ((seed >> 3) % 4 == 1).then_some(&*starts);
    let mut value = 0u8;
    let phases = 1 + r.below(1 + bounds.ops / 4);
    for phase in 0..phases {
        if phase > 0 {
            let adopt = threads == 1 && (seed >> 4) % 8 == phase as u64;
            let barrier = if adopt { Op::Adopt } else { Op::Barrier };
            program.ops.iter_mut().for_each(|ops| ops.push(barrier));
        }
        let (mut roles, flag) = phase_roles(r, &mut program, total);
        if whole.is_some() {
            unite(&mut roles, &starts, phase);
        }
        let length = bounds.ops.div_ceil(phases);
        for t in 0..total {
            let mut ops = Vec::new();
            let values = Values { last: &mut value, back: (seed >> 6).is_multiple_of(2).then_some(seed) };
            thread_phase(r, t, length, &mut roles, values, flag, program.locks, whole, &mut ops);
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
    if (seed >> 7) % 3 == 1 {
        batch(&mut program);
    }
    if (seed >> 11) % 4 == 2 {
        at_homes(&mut program);
    }
    if program.threads == 1 && (seed >> 9) % 8 == 3 {
        keep(&mut program);
    }
    if !program.by_agents && (seed >> 13) % 4 == 3 {
        order(&mut program);
        if (seed >> 15) % 2 == 1 {
            program.without = Part::OpenRecords.into();
        }
    }
    if (seed >> 17) % 3 == 1 {
        compare(&mut program);
    }
    debug_assert!(bytes == program.roles.len());
    if program.ops.iter().flatten().any(|op| *op == Op::Adopt) {
        program.resized = resized(seed, &program.sizes);
    }
    program
}

/// Has additions and looks made in calls of several, with those of the bytes behind.
fn batch(program: &mut Program) {
    let roles = &program.roles;
    let length = |addr: usize| roles[addr..].iter().take(3).take_while(|role| **role == Use::Atomic).count();
    for op in program.ops.iter_mut().flatten() {
        match *op {
            Op::Atomic { addr, .. } => *op = Op::Batch { addr, len: length(addr) },
            Op::Look { addr, .. } => *op = Op::Gather { addr, len: length(addr) },
            _ => {}
        }
    }
}

/// Has every other load and store of a byte executed where its home is.
fn at_homes(program: &mut Program) {
    let loads = program.ops.iter_mut().flatten().filter_map(|op| match *op {
        Op::Read { addr, len: 1 } => Some((op, addr)),
        _ => None,
    });
    loads.step_by(2).for_each(|(op, addr)| *op = Op::Get { addr });

    let stores = program.ops.iter_mut().flatten().filter_map(|op| match *op {
        Op::Write { addr, len: 1, value } => Some((op, addr, value)),
        _ => None,
    });
    stores.step_by(2).for_each(|(op, addr, value)| *op = Op::Put { addr, value });
}

/// Has flags set and awaited by atomic operations that release and acquire, and every other addition made by one.
fn order(program: &mut Program) {
    for role in program.roles.iter_mut().filter(|role| **role == Use::Flag) {
        *role = Use::Atomic;
    }
    let mut additions = 0;
    for op in program.ops.iter_mut().flatten() {
        match *op {
            Op::SetFlag { addr, .. } => *op = Op::Ordered { addr },
            Op::WaitFlag { addr, .. } => *op = Op::Reach { addr },
            Op::Atomic { addr, len: 1 } => {
                additions += 1;
                if additions % 2 == 0 {
                    *op = Op::Ordered { addr };
                }
            }
            _ => {}
        }
    }
}

/// Has each addition followed by a comparison that fails, of either order, and by a load, which sees what that found.
fn compare(program: &mut Program) {
    let mut ordered = false;
    for ops in &mut program.ops {
        *ops = std::mem::take(ops)
            .into_iter()
            .flat_map(|op| {
                let added = match op {
                    Op::Atomic { addr, len: 1 } | Op::Ordered { addr } => Some(addr),
                    _ => None,
                };
                ordered = !ordered && !program.by_agents;
                let further = added.map(|addr| [Op::Compare { addr, ordered }, Op::Read { addr, len: 1 }]);
                std::iter::once(op).chain(further.into_iter().flatten())
            })
            .collect();
    }
}

/// Has additions kept until they have to be made.
fn keep(program: &mut Program) {
    for op in program.ops.iter_mut().flatten() {
        if let Op::Atomic { addr, len: 1 } = *op {
            *op = Op::Keep { addr };
        }
    }
}

/// What is stored, one after the other.
struct Values<'a> {
    last: &'a mut u8,
    /// In some programs few values, so that what was there before is stored back; chosen by this.
    back: Option<u64>,
}

impl Values<'_> {
    fn next(&mut self) -> u8 {
        *self.last = if *self.last >= 0xe0 { 1 } else { *self.last + 1 };
        match self.back {
            Some(seed) => (mix(seed, u64::from(*self.last)) % 3) as u8,
            None => *self.last,
        }
    }
}

/// What blocks of one size are divided into anew: blocks of half or twice their size, or of one byte.
fn resized(seed: u64, sizes: &[usize]) -> Vec<usize> {
    let (size, bytes) = (sizes[0], sizes.iter().sum::<usize>());
    let other = [size / 2, 2 * size, 1, size][(mix(seed, 0x7e51) >> 7) as usize % 4];
    let fits = other != 0 && size.max(other).is_multiple_of(size.min(other)) && bytes.is_multiple_of(other);
    match fits && other != size && sizes.iter().all(|s| *s == size) {
        true => vec![other; bytes / other],
        false => Vec::new(),
    }
}

/// Bytes of each block: in some programs every other is of another size or two, or all are so long that they are read in several steps.
fn sizes(seed: u64, blocks: usize, block_bytes: usize) -> Vec<usize> {
    // Not from the generator: as for atomic reads.
    let bits = mix(seed, 0x51e5);
    if bits.is_multiple_of(7) {
        return vec![8 * block_bytes; blocks];
    }
    let others = [1 + (bits >> 32) as usize % 6, 1 + (bits >> 40) as usize % 3];
    let size = |index: usize| match bits >> (3 + 2 * index) & 3 {
        at @ 0..2 if bits.is_multiple_of(3) => others[at as usize],
        _ => block_bytes,
    };
    (0..blocks).map(size).collect()
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
fn unite(roles: &mut [Role], starts: &[usize], phase: usize) {
    for (number, ends) in starts.windows(2).enumerate() {
        let block = &mut roles[ends[0]..ends[1]];
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
        Op::Read { addr, len }
        | Op::Write { addr, len, .. }
        | Op::Overwrite { addr, len, .. }
        | Op::Atomic { addr, len }
        | Op::Batch { addr, len }
        | Op::Gather { addr, len }
        | Op::Look { addr, len } => (addr..addr + len).contains(&a),
        Op::SetFlag { addr, .. }
        | Op::WaitFlag { addr, .. }
        | Op::Keep { addr }
        | Op::Get { addr }
        | Op::Put { addr, .. }
        | Op::Ordered { addr }
        | Op::Compare { addr, .. }
        | Op::Reach { addr } => addr == a,
        Op::Lock(_) | Op::Unlock(_) | Op::Post(_) | Op::Await(_) | Op::Barrier | Op::Adopt | Op::Free => {
            false
        }
        Op::Fetch { .. } | Op::Permit { .. } => false,
    }
}

#[allow(clippy::too_many_arguments)]
fn thread_phase(
    r: &mut Random,
    t: usize,
    length: usize,
    roles: &mut [Role],
    mut values: Values<'_>,
    flag: FlagUse,
    locks: usize,
    whole: Option<&[usize]>,
    ops: &mut Vec<Op>,
) {
    let mut next = || values.next();
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
                ops.push(match (addr + t + step) % 6 {
                    0 | 3 => Op::Look { addr, len: 1 },
                    5 => Op::Read { addr, len: 1 },
                    _ => Op::Atomic { addr, len: 1 },
                });
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

/// Adds an access at `addr` or the first allowed byte behind it, stretched as far as allowed in some cases, over blocks that begin at `whole` too.
fn access(
    r: &mut Random,
    addr: usize,
    roles: &[Role],
    may: impl Fn(Role) -> (bool, bool),
    next: &mut impl FnMut() -> u8,
    whole: Option<&[usize]>,
    ops: &mut Vec<Op>,
) {
    let Some(addr) = (addr..roles.len()).chain(0..addr).find(|a| may(roles[*a]).0) else { return };
    let write = may(roles[addr]).1 && r.chance(60);
    let ok = |a: usize| if write { may(roles[a]).1 } else { may(roles[a]).0 };
    let longest = if r.chance(25) { [4, 4, 8, 32][r.below(4)] } else { 1 };
    let len = (addr..(addr + longest).min(roles.len())).take_while(|a| ok(*a)).count();
    let Some(starts) = whole.filter(|_| write) else {
        return ops.push(if write { Op::Write { addr, len, value: next() } } else { Op::Read { addr, len } });
    };
    let index = starts.partition_point(|start| *start <= addr) - 1;
    let (first, block, value) = (starts[index], starts[index + 1] - starts[index], next());
    // What may be there already does not differ from a twin.
    let value = if value % 3 == 0 { 0 } else { value };
    let all = (first..first + block).all(ok);
    ops.push(match value % 4 {
        0..=2 if all => Op::Overwrite { addr: first, len: (addr + len - first).max(block), value },
        3 if !all => Op::Write { addr, len, value },
        _ => Op::Overwrite { addr, len, value },
    });
}
