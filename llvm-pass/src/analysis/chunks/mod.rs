//! Loops with `schedule(static, CHUNK)` that compute the same whichever thread executes which chunk. Switch: `chunks`.
//!
//! OpenMP deals the chunks of such a loop to the threads in turn. Where neighbouring chunks lie side by side in memory, all processes then store to every block. The runtime may
//! give threads consecutive chunks where no program can find out.
//!
//! ```text
//! call void @__kmpc_for_static_init_4(..., i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 CHUNK)
//! chunks: ...                                                             body
//! call void @__kmpc_for_static_fini(...)                                  end
//! store ptr %sum, ptr %list
//! switch (call i32 @__kmpc_reduce_nowait(..., ptr %list, ...)) { default: %exit, 1: %combine, 2: ... }
//! exit: ret void
//! ```
//!
//! Soundness. What a chunk computes can depend on the thread by four things, and which chunks a thread had can show in what it leaves behind.
//!
//! - The number of the thread: nobody has it but entries of the runtime, and the function is the text of a region, whose parameters are the same for all threads.
//! - Memory of the thread: thread-local variables are not mentioned, also not by functions that are called; local variables are not stored to in the loop, or begin with each iteration, and
//!   their addresses go nowhere.
//! - Values carried from chunk to chunk: only counters that advance by the stride that the runtime returns, which the program cannot name, or are only multiplied with it, and partial sums of reductions
//!   ([`carried`]), which may round differently.
//! - Others' chunks: there are no atomic or volatile accesses and no calls that could wait. Iterations of one thread may depend on each other through memory without a data race,
//!   as `a[i] = a[i - 2]` with two threads; but a program that depends on which thread executes an iteration, other than by two loops of the same region and schedule, does not conform (OpenMP since 3.0, where it describes `static`). Buffers whose
//!   index is a remainder of the iteration are such programs, too; as there are some, no remainder of an iteration is computed.
//!
//! Behind the loop, the function does nothing but combine a reduction: on the way on which nothing is combined no store and no call is left, so that none is the program's. It has no other
//! worksharing construct, whose chunks might have to belong to the same threads.
//!
//! A loop whose inner loops have bounds computed from the iteration has more work in some chunks than in others, and is left as it is: whoever writes `schedule(static, 1)` there balances it.

mod carried;

use std::collections::HashSet;

use crate::llvm::{
    Analyses, Block, IntPredicate, Linkage, Loop, Manager, Module, Opcode, Ordering, TypeKind, Value,
};

use super::callee::{Callee, callee};
use super::openmp::microtask_argument;
use super::pointer::strip;
use super::{is_instrumented, libc, reduction};

/// Prefix of the entries that share a loop out, and their arguments.
const INIT: &str = "__kmpc_for_static_init_";
/// Argument of these: the kind of schedule.
pub const KIND: u32 = 2;
const BOUNDS: std::ops::Range<u32> = 3..7;
const LOWER: usize = 1;
const UPPER: usize = 2;
const STRIDE: usize = 3;
const FINI: &str = "__kmpc_for_static_fini";
const REDUCE: [&str; 2] = ["__kmpc_reduce", "__kmpc_reduce_nowait"];
const END_REDUCE: [&str; 2] = ["__kmpc_end_reduce", "__kmpc_end_reduce_nowait"];
const NUMBER: &str = "__kmpc_global_thread_num";
const BARRIER: &str = "__kmpc_barrier";
/// Kinds of schedules in chunks of a fixed size: `kmp_sch_static_chunked`, `kmp_sch_static_balanced_chunked`, and the modifiers that say nothing about threads.
const CHUNKED: [i64; 2] = [33, 45];
const MODIFIERS: i64 = 3 << 29;

/// The calls that share such loops out.
pub fn find(module: Module, manager: Manager) -> Vec<Value> {
    let regions =
        module.functions().into_iter().filter(|f| is_instrumented(*f) && is_only_executed_in_parallel(*f));
    let found = regions.filter_map(|function| {
        let init =
            only(function.function_instructions().filter(|i| calls(*i, |name| name.starts_with(INIT))))?;
        let kind = init.operand(KIND).int()?;
        if !CHUNKED.contains(&(kind & !MODIFIERS)) {
            return None;
        }
        let analyses = manager.analyses(function);
        let region = Region::of(&analyses, function, init)?;
        (region.is_anonymous() && !region.is_triangular()).then_some(init)
    });
    found.collect()
}

