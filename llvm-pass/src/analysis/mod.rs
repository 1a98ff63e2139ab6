//! Read-only facts about a module: accesses and who can share them, sync points, loops, locals that escape.

pub mod access;
pub mod annotated;
pub mod assembly;
pub mod callee;
pub mod chunks;
pub mod copyprivate;
pub mod directives;
pub mod escape;
pub mod expected;
pub mod facts;
pub mod flags;
pub mod footprints;
pub mod format;
pub mod fortran;
pub mod graph;
pub mod guards;
pub mod invariant;
pub mod libc;
pub mod libstdcxx;
pub mod linear;
pub mod loops;
pub mod names;
pub mod openmp;
pub mod order;
pub mod overwrite;
pub mod pointer;
pub mod reduction;
pub mod spans;
pub mod sync;
pub mod thread_locals;

use std::collections::{HashMap, HashSet};

use crate::llvm::{Analyses, Block, Expr, Linkage, Loop, Module, Opcode, Value};

use facts::{
    BlockFacts, BlockId, Checked, Event, Extent, FunctionFacts, Key, Site, StackFacts, StackSlot, What,
};
use pointer::Privacy;
use sync::Syncs;

/// Facts about a function with the handles that the numbers in them stand for.
pub struct Function {
    /// The function.
    pub value: Value,
    /// Plain facts.
    pub facts: FunctionFacts,
    /// Instructions by [`Site`].
    pub sites: Vec<Value>,
    /// Blocks by [`BlockId`].
    pub blocks: Vec<Block>,
    /// Loops by `LoopId`.
    pub loops: Vec<Loop>,
    /// Expressions by `ExprId`.
    pub exprs: Vec<Expr>,
    /// Values by `ValueId`.
    pub values: Vec<Value>,
}

/// Module-wide facts.
pub struct ModuleFacts {
    /// Who shares what.
    pub privacy: Privacy,
    /// Who synchronises.
    pub syncs: Syncs,
    /// What callers check for functions.
    pub given: graph::Given,
}

/// Attribute of functions that run before the runtime does.
pub const UNCHECKED: &str = "dsm-unchecked";

/// True of the functions whose accesses are looked at.
pub fn is_instrumented(function: Value) -> bool {
    !function.is_declaration()
        && !function.has_function_text(UNCHECKED)
        && !function.has_function_attribute("naked")
        && function.linkage() != Linkage::LLVMAvailableExternallyLinkage
}

impl ModuleFacts {
    /// Analyses the module.
    pub fn new(module: Module) -> ModuleFacts {
        let mut privacy = Privacy::new(module);
        let definitions = module.functions().into_iter().filter(|f| !f.is_declaration());
        privacy.moved = definitions.flat_map(|f| dynamic_allocas_that_move(f, &privacy)).collect();
        privacy.solve_parameters(module);
        ModuleFacts { privacy, syncs: Syncs::solve(module), given: graph::Given::new() }
    }
}

/// The shared stack pointer takes over from `stacksave`/`stackrestore`, so all dynamic allocas move or none.
fn dynamic_allocas_that_move(function: Value, privacy: &Privacy) -> HashSet<Value> {
    let all = function.blocks().into_iter().flat_map(Block::instructions);
    let dynamic: HashSet<Value> =
        all.filter(|i| i.opcode() == Opcode::LLVMAlloca && !i.is_static_alloca()).collect();
    if dynamic.iter().any(|&a| privacy.escapes.local(a)) { dynamic } else { HashSet::new() }
}

/// Collects one function's facts.
pub struct Collector<'a> {
    module: Module,
    facts: &'a ModuleFacts,
    analyses: &'a Analyses,
    keys: HashMap<Expr, Key>,
    value_keys: HashMap<Value, Key>,
    next_key: Key,
    line_bytes: u64,
    grounds: linear::Grounds,
}

impl<'a> Collector<'a> {
    /// A collector for a function of the module.
    pub fn new(
        module: Module,
        facts: &'a ModuleFacts,
        analyses: &'a Analyses,
        line_shift: u32,
        grounds: linear::Grounds,
    ) -> Self {
        Collector {
            module,
            facts,
            analyses,
            keys: HashMap::new(),
            value_keys: HashMap::new(),
            next_key: 0,
            line_bytes: 1 << line_shift,
            grounds,
        }
    }

    /// Facts about the function.
    pub fn function(&mut self, function: Value) -> Function {
        let mut out = Function {
            value: function,
            facts: FunctionFacts { name: function.name(), ..FunctionFacts::default() },
            sites: function.blocks().into_iter().flat_map(Block::instructions).collect(),
            blocks: reverse_postorder(function),
            loops: Vec::new(),
            exprs: Vec::new(),
            values: Vec::new(),
        };
        let numbers: HashMap<Value, Site> = out.sites.iter().copied().zip(0..).collect();
        self.blocks(&mut out, &numbers);
        loops::collect(self.analyses, self.module.context(), &mut out, self);
        guards::collect(self.analyses, &mut out, &numbers);
        out.facts.stack = self.stack(function, &numbers);
        out
    }

