//! The variables of `copyprivate` clauses, which a function that the compiler makes copies.
//!
//! ```text
//! call void @__kmpc_copyprivate(..., i64 16, ptr %list, ptr @copy, i32 %executed)      clang: a list of two addresses
//! call void @__kmpc_copyprivate(..., i64 0, ptr %variable, ptr @copy, i32 %executed)   flang: a variable
//! define void @copy(ptr %to, ptr %from)
//! ```
//!
//! Soundness. The contents of the variables may go to other processes as a message, if the function does nothing but copy: each store, or copy of memory, is of bytes of one variable to the same bytes of the same one,
//! and together these are all bytes of the variable up to the last one, for each variable.

use std::collections::HashMap;

use dsm_abi::copyprivate::{MOST_WORDS, words_of};

use crate::llvm::{Block, Module, Opcode, Value};

use super::callee::{Callee, callee, is_exact};
use super::is_instrumented;

const ENTRY: &str = "__kmpc_copyprivate";
/// Arguments of the entry: the bytes of the list, and the function.
const BYTES: u32 = 2;
const FUNCTION: u32 = 4;

/// Which variables a function copies: it, and the addresses of a list, 0 for a variable without a list.
pub type Key = (Value, i64);

/// Bytes of the variables of functions that only copy.
pub fn sizes(module: Module) -> HashMap<Key, Vec<u64>> {
    let keys = calls(module).into_iter().filter_map(key);
    keys.filter_map(|key| Some((key, Copier::of(module, key)?.sizes(key)?))).collect()
}

/// The calls with `copyprivate` in a module.
pub fn calls(module: Module) -> Vec<Value> {
    let Some(entry) = module.function(ENTRY) else { return vec![] };
    let calls = entry.users().into_iter().filter(|user| user.is_call() && user.callee() == entry);
    calls.filter(|call| is_instrumented(call.parent_function())).collect()
}

/// What is copied by a call.
pub fn key(call: Value) -> Option<Key> {
    Some((call.operand(FUNCTION), call.operand(BYTES).int()?))
}

/// A variable, by its place in the list, and a byte of it.
type Place = (usize, i64);

/// A function that copies.
struct Copier {
    module: Module,
    function: Value,
    has_list: bool,
}

impl Copier {
    fn of(module: Module, (function, bytes): Key) -> Option<Copier> {
        let is_known = function.is_function()
            && !function.is_declaration()
            && is_exact(function)
            && function.param_count() == 2;
        is_known.then_some(Copier { module, function, has_list: bytes != 0 })
    }

    /// Bytes of each variable.
    fn sizes(&self, (_, bytes): Key) -> Option<Vec<u64>> {
        let count = if self.has_list { bytes / i64::from(self.module.pointer_size()) } else { 1 };
        let mut copied = vec![vec![]; usize::try_from(count).ok().filter(|count| *count <= MOST_WORDS)?];
        for instruction in self.function.blocks().into_iter().flat_map(Block::instructions) {
            if let Some(((variable, from), bytes)) = self.copy(instruction)? {
                copied.get_mut(variable)?.push((from, bytes));
            }
        }
        let sizes: Vec<u64> = copied.into_iter().map(size).collect::<Option<_>>()?;
        (words_of(sizes.iter().copied()) <= MOST_WORDS).then_some(sizes)
    }

    /// The bytes that an instruction copies, if it does; `None` if it does anything else to memory.
    fn copy(&self, instruction: Value) -> Option<Option<(Place, u64)>> {
        let same = |to: Value, from: Value| {
            let place = self.place(to, 0)?;
            (self.place(from, 1) == Some(place)).then_some(place)
        };
        match instruction.opcode() {
            Opcode::LLVMLoad => (!instruction.is_volatile()).then_some(None),
            Opcode::LLVMStore => {
                let value = instruction.operand(0);
                let is_loaded = value.is_instruction() && value.opcode() == Opcode::LLVMLoad;
                if !is_loaded || instruction.is_volatile() {
                    return None;
                }
                let place = same(instruction.operand(1), value.operand(0))?;
                Some(Some((place, self.module.store_size(value.ty()))))
            }
            Opcode::LLVMCall => match callee(instruction) {
                Callee::Intrinsic(name) if name.starts_with("llvm.dbg.") => Some(None),
                Callee::Intrinsic(name)
                    if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") =>
                {
                    let bytes = u64::try_from(instruction.operand(2).int()?).ok()?;
                    Some(Some((same(instruction.operand(0), instruction.operand(1))?, bytes)))
                }
                _ => None,
            },
            Opcode::LLVMGetElementPtr | Opcode::LLVMRet => Some(None),
            _ => None,
        }
    }

    /// Where in the variables of a parameter an address lies.
    fn place(&self, address: Value, parameter: u32) -> Option<Place> {
        let variables = self.function.param(parameter);
        let (base, offset) = address.constant_offset(self.module);
        if !self.has_list {
            return (base == variables).then_some((0, offset));
        }
        if !base.is_instruction() || base.opcode() != Opcode::LLVMLoad {
            return None;
        }
        let (list, element) = base.operand(0).constant_offset(self.module);
        let pointer_size = i64::from(self.module.pointer_size());
        let is_element = list == variables && element % pointer_size == 0;
        is_element.then_some((usize::try_from(element / pointer_size).ok()?, offset))
    }
}

/// Bytes of a variable whose parts, as first bytes and lengths, are all of it.
fn size(mut parts: Vec<(i64, u64)>) -> Option<u64> {
    parts.sort_unstable();
    let size = parts.into_iter().try_fold(0, |end: u64, (first, bytes)| {
        (u64::try_from(first).ok()? == end).then(|| end.saturating_add(bytes))
    })?;
    (size > 0).then_some(size)
}
