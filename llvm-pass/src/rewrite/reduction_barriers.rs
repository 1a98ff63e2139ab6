//! Barriers beside reductions that wait for all threads themselves. Switch: `barrier`.
//!
//! ```text
//! call void @__kmpc_barrier(...)                                           1: flang
//! store ptr %sum, ptr %list
//! switch (call i32 @__kmpc_reduce(..., ptr %list, ptr @combine, ...)) { default: %after, 1: %combine, 2: ... }
//! combine: ...; call void @__kmpc_end_reduce(...); br %after
//! after: call void @__kmpc_barrier(...)                                    2: clang and flang
//!        ret void                                                          3: flang
//! ```
//! Of a worksharing construct with a reduction, clang makes a reduction that ends in a barrier, and a barrier; flang another one in front. Between processes, each is a message there
//! and back.
//!
//! Soundness. `__kmpc_reduce` has a barrier of the team behind the combination: threads for which it returns 0 wait inside, the others in `__kmpc_end_reduce`
//! (`runtime/omp/src/reduce.rs`).
//!
//! 2. A barrier that all ways lead to from these two, with nothing on the way that touches memory or calls anything, orders nothing that theirs does not, and no thread can have made a
//!    task since.
//! 1. The barrier in front keeps threads that still execute the construct apart from the one that combines into the variable. So does the combination itself where
//!    processes send what they have to process 0: nobody combines into the variable before all threads have come. It is left out only there. Where each process combines under a lock, it
//!    could be left out as well by what OpenMP says of the variable during the construct, and clang has none; but programs that one compiler's barrier makes right are left right. What else the threads have
//!    stored, others may look at behind the construct only, whose end is a barrier. Tasks of the construct may store to the private copies until a barrier executes them, so modules that make
//!    tasks keep it.
//! 3. Behind a reduction that is the last thing a region's function does, all threads meet at the region's end. It becomes one without a barrier, as clang makes it.
//!
//! All threads have to come to the same barriers, perhaps by different copies of a function. So this is done before functions are inlined and copied: each construct is decided on once.

use std::cell::Cell;
use std::collections::HashSet;

use dsm_abi::layout::LINE_SHIFT_SYMBOL;

use crate::analysis::openmp::microtask_argument;
use crate::analysis::reduction;
use crate::fault::{self, Fault};
use crate::llvm::{Block, Module, Opcode, Value};
use crate::options::Options;

use super::flushes::counts;
use super::module::makes_tasks;

const BARRIER: &str = "__kmpc_barrier";
const REDUCE: &str = "__kmpc_reduce";
const END: &str = "__kmpc_end_reduce";
const WITHOUT_BARRIER: &str = "_nowait";
/// Results of `__kmpc_reduce` with which a thread combines, and comes to `__kmpc_end_reduce`.
const COMBINES: [i64; 2] = [1, 2];

thread_local! {
    /// Barriers of the module at hand that were left out.
    static LEFT_OUT: Cell<u64> = const { Cell::new(0) };
}

/// How many barriers of the module were left out since the last time that this was asked.
pub fn taken() -> u64 {
    LEFT_OUT.take()
}

/// Leaves out the barriers of a module that its reductions make needless; true if there are any.
pub fn leave_out(module: Module, options: &Options) -> bool {
    let is_instrumented = module.global(LINE_SHIFT_SYMBOL).is_some();
    if !options.enabled("barrier") || is_instrumented || module.function(REDUCE).is_none() {
        return false;
    }
    let mut count = 0;
    if options.enabled("reduction") && !makes_tasks(module) {
        let reductions = calls(module, REDUCE).into_iter();
        let waiting = reductions.filter(|call| reduction::goes_as_message(module, *call));
        for barrier in waiting.filter_map(barrier_in_front) {
            erase(barrier);
            count += 1;
        }
    }
    for barrier in calls(module, BARRIER) {
        if Ways::to(barrier).is_some() {
            erase(barrier);
            count += 1;
        }
    }
    for region in module.functions().into_iter().filter(|f| is_only_forked(*f)) {
        count += u64::from(leave_to_end_of_region(module, region));
    }
    LEFT_OUT.with(|total| total.set(total.get() + count));
    count > 0
}

/// The calls of a function, in the order of the code.
fn calls(module: Module, name: &str) -> Vec<Value> {
    let functions = module.functions().into_iter().filter(|f| !f.is_declaration());
    functions.flat_map(Value::function_instructions).filter(|i| is_call(*i, name)).collect()
}

fn is_call(instruction: Value, name: &str) -> bool {
    instruction.opcode() == Opcode::LLVMCall
        && instruction.called_function().is_some_and(|f| f.name() == name)
}

/// The barrier that comes right before a reduction, but for what puts the addresses of its private copies together.
fn barrier_in_front(reduce: Value) -> Option<Value> {
    let (mut end, mut seen) = (reduce, HashSet::new());
    loop {
        let found = last_before(end, |i| counts(i) && !reduction::stores_to_list(i, reduce));
        if found.is_some() {
            return found.filter(|i| is_call(*i, BARRIER));
        }
        let before = end.block().single_predecessor()?;
        end = before.terminator();
        if end.opcode() != Opcode::LLVMBr || before.condition().is_some() || !seen.insert(before) {
            return None;
        }
    }
}

