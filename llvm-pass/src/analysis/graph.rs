//! The call graph, with what each call of a function is certain to touch through its parameters.
//!
//! What is certain: loads and stores of known size at constant distances from a parameter, in blocks that all paths through the function
//! lead through. (A call before them that does not return makes this less than certain; nothing relies on it but that addresses are worth
//! a check.)

use std::collections::HashMap;

use crate::llvm::{Analyses, Block, Linkage, Manager, Module, Opcode, Ordering, Value};

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
pub fn collect(module: Module, manager: Manager, facts: &ModuleFacts) -> Calls {
    let functions: Vec<Value> =
        module.functions().into_iter().filter(|f| super::is_instrumented(*f)).collect();
    let ids: HashMap<Value, FunctionId> = functions.iter().copied().zip(0..).collect();
    let mut out = Calls { graph: Graph::default(), functions, calls: vec![] };
    for &function in &out.functions {
        let node = node(module, facts, function);
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

fn node(module: Module, facts: &ModuleFacts, function: Value) -> FunctionNode {
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
        .filter(|&i| function.param_type_attribute(i, "byval").is_none())
        .map(|i| (function.param(i), i))
        .collect();
    out.through = vec![0; function.param_count() as usize];
    let always = always(function);
    for block in function.blocks() {
        let certain = always.contains(&block);
        for instruction in block.instructions() {
            for (kind, pointer, bytes) in accesses(module, instruction) {
                if let Some(&parameter) = parameters.get(&super::pointer::strip(pointer)) {
                    out.through[parameter as usize] += 1;
                }
                let (base, lo) = pointer.constant_offset(module);
                let end = bytes.and_then(|b| lo.checked_add(b));
                if let (Some(&parameter), Some(hi), true) = (parameters.get(&base), end, certain) {
                    out.touches.push(Extent { parameter, kind, lo, hi });
                }
            }
        }
    }
    out
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
