//! Edits of the module as a whole: globals, heap, `main`, constructors, note.

use std::collections::HashSet;

use dsm_abi::entries::libatomic;
use dsm_abi::entries::replaced::{Arguments, GROUPS, MEMORY};
use dsm_abi::fortran;
use dsm_abi::layout::{
    BSS_SECTION, CTOR_SECTION, DATA_SECTION, DTOR_SECTION, LARGE_BSS_SECTION, LARGE_DATA_SECTION,
    LINE_SHIFT_SYMBOL, MPROTECT_SYMBOL, OWN_ALLOCATOR_PREFIX, OWN_ALLOCATOR_SYMBOL, THREADPRIVATE_SECTION,
    USER_MAIN, USES_TASKS_SYMBOL,
};
use dsm_abi::note::{self, Checking};
use dsm_abi::schedule::ANY_THREAD;

use crate::analysis::annotated;
use crate::analysis::callee::replaced;
use crate::analysis::chunks;
use crate::analysis::flags::Flags;
use crate::analysis::libc::{DESCRIPTORS, STREAMS};
use crate::analysis::libstdcxx;
use crate::llvm::{Builder, Linkage, Module, Ordering, Severity, Value};
use crate::options::Options;

use super::calls_note::UnknownCalls;
use super::entries::Entries;
use super::text_note;

/// Least size of a global that the medium code model reaches at any distance, unless `-mlarge-data-threshold=` says otherwise. Only the order of
/// sections depends on it.
const LARGE_BYTES: u64 = 1 << 16;

/// Gives the accesses to flags acquire and release order; everything behind treats them as atomics of the program.
pub fn order_flags(flags: &Flags) {
    flags.loads.iter().for_each(|l| l.set_ordering(Ordering::LLVMAtomicOrderingAcquire));
    flags.stores.iter().for_each(|s| s.set_ordering(Ordering::LLVMAtomicOrderingRelease));
}

/// Lets the runtime choose which thread executes which chunk of loops.
pub fn any_thread_has_any_chunk(module: Module, loops: &[Value]) {
    for init in loops {
        let kind = init.operand(chunks::KIND).int().unwrap_or_default() as u64;
        let any = module.context().i32().constant(kind | u64::from(ANY_THREAD.cast_unsigned()));
        init.set_operand(chunks::KIND, any);
    }
}

/// Puts marked pointers in the place of the calls that mark them.
pub fn private_pointers(module: Module) {
    let Some(function) = module.function(annotated::POINTER) else { return };
    for call in function.users().into_iter().filter(|u| u.is_call() && u.callee() == function) {
        call.replace_uses(call.operand(0));
        call.erase();
    }
}

/// Puts writable globals into the shared sections, but those that the program declares private.
pub fn globals(module: Module, private: &HashSet<Value>) {
    let has_code_model = module.has_flag("Code Model");
    for global in module.globals() {
        if !is_shared_global(global) || private.contains(&global) {
            continue;
        }
        let section = global.section();
        if !section.is_empty() {
            if is_c_identifier(&section) {
                let text = format!(
                    "`{}` moves from section `{section}` to shared memory: `__start_{section}` and `__stop_{section}` will \
                     not find it",
                    global.name()
                );
                module.diagnose(Severity::Warning, &text);
            }
            global.set_section("");
        }
        let large = has_code_model && module.alloc_size(global.value_type()) >= LARGE_BYTES;
        let (data, bss) =
            if large { (LARGE_DATA_SECTION, LARGE_BSS_SECTION) } else { (DATA_SECTION, BSS_SECTION) };
        global.set_global_attribute("data-section", data);
        global.set_global_attribute("bss-section", bss);
        // The linker script takes common symbols as they are; link-time optimisation must not make other variables of them.
        if global.linkage() == Linkage::LLVMCommonLinkage {
            module.keep_linked(global);
        }
    }
}

fn is_shared_global(global: Value) -> bool {
    let name = global.name();
    let section = global.section();
    !global.is_declaration()
        && !global.is_global_constant()
        && !global.is_thread_local()
        && !name.starts_with("llvm.")
        && !matches!(global.linkage(), Linkage::LLVMAppendingLinkage | Linkage::LLVMAvailableExternallyLinkage)
        && section != "llvm.metadata"
        && !libstdcxx::is_own_global(&name)
        // Counters and tables of other instrumentation belong to its own runtime.
        && !section.starts_with("__llvm_")
        && !name.starts_with("__llvm_prof")
        && !section.starts_with(".dsm.")
}

