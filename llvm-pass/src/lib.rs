//! The pass plugin: turns loads and stores into cache-state checks.
//!
//! LLVM loads the library, asks `llvmGetPassPluginInfo` for its description, and runs the module pass "dsm" at the
//! early end of its optimisation pipeline (at `-O0` too). [`analysis`] makes facts, [`plan`] decides, [`rewrite`]
//! edits, function by function; what concerns the module as a whole (thread-local variables, library calls, globals) is edited before and behind that. [`llvm`] holds all unsafe code.

pub mod analysis;
pub mod fault;
pub mod llvm;
pub mod options;
pub mod plan;
pub mod remarks;
pub mod rewrite;

use std::io::Write as _;

use analysis::{Collector, ModuleFacts};
use llvm::{Builder, Manager, Module, RemarkKind, Severity};
use options::{Options, WeakestOrder};
use plan::interprocedural::{self, Printed};
use plan::{Counters, Note};
use rewrite::calls_note::UnknownCalls;
use rewrite::check::Emitter;
use rewrite::entries::Entries;

/// Said where the code does not verify after the rewrite.
const INVALID: &str = dsm_abi::options::INVALID_CODE;

/// Runs the pass; true if the module changed.
fn run(module: Module, manager: Manager) -> bool {
    let options = match Options::from_env() {
        Ok(options) => options,
        Err(error) => {
            module.diagnose(Severity::Error, &error.to_string());
            return false;
        }
    };
    fault::seed(options.fault);
    // A second run would check the checks.
    if module.global(dsm_abi::layout::LINE_SHIFT_SYMBOL).is_some() {
        return false;
    }
    let target = module.target();
    if !(target.starts_with("x86_64-") && target.contains("-linux")) || module.pointer_size() != 8 {
        let text = format!("dsm-cc compiles for Linux on x86-64; the target is {target}");
        module.diagnose(Severity::Error, &text);
        return false;
    }
    if let Err(error) = analysis::libc::stated::read(module, &options.effects) {
        module.diagnose(Severity::Error, &error.to_string());
        return false;
    }
    let openmp = analysis::directives::describe(module);
    let mut records = Records { totals: prepare(module, manager, &options), ..Records::default() };
    let declared = analysis::annotated::variables(module);
    let candidates = module.globals().into_iter().filter(|g| analysis::thread_locals::may_be_shared(*g));
    candidates.for_each(llvm::Value::thread_local_by_intrinsic);
    let thread_locals = analysis::thread_locals::find(module, &declared);
    let thread_locals = rewrite::thread_locals::mark(module, &Builder::new(module), thread_locals);
    let facts = module_facts(module, manager, &options, &mut records.totals, &mut records.printed);
    let synchronising = module.functions().into_iter().filter(|f| facts.syncs.function(*f));
    synchronising.for_each(rewrite::clone::forget_effects);
    let builder = Builder::new(module);
    let entries = Entries::new(module);
    let emitter = Emitter {
        builder: &builder,
        entries: &entries,
        line_shift: options.line_shift,
        count: options.count,
        verify: options.verify,
    };
    let combinations = analysis::reduction::functions_without_effects(module);
    let copyprivate = analysis::copyprivate::sizes(module);
    instrument(module, manager, &facts, &emitter, &options, &mut records);
    rewrite::thread_locals::expand(module, &emitter, &thread_locals);
    if options.enabled("reduction") {
        records.totals.reductions =
            rewrite::private_copies::of_reductions(module, &builder, &entries, &combinations);
    }
    if options.enabled("copyprivate") {
        records.totals.copyprivate =
            rewrite::private_copies::of_copyprivate(module, &builder, &entries, &copyprivate);
    }
    rewrite::module::streams(module, &builder, &entries);
    rewrite::module::own_functions(module);
    rewrite::module::own_allocator(module);
    rewrite::module::library(module, &builder, &entries);
    rewrite::module::statements(module);
    rewrite::module::main_function(module, &builder);
    rewrite::module::constructors(module);
    rewrite::module::threadprivates(module);
    rewrite::module::private_pointers(module);
    rewrite::module::globals(module, &facts.privacy.declared);
    rewrite::module::features(module, &options);
    rewrite::module::note(module, &options, &records.unknown, openmp);
    output(module, &options, &records.printed, &records.totals);
    if !options.places && !options.verify {
        // The driver has asked for them on the pass's behalf. Whatever follows takes longer with them.
        module.forget_places();
    }
    true
}

