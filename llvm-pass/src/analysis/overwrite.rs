//! Stores that overwrite: a loop that is entered stores to every byte of their loop range, and reads none of them before. Then what was there need
//! not be fetched. Switch: `overwrite`.
//!
//! Soundness. The runtime wants two things (see its `coherence::overwrite`). The thread stores to every byte between the check and its next
//! release, and reads none of them before it has stored to it.
//!
//! *Every byte.* A loop range is exact: the store is executed in every iteration, for each address of the recurrence. The check is made in a
//! preheader, which leads into the loop only; the loop is left only when its count has run out, as every instruction in it passes control on:
//! none throws, exits or is volatile. It has no sync point, so the last iteration comes before the next release. A loop in it that does not end
//! makes the promise no less true: there is no release then. No gap is left where the step of each level is at most as long as what the inner
//! levels and the stores side by side cover; other levels are strides, which the runtime looks at.
//!
//! *None before.* LLVM's alias analysis lists the instructions of the loop that may read what the store stores to in any iteration. Loads of the
//! same address that come after the store in the same iteration read what was stored. For other loads the planner has the ranges that they read
//! compared with the overwritten one when the check is made, before the loop; if these meet, or are not known then, nothing is overwritten. The
//! checks that are made together in the preheader fetch other bytes, or bytes that are accessed in other loops; a fetch of the block as a whole
//! changes nothing that is valid.
//!
//! What the compiler does later keeps this true. It may leave out a store if the bytes are stored to again before anybody can see the
//! difference: before any call that it does not know, such as those that release, and the misses. A load that it makes up is one whose result
//! does not matter.
//!
//! Calls that overwrite (`memset`, `memcpy`, `memmove`) have read what they read from memory that was made valid before the check of what they
//! write, and that the check leaves as it is: what is not fetched is not changed either.

use crate::llvm::{Analyses, Loop, Module, Opcode, Value};

use super::access::is_copy;

/// The loads of a loop that must not read what a store in it stores to, for that to be overwritten. `None` if it is not.
pub fn readers(analyses: &Analyses, module: Module, l: Loop, store: Value) -> Option<Vec<Value>> {
    let mut readers = analyses.loop_readers(l, store)?;
    readers.retain(|r| !reads_back(analyses, module, store, *r));
    let copies = |r: &Value| r.is_intrinsic_call() && is_copy(&r.callee().name());
    readers.iter().all(|r| r.opcode() == Opcode::LLVMLoad || copies(r)).then_some(readers)
}

/// Where a store stores to, and how many bytes: an instruction, or a call that copies or sets as many as are known here.
fn stored(module: Module, store: Value) -> Option<(Value, i64)> {
    if store.opcode() == Opcode::LLVMStore {
        let bytes = module.store_size(store.operand(0).ty());
        return Some((store.operand(1), i64::try_from(bytes).ok()?));
    }
    Some((store.operand(0), store.operand(2).int()?))
}

/// Whether an instruction loads what the store has stored just before.
fn reads_back(analyses: &Analyses, module: Module, store: Value, reader: Value) -> bool {
    if reader.opcode() != Opcode::LLVMLoad || !reader.ty().is_fixed_size() {
        return false;
    }
    let Some((to, length)) = stored(module, store) else { return false };
    let (Some((key, read)), Some((stored_key, stored))) =
        (analyses.address_key(reader.operand(0)), analyses.address_key(to))
    else {
        return false;
    };
    let end = |offset: i64, bytes: i128| i128::from(offset) + bytes;
    let read_end = end(read, module.store_size(reader.ty()).into());
    let inside = stored <= read && read_end <= end(stored, length.into());
    key == stored_key && inside && comes_after(analyses, store, reader)
}

fn comes_after(analyses: &Analyses, store: Value, reader: Value) -> bool {
    let block = store.block();
    if block != reader.block() {
        return analyses.dominates(block, reader.block());
    }
    let behind = block.instructions().into_iter().skip_while(|i| *i != store);
    behind.into_iter().any(|i| i == reader)
}