    fn blocks(&mut self, out: &mut Function, numbers: &HashMap<Value, Site>) {
        let ids: HashMap<Block, BlockId> = out.blocks.iter().copied().zip(0..).collect();
        let ModuleFacts { privacy, given, .. } = self.facts;
        let reader = access::Reader { module: self.module, function: out.value, privacy, given };
        out.facts.given = self.given(out.value);
        out.facts.blocks = vec![BlockFacts::default(); out.blocks.len()];
        for (id, &block) in out.blocks.iter().enumerate() {
            out.facts.blocks[id].name = block.name();
            for successor in block.successors() {
                let preds = &mut out.facts.blocks[ids[&successor]].preds;
                if !preds.contains(&id) {
                    preds.push(id);
                }
            }
            for instruction in block.instructions() {
                let site = numbers[&instruction];
                for (part, mut what) in (0..).zip(reader.events(instruction)) {
                    if let What::Access(access) = &mut what {
                        let (key, offset) = self.key(instruction.operand(access.operand));
                        (access.key, access.offset) = (key, offset.saturating_add(access.lead));
                        access.part = part;
                    }
                    if what != What::Ranges(vec![]) {
                        out.facts.blocks[id].events.push(Event { site, what });
                    }
                }
                if self.facts.syncs.instruction(instruction) {
                    out.facts.blocks[id].events.push(Event { site, what: What::Sync });
                }
            }
        }
    }

    /// What the function's callers have checked.
    fn given(&mut self, function: Value) -> Vec<Checked> {
        let extents = self.facts.given.get(&function).map_or(&[] as &[Extent], Vec::as_slice);
        let mut out = Vec::new();
        for &Extent { parameter, kind, lo, hi } in extents {
            let (key, offset) = self.key(function.param(parameter));
            out.push(Checked { key, kind, lo: lo.saturating_add(offset), hi: hi.saturating_add(offset) });
        }
        out
    }

    /// Key and offset of an address.
    pub fn key(&mut self, pointer: Value) -> (Key, i64) {
        match self.analyses.address_key(pointer) {
            Some((expr, offset)) => (self.expr_key(expr), offset),
            None => {
                let next = &mut self.next_key;
                let key = *self.value_keys.entry(pointer).or_insert_with(|| {
                    *next += 1;
                    *next
                });
                (key, 0)
            }
        }
    }

    /// Number of an expression without constant part.
    pub fn expr_key(&mut self, expr: Expr) -> Key {
        let next = &mut self.next_key;
        *self.keys.entry(expr).or_insert_with(|| {
            *next += 1;
            *next
        })
    }

    fn stack(&self, function: Value, numbers: &HashMap<Value, Site>) -> StackFacts {
        let mut out = StackFacts::default();
        let privacy = &self.facts.privacy;
        for instruction in function.blocks().into_iter().flat_map(Block::instructions) {
            let site = numbers[&instruction];
            match instruction.opcode() {
                Opcode::LLVMAlloca if instruction.is_swift_error() => {}
                Opcode::LLVMAlloca if !instruction.is_static_alloca() => {
                    out.dynamic.push((site, privacy.escapes.local(instruction)));
                }
                Opcode::LLVMAlloca if privacy.escapes.local(instruction) => {
                    let ty = instruction.allocated_type();
                    let count = instruction.operand(0).int().unwrap_or(1).max(0) as u64;
                    out.fixed.push(StackSlot {
                        site,
                        name: instruction.name(),
                        size: self.module.alloc_size(ty) * count,
                        align: u64::from(instruction.align().max(1)),
                    });
                }
                Opcode::LLVMLandingPad => out.reentries.push(site),
                Opcode::LLVMCall if instruction.is_intrinsic_call() => {
                    let name = instruction.callee().name();
                    if name.starts_with("llvm.stacksave") {
                        out.saves.push(site);
                    } else if name.starts_with("llvm.stackrestore") {
                        out.restores.push(site);
                    }
                }
                Opcode::LLVMCall if instruction.call_returns_twice() => out.reentries.push(site),
                _ => {}
            }
        }
        for index in 0..function.param_count() {
            if let Some(ty) = function.param_type_attribute(index, "byval")
                && privacy.escapes.parameter(function, index)
            {
                let align = function.param(index).pointer_align(self.module);
                out.byval.push((index, self.module.alloc_size(ty), align));
            }
        }
        out
    }

    /// The module.
    pub fn module(&self) -> Module {
        self.module
    }

    /// Bytes of a line.
    pub fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// What counters of loops can be relied on for.
    pub fn grounds(&self) -> linear::Grounds {
        self.grounds
    }
}

/// Reachable blocks, entry first.
fn reverse_postorder(function: Value) -> Vec<Block> {
    let entry = function.entry_block();
    let mut seen = HashSet::from([entry]);
    let mut stack = vec![(entry, entry.successors())];
    let mut out = Vec::new();
    while let Some((block, pending)) = stack.last_mut() {
        match pending.pop() {
            Some(next) => {
                if seen.insert(next) {
                    stack.push((next, next.successors()));
                }
            }
            None => {
                out.push(*block);
                stack.pop();
            }
        }
    }
    out.reverse();
    out
}