/// Checks names, and makes the edits that need no facts about accesses, and come before these.
fn prepare(module: Module, manager: Manager, options: &Options) -> Counters {
    analysis::names::check(module);
    rewrite::resolvers::separate(module);
    rewrite::addresses::take_checked(module, &Builder::new(module));
    rewrite::assembly::atomics(module);
    let strengthened = match options.weakest_order {
        WeakestOrder::Relaxed => 0,
        WeakestOrder::AcqRel => rewrite::weakest_order::strengthen(module),
    };
    let statics = if options.enabled("statics") { rewrite::statics::loads(module, manager) } else { 0 };
    let cas = if options.enabled("cas") { rewrite::cas_loops::rewrite(module, manager) } else { 0 };
    rewrite::offsets::allow_negative(module, manager);
    let mut totals = Counters {
        invariant: analysis::invariant::taken_out(),
        widened: rewrite::widen::taken(),
        barriers: rewrite::reduction_barriers::taken(),
        strengthened,
        statics,
        cas,
        walks: if rewrite::walk::enabled(options) { rewrite::walk::integers(module, manager) } else { 0 },
        collapsed: if rewrite::collapse::enabled(options) {
            rewrite::collapse::nests(module, manager)
        } else {
            0
        },
        ..Counters::default()
    };
    if options.enabled("flags") {
        let flags = analysis::flags::find(module, manager);
        totals.flags = (flags.loads.len() + flags.stores.len()) as u64;
        rewrite::module::order_flags(&flags);
    }
    if options.enabled("chunks") {
        let loops = analysis::chunks::find(module, manager);
        totals.chunks = loops.len() as u64;
        rewrite::module::any_thread_has_any_chunk(module, &loops);
    }
    totals
}

/// What was printed, counted and left to the link on the way.
#[derive(Default)]
struct Records {
    printed: String,
    totals: Counters,
    unknown: UnknownCalls,
}

/// Checks the accesses of all functions: facts, plan and edits, one function after the other.
fn instrument(
    module: Module,
    manager: Manager,
    facts: &ModuleFacts,
    emitter: &Emitter<'_>,
    options: &Options,
    records: &mut Records,
) {
    let Records { printed, totals, unknown } = records;
    let grounds = analysis::linear::grounds(module, options);
    for function in module.functions().into_iter().filter(|f| analysis::is_instrumented(*f)) {
        let analyses = manager.analyses(function);
        let mut found =
            Collector::new(module, facts, &analyses, options.line_shift, grounds).function(function);
        fault::facts(&mut found.facts);
        let mut plan = plan::plan(&found.facts, options);
        fault::plan(&mut plan);
        plan.count(&found.facts, totals);
        explain(&found, &plan, options, printed);
        report(&found, &plan, options, unknown);
        if options.verify {
            rewrite::verify::state(&found, &plan);
        }
        if !plan.is_empty() || options.count || options.verify {
            let join_flushes = options.enabled("flush");
            totals.flushes +=
                rewrite::function(module, manager, emitter, analyses, &found, &plan, join_flushes);
            if options.verify {
                rewrite::verify::calls_that_do_not_synchronise(module, emitter, function, &facts.syncs);
            }
            fault::code(function, &plan);
            if !function.is_valid() {
                function.diagnose(None, Severity::Error, INVALID);
            }
        }
    }
}