fn is_c_identifier(section: &str) -> bool {
    let mut bytes = section.bytes();
    bytes.next().is_some_and(|c| c == b'_' || c.is_ascii_alphabetic())
        && bytes.all(|c| c == b'_' || c.is_ascii_alphanumeric())
}

/// Lets each call use the stream that stands for the named one in its process, and the descriptor.
pub fn streams(module: Module, builder: &Builder, entries: &Entries) {
    let pointer = |v: Value| v.ty().is_plain_pointer() && !is_standard_stream(v);
    let number = |v: Value| v.ty() == module.context().i32();
    arguments(module, builder, STREAMS, pointer, || entries.get("__dsm_stream"));
    arguments(module, builder, DESCRIPTORS, number, || entries.get("__dsm_descriptor"));
}

/// Passes arguments of library functions, of which there may be several at a function, through an entry of the runtime.
fn arguments(
    module: Module,
    builder: &Builder,
    list: &[(&str, u32)],
    wanted: impl Fn(Value) -> bool,
    entry: impl Fn() -> Value,
) {
    for &(name, argument) in list {
        let Some(function) = module.function(name).filter(|f| f.is_declaration()) else { continue };
        for call in function.users() {
            let direct = call.is_call() && call.callee() == function && argument < call.arg_count();
            if direct && wanted(call.operand(argument)) {
                builder.before(call).locate_as(call);
                call.set_operand(argument, builder.call_fn(entry(), &[call.operand(argument)]));
            }
        }
    }
}

/// The variables `stdin`, `stdout` and `stderr` have the right value in each process.
fn is_standard_stream(stream: Value) -> bool {
    stream.is_instruction()
        && stream.opcode() == crate::llvm::Opcode::LLVMLoad
        && ["stdin", "stdout", "stderr"].contains(&stream.operand(0).name().as_str())
}

/// Gives the program's own allocation functions names under which the runtime finds them. Libraries, which have no checks, must not have the program's
/// shared memory: to them they do not exist.
pub fn own_allocator(module: Module) {
    let mut found = false;
    for (name, ..) in MEMORY.iter().filter(|(name, ..)| is_allocator(name)) {
        let Some(function) = definition(module, name) else { continue };
        function.set_name(&format!("{OWN_ALLOCATOR_PREFIX}{name}"));
        found = true;
    }
    if !found {
        return;
    }
    // Brings the functions that free what libraries are given of the program's.
    let context = module.context();
    let reference = module.add_global("__dsm_own_allocator.reference", context.ptr());
    reference.set_initializer(module.add_global(OWN_ALLOCATOR_SYMBOL, context.i8()));
    reference.set_linkage(Linkage::LLVMInternalLinkage);
    reference.set_global_constant();
    module.keep(reference);
}

/// A function that the module defines for others.
fn definition(module: Module, name: &str) -> Option<Value> {
    let is_seen = |f: &Value| {
        matches!(
            f.linkage(),
            Linkage::LLVMExternalLinkage | Linkage::LLVMWeakAnyLinkage | Linkage::LLVMWeakODRLinkage
        )
    };
    module.function(name).filter(|f| !f.is_declaration() && is_seen(f))
}

/// Gives a function of the program that has the name and the type of one which the runtime replaces the name of the runtime's as well: the pass makes calls of that one out of other modules' calls.
/// The linker takes the program's, as the runtime's are weak (`scripts/link-runtime.sh`).
pub fn own_functions(module: Module) {
    for &(name, entry, _) in GROUPS.iter().flat_map(|group| group.functions) {
        let is_runtimes = entry.starts_with("__dsm_") && !(is_allocator(name) && is_memory(name));
        let Some(function) = definition(module, name).filter(|f| is_runtimes && replaced(*f).is_some())
        else {
            continue;
        };
        if module.function(entry).is_none() {
            module.add_weak_alias(entry, function);
        }
    }
}

fn is_memory(name: &str) -> bool {
    MEMORY.iter().any(|(function, ..)| *function == name)
}

