//! Tells the runtime the sizes of private variables that may go to other processes as messages: the private copies of reductions, and the variables of `copyprivate` clauses.

use std::collections::{HashMap, HashSet};

use crate::analysis::{copyprivate, reduction};
use crate::fault::{self, Fault};
use crate::llvm::{Builder, Linkage, Module, Value};

use super::entries::Entries;

/// Puts a call in front of those reductions whose functions are among `functions` and whose copies have known sizes. Returns their number.
pub fn of_reductions(
    module: Module,
    builder: &Builder,
    entries: &Entries,
    functions: &HashSet<Value>,
) -> u64 {
    let calls =
        reduction::calls(module).into_iter().filter(|call| functions.contains(&reduction::function(*call)));
    let mut count = 0;
    for call in calls {
        let Some(bytes) = reduction::copied_bytes(module, call) else { continue };
        let sizes = constant(module, &format!("__dsm_reduction.{count}"), bytes, Fault::ReductionBytes);
        builder.before(call).locate_as(call);
        builder.call_fn(entries.get("__dsm_reduction_copies"), &sizes);
        count += 1;
    }
    count
}

/// The same for `copyprivate` clauses, whose variables have these sizes.
pub fn of_copyprivate(
    module: Module,
    builder: &Builder,
    entries: &Entries,
    sizes: &HashMap<copyprivate::Key, Vec<u64>>,
) -> u64 {
    let mut count = 0;
    for call in copyprivate::calls(module) {
        let Some(bytes) = copyprivate::key(call).and_then(|key| sizes.get(&key)) else { continue };
        let name = format!("__dsm_copyprivate.{count}");
        let sizes = constant(module, &name, bytes.clone(), Fault::CopyprivateBytes);
        builder.before(call).locate_as(call);
        builder.call_fn(entries.get("__dsm_copyprivate_copies"), &sizes);
        count += 1;
    }
    count
}

/// An array of sizes, and their number. With the fault, each is one byte.
fn constant(module: Module, name: &str, mut bytes: Vec<u64>, fault: Fault) -> [Value; 2] {
    if fault::is(fault) {
        bytes.fill(1);
    }
    let (i32_type, i64_type) = (module.context().i32(), module.context().i64());
    let copies = i32_type.constant(bytes.len() as u64);
    let bytes: Vec<Value> = bytes.into_iter().map(|bytes| i64_type.constant(bytes)).collect();
    let value = module.const_array(i64_type, &bytes);
    let sizes = module.add_global(name, value.ty());
    sizes.set_initializer(value);
    sizes.set_linkage(Linkage::LLVMInternalLinkage);
    sizes.set_global_constant();
    [sizes, copies]
}
