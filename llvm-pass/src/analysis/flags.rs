//! Flags: plain variables through which threads signal each other by spinning, with `flush` or `volatile` as the only synchronisation.
//!
//! ```text
//! writer:  data = x; flag = 1; flush            reader:  while (flag == 0) { flush }  use(data)
//! ```
//! On a machine with one memory the processor's store order makes this work although the writer does not flush between data and flag, nor
//! the reader behind the loop. Here a reader can see the flag, whose block travels with whatever it holds, before it knows of the data. So
//! the flag's loads become acquire loads and its stores release stores.
//!
//! What is a flag:
//! 1. A load on whose value the exit of a *wait loop* depends. A wait loop holds a flush or the load is volatile, and it has no inner
//!    loops, no stores but to locals, and no calls that could do work. What is compared with a number that the loop counts is a bound.
//! 2. In any other loop with a flush, a load that an exit compares with a constant for equality (`while (!done) { flush; work(); }`).
//! 3. Every access of the same type to the *place* of such a load: the same global variable module-wide, the same pointer in the
//!    function, or what a pointer in such a place points to, at the same distance if both are constant.
//! 4. A store of an integer right before a flush: flags that another function or module spins on. "Right before" goes back
//!    through the blocks of the same loop until a call, or a few instructions.
//!
//! Soundness: making an access atomic with acquire or release order never removes an outcome's legality, it only forbids outcomes.

use std::collections::{BTreeSet, HashSet};

use crate::llvm::{Analyses, Block, Loop, Manager, Module, Opcode, Ordering, TypeKind, Value};

use super::callee::{Callee, callee};

/// Instructions that are looked at before a flush.
const NEAR: usize = 32;

/// Calls that a wait loop may make.
const IDLE_CALLS: &[&str] = &[
    "__kmpc_flush",
    "__kmpc_omp_taskyield",
    "__kmpc_global_thread_num",
    "omp_get_thread_num",
    "omp_get_wtime",
    "sched_yield",
    "pthread_yield",
    "thrd_yield",
    "usleep",
    "nanosleep",
    "sleep",
];

/// Where a pointer leads: loads of pointers from `root`, each at a distance (`None`: not constant), then a distance.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    root: Value,
    path: Vec<Option<i64>>,
    offset: Option<i64>,
}

impl Place {
    fn of(analyses: &Analyses, pointer: Value) -> Place {
        let root = strip(pointer);
        let offset = match (analyses.address_key(pointer), analyses.expr(root)) {
            _ if pointer == root => Some(0),
            (Some((key, offset)), Some(expr)) if key == expr => Some(offset),
            _ => None,
        };
        if root.is_instruction() && root.opcode() == Opcode::LLVMLoad {
            let mut place = Place::of(analyses, root.operand(0));
            place.path.push(place.offset);
            return Place { offset, ..place };
        }
        Place { root, path: vec![], offset }
    }

    /// A local itself, not what it points to.
    fn is_local(&self) -> bool {
        self.path.is_empty() && self.root.is_instruction() && self.root.opcode() == Opcode::LLVMAlloca
    }

    fn may_be(&self, other: &Place) -> bool {
        let near = |a: &Option<i64>, b: &Option<i64>| a.is_none() || b.is_none() || a == b;
        self.root == other.root
            && self.path.len() == other.path.len()
            && self.path.iter().zip(&other.path).all(|(a, b)| near(a, b))
            && near(&self.offset, &other.offset)
    }
}

/// The pointer that a chain of address computations starts from.
fn strip(mut pointer: Value) -> Value {
    loop {
        let computed = if pointer.is_instruction() {
            matches!(pointer.opcode(), Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMFreeze)
        } else {
            pointer.is_constant_expr() && pointer.const_opcode() == Opcode::LLVMGetElementPtr
        };
        if !computed {
            return pointer;
        }
        pointer = pointer.operand(0);
    }
}

/// The accesses to be ordered.
#[derive(Default)]
pub struct Flags {
    /// To become acquire loads.
    pub loads: BTreeSet<Value>,
    /// To become release stores.
    pub stores: BTreeSet<Value>,
}

