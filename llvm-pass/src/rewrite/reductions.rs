//! Tells the runtime the sizes of the private copies of reductions that may go to other processes as messages.

use std::collections::HashSet;

use crate::analysis::reduction;
use crate::fault::{self, Fault};
use crate::llvm::{Builder, Linkage, Module, Value};

use super::entries::Entries;

/// Puts a call in front of those reductions whose functions are among `functions` and whose copies have known sizes. Returns their number.
pub fn tell_sizes(module: Module, builder: &Builder, entries: &Entries, functions: &HashSet<Value>) -> u64 {
    let (i32_type, i64_type) = (module.context().i32(), module.context().i64());
    let calls =
        reduction::calls(module).into_iter().filter(|call| functions.contains(&reduction::function(*call)));
    let mut count = 0;
    for call in calls {
        let Some(mut bytes) = reduction::copied_bytes(module, call) else { continue };
        if fault::is(Fault::ReductionBytes) {
            bytes.fill(1);
        }
        let copies = i32_type.constant(bytes.len() as u64);
        let bytes: Vec<Value> = bytes.into_iter().map(|bytes| i64_type.constant(bytes)).collect();
        let value = module.const_array(i64_type, &bytes);
        let sizes = module.add_global(&format!("__dsm_reduction.{count}"), value.ty());
        sizes.set_initializer(value);
        sizes.set_linkage(Linkage::LLVMInternalLinkage);
        sizes.set_global_constant();
        builder.before(call).locate_as(call);
        builder.call_fn(entries.get("__dsm_reduction_copies"), &[sizes, copies]);
        count += 1;
    }
    count
}