/// The last instruction before another one in its block of which something holds. The thread's number is asked for everywhere.
fn last_before(end: Value, holds: impl Fn(Value) -> bool) -> Option<Value> {
    let before = end.block().instructions().into_iter().take_while(|i| *i != end);
    before.filter(|i| holds(*i) && !is_call(*i, "__kmpc_global_thread_num")).last()
}

/// The ways to an instruction.
#[derive(Default)]
struct Ways {
    /// The reductions that they begin at.
    reductions: Vec<Value>,
    /// The ends of reductions that they begin at.
    ends: Vec<Value>,
}

impl Ways {
    /// The ways to an instruction, if all come from the barrier of a reduction with nothing in between.
    fn to(instruction: Value) -> Option<Ways> {
        let (mut found, mut seen, mut work) = (Ways::default(), HashSet::new(), vec![instruction]);
        let in_between = |i: Value| match i.opcode() {
            Opcode::LLVMLoad | Opcode::LLVMStore if fault::is(Fault::ReductionBarrier) => false,
            Opcode::LLVMLoad => !serves_only(i, instruction),
            _ => counts(i),
        };
        while let Some(end) = work.pop() {
            match last_before(end, in_between) {
                Some(call) if is_call(call, END) => {
                    found.ends.push(call);
                    continue;
                }
                Some(_) => return None,
                None => {}
            }
            let predecessors = end.block().predecessors();
            if predecessors.is_empty() {
                return None;
            }
            for before in predecessors {
                let last = before.terminator();
                let reduce = last_before(last, in_between).filter(|i| is_call(*i, REDUCE));
                if let Some(reduce) = reduce
                    && leads_without_combining(before, reduce, end.block())
                {
                    found.reductions.push(reduce);
                } else if last.opcode() == Opcode::LLVMBr && before.condition().is_none() {
                    if seen.insert(before) {
                        work.push(last);
                    }
                } else {
                    return None;
                }
            }
        }
        Some(found)
    }
}

/// Whether a load is made for one instruction only, as of the thread's number.
fn serves_only(load: Value, instruction: Value) -> bool {
    let users = load.users();
    let serves = |user: &Value| {
        *user == instruction || user.opcode() == Opcode::LLVMLoad && serves_only(*user, instruction)
    };
    !load.is_volatile() && !users.is_empty() && users.iter().all(serves)
}

/// Whether a block goes to another one if its reduction has returned what stands for no combination, and only then.
fn leads_without_combining(from: Block, reduce: Value, to: Block) -> bool {
    let Some((default, cases)) = from.switch() else { return false };
    from.terminator().operand(0) == reduce
        && default == to
        && COMBINES.iter().all(|result| cases.iter().any(|(value, _)| value == result))
        && cases.iter().all(|(_, block)| *block != to)
}

/// Whether a function is the text of parallel regions and nothing else.
fn is_only_forked(function: Value) -> bool {
    let users = function.users();
    let forks = |user: &Value| {
        let called = user.is_instruction() && user.opcode() == Opcode::LLVMCall;
        let argument = called.then(|| user.called_function()).flatten().and_then(|f| match &*f.name() {
            name @ ("__kmpc_fork_call" | "__kmpc_fork_call_if") => microtask_argument(name),
            _ => None,
        });
        argument.is_some_and(|(index, _)| user.operand(index) == function)
    };
    !function.is_declaration() && !users.is_empty() && users.iter().all(forks)
}

/// Takes the barrier out of the one reduction of a region, if the region ends behind it; true if it does. One thread combines in it, and not by atomic
/// operations: these have no end without a barrier.
fn leave_to_end_of_region(module: Module, region: Value) -> bool {
    let all = |name: &str| region.function_instructions().filter(|i| is_call(*i, name)).collect::<Vec<_>>();
    let returns: Vec<Value> =
        region.function_instructions().filter(|i| i.opcode() == Opcode::LLVMRet).collect();
    let (&[reduce], &[end], &[last]) = (&all(REDUCE)[..], &all(END)[..], &returns[..]) else { return false };
    let Some(ways) = Ways::to(last) else { return false };
    if ways.reductions != [reduce] || ways.ends != [end] {
        return false;
    }
    for call in [reduce, end] {
        let name = call.callee().name() + WITHOUT_BARRIER;
        let with_barrier = call.callee();
        let without = module.function(&name).unwrap_or_else(|| {
            let function = module.add_function(&name, with_barrier.value_type());
            function.copy_attributes(with_barrier, &["convergent", "nounwind"]);
            function
        });
        call.set_callee(without);
    }
    true
}

/// Takes out a barrier, and what was there for it.
fn erase(barrier: Value) {
    let mut needless: Vec<Value> = barrier.args();
    barrier.erase();
    while let Some(value) = needless.pop() {
        let is_load = value.is_instruction() && value.opcode() == Opcode::LLVMLoad && !value.is_volatile();
        if is_load && value.users().is_empty() {
            needless.push(value.operand(0));
            value.erase();
        }
    }
}
