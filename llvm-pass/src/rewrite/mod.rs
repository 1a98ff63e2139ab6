//! Applies plans. Rewrites that need no plan, which run before facts exist or on the whole module, hold their own conditions and soundness arguments.

pub mod addresses;
pub mod assembly;
pub mod atomic;
pub mod barriers;
pub mod calls;
pub mod calls_note;
pub mod cas_loops;
pub mod check;
pub mod clone;
pub mod collapse;
pub mod entries;
pub mod flushes;
pub mod footprint;
pub mod guards;
pub mod loops;
pub mod masked;
pub mod module;
pub mod offsets;
pub mod private_copies;
pub mod reduction_barriers;
pub mod resolvers;
pub mod single;
pub mod stack;
pub mod statics;
pub mod strip;
pub mod target;
pub mod text_note;
pub mod thread_locals;
pub mod verify;
pub mod version;
pub mod walk;
pub mod weakest_order;
pub mod widen;

use crate::analysis::Function;
use crate::analysis::facts::{Kind, What};
use crate::llvm::{Analyses, Manager, Module, Opcode, Value};
use crate::plan::{Decision, FunctionPlan};

use check::Emitter;

/// Applies a function's plan. The analyses are those that its facts were made from, and are gone afterwards. `join_flushes`: atomic operations and the flushes
/// behind them do once what both would do; returns the number of these.
pub fn function(
    module: Module,
    manager: Manager,
    emitter: &Emitter<'_>,
    analyses: Analyses,
    facts: &Function,
    plan: &FunctionPlan,
    join_flushes: bool,
) -> u64 {
    guards::restate(manager, facts, plan);
    gather_allocas(facts.value);
    forget_invariance(facts, plan);
    count_accesses(emitter, facts);
    let mut groups = loops::expand(emitter, &analyses, facts, plan);
    let tests = version::expand(emitter, &analyses, facts, plan);
    let footprints = footprint::expand(emitter, &analyses, facts, plan);
    let copies = version::copy(module, emitter, &analyses, plan, facts, &tests, |old, new| {
        groups.iter_mut().for_each(|g| g.moved(old, new));
    });
    let singles = single::copy(module, emitter, &analyses, facts, (plan, &footprints), &mut groups);
    drop(analyses);
    for group in &groups {
        loops::emit(emitter, group);
    }
    let site = |number: u32| singles.of(facts.sites[number as usize]);
    for check in &plan.checks {
        let before = match check.version {
            Some(over) => singles.of(copies.of(over, facts.sites[check.site as usize])),
            None => site(check.site),
        };
        emitter.builder.before(before).locate_as(before);
        let delta = emitter.builder.context.i64().constant(check.delta as u64);
        let pointer = emitter.builder.offset(before.operand(check.operand), delta);
        let with_value = match check.kind {
            Kind::Load => Emitter::load_value,
            Kind::Store => Emitter::store_value,
        };
        if check.value && with_value(emitter, before, pointer, check.length, check.test) {
            continue;
        }
        emitter.fixed(before, pointer, check.length, check.kind, check.test);
    }
    for (number, masked) in &plan.masked {
        masked::emit(module, emitter, site(*number), masked);
    }
    for (number, range) in &plan.ranges {
        calls::emit(module, emitter, site(*number), range);
    }
    for (number, format) in &plan.formats {
        calls::format(module, emitter, site(*number), format);
    }
    let mut joined = 0;
    for number in &plan.atomics {
        let instruction = facts.sites[*number as usize];
        let copy = singles.known(instruction);
        let kept = copy.is_some() && atomic::is_kept_in_one_process(module, instruction);
        for atomic in copy.into_iter().chain((!kept).then_some(instruction)) {
            if join_flushes {
                joined += flushes::join(atomic);
            }
            atomic::emit(module, emitter, atomic);
        }
    }
    stack::apply(module, emitter.builder, facts.value, &plan.stack, &facts.sites);
    verify::begin(emitter, facts.value);
    manager.invalidate(facts.value);
    joined
}

/// A miss changes memory that the program only reads. Promises that nobody writes it (a `readonly noalias` parameter,
/// an invariant load) would let later passes move a load above its check.
fn forget_invariance(facts: &Function, plan: &FunctionPlan) {
    for index in 0..facts.value.param_count() {
        for name in ["readonly", "readnone"] {
            facts.value.remove_param_attribute(index, name);
        }
    }
    for ((site, _), (kind, _, decision)) in &plan.decisions {
        let load = facts.sites[*site as usize];
        if *kind == Kind::Load && !matches!(decision, Decision::Private(_)) {
            for metadata in ["invariant.load", "invariant.group"] {
                load.remove_metadata(metadata);
            }
        }
    }
}

/// Counts what each block is going to access, where the program is built to count.
fn count_accesses(emitter: &Emitter<'_>, facts: &Function) {
    for block in &facts.facts.blocks {
        let accesses = block.events.iter().filter_map(|e| match &e.what {
            What::Access(access) if !access.of_callee => Some((e.site, access.private.is_none())),
            What::Masked(masked) => Some((e.site, masked.private.is_none())),
            _ => None,
        });
        let accesses: Vec<(u32, bool)> = accesses.collect();
        if let Some((first, _)) = accesses.first() {
            let shared = accesses.iter().filter(|(_, shared)| *shared).count();
            emitter.counted(facts.sites[*first as usize], accesses.len() as u64, shared as u64, 0);
        }
    }
}

/// Allocas are static only in the entry block, which checks are about to split: they go to its top.
fn gather_allocas(function: Value) {
    let entry = function.entry_block().instructions();
    let Some(first) = entry.iter().position(|i| i.opcode() != Opcode::LLVMAlloca) else { return };
    for &instruction in &entry[first..] {
        if instruction.opcode() == Opcode::LLVMAlloca && instruction.is_static_alloca() {
            instruction.move_before(entry[first]);
        }
    }
}
