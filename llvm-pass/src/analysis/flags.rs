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
//! 1. A load on whose value the exit of a *wait loop* depends. A wait loop holds a flush, a pause or the like ([`PAUSES`]), or the load is
//!    volatile, and it has no inner loops, no stores but to locals, and no calls that could do work. Calls of functions of the module that
//!    keep to this belong to the loop: the flush or the load may be in one of them. What is compared with a number that the loop
//!    counts is a bound.
//! 2. In any other loop with a flush, a load that an exit compares with a constant for equality (`while (!done) { flush; work(); }`).
//! 3. Every access of the same type to the *place* of such a load: the same global variable module-wide, the same pointer in the
//!    function, or what a pointer in such a place points to, at the same distance if both are constant.
//! 4. A store of an integer right before a flush: flags that another function or module spins on. "Right before" goes back
//!    through the blocks of the same loop until a call, or a few instructions.
//!
//! Soundness: making an access atomic with acquire or release order never removes an outcome's legality, it only forbids outcomes.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::llvm::{Analyses, Block, Loop, Manager, Module, Opcode, Ordering, TypeKind, Value};

use super::callee::{Callee, callee};

/// Instructions that are looked at before a flush.
const NEAR: usize = 32;

/// Calls that a wait loop may make besides [`PAUSES`].
const IDLE_CALLS: &[&str] = &["__kmpc_flush", "__kmpc_global_thread_num", "omp_get_thread_num"];

/// What a loop does that polls a plain variable without a `flush`: the compiler loads the variable again behind these, so that such loops end
/// natively. No program may count on it by the letter of OpenMP.
const PAUSES: &[&str] = &[
    "llvm.x86.sse2.pause",
    "__kmpc_omp_taskyield",
    "omp_get_wtime",
    "sched_yield",
    "pthread_yield",
    "thrd_yield",
    "usleep",
    "nanosleep",
    "sleep",
];