/// Finds the flags of a module.
pub fn find(module: Module, manager: Manager) -> Flags {
    let definitions: Vec<Value> = module.functions().into_iter().filter(|f| !f.is_declaration()).collect();
    let mut flags = Flags::default();
    let mut places: Vec<(Place, Value)> = Vec::new();
    for &function in &definitions {
        let instructions: Vec<Value> = function.blocks().into_iter().flat_map(Block::instructions).collect();
        let flushes: Vec<Value> = instructions.iter().copied().filter(|i| is_flush(*i)).collect();
        let volatile: Vec<Value> = instructions.iter().copied().filter(|i| is_volatile_load(*i)).collect();
        if flushes.is_empty() && volatile.is_empty() {
            continue;
        }
        let analyses = manager.analyses(function);
        let mut found = HashSet::new();
        for &flush in &flushes {
            let waits = spun_on(&analyses, function, flush, &mut found);
            if !waits {
                flags.stores.extend(stores_before(&analyses, flush));
            }
        }
        for &load in &volatile {
            if let Some(l) = analyses.loop_of(load.block()).filter(|l| is_wait_loop(&analyses, function, *l))
                && exit_loads(function, l, false).contains(&load)
            {
                found.insert(load);
            }
        }
        for load in found.into_iter().filter(|l| can_be_atomic(*l)) {
            places.push((Place::of(&analyses, load.operand(0)), load));
        }
    }
    places.retain(|(place, _)| !place.is_local());
    if places.is_empty() {
        return flags;
    }
    for &function in &definitions {
        let analyses = manager.analyses(function);
        for access in function.blocks().into_iter().flat_map(Block::instructions) {
            let address = match access.opcode() {
                Opcode::LLVMLoad => 0,
                Opcode::LLVMStore => 1,
                _ => continue,
            };
            if !can_be_atomic(access) {
                continue;
            }
            let place = Place::of(&analyses, access.operand(address));
            let is_flag =
                |(flag, load): &(Place, Value)| load.ty() == value_type(access) && flag.may_be(&place);
            if places.iter().any(is_flag) {
                if address == 0 {
                    flags.loads.insert(access)
                } else {
                    flags.stores.insert(access)
                };
            }
        }
    }
    flags
}

fn is_flush(instruction: Value) -> bool {
    instruction.is_call() && instruction.called_function().is_some_and(|f| f.name() == "__kmpc_flush")
}

fn is_volatile_load(instruction: Value) -> bool {
    instruction.opcode() == Opcode::LLVMLoad && instruction.is_volatile()
}

fn value_type(access: Value) -> crate::llvm::Type {
    if access.opcode() == Opcode::LLVMLoad { access.ty() } else { access.operand(0).ty() }
}

/// A plain access that may be made atomic: a scalar, aligned to its size.
fn can_be_atomic(access: Value) -> bool {
    let ty = value_type(access);
    let bytes = match ty.kind() {
        TypeKind::LLVMIntegerTypeKind if matches!(ty.int_width(), 8 | 16 | 32 | 64) => ty.int_width() / 8,
        TypeKind::LLVMFloatTypeKind => 4,
        TypeKind::LLVMDoubleTypeKind | TypeKind::LLVMPointerTypeKind => 8,
        _ => return false,
    };
    access.ordering() == Ordering::LLVMAtomicOrderingNotAtomic && access.align() >= bytes
}

/// Adds the loads that the loops around a flush wait for; true if the innermost is a wait loop.
fn spun_on(analyses: &Analyses, function: Value, flush: Value, found: &mut HashSet<Value>) -> bool {
    let Some(innermost) = analyses.loop_of(flush.block()) else { return false };
    let waits = is_wait_loop(analyses, function, innermost);
    found.extend(exit_loads(function, innermost, !waits));
    let mut outer = innermost.parent();
    while let Some(l) = outer {
        found.extend(exit_loads(function, l, true));
        outer = l.parent();
    }
    waits
}

fn is_wait_loop(analyses: &Analyses, function: Value, l: Loop) -> bool {
    let blocks: Vec<Block> = function.blocks().into_iter().filter(|b| l.contains(*b)).collect();
    blocks.iter().all(|b| analyses.loop_of(*b) == Some(l))
        && blocks.into_iter().flat_map(Block::instructions).all(idle)
}

/// True of what a wait loop may do.
fn idle(instruction: Value) -> bool {
    match instruction.opcode() {
        Opcode::LLVMStore => {
            let root = strip(instruction.operand(1));
            root.is_instruction() && root.opcode() == Opcode::LLVMAlloca
        }
        Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => false,
        Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => match callee(instruction) {
            Callee::Intrinsic(name) => !name.starts_with("llvm.mem"),
            Callee::Asm => true,
            Callee::OpenMp(name) | Callee::Extern(name) | Callee::Libc(name, _) => {
                IDLE_CALLS.contains(&name.as_str())
            }
            _ => false,
        },
        _ => true,
    }
}

