//! Makes the two versions of nests: for jobs of one process, or for when all that a nest touches is valid ([`super::footprint`]), and for all other cases.
//!
//! ```text
//! preheader:   %single = load i32, ptr @__dsm_single_process
//!              br (%single != 0), label %loop, label %copy
//! ```
//! The copy has all checks, those in front of the nest included. It is made before any check of a site is emitted: these go in front of the instruction's
//! copy. Loops in the nest may have two versions already ([`super::version`]): the nest and its copy have both, and only the copy has their checks.

use dsm_abi::layout::SINGLE_PROCESS;

use crate::analysis::Function;
use crate::fault::{self, Fault};
use crate::llvm::{Analyses, IntPredicate, LoopCopy, Module, Value};
use crate::plan::FunctionPlan;

use super::check::Emitter;
use super::footprint;
use super::loops::Group;

/// The copies of a function's nests.
#[derive(Default)]
pub struct Copies(Vec<LoopCopy>);

impl Copies {
    /// The instruction that checks are put in front of: the copy of one in a nest, or itself.
    pub fn of(&self, instruction: Value) -> Value {
        self.known(instruction).unwrap_or(instruction)
    }

    /// The copy of an instruction of a nest.
    pub fn known(&self, instruction: Value) -> Option<Value> {
        self.0.iter().find_map(|copy| copy.of(instruction))
    }
}

/// Copies the nests, and moves the checks of loops to the copies.
pub fn copy(
    module: Module,
    emitter: &Emitter<'_>,
    analyses: &Analyses,
    facts: &Function,
    (plan, footprints): (&FunctionPlan, &[footprint::Test]),
    groups: &mut [Group],
) -> Copies {
    let mut copies = Copies::default();
    for nest in plan.copied_nests() {
        let handle = facts.loops[nest];
        let before = handle.preheader().expect("nests with two versions have one").terminator();
        let single = plan.single.contains(&nest).then(|| needs_no_checks(module, emitter, before));
        let test = footprints.iter().find(|test| test.nest == nest);
        let valid = test.map(|test| footprint::holds(emitter, analyses, test, before, single));
        let condition = valid.or(single).expect("a nest is copied for one of two reasons");
        let (copy, branch) = analyses.version(handle, condition, false);
        let [_, preheader] = branch.block().successors()[..] else { unreachable!("the branch has two ways") };
        groups.iter_mut().for_each(|g| g.moved(before, preheader.terminator()));
        copies.0.push(copy);
    }
    groups.iter_mut().for_each(|g| g.replace(|value| copies.of(value)));
    copies
}

/// Whether the version without checks is for this job.
pub fn needs_no_checks(module: Module, emitter: &Emitter<'_>, before: Value) -> Value {
    match fault::is(Fault::SingleAlways) {
        true => emitter.builder.context.int(1).constant(1),
        false => is_single(module, emitter, before),
    }
}

/// True in a job of one process.
pub fn is_single(module: Module, emitter: &Emitter<'_>, before: Value) -> Value {
    let builder = emitter.builder;
    let i32_type = builder.context.i32();
    let single = module.global(SINGLE_PROCESS).unwrap_or_else(|| module.add_global(SINGLE_PROCESS, i32_type));
    builder.before(before).locate_as(before);
    let single = builder.load(i32_type, single, 4);
    builder.icmp(IntPredicate::LLVMIntNE, single, i32_type.constant(0))
}