/// Calls that are followed from a wait loop, one in another.
const CALLS_DEEP: usize = 4;

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

    /// The place as the caller has it, if it is behind a parameter.
    fn of_caller(&self, analyses: &Analyses, call: Value) -> Option<Place> {
        let (parameter, path) = self.behind_parameter()?;
        let function = call.called_function()?;
        let index = (0..function.param_count()).find(|i| function.param(*i) == parameter)?;
        let given = Place::of(analyses, call.operand(index));
        let sum = |a: Option<i64>, b: Option<i64>| Some(a? + b?);
        let mut place = given.clone();
        match path {
            [] => place.offset = sum(given.offset, self.offset),
            [first, rest @ ..] => {
                place.path.push(sum(given.offset, *first));
                place.path.extend(rest);
                place.offset = self.offset;
            }
        }
        Some(place)
    }

    /// The parameter that is the root, and the loads from there. Without optimisation a local has the parameter.
    fn behind_parameter(&self) -> Option<(Value, &[Option<i64>])> {
        if self.root.is_argument() {
            return Some((self.root, &self.path));
        }
        let [Some(0), path @ ..] = &self.path[..] else { return None };
        if !self.root.is_instruction() || self.root.opcode() != Opcode::LLVMAlloca {
            return None;
        }
        let stored =
            |u: &Value| u.is_instruction() && u.opcode() == Opcode::LLVMStore && u.operand(1) == self.root;
        let stores: Vec<Value> = self.root.users().into_iter().filter(stored).collect();
        let [store] = stores[..] else { return None };
        store.operand(0).is_argument().then(|| (store.operand(0), path))
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
    let mut waiting = Waiting { manager, calls: HashMap::new() };
    for &function in &definitions {
        let instructions: Vec<Value> = function.blocks().into_iter().flat_map(Block::instructions).collect();
        let flushes: Vec<Value> = instructions.iter().copied().filter(|i| is_flush(*i)).collect();
        let volatile: Vec<Value> = instructions.iter().copied().filter(|i| is_volatile_load(*i)).collect();
        let pauses: Vec<Value> = instructions.iter().copied().filter(|i| waiting.pauses(*i)).collect();
        if flushes.is_empty() && volatile.is_empty() && pauses.is_empty() {
            continue;
        }
        let analyses = manager.analyses(function);
        let mut found = HashSet::new();
        for &flush in &flushes {
            let waits = waiting.spun_on(&analyses, function, flush, &mut found);
            if !waits {
                flags.stores.extend(stores_before(&analyses, flush));
            }
        }
        for &load in &volatile {
            if let Some(l) =
                analyses.loop_of(load.block()).filter(|l| waiting.is_wait_loop(&analyses, function, *l))
                && exit_loads(function, l, false).contains(&load)
            {
                found.insert(load);
            }
        }
        let pausing: HashSet<Loop> = pauses.iter().filter_map(|p| analyses.loop_of(p.block())).collect();
        for l in pausing.into_iter().filter(|l| waiting.is_wait_loop(&analyses, function, *l)) {
            found.extend(exit_loads(function, l, false));
        }
        for load in found.into_iter().filter(|l| can_be_atomic(*l)) {
            places.push((Place::of(&analyses, load.operand(0)), load));
        }
        for (call, load) in waiting.polled(&analyses, function, &instructions) {
            let place = Place::of(&manager.analyses(load.block().function()), load.operand(0));
            places.extend(place.of_caller(&analyses, call).map(|p| (p, load)));
            places.push((place, load));
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

/// What a call of a function of the module does in a wait loop.
#[derive(Clone, Default)]
struct Call {
    /// It does no work.
    idles: bool,
    /// It flushes or pauses.
    pauses: bool,
    /// What it loads from memory that is not its own, if it has a result.
    loads: Vec<Value>,
}

/// Tells wait loops from others.
struct Waiting {
    manager: Manager,
    calls: HashMap<Value, Call>,
}

impl Waiting {
    /// Adds the loads that the loops around a flush wait for; true if the innermost is a wait loop.
    fn spun_on(
        &mut self,
        analyses: &Analyses,
        function: Value,
        flush: Value,
        found: &mut HashSet<Value>,
    ) -> bool {
        let Some(innermost) = analyses.loop_of(flush.block()) else { return false };
        let waits = self.is_wait_loop(analyses, function, innermost);
        found.extend(exit_loads(function, innermost, !waits));
        let mut outer = innermost.parent();
        while let Some(l) = outer {
            found.extend(exit_loads(function, l, true));
            outer = l.parent();
        }
        waits
    }

    fn is_wait_loop(&mut self, analyses: &Analyses, function: Value, l: Loop) -> bool {
        let blocks: Vec<Block> = function.blocks().into_iter().filter(|b| l.contains(*b)).collect();
        blocks.iter().all(|b| analyses.loop_of(*b) == Some(l))
            && blocks.into_iter().flat_map(Block::instructions).all(|i| self.idles(i, CALLS_DEEP))
    }

    /// True of what a wait loop may do.
    fn idles(&mut self, instruction: Value, deep: usize) -> bool {
        idle(instruction) || self.call(instruction, deep).is_some_and(|c| c.idles)
    }

    /// True of what makes a polling loop load again: a pause, inline assembly, or a call of a function with a flush or one of these.
    fn pauses(&mut self, instruction: Value) -> bool {
        is_pause(instruction) || self.call(instruction, CALLS_DEEP).is_some_and(|c| c.pauses)
    }

    /// Calls in the wait loops of a function on whose results their exits depend, with what the callees load. Each such loop has a flush or a
    /// pause, in itself or in a callee.
    fn polled(
        &mut self,
        analyses: &Analyses,
        function: Value,
        instructions: &[Value],
    ) -> Vec<(Value, Value)> {
        let mut found = Vec::new();
        for &call in instructions {
            let Some(loads) = self.call(call, CALLS_DEEP).filter(|c| c.idles).map(|c| c.loads) else {
                continue;
            };
            let Some(l) = analyses.loop_of(call.block()).filter(|_| !loads.is_empty()) else { continue };
            let inside = instructions.iter().copied().filter(|i| l.contains(i.block()));
            if self.is_wait_loop(analyses, function, l)
                && inside.into_iter().any(|i| is_flush(i) || self.pauses(i))
                && exit_values(function, l, false).contains(&call)
            {
                found.extend(loads.into_iter().filter(|l| can_be_atomic(*l)).map(|load| (call, load)));
            }
        }
        found
    }

    /// What a call of a function of the module does.
    fn call(&mut self, instruction: Value, deep: usize) -> Option<Call> {
        if deep == 0 || !instruction.is_call() {
            return None;
        }
        let Callee::Own(function) = callee(instruction) else { return None };
        if let Some(known) = self.calls.get(&function) {
            return Some(known.clone());
        }
        // A function that calls itself works.
        self.calls.insert(function, Call::default());
        let call = self.judge(function, deep - 1);
        self.calls.insert(function, call.clone());
        Some(call)
    }

    fn judge(&mut self, function: Value, deep: usize) -> Call {
        let mut call = Call { idles: true, ..Call::default() };
        let blocks = function.blocks();
        for instruction in blocks.iter().flat_map(|b| b.instructions()) {
            if !self.idles(instruction, deep) {
                return Call::default();
            }
            call.pauses |= is_flush(instruction) || is_pause(instruction);
            if let Some(inner) = self.call(instruction, deep) {
                call.pauses |= inner.pauses;
                call.loads.extend(inner.loads);
            }
            if instruction.opcode() == Opcode::LLVMLoad && !is_local_load(instruction) {
                call.loads.push(instruction);
            }
        }
        // The analyses cost more than the rest, and few functions come this far.
        let loops = blocks.len() > 1 && {
            let analyses = self.manager.analyses(function);
            blocks.iter().any(|b| analyses.loop_of(*b).is_some())
        };
        if loops { Call::default() } else { call }
    }
}

fn is_pause(instruction: Value) -> bool {
    instruction.is_call()
        && match callee(instruction) {
            Callee::Asm => true,
            Callee::Intrinsic(name) | Callee::OpenMp(name) | Callee::Extern(name) | Callee::Libc(name, _) => {
                PAUSES.contains(&name.as_str())
            }
            _ => false,
        }
}

/// True of what a wait loop may do, calls of functions of the module left out.
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
                IDLE_CALLS.contains(&name.as_str()) || PAUSES.contains(&name.as_str())
            }
            _ => false,
        },
        _ => true,
    }
}

/// Loads in the loop whose values decide whether it is left. `compared`: only those that are compared with a constant for equality.
fn exit_loads(function: Value, l: Loop, compared: bool) -> HashSet<Value> {
    exit_values(function, l, compared).into_iter().filter(|v| !v.is_call()).collect()
}

/// The same with calls.
fn exit_values(function: Value, l: Loop, compared: bool) -> HashSet<Value> {
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
            Opcode::LLVMCall | Opcode::LLVMInvoke => {
                loads.insert(value);
            }
            Opcode::LLVMAlloca => {}
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