/// Asserts that accesses are allowed, where the module is compiled for that; true if it changed.
fn verify(module: Module) -> bool {
    // Wrong options were reported when the pass ran.
    match Options::from_env() {
        Ok(options) if options.verify => {
            let changed = rewrite::verify::assertions(module, &options);
            if !options.places {
                module.forget_places();
            }
            changed || !options.places
        }
        _ => false,
    }
}

/// Facts about the module, after what is copied is copied.
fn module_facts(
    module: Module,
    manager: Manager,
    options: &Options,
    totals: &mut Counters,
    printed: &mut String,
) -> ModuleFacts {
    let grounds = analysis::linear::grounds(module, options);
    let functions = module.functions().into_iter().filter(|f| analysis::is_instrumented(*f));
    totals.linear = functions.map(|f| analysis::linear::assume(manager, f, grounds)).sum();
    let mut facts = ModuleFacts::new(module);
    if !options.enabled("callers") && !options.enabled("clone") {
        return facts;
    }
    let mut calls = analysis::graph::collect(module, manager, &facts, options.line_bytes());
    let clones = interprocedural::clones(&calls.graph, options);
    printed.push_str(&Printed { graph: &calls.graph, clones: &clones, given: &[] }.to_string());
    if !clones.is_empty() {
        totals.clones = clones.len() as u64;
        for function in rewrite::clone::copies(manager, &calls, &clones) {
            analysis::linear::assume(manager, function, grounds);
        }
        facts = ModuleFacts::new(module);
        calls = analysis::graph::collect(module, manager, &facts, options.line_bytes());
    }
    let given = interprocedural::given(&calls.graph, options);
    printed.push_str(&Printed { graph: &calls.graph, clones: &[], given: &given }.to_string());
    totals.given = given.len() as u64;
    for interprocedural::Given { function, extents } in given {
        let function = calls.functions[function];
        rewrite::clone::forget_effects(function);
        function.entry_block().first_insertion_point().remark(
            RemarkKind::Passed,
            "CheckedByCallers",
            &[("", "callers check for this function".to_owned())],
        );
        facts.given.insert(function, extents);
    }
    facts
}

/// What became of the accesses, printed or as remarks, where that was asked for.
fn explain(found: &analysis::Function, plan: &plan::FunctionPlan, options: &Options, printed: &mut String) {
    let remarks_wanted = found.value.remarks_wanted();
    if options.plan.is_none() && !remarks_wanted {
        return;
    }
    let names = remarks::names(found);
    if options.plan.is_some() {
        let facts = &found.facts;
        printed.push_str(&plan::print::Printed { plan, facts, names: &names }.to_string());
    }
    if remarks_wanted {
        remarks::emit(found, plan, &names);
    }
}

/// Warnings always, remarks on request. Whether a function that is not known here has checks is for the link to say.
fn report(
    found: &analysis::Function,
    plan: &plan::FunctionPlan,
    options: &Options,
    unknown: &mut UnknownCalls,
) {
    for (site, note, text) in &plan.notes {
        let instruction = found.sites[*site as usize];
        if *note == Note::Unsupported {
            found.value.diagnose(Some(instruction), Severity::Warning, text);
            continue;
        }
        unknown.add(text, instruction.place());
        let text = format!(
            "{text} gets a pointer to memory that may be shared; if it is not compiled with dsm-cc, its accesses are not checked"
        );
        match options.remarks {
            true => found.value.diagnose(Some(instruction), Severity::Warning, &text),
            false => instruction.remark(RemarkKind::Missed, "UnknownCall", &[("", text)]),
        }
    }
}

fn output(module: Module, options: &Options, printed: &str, totals: &Counters) {
    match options.plan.as_deref() {
        None => {}
        Some("-") => eprint!("{printed}"),
        Some(path) => {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            if let Err(error) = file.and_then(|mut f| f.write_all(printed.as_bytes())) {
                module.diagnose(Severity::Error, &format!("cannot write the plan to {path}: {error}"));
            }
        }
    }
    if options.stats {
        eprintln!("dsm: {}: {totals}", module.name());
    }
}
