//! Declarations of the runtime entries, from the one list that the runtime expands too.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::llvm::{Context, Module, Type, Value};

/// Type names of the entry list.
fn type_named(context: Context, name: &str) -> Type {
    match name {
        "ptr" => context.ptr(),
        "i8" => context.i8(),
        "i32" => context.i32(),
        "i64" => context.i64(),
        "void" => context.void(),
        _ => unreachable!("the entry list knows ptr, i8, i32, i64 and void, not {name}"),
    }
}

macro_rules! table {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ident),* $(,)?) -> $result:ident;)*) => {
        /// Name, parameter types, result type.
        const ENTRIES: &[(&str, &[&str], &str)] =
            &[$((stringify!($name), &[$(stringify!($ty)),*], stringify!($result)),)*];
    };
}

dsm_abi::for_each_entry!(table);

/// Declares entries on first use.
pub struct Entries {
    module: Module,
    declared: RefCell<HashMap<&'static str, Value>>,
}

impl Entries {
    /// For the module.
    pub fn new(module: Module) -> Entries {
        Entries { module, declared: RefCell::default() }
    }

    /// The entry's declaration.
    pub fn get(&self, name: &str) -> Value {
        let (name, params, result) = ENTRIES
            .iter()
            .find(|(n, ..)| *n == name)
            .unwrap_or_else(|| panic!("{name} is not in the entry list"));
        *self.declared.borrow_mut().entry(name).or_insert_with(|| {
            if let Some(existing) = self.module.function(name) {
                return existing;
            }
            let context = self.module.context();
            let params: Vec<Type> = params.iter().map(|p| type_named(context, p)).collect();
            let function =
                self.module.add_function(name, type_named(context, result).function(&params, false));
            decorate(function, name);
            function
        })
    }
}

fn decorate(function: Value, name: &str) {
    // The program may catch std::bad_alloc.
    if !name.starts_with("__dsm_new") {
        function.add_function_attribute("nounwind");
    }
    if name.starts_with("__dsm_verify_") && name != "__dsm_verify_access" {
        // Accesses stay behind the checks that these stand in front of, and calls between the two that watch them.
        function.add_function_attribute("willreturn");
        function.add_function_attribute("nocallback");
        function.set_touches_inaccessible_memory();
    }
    let checks = [
        "_miss",
        "_range",
        "_window",
        "_walk",
        "_grid",
        "_ready",
        "_hint",
        "_str",
        "_within",
        "_until",
        "_compared",
    ];
    if checks.iter().any(|end| name.ends_with(end)) {
        function.add_function_attribute("willreturn");
        function.add_function_attribute("nocallback");
        if name.ends_with("_miss") {
            function.add_function_attribute("cold");
        }
    }
}
