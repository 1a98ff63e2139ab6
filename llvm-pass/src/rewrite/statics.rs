//! Guard variables of static objects in functions (Itanium C++ ABI, 3.3.3), which the code in front of each use loads with acquire order, and which never become 0 again: a thread that has found one initialised
//! looks at a variable of its own from then on.
//!
//! ```text
//! head:  %known = load i8, @__dsm_initialised.x    thread-local, at first 0
//!        br (%known == 0), %look, %tail, !prof rare
//! look:  %guard = load atomic i8, @x acquire       a call, as all atomics
//!        store zext (%guard != 0), @__dsm_initialised.x
//!        br %tail
//! tail:  phi [%known, %head], [%guard, %look]
//! ```
//! The process that has acquired what the initialisation wrote has done so for good. Before there are facts.

use crate::fault::{self, Fault};
use crate::llvm::{Builder, IntPredicate, Linkage, Manager, Module, Opcode, Ordering, TypeKind, Value};

/// Mangled names of guard variables begin with this.
const GUARD: &str = "_ZGV";
/// Names of what belongs to a guard begin with this, and end with the guard's.
const KNOWN: &str = "__dsm_initialised.";

/// Rewrites the loads of a module's functions; how many.
pub fn loads(module: Module, manager: Manager) -> u64 {
    let builder = Builder::new(module);
    let guards = module.globals().into_iter().filter(|g| g.name().starts_with(GUARD) && !g.is_thread_local());
    let mut count = 0;
    for guard in guards {
        let loads: Vec<Value> = guard.users().into_iter().filter(is_look).collect();
        count += loads.len() as u64;
        let mut known = None;
        for load in loads {
            let known = *known.get_or_insert_with(|| declare(module, guard));
            rewrite(module, &builder, load, known);
            manager.invalidate(load.parent_function());
        }
    }
    count
}

/// The load of a guard's first byte in an instrumented function.
fn is_look(user: &Value) -> bool {
    user.is_instruction()
        && user.opcode() == Opcode::LLVMLoad
        && user.ordering() == Ordering::LLVMAtomicOrderingAcquire
        && user.ty().kind() == TypeKind::LLVMIntegerTypeKind
        && user.ty().int_width() == 8
        && crate::analysis::is_instrumented(user.parent_function())
}

fn declare(module: Module, guard: Value) -> Value {
    let i8_type = module.context().i8();
    let known = module.add_global(&format!("{KNOWN}{}", guard.name()), i8_type);
    known.set_initializer(i8_type.constant(0));
    known.set_linkage(Linkage::LLVMInternalLinkage);
    known.set_thread_local();
    known
}

fn rewrite(module: Module, builder: &Builder, load: Value, known: Value) {
    let head = load.block();
    let i8_type = builder.context.i8();
    let look = load.split_before();
    let tail = load.next().expect("a load ends no block").split_before();
    let old = head.terminator();
    builder.before(old).locate_as(load);
    let ptr = builder.context.ptr();
    let place = builder.intrinsic(module, "llvm.threadlocal.address", &[ptr], &[known]);
    let is_known = builder.load(i8_type, place, 1);
    let is_unknown = builder.icmp(IntPredicate::LLVMIntEQ, is_known, i8_type.constant(0));
    builder.br_rare(is_unknown, look, tail);
    old.erase();
    builder.before(tail.first_insertion_point()).locate_as(load);
    let guard = builder.phi(i8_type, &[(is_known, head), (builder.poison(i8_type), look)]);
    load.replace_uses(guard);
    guard.set_operand(1, load);
    builder.before(look.terminator()).locate_as(load);
    let is_done = builder.icmp(IntPredicate::LLVMIntNE, load, i8_type.constant(0));
    let is_done = match fault::is(Fault::StaticsUnseen) {
        true => i8_type.constant(1),
        false => builder.int_cast(is_done, i8_type, false),
    };
    builder.store(is_done, place, 1);
}
