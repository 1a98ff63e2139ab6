//! The call graph, with what each call of a function is certain to touch through its parameters.
//!
//! What is certain: loads and stores of known size at constant distances from a parameter, in blocks that all paths through the function lead
//! through, and in loops that run a constant number of times. (A call before them that does not return makes this less than certain; nothing
//! relies on it but that addresses are worth a check.)

use std::collections::HashMap;

use crate::llvm::{Analyses, Block, Expr, Linkage, Loop, Manager, Module, Opcode, Ordering, Value};

use super::ModuleFacts;
use super::callee::is_exact;
use super::facts::{Argument, CallEdge, Extent, FunctionId, FunctionNode, Graph, Kind};

/// Largest function that is looked at, blocks.
const MAX_BLOCKS: usize = 64;

/// The graph with the handles that the numbers in it stand for.
pub struct Calls {
    /// Plain facts.
    pub graph: Graph,
    /// Functions by [`FunctionId`].
    pub functions: Vec<Value>,
    /// Calls by `CallId`.
    pub calls: Vec<Value>,
}

/// What callers check, by function.
pub type Given = HashMap<Value, Vec<Extent>>;

/// Collects the graph.
pub fn collect(module: Module, manager: Manager, facts: &ModuleFacts, line_bytes: u64) -> Calls {
    let functions: Vec<Value> =
        module.functions().into_iter().filter(|f| super::is_instrumented(*f)).collect();
    let ids: HashMap<Value, FunctionId> = functions.iter().copied().zip(0..).collect();
    let mut out = Calls { graph: Graph::default(), functions, calls: vec![] };
    for &function in &out.functions {
        let node = node(module, manager, facts, function, line_bytes);
        out.graph.functions.push(node);
    }
    let mut known: HashMap<Value, (Analyses, Vec<Block>)> = HashMap::new();
    for callee in 0..out.functions.len() {
        let function = out.functions[callee];
        if out.graph.functions[callee].through.is_empty() || out.graph.functions[callee].syncs {
            continue;
        }
        for call in function.users().into_iter().filter(|u| is_direct(*u, function)) {
            let caller = call.parent_function();
            let Some(&caller_id) = ids.get(&caller) else { continue };
            let (analyses, always) =
                known.entry(caller).or_insert_with(|| (manager.analyses(caller), always(caller)));
            let arguments = call.args().into_iter();
            let arguments = arguments.map(|a| argument(module, facts, analyses, call, a)).collect();
            out.graph.calls.push(CallEdge {
                caller: caller_id,
                callee,
                always: always.contains(&call.block()),
                in_loop: analyses.loop_of(call.block()).is_some(),
                arguments,
            });
            out.calls.push(call);
        }
    }
    out
}

fn node(
    module: Module,
    manager: Manager,
    facts: &ModuleFacts,
    function: Value,
    line_bytes: u64,
) -> FunctionNode {
    let mut out = FunctionNode {
        name: function.name(),
        local: matches!(function.linkage(), Linkage::LLVMInternalLinkage | Linkage::LLVMPrivateLinkage)
            && function
                .users()
                .into_iter()
                .all(|u| is_direct(u, function) && super::is_instrumented(u.parent_function())),
        syncs: facts.syncs.function(function),
        copy_cost: if is_exact(function) { function.function_copy_cost() } else { 0 },
        ..FunctionNode::default()
    };
    // Nothing comes of others.
    if out.syncs || !function.users().into_iter().any(|u| is_direct(u, function)) {
        return out;
    }
    let parameters: HashMap<Value, u32> = (0..function.param_count())
        .filter(|&i| function.param(i).ty().is_plain_pointer())
        .filter(|&i| function.param_type_attribute(i, "byval").is_none())
        .map(|i| (function.param(i), i))
        .collect();
    if parameters.is_empty() {
        return out;
    }
    let analyses = manager.analyses(function);
    let keys: HashMap<Expr, u32> =
        parameters.iter().filter_map(|(&p, &i)| Some((analyses.address_key(p)?.0, i))).collect();
    out.through = vec![0; function.param_count() as usize];
    let always = always(function);
    for block in function.blocks() {
        for instruction in block.instructions() {
            for (kind, pointer, bytes) in accesses(module, instruction) {
                if let Some(&parameter) = parameters.get(&super::pointer::strip(pointer)) {
                    out.through[parameter as usize] += 1;
                }
                let touched = bytes.and_then(|bytes| touched(&analyses, pointer, bytes, block, line_bytes));
                if let Some((key, lo, hi, from)) = touched
                    && let Some(&parameter) = keys.get(&key)
                    && always.contains(&from)
                {
                    out.touches.push(Extent { parameter, kind, lo, hi });
                }
            }
        }
    }
    out
}

