//! Addresses of library functions: whoever calls through one has its memory made valid as at a direct call.
//!
//! A function of the library table whose address is taken (stored, passed, compared, in an initialiser) gets a function of the module that
//! calls it, and that function's address stands for its own in all uses but direct calls:
//!
//! ```text
//! define linkonce_odr i32 @__dsm_checked_strcmp(ptr %0, ptr %1) comdat {
//!   %3 = tail call i32 @strcmp(ptr %0, ptr %1)          ; with checks in front, like every call of the program
//!   ret i32 %3
//! }
//! ```
//!
//! The linker keeps one of all objects', and the loader one of the program's and its libraries', so that addresses stay equal. A function
//! with variable arguments hands them on by `musttail`. Functions that the runtime replaces have their addresses replaced with them
//! (see [`module::library`](super::module::library)).

use dsm_abi::layout::CHECKED_PREFIX;

use crate::analysis::callee::{self, Callee};
use crate::analysis::libc::{self, DESCRIPTORS, Format, STREAMS};
use crate::llvm::{Builder, Linkage, Module, Value};

/// Attributes of parameters and results that decide how they are passed.
const PASSING: [&str; 3] = ["zeroext", "signext", "inreg"];
/// Attributes of parameters that are passed in memory, which no function of the table has.
const IN_MEMORY: [&str; 3] = ["byval", "sret", "inalloca"];

/// Makes the functions and uses their addresses.
pub fn take_checked(module: Module, builder: &Builder) {
    for function in module.functions() {
        if !wants_checks(function) {
            continue;
        }
        let direct: Vec<Value> =
            function.users().into_iter().filter(|u| u.is_call() && u.callee() == function).collect();
        // Direct calls that also get the address as an argument are in the list once for each use.
        if direct.iter().all(|call| !call.args().contains(&function))
            && direct.len() == function.users().len()
        {
            continue;
        }
        let name = format!("{CHECKED_PREFIX}{}", function.name());
        let checked = module.add_function(&name, function.value_type());
        function.replace_uses(checked);
        direct.iter().for_each(|call| call.set_callee(function));
        define(module, builder, checked, function);
    }
}

/// Whether the pass puts anything in front of calls of the function, which is not defined here.
fn wants_checks(function: Value) -> bool {
    let (name, ty) = (function.name(), function.value_type());
    // A weak reference may be null, and its address is what tells.
    if !function.is_declaration() || function.linkage() != Linkage::LLVMExternalLinkage {
        return false;
    }
    // Without a prototype, nothing is known of its arguments. The C++ and Fortran libraries' own tables need no checks.
    let unknown = ty.is_variadic() && ty.params().is_empty();
    let library = name.starts_with("_Z") || name.starts_with("__cxa_") || name.starts_with("_FortranA");
    // Whoever returns twice cannot be called on behalf of another.
    if unknown || library || function.has_function_attribute("returns_twice") || libc::returns_twice(&name) {
        return false;
    }
    let in_memory =
        |i: u32| IN_MEMORY.iter().any(|attribute| function.param_type_attribute(i, attribute).is_some());
    if (0..function.param_count()).any(in_memory) {
        return false;
    }
    let numbered = |list: &[(&str, u32)]| list.iter().any(|(listed, _)| *listed == name);
    match callee::declared(function) {
        Callee::Libc(_, known) => {
            known.effects().next().is_some()
                || known.format != Format::None
                || numbered(STREAMS)
                || numbered(DESCRIPTORS)
        }
        Callee::Extern(_) => numbered(STREAMS) || numbered(DESCRIPTORS),
        _ => false,
    }
}

fn define(module: Module, builder: &Builder, checked: Value, function: Value) {
    let ty = function.value_type();
    checked.set_linkage(Linkage::LLVMLinkOnceODRLinkage);
    checked.set_own_comdat(module);
    if function.has_function_attribute("nounwind") {
        checked.add_function_attribute("nounwind");
    }
    checked.copy_attributes(function, &PASSING);
    builder.at_end(builder.new_block(checked, "entry"));
    builder.locate_nowhere();
    let arguments: Vec<Value> = (0..checked.param_count()).map(|i| checked.param(i)).collect();
    let call = builder.call(function, ty, &arguments);
    call.copy_attributes_to_call(function, &PASSING);
    if ty.is_variadic() {
        call.set_must_tail();
    }
    let void = ty.result() == builder.context.void();
    builder.ret((!void).then_some(call));
}