/// Whether a function is the text of parallel regions, which is also called where a region has one thread.
fn is_only_executed_in_parallel(function: Value) -> bool {
    let users = function.users();
    let runs = |user: &Value| {
        user.is_instruction()
            && user.opcode() == Opcode::LLVMCall
            && (user.callee() == function && user.args().iter().all(|a| *a != function)
                || user
                    .called_function()
                    .and_then(|f| microtask_argument(&f.name()))
                    .is_some_and(|(index, _)| user.operand(index) == function))
    };
    let forks = |user: &Value| user.is_instruction() && user.args().contains(&function);
    users.iter().all(runs)
        && users.iter().any(forks)
        && function.linkage() == Linkage::LLVMInternalLinkage
        && function.param_count() >= 2
}

/// Whether an instruction is a call of an entry.
fn calls(instruction: Value, is_entry: impl Fn(&str) -> bool) -> bool {
    instruction.opcode() == Opcode::LLVMCall
        && instruction.called_function().is_some_and(|f| is_entry(&f.name()))
}

fn only(mut all: impl Iterator<Item = Value>) -> Option<Value> {
    all.next().filter(|_| all.next().is_none())
}

fn is_local(value: Value) -> bool {
    value.is_instruction() && value.opcode() == Opcode::LLVMAlloca
}

/// A region with one loop that is shared out in chunks.
struct Region<'a> {
    analyses: &'a Analyses,
    function: Value,
    /// The call that shares the loop out, and what it sets: whether the last chunk is among a thread's, lower bound, upper bound, stride.
    init: Value,
    bounds: Vec<Value>,
    /// The call that ends the loop.
    fini: Value,
    /// What is executed between these.
    body: HashSet<Value>,
    /// What is executed behind the loop.
    end: HashSet<Value>,
    reduction: Option<Reduction>,
}

/// A reduction behind the loop.
struct Reduction {
    call: Value,
    /// The private copies: local variables.
    elements: HashSet<Value>,
    /// Of the end: what leads to the reduction, and what combines.
    before: HashSet<Value>,
    combining: HashSet<Value>,
}