/// What an access touches while the loops around it run: key of the address, first byte, first byte behind, and the block that leads into
/// the outermost loop. `None` unless each of them runs a constant number of times, and leaves no line out.
fn touched(
    analyses: &Analyses,
    pointer: Value,
    bytes: i64,
    mut block: Block,
    line_bytes: u64,
) -> Option<(Expr, i64, i64, Block)> {
    let (mut lo, mut hi) = (0i64, bytes);
    let mut start = analyses.expr(pointer)?;
    let mut at = analyses.loop_of(block);
    while let Some(l) = at {
        let count = constant_count(analyses, l, block)?;
        if !analyses.invariant(start, l) {
            let (first, step) = analyses.recurrence(start, l)?;
            let step = analyses.constant(step)?;
            if step.unsigned_abs() >= hi.abs_diff(lo).checked_add(line_bytes)? {
                return None;
            }
            let way = step.checked_mul(count)?;
            (lo, hi) = (lo.checked_add(way.min(0))?, hi.checked_add(way.max(0))?);
            start = first;
        }
        block = l.preheader()?;
        at = l.parent();
    }
    let (key, offset) = analyses.split_constant(start);
    Some((key, lo.checked_add(offset)?, hi.checked_add(offset)?, block))
}

/// How often a loop's back edge is taken, if that is constant and each iteration executes the block.
fn constant_count(analyses: &Analyses, l: Loop, block: Block) -> Option<i64> {
    l.latch().filter(|b| l.exiting() == Some(*b) && analyses.dominates(block, *b))?;
    analyses.constant(analyses.zext64(analyses.backedge_count(l)?)?).filter(|count| *count >= 0)
}

/// Loads and stores of an instruction, and their sizes.
fn accesses(module: Module, instruction: Value) -> Vec<(Kind, Value, Option<i64>)> {
    let plain = |i: Value| i.ordering() == Ordering::LLVMAtomicOrderingNotAtomic;
    let size = |ty: crate::llvm::Type| {
        ty.is_fixed_size().then(|| i64::try_from(module.store_size(ty)).ok()).flatten()
    };
    match instruction.opcode() {
        Opcode::LLVMLoad if plain(instruction) => {
            vec![(Kind::Load, instruction.operand(0), size(instruction.ty()))]
        }
        Opcode::LLVMStore if plain(instruction) => {
            vec![(Kind::Store, instruction.operand(1), size(instruction.operand(0).ty()))]
        }
        Opcode::LLVMCall if instruction.is_intrinsic_call() => {
            let name = instruction.callee().name();
            let copies = super::access::is_copy(&name);
            if !copies && !name.starts_with("llvm.memset") {
                return vec![];
            }
            let bytes = instruction.operand(2).int().filter(|b| *b > 0);
            let from = copies.then(|| (Kind::Load, instruction.operand(1), bytes));
            from.into_iter().chain([(Kind::Store, instruction.operand(0), bytes)]).collect()
        }
        _ => vec![],
    }
}

fn is_direct(user: Value, function: Value) -> bool {
    user.is_call()
        && user.callee() == function
        && user.arg_count() == function.param_count()
        && user.call_type() == function.value_type()
        && !user.args().contains(&function)
}

fn argument(module: Module, facts: &ModuleFacts, analyses: &Analyses, call: Value, value: Value) -> Argument {
    if !value.ty().is_plain_pointer() {
        return Argument::Other;
    }
    let caller = call.parent_function();
    if facts.privacy.in_function(caller, value).is_some() {
        return Argument::Private;
    }
    let (base, offset) = value.constant_offset(module);
    if let Some(index) = (0..caller.param_count()).find(|&i| caller.param(i) == base) {
        return Argument::Parameter { index, offset };
    }
    let walks = analyses.loop_of(call.block()).zip(analyses.expr(value)).is_some_and(|(l, address)| {
        analyses.invariant(address, l) || analyses.recurrence(address, l).is_some()
    });
    if walks { Argument::Walks } else { Argument::Other }
}

/// Blocks that all paths from the entry to a return lead through; few of large functions.
fn always(function: Value) -> Vec<Block> {
    let blocks = function.blocks();
    let entry = function.entry_block();
    if blocks.len() > MAX_BLOCKS {
        return vec![entry];
    }
    let around = |avoided: Block| {
        let mut seen = vec![entry];
        let mut at = 0;
        while let Some(&block) = seen.get(at) {
            at += 1;
            let next = block.successors();
            if next.is_empty() {
                return true;
            }
            for successor in next.into_iter().filter(|s| *s != avoided) {
                if !seen.contains(&successor) {
                    seen.push(successor);
                }
            }
        }
        false
    };
    blocks.into_iter().filter(|&b| b == entry || !around(b)).collect()
}
