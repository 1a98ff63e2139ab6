//! Edits of the module as a whole: globals, heap, `main`, constructors, note.

use dsm_abi::layout::{BSS_SECTION, CTOR_SECTION, DATA_SECTION, LINE_SHIFT_SYMBOL, USER_MAIN};
use dsm_abi::note;

use crate::analysis::callee::HEAP;
use crate::llvm::{Builder, Linkage, Module, Severity, Value};

use super::entries::Entries;

/// Puts writable globals into the shared sections.
pub fn globals(module: Module) {
    for global in module.globals() {
        if !is_shared_global(global) {
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
        // The linker script takes common symbols as they are.
        if global.linkage() == Linkage::LLVMCommonLinkage {
            continue;
        }
        global.set_global_attribute("data-section", DATA_SECTION);
        global.set_global_attribute("bss-section", BSS_SECTION);
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

/// Redirects heap calls, and uses of the functions' addresses.
pub fn heap(module: Module, builder: &Builder, entries: &Entries) {
    for &(name, entry, kept) in HEAP {
        let Some(function) = module.function(name) else { continue };
        // A program's own allocator stays.
        if !function.is_declaration() {
            continue;
        }
        let entry = entries.get(entry);
        for call in function.users() {
            let direct = call.is_call() && call.callee() == function;
            if direct && call.opcode() == crate::llvm::Opcode::LLVMCall && call.arg_count() > kept {
                builder.before(call).locate_as(call);
                let args: Vec<Value> = (0..kept).map(|i| call.operand(i)).collect();
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

/// Turns `llvm.global_ctors` into records that the runtime runs in process 0.
pub fn constructors(module: Module) {
    let Some(list) = module.global("llvm.global_ctors") else { return };
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
        let global = module.add_global(&format!("__dsm_ctor.{number}"), value.ty());
        global.set_initializer(value);
        global.set_linkage(Linkage::LLVMInternalLinkage);
        global.set_global_constant();
        global.set_section(CTOR_SECTION);
        global.set_align(8);
        // A constructor of a folded variable goes with it.
        if data.is_global_variable() {
            global.share_comdat(data);
        }
        module.keep(global);
    }
    list.delete_global();
}

/// Adds the note that the driver's link step reads, and the line shift that the runtime reads.
pub fn note(module: Module, line_shift: u32) {
    let context = module.context();
    let bytes = note::Note { abi_version: dsm_abi::ABI_VERSION, line_shift }.encode();
    let value = context.const_bytes(&bytes);
    let global = module.add_global("__dsm_note", value.ty());
    global.set_initializer(value);
    global.set_linkage(Linkage::LLVMInternalLinkage);
    global.set_global_constant();
    global.set_section(note::SECTION);
    global.set_align(4);
    module.keep(global);
    let shift = module.add_global(LINE_SHIFT_SYMBOL, context.i32());
    shift.set_initializer(context.i32().constant(line_shift.into()));
    shift.set_global_constant();
    shift.set_linkage(Linkage::LLVMWeakODRLinkage);
    shift.set_hidden();
    shift.set_align(4);
}