/// Loads in the loop whose values decide whether it is left. `compared`: only those that are compared with a constant for equality.
fn exit_loads(function: Value, l: Loop, compared: bool) -> HashSet<Value> {
    let mut work: Vec<Value> = Vec::new();
    for block in function.blocks().into_iter().filter(|b| l.contains(*b)) {
        let exits = block.successors().into_iter().any(|s| !l.contains(s));
        let terminator = block.terminator();
        let decides = match terminator.opcode() {
            Opcode::LLVMBr => terminator.operand_count() == 3,
            opcode => opcode == Opcode::LLVMSwitch,
        };
        if exits && decides {
            work.push(terminator.operand(0));
        }
    }
    let mut seen = HashSet::new();
    let mut loads = HashSet::new();
    while let Some(value) = work.pop() {
        if !value.is_instruction() || !l.contains(value.block()) || !seen.insert(value) {
            continue;
        }
        match value.opcode() {
            Opcode::LLVMLoad => {
                let root = strip(value.operand(0));
                if root.is_instruction() && root.opcode() == Opcode::LLVMAlloca {
                    // Without optimisation, values travel through locals.
                    let stores = root.users().into_iter().filter(|u| {
                        u.is_instruction() && u.opcode() == Opcode::LLVMStore && u.operand(1) == root
                    });
                    work.extend(stores.map(|s| s.operand(0)));
                }
                loads.insert(value);
            }
            Opcode::LLVMICmp if compared => {
                if value.is_equality() && value.operands().any(|o| o.is_constant()) {
                    work.extend(value.operands());
                }
            }
            // A bound of a loop that counts: `i < n` gets there without anybody's help.
            Opcode::LLVMICmp if value.operands().any(|o| counts(l, o)) => {}
            Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMAlloca => {}
            Opcode::LLVMPHI => work.extend(value.incoming().into_iter().map(|(v, _)| v)),
            _ => work.extend(value.operands()),
        }
    }
    loads
}

/// True of what the loop computes from its own value in the iteration before: a counter, or what is computed from one.
fn counts(l: Loop, value: Value) -> bool {
    let mut seen = HashSet::new();
    let mut work = vec![value];
    while let Some(at) = work.pop() {
        if !at.is_instruction() || !l.contains(at.block()) || !seen.insert(at) {
            continue;
        }
        if depends_on_itself(l, at) {
            return true;
        }
        work.extend(sources(l, at));
    }
    false
}

fn depends_on_itself(l: Loop, value: Value) -> bool {
    let computes = |v: Value| !matches!(v.opcode(), Opcode::LLVMPHI | Opcode::LLVMLoad);
    let mut seen = HashSet::new();
    let mut work: Vec<(Value, bool)> = sources(l, value).into_iter().map(|v| (v, computes(value))).collect();
    while let Some((at, changed)) = work.pop() {
        let same = if is_local_load(at) && is_local_load(value) {
            strip(at.operand(0)) == strip(value.operand(0))
        } else {
            at == value
        };
        if same && changed {
            return true;
        }
        if !at.is_instruction() || !l.contains(at.block()) || !seen.insert((at, changed)) {
            continue;
        }
        let changed = changed || computes(at);
        work.extend(sources(l, at).into_iter().map(|v| (v, changed)));
    }
    false
}

fn is_local_load(value: Value) -> bool {
    if !value.is_instruction() || value.opcode() != Opcode::LLVMLoad {
        return false;
    }
    let root = strip(value.operand(0));
    root.is_instruction() && root.opcode() == Opcode::LLVMAlloca
}

/// What a value is computed from in the loop, memory but locals left out.
fn sources(l: Loop, value: Value) -> Vec<Value> {
    match value.opcode() {
        Opcode::LLVMLoad if is_local_load(value) => {
            let root = strip(value.operand(0));
            let stores = root.users().into_iter().filter(|u| {
                u.is_instruction()
                    && u.opcode() == Opcode::LLVMStore
                    && u.operand(1) == root
                    && l.contains(u.block())
            });
            stores.map(|s| s.operand(0)).collect()
        }
        Opcode::LLVMPHI => value.incoming().into_iter().map(|(v, _)| v).collect(),
        Opcode::LLVMLoad | Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMAlloca => vec![],
        _ => value.operands().filter(|o| o.is_instruction()).collect(),
    }
}

/// Integer stores that come right before a flush.
fn stores_before(analyses: &Analyses, flush: Value) -> Vec<Value> {
    let within = analyses.loop_of(flush.block());
    let mut found = Vec::new();
    let mut seen = HashSet::from([flush.block()]);
    let before: Vec<Value> = flush.block().instructions().into_iter().take_while(|i| *i != flush).collect();
    let mut work = vec![(flush.block(), before, NEAR)];
    while let Some((block, instructions, mut left)) = work.pop() {
        let mut ended = false;
        for &instruction in instructions.iter().rev() {
            let works = instruction.is_call() && !instruction.is_intrinsic_call();
            if works || left == 0 {
                ended = true;
                break;
            }
            left -= 1;
            if instruction.opcode() == Opcode::LLVMStore
                && value_type(instruction).kind() == TypeKind::LLVMIntegerTypeKind
                && can_be_atomic(instruction)
                && !Place::of(analyses, instruction.operand(1)).is_local()
            {
                found.push(instruction);
            }
        }
        if ended {
            continue;
        }
        for pred in block.predecessors() {
            if analyses.loop_of(pred) == within && seen.insert(pred) {
                work.push((pred, pred.instructions(), left));
            }
        }
    }
    found
}
