//! Thread-local variables that other threads may reach, because their address escapes or other modules could let it.
//!
//! Soundness. A variable that no other module sees is private to its thread if the address does not escape here (see `escape`). Of one
//! that others see, this module cannot know, so its accesses are checked; at run time such a variable is shared only if some module has
//! said that its address escapes there. Guards of initialisation are the compiler's and have no address in a program.

use crate::llvm::{Linkage, Module, Value};

use super::escape::Escapes;
use super::libstdcxx;

/// A thread-local variable that may be shared.
pub struct ThreadLocal {
    /// The variable.
    pub variable: Value,
    /// The calls that ask for its address.
    pub addresses: Vec<Value>,
    /// Its address escapes in this module.
    pub escapes: bool,
}

impl ThreadLocal {
    /// Whether no other module sees it.
    pub fn is_local(&self) -> bool {
        matches!(self.variable.linkage(), Linkage::LLVMInternalLinkage | Linkage::LLVMPrivateLinkage)
    }

    /// Whether this module has its initial value and its size.
    pub fn is_defined(&self) -> bool {
        !self.variable.is_declaration() && self.variable.linkage() != Linkage::LLVMAvailableExternallyLinkage
    }
}

/// The thread-local variables of the module that may be shared; instructions have their addresses from the intrinsic.
pub fn find(module: Module, declared_private: &std::collections::HashSet<Value>) -> Vec<ThreadLocal> {
    let candidates: Vec<Value> =
        module.globals().into_iter().filter(|g| may_be_shared(*g) && !declared_private.contains(g)).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let escapes = Escapes::solve(module, declared_private);
    let found = candidates.into_iter().filter_map(|variable| {
        let addresses = addresses(variable);
        let escapes = addresses.iter().any(|address| escapes.value(*address));
        let found = ThreadLocal { variable, addresses, escapes };
        (escapes || !found.is_local()).then_some(found)
    });
    found.collect()
}

/// Whether the variable is one that programs may have addresses of.
pub fn may_be_shared(global: Value) -> bool {
    let name = global.name();
    global.is_thread_local()
        && !global.is_global_constant()
        && !["_ZGV", "__tls_guard", "__dsm_", "llvm."].iter().any(|p| name.starts_with(p))
        && !libstdcxx::is_own_global(&name)
}

/// The calls that ask for the variable's address. Other users are lists of what the compiler must keep.
fn addresses(variable: Value) -> Vec<Value> {
    variable.users().into_iter().filter(|user| user.is_instruction()).collect()
}