fn is_allocator(name: &str) -> bool {
    let duplicates = ["strdup", "__strdup", "strndup", "atexit", "__cxa_atexit"];
    !duplicates.contains(&name)
}

/// Redirects calls of library functions, and uses of the functions' addresses, to the runtime.
pub fn library(module: Module, builder: &Builder, entries: &Entries) {
    let same = |name: &str, replacement: &str| {
        let Some(function) = module.function(name).filter(|f| f.is_declaration()) else { return };
        let new = module
            .function(replacement)
            .unwrap_or_else(|| module.add_function(replacement, function.value_type()));
        function.replace_uses(new);
    };
    for (name, entry, arguments) in GROUPS.iter().flat_map(|group| group.functions) {
        if matches!(arguments, Arguments::All(_)) && module.function(name).and_then(replaced).is_some() {
            same(name, entry);
        }
    }
    libatomic::library().for_each(|(name, replacement)| same(&name, &replacement));
    for &(name, entry, arguments) in GROUPS.iter().flat_map(|group| group.functions) {
        let Arguments::First(parameters) = arguments else { continue };
        let count = parameters.len() as u32;
        let is_replaced = |f: &Value| f.is_declaration() && replaced(*f).is_some();
        let Some(function) = module.function(name).filter(is_replaced) else { continue };
        let entry = entries.get(entry);
        for call in function.users() {
            let direct = call.is_call() && call.callee() == function;
            if direct && call.opcode() == crate::llvm::Opcode::LLVMCall && call.arg_count() > count {
                builder.before(call).locate_as(call);
                let args: Vec<Value> = (0..count).map(|i| call.operand(i)).collect();
                let new = builder.call_fn(entry, &args);
                if new.ty() == call.ty() {
                    call.replace_uses(new);
                }
                call.erase();
            }
        }
        function.replace_uses(entry);
    }
}

/// Redirects Fortran's statements for input and output to the runtime, which calls flang's library in turn. The linker takes from that only
/// what is referred to, which the runtime does weakly, so a reference stays here.
pub fn statements(module: Module) {
    let inside = fortran::STATEMENTS.iter().map(|name| {
        (format!("{}{name}", fortran::LIBRARY_PREFIX), format!("{}{name}", fortran::RUNTIME_PREFIX))
    });
    let beside =
        fortran::ON_UNITS.iter().map(|(name, replacement)| ((*name).to_owned(), (*replacement).to_owned()));
    for (name, replacement) in inside.chain(beside) {
        let Some(function) = module.function(&name).filter(|f| f.is_declaration()) else { continue };
        let new = module
            .function(&replacement)
            .unwrap_or_else(|| module.add_function(&replacement, function.value_type()));
        function.replace_uses(new);
        let reference = module.add_global(&format!("__dsm_library.{name}"), module.context().ptr());
        reference.set_initializer(function);
        reference.set_linkage(Linkage::LLVMInternalLinkage);
        reference.set_global_constant();
        module.keep(reference);
    }
}

/// Renames `main` and gives it the runtime's signature.
pub fn main_function(module: Module, builder: &Builder) {
    let Some(main) = module.function("main").filter(|f| !f.is_declaration()) else { return };
    let context = module.context();
    let wanted = context.i32().function(&[context.i32(), context.ptr(), context.ptr()], false);
    if main.value_type() == wanted {
        main.set_name(USER_MAIN);
        return;
    }
    main.set_name("__dsm_program_main");
    main.set_linkage(Linkage::LLVMInternalLinkage);
    let thunk = module.add_function(USER_MAIN, wanted);
    builder.at_end(builder.new_block(thunk, "entry"));
    let params = main.value_type().params();
    let args: Vec<Value> = params
        .iter()
        .zip(0..3)
        .map(|(ty, i)| {
            let given = thunk.param(i);
            if given.ty() == *ty { given } else { ty.zero() }
        })
        .collect();
    let status = builder.call_fn(main, &args);
    let status = if status.ty() == context.i32() { status } else { context.i32().constant(0) };
    builder.ret(Some(status));
}

/// Turns constructors and destructors into records, which the runtime runs in process 0.
pub fn constructors(module: Module) {
    records(module, "llvm.global_ctors", "__dsm_ctor", CTOR_SECTION);
    records(module, "llvm.global_dtors", "__dsm_dtor", DTOR_SECTION);
}