impl<'a> Region<'a> {
    fn of(analyses: &'a Analyses, function: Value, init: Value) -> Option<Region<'a>> {
        let fini = only(function.function_instructions().filter(|i| calls(*i, |name| name == FINI)))?;
        let (first, last) = (init.block(), fini.block());
        if analyses.loop_of(first).is_some() || analyses.loop_of(last).is_some() {
            return None;
        }
        let behind = reachable(last.successors(), |_| false);
        let within = reachable(first.successors(), |block| block == last);
        if first == last || within.intersection(&behind).next().is_some() || !within.contains(&last) {
            return None;
        }
        let all = |blocks: &HashSet<Block>| {
            blocks.iter().copied().flat_map(Block::instructions).collect::<HashSet<_>>()
        };
        let mut body = all(&within);
        body.extend(first.instructions().into_iter().skip_while(|i| *i != init).skip(1));
        let rest: Vec<Value> = last.instructions().into_iter().skip_while(|i| *i != fini).collect();
        rest.iter().for_each(|i| _ = body.remove(i));
        let mut end = all(&behind);
        end.extend(&rest[1..]);
        // Every way from the first call leads to the second one.
        if within.iter().any(|block| *block != last && block.successors().is_empty()) {
            return None;
        }
        let bounds = BOUNDS.map(|index| init.operand(index)).collect();
        let reduction =
            match only(function.function_instructions().filter(|i| calls(*i, |name| REDUCE.contains(&name))))
            {
                Some(call) => Some(Reduction::of(call, last, &end)?),
                None => None,
            };
        Some(Region { analyses, function, init, bounds, fini, body, end, reduction })
    }

    /// Whether no program can tell which thread executes which chunk.
    fn is_anonymous(&self) -> bool {
        let mut functions = HashSet::new();
        self.has_no_number()
            && self.function.function_instructions().all(|i| {
                let combines = self.reduction.as_ref().is_some_and(|r| r.combining.contains(&i));
                self.is_entry(i) || combines && !i.is_call() || is_same_for_all_threads(i, &mut functions)
            })
            && self
                .function
                .function_instructions()
                .filter(|i| is_local(*i))
                .all(|local| self.is_fresh(local))
            && self.has_upper_bound()
            && self.has_no_first_chunk()
            && self.has_no_remainder()
            && carried::is_only_summed(self)
            && self.ends_without_effects()
    }

    /// Whether the instruction is one of the entries of the runtime that belong to the loop.
    fn is_entry(&self, instruction: Value) -> bool {
        let reduction = |r: &Reduction| {
            instruction == r.call
                || r.combining.contains(&instruction) && calls(instruction, |name| END_REDUCE.contains(&name))
        };
        instruction == self.init
            || instruction == self.fini
            || self.reduction.as_ref().is_some_and(reduction)
            || calls(instruction, |name| name == NUMBER)
            || self.end.contains(&instruction) && calls(instruction, |name| name == BARRIER)
    }

    /// Whether the thread's number goes to entries of the runtime only.
    fn has_no_number(&self) -> bool {
        let parameters = [self.function.param(0), self.function.param(1)].into_iter();
        let loads: Option<Vec<Value>> = parameters
            .flat_map(Value::users)
            .map(|user| (user.opcode() == Opcode::LLVMLoad).then_some(user))
            .collect();
        let Some(mut numbers) = loads else { return false };
        numbers.extend(self.function.function_instructions().filter(|i| calls(*i, |name| name == NUMBER)));
        numbers.into_iter().flat_map(Value::users).all(|user| user.is_instruction() && self.is_entry(user))
    }

    /// Whether a local variable holds nothing in a chunk that an earlier one has left there, but for the partial results of a reduction.
    fn is_fresh(&self, local: Value) -> bool {
        let (mut is_stored, mut is_copied, mut begins) = (false, false, vec![]);
        let mut work = vec![local];
        while let Some(pointer) = work.pop() {
            for user in pointer.users() {
                match user.opcode() {
                    Opcode::LLVMGetElementPtr if user.operand(0) == pointer => work.push(user),
                    Opcode::LLVMLoad => {}
                    Opcode::LLVMStore if user.operand(0) == pointer => {
                        let reduction = self.reduction.as_ref();
                        if !reduction.is_some_and(|r| reduction::stores_to_list(user, r.call)) {
                            return false;
                        }
                    }
                    Opcode::LLVMStore => is_stored |= self.body.contains(&user),
                    Opcode::LLVMCall => match callee(user) {
                        Callee::Intrinsic(name) if name.starts_with("llvm.lifetime.start") => {
                            begins.push(user)
                        }
                        Callee::Intrinsic(name) if name.starts_with("llvm.lifetime.end") => {}
                        Callee::Intrinsic(name) if copies_or_fills(&name) => {
                            is_copied |= self.body.contains(&user)
                        }
                        Callee::OpenMp(_) if self.is_entry(user) => {}
                        _ => return false,
                    },
                    _ => return false,
                }
            }
        }
        let belongs_to_loop = self.bounds.contains(&local)
            || self.reduction.as_ref().is_some_and(|r| r.elements.contains(&local));
        let begins_in_loop =
            |begin: &Value| self.body.contains(begin) && self.analyses.loop_of(begin.block()).is_some();
        let is_left = is_copied || is_stored && !belongs_to_loop;
        local.is_static_alloca() && (!is_left || !begins.is_empty() && begins.iter().all(begins_in_loop))
    }

    /// Whether nothing in a loop is computed from the first iteration of a thread, as of a loop whose first iteration was peeled, but where counters begin. Flang counts chunks, and computes where they begin
    /// and how many there are.
    fn has_no_first_chunk(&self) -> bool {
        let in_loop = |i: &Value| self.analyses.loop_of(i.block()).is_some();
        self.body.iter().filter(|i| in_loop(i) && i.opcode() != Opcode::LLVMPHI).all(|i| {
            let other = |operand: Value| i.operands().find(|o| *o != operand);
            i.operands().all(|operand| {
                !self.body.contains(&operand)
                    || in_loop(&operand)
                    || !self.depends_on_first(operand)
                    || self.is_length_of_chunk(operand)
                    || match i.opcode() {
                        Opcode::LLVMAdd => other(operand).is_some_and(|o| self.is_distance_of_chunks(o)),
                        Opcode::LLVMICmp => other(operand).is_some_and(|o| self.counts_chunks(o)),
                        _ => false,
                    }
            })
        })
    }

    /// Whether the loop looks at the upper bound. Clang's code for `distribute parallel for schedule(static, 1)` does not, but executes every n-th iteration.
    fn has_upper_bound(&self) -> bool {
        self.body.iter().any(|i| self.is_bound(*i, UPPER))
    }

    /// Whether nothing is computed from an iteration as a remainder. The number of a thread is one in programs that know the order, as of a buffer for each thread.
    fn has_no_remainder(&self) -> bool {
        let remainders = self.body.iter().filter(|i| is_remainder(**i));
        remainders.flat_map(|i| i.operands()).all(|operand| !self.depends_on(operand, LOWER))
    }

    /// Whether a value is computed from the first iteration of a thread, perhaps by what is loaded there.
    fn depends_on_first(&self, value: Value) -> bool {
        self.is_computed_from(value, LOWER, true)
    }

    /// Whether a value is the difference of the bounds of the first chunk.
    fn is_length_of_chunk(&self, value: Value) -> bool {
        value.opcode() == Opcode::LLVMSub
            && self.depends_on(value.operand(0), UPPER)
            && !self.depends_on(value.operand(0), LOWER)
            && self.is_bound(value.operand(1), LOWER)
    }

    /// Whether a value is what the runtime has set a bound to.
    fn is_bound(&self, value: Value, bound: usize) -> bool {
        value.is_instruction() && value.opcode() == Opcode::LLVMLoad && value.operand(0) == self.bounds[bound]
    }

    /// Whether a value is a number of chunks times their distance.
    fn is_distance_of_chunks(&self, value: Value) -> bool {
        value.is_instruction()
            && value.opcode() == Opcode::LLVMMul
            && (0..2)
                .any(|i| self.is_bound(value.operand(i), STRIDE) && self.counts_chunks(value.operand(1 - i)))
    }

    /// Whether a value is a counter of chunks from 0 on, or its next value, of which nothing else is computed than that, distances of chunks, and the end of the loop.
    fn counts_chunks(&self, value: Value) -> bool {
        let is_step =
            |v: Value| v.is_instruction() && v.opcode() == Opcode::LLVMAdd && v.operand(1).int() == Some(1);
        let phi = if is_step(value) { value.operand(0) } else { value };
        if !phi.is_instruction() || phi.opcode() != Opcode::LLVMPHI {
            return false;
        }
        let Some(around) = self.analyses.loop_of(phi.block()) else { return false };
        let is_next = |v: Value| is_step(v) && v.operand(0) == phi;
        let is_distance = |user: Value| {
            user.opcode() == Opcode::LLVMMul && (0..2).any(|i| self.is_bound(user.operand(i), STRIDE))
        };
        let ends_loop = |user: Value| {
            user.opcode() == Opcode::LLVMBr
                && user.block().successors().into_iter().any(|next| !around.contains(next))
        };
        let serves = |user: Value| {
            is_distance(user) || user.opcode() == Opcode::LLVMICmp && user.users().into_iter().all(ends_loop)
        };
        phi.incoming().into_iter().all(|(from, _)| from.int() == Some(0) || is_next(from))
            && phi.users().into_iter().any(is_distance)
            && phi.users().into_iter().all(|user| {
                serves(user) || is_next(user) && user.users().into_iter().all(|u| u == phi || serves(u))
            })
    }

    /// Whether nothing is done behind the loop but the combination of a reduction.
    fn ends_without_effects(&self) -> bool {
        let combines = |i: &Value| self.reduction.as_ref().is_some_and(|r| r.combining.contains(i));
        self.end.iter().filter(|i| !combines(i)).all(|&i| match i.opcode() {
            Opcode::LLVMStore => is_local(strip(i.operand(1))),
            Opcode::LLVMCall => {
                self.is_entry(i)
                    || matches!(callee(i), Callee::Intrinsic(name) if name.starts_with("llvm.lifetime."))
            }
            Opcode::LLVMRet | Opcode::LLVMBr | Opcode::LLVMSwitch => true,
            Opcode::LLVMPHI | Opcode::LLVMGetElementPtr | Opcode::LLVMLoad => true,
            Opcode::LLVMICmp => self.reduction.as_ref().is_some_and(|r| i.operand(0) == r.call),
            _ => false,
        })
    }

    /// Whether an inner loop ends where the iteration of the shared loop says, by a computation without loads.
    fn is_triangular(&self) -> bool {
        let blocks: HashSet<Block> = self.body.iter().map(|i| i.block()).collect();
        blocks.into_iter().any(|block| {
            let leaves_inner_loop = self
                .loops_around(block)
                .any(|l| l.parent().is_some() && block.successors().iter().any(|next| !l.contains(*next)));
            leaves_inner_loop
                && block.condition().is_some_and(|condition| {
                    // The loop over the iterations of a chunk compares with the upper bound.
                    self.depends_on(condition, LOWER) && !self.depends_on(condition, UPPER)
                })
        })
    }

    fn loops_around(&self, block: Block) -> impl Iterator<Item = Loop> {
        std::iter::successors(self.analyses.loop_of(block), |l| l.parent())
    }

    /// Whether a value is computed from what the runtime has set a bound to, with nothing else loaded on the way.
    fn depends_on(&self, value: Value, bound: usize) -> bool {
        self.is_computed_from(value, bound, false)
    }

    /// As [`Region::depends_on`], perhaps by loads from addresses that are.
    fn is_computed_from(&self, value: Value, bound: usize, by_loads: bool) -> bool {
        let (mut work, mut seen) = (vec![value], HashSet::new());
        while let Some(value) = work.pop() {
            if !value.is_instruction() || !seen.insert(value) {
                continue;
            }
            match value.opcode() {
                Opcode::LLVMLoad if value.operand(0) == self.bounds[bound] => return true,
                Opcode::LLVMLoad if !by_loads => {}
                Opcode::LLVMAlloca => {}
                _ => work.extend(value.operands()),
            }
        }
        false
    }
}

impl Reduction {
    /// The reduction of a call, if it lies behind the block that ends the loop.
    fn of(call: Value, last: Block, end: &HashSet<Value>) -> Option<Reduction> {
        let stores = reduction::stores_of_list(call);
        let elements: HashSet<Value> = stores.iter().map(|store| store.operand(0)).collect();
        let block = call.block();
        let (default, cases) = ways_behind(call)?;
        let has_list = !stores.is_empty() && stores.iter().all(|s| reduction::stores_to_list(*s, call));
        if !has_list
            || !end.contains(&call)
            || !elements.iter().all(|e| is_local(*e) && carried::is_number(*e))
        {
            return None;
        }
        let done = reachable(vec![default], |_| false);
        let combining = reachable(cases, |b| done.contains(&b));
        let combining = combining.difference(&done).copied().flat_map(Block::instructions).collect();
        let mut before = HashSet::from([last, block]);
        if last != block {
            before.extend(reachable(last.successors(), |b| b == block));
        }
        if !before.is_disjoint(&done) {
            return None;
        }
        let before = before.into_iter().flat_map(Block::instructions).filter(|i| end.contains(i)).collect();
        Some(Reduction { call, elements, before, combining })
    }
}

/// Where a function goes behind the call of its reduction: without combining, and to combine. Flang's knows one way to combine.
fn ways_behind(call: Value) -> Option<(Block, Vec<Block>)> {
    let block = call.block();
    if let Some((default, cases)) = block.switch() {
        let is_result = block.terminator().operand(0) == call;
        return is_result.then(|| (default, cases.into_iter().map(|(_, block)| block).collect()));
    }
    let condition = block.condition()?;
    let is_result = condition.is_instruction()
        && condition.opcode() == Opcode::LLVMICmp
        && condition.predicate() == IntPredicate::LLVMIntEQ
        && condition.operand(0) == call
        && condition.operand(1).int() == Some(1);
    let successors = block.successors();
    is_result.then(|| (successors[1], vec![successors[0]]))
}

/// The blocks that ways from some lead to. A way ends at those of which `is_end` holds.
fn reachable(from: Vec<Block>, is_end: impl Fn(Block) -> bool) -> HashSet<Block> {
    let (mut found, mut work) = (HashSet::new(), from);
    while let Some(block) = work.pop() {
        if found.insert(block) && !is_end(block) {
            work.extend(block.successors());
        }
    }
    found
}

/// Whether an intrinsic copies or fills memory.
fn copies_or_fills(intrinsic: &str) -> bool {
    ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."].iter().any(|prefix| intrinsic.starts_with(prefix))
}

/// Whether an instruction does the same in every thread that executes it, does not wait for another one, and does not tell another one that it was executed.
fn is_same_for_all_threads(instruction: Value, functions: &mut HashSet<Value>) -> bool {
    if instruction.operands().any(mentions_thread_local) {
        return false;
    }
    match instruction.opcode() {
        Opcode::LLVMLoad | Opcode::LLVMStore => {
            let address = instruction.operand(u32::from(instruction.opcode() == Opcode::LLVMStore));
            address.ty().is_plain_pointer()
                && !instruction.is_volatile()
                && instruction.ordering() == Ordering::LLVMAtomicOrderingNotAtomic
        }
        Opcode::LLVMCall => match callee(instruction) {
            Callee::Intrinsic(name) => {
                copies_or_fills(&name)
                    || ["llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.scope.decl", "llvm.dbg."]
                        .iter()
                        .any(|prefix| name.starts_with(prefix))
                    || is_number(instruction) && !instruction.call_touches_memory()
            }
            Callee::Libc(name, _) => is_number(instruction) && libc::is_mathematical(&name),
            Callee::Own(function) => {
                !functions.insert(function)
                    || function.function_instructions().all(|i| {
                        is_same_for_all_threads(i, functions)
                            && (!is_local(i) || is_only_accessed(i))
                            && !is_remainder(i)
                    })
            }
            _ => false,
        },
        Opcode::LLVMAtomicRMW
        | Opcode::LLVMAtomicCmpXchg
        | Opcode::LLVMFence
        | Opcode::LLVMInvoke
        | Opcode::LLVMCallBr
        | Opcode::LLVMLandingPad
        | Opcode::LLVMVAArg => false,
        _ => true,
    }
}

/// Whether an instruction may compute a remainder.
fn is_remainder(instruction: Value) -> bool {
    let is_logical =
        || instruction.ty().kind() == TypeKind::LLVMIntegerTypeKind && instruction.ty().int_width() == 1;
    match instruction.opcode() {
        Opcode::LLVMURem | Opcode::LLVMSRem => true,
        Opcode::LLVMAnd => !is_logical(),
        _ => false,
    }
}

/// Whether a local variable is loaded and stored, and its address goes nowhere.
fn is_only_accessed(local: Value) -> bool {
    local.users().into_iter().all(|user| match user.opcode() {
        Opcode::LLVMLoad => true,
        Opcode::LLVMStore => user.operand(0) != local,
        Opcode::LLVMGetElementPtr => is_only_accessed(user),
        Opcode::LLVMCall => matches!(callee(user), Callee::Intrinsic(name)
            if copies_or_fills(&name) || name.starts_with("llvm.lifetime.")),
        _ => false,
    })
}

/// Whether a call computes a number from numbers.
fn is_number(call: Value) -> bool {
    !call.ty().holds_pointer() && call.args().iter().all(|argument| !argument.ty().holds_pointer())
}

fn mentions_thread_local(value: Value) -> bool {
    match () {
        () if value.is_global_variable() => value.is_thread_local(),
        () if value.is_constant_expr() => value.operands().any(mentions_thread_local),
        () => false,
    }
}