fn records(module: Module, list: &str, name: &str, section: &str) {
    let Some(list) = module.global(list) else { return };
    let context = module.context();
    for (number, record) in
        list.initializer().map_or(vec![], |i| i.operands().collect()).into_iter().enumerate()
    {
        let (priority, function, data) = (record.operand(0), record.operand(1), record.operand(2));
        if function.is_null_pointer() {
            continue;
        }
        let priority = context.i64().constant(priority.int().unwrap_or(0xffff) as u64);
        let value = context.const_struct(&[priority, function]);
        let global = module.add_global(&format!("{name}.{number}"), value.ty());
        global.set_initializer(value);
        global.set_linkage(Linkage::LLVMInternalLinkage);
        global.set_global_constant();
        global.set_section(section);
        global.set_align(8);
        // A constructor of a folded variable goes with it.
        if data.is_global_variable() {
            global.share_comdat(data);
        }
        module.keep(global);
    }
    list.delete_global();
}

/// Names the threadprivate variables that the OpenMP runtime copies: their copies start with the initial value, which
/// the program may have changed by then.
pub fn threadprivates(module: Module) {
    let Some(entry) = module.function("__kmpc_threadprivate_cached") else { return };
    let context = module.context();
    let mut seen = HashSet::new();
    for call in entry.users() {
        if !call.is_call() || call.callee() != entry {
            continue;
        }
        let (variable, bytes) = (call.operand(2), call.operand(3));
        if !variable.is_global_variable() || bytes.int().is_none() || !seen.insert(variable) {
            continue;
        }
        let value = context.const_struct(&[variable, bytes]);
        let global = module.add_global(&format!("__dsm_threadprivate.{}", seen.len()), value.ty());
        global.set_initializer(value);
        global.set_linkage(Linkage::LLVMInternalLinkage);
        global.set_global_constant();
        global.set_section(THREADPRIVATE_SECTION);
        global.set_align(8);
        module.keep(global);
    }
}

/// Whether the module makes tasks.
pub fn makes_tasks(module: Module) -> bool {
    module.function("__kmpc_omp_task_alloc").is_some_and(|f| !f.users().is_empty())
}

/// Tells the runtime whether the module makes tasks, and whether the protection of pages checks its accesses.
pub fn features(module: Module, options: &Options) {
    if makes_tasks(module) {
        module.keep(constant(module, USES_TASKS_SYMBOL, 1));
    }
    if options.checking == Checking::Mprotect {
        module.keep(constant(module, MPROTECT_SYMBOL, 1));
    }
}

/// Adds the note that the driver's link step reads, and the line shift that the runtime reads. `openmp`: the text about OpenMP.
pub fn note(module: Module, options: &Options, unknown: &UnknownCalls, openmp: String) {
    let context = module.context();
    let line_shift = options.line_shift;
    let note = note::Note { abi_version: dsm_abi::ABI_VERSION, line_shift, checking: options.checking };
    let mut bytes = note.encode().to_vec();
    let text = options.unusual();
    if !text.is_empty() {
        bytes.extend(text_note::encode(note::OPTIONS_TYPE, text));
    }
    bytes.extend(unknown.encode(&module.name()));
    bytes.extend(text_note::encode(note::OPENMP_TYPE, openmp));
    let value = context.const_bytes(&bytes);
    let name = format!("{}{}.{line_shift}.{}", note::VARIABLE, note.abi_version, note.checking as u32);
    let global = module.add_global(&name, value.ty());
    global.set_initializer(value);
    global.set_linkage(Linkage::LLVMInternalLinkage);
    global.set_global_constant();
    global.set_section(note::SECTION);
    global.set_align(4);
    module.keep(global);
    constant(module, LINE_SHIFT_SYMBOL, line_shift);
}

/// A constant that the runtime reads, one for all objects of a linked file.
fn constant(module: Module, name: &str, value: u32) -> Value {
    let context = module.context();
    let global = module.add_global(name, context.i32());
    global.set_initializer(context.i32().constant(value.into()));
    global.set_global_constant();
    global.set_linkage(Linkage::LLVMWeakODRLinkage);
    global.set_hidden();
    global.set_align(4);
    global
}
