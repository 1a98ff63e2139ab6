//! Values: what all of them have in common; what memory instructions, calls, globals and blocks have besides is in rooms of their own.

use std::ffi::CStr;
use std::os::raw::c_char;

use inkwell::llvm_sys::core;
use inkwell::llvm_sys::prelude::LLVMValueRef;

use super::{IntPredicate, Opcode, Type};

mod attribute;
mod block;
mod call;
mod global;
mod memory;

pub use block::Block;

/// Any value of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Value(pub(in crate::llvm) LLVMValueRef);

fn some(raw: LLVMValueRef) -> Option<Value> {
    (!raw.is_null()).then_some(Value(raw))
}

pub(in crate::llvm) fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: LLVM hands out NUL-terminated strings that live as long as their owner; copied at once.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// LLVM's dynamic casts as predicates.
macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident: $cast:ident;)*) => {
        impl Value {
            $($(#[$doc])* pub fn $name(self) -> bool {
                // SAFETY: live handle; the function is a dynamic cast.
                !unsafe { core::$cast(self.0) }.is_null()
            })*
        }
    };
}

predicates! {
    /// An instruction.
    is_instruction: LLVMIsAInstruction;
    /// A constant of any kind, globals and functions included.
    is_constant: LLVMIsAConstant;
    /// A constant expression.
    is_constant_expr: LLVMIsAConstantExpr;
    /// An integer constant.
    is_constant_int: LLVMIsAConstantInt;
    /// A function.
    is_function: LLVMIsAFunction;
    /// A global variable.
    is_global_variable: LLVMIsAGlobalVariable;
    /// An alias.
    is_alias: LLVMIsAGlobalAlias;
    /// A function argument.
    is_argument: LLVMIsAArgument;
    /// The null pointer.
    is_null_pointer: LLVMIsAConstantPointerNull;
    /// Undefined or poison.
    is_undef: LLVMIsAUndefValue;
    /// A call of an intrinsic.
    is_intrinsic_call: LLVMIsAIntrinsicInst;
    /// Inline assembly, as a callee.
    is_inline_asm: LLVMIsAInlineAsm;
}

impl Value {
    /// Type of the value.
    pub fn ty(self) -> Type {
        // SAFETY: live handle.
        Type(unsafe { core::LLVMTypeOf(self.0) })
    }

    /// Name, empty if it has none.
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: live handle; the bytes are copied at once.
        unsafe {
            let data = core::LLVMGetValueName2(self.0, &mut len);
            String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned()
        }
    }

    /// Renames it.
    pub fn set_name(self, name: &str) {
        // SAFETY: live handle, {pointer, length} string.
        unsafe { core::LLVMSetValueName2(self.0, name.as_ptr().cast(), name.len()) }
    }

    /// The value as LLVM prints it.
    pub fn print(self) -> String {
        // SAFETY: live handle; the message is freed after the copy.
        unsafe {
            let raw = core::LLVMPrintValueToString(self.0);
            let out = text(raw);
            core::LLVMDisposeMessage(raw);
            out.trim().to_owned()
        }
    }

    /// Opcode of an instruction.
    pub fn opcode(self) -> Opcode {
        // SAFETY: callers ask this of instructions only.
        unsafe { core::LLVMGetInstructionOpcode(self.0) }
    }

    /// What a comparison of integers or pointers asks for.
    pub fn predicate(self) -> IntPredicate {
        // SAFETY: callers ask this of such comparisons only.
        unsafe { core::LLVMGetICmpPredicate(self.0) }
    }

    /// Opcode of a constant expression.
    pub fn const_opcode(self) -> Opcode {
        // SAFETY: callers ask this of constant expressions only.
        unsafe { core::LLVMGetConstOpcode(self.0) }
    }

    /// Number of operands of an instruction or constant.
    pub fn operand_count(self) -> u32 {
        // SAFETY: callers ask this of users only.
        unsafe { core::LLVMGetNumOperands(self.0) as u32 }
    }

    /// An operand.
    pub fn operand(self, index: u32) -> Value {
        debug_assert!(index < self.operand_count());
        // SAFETY: the index is in range.
        Value(unsafe { core::LLVMGetOperand(self.0, index) })
    }

    /// Replaces an operand.
    pub fn set_operand(self, index: u32, value: Value) {
        debug_assert!(index < self.operand_count());
        // SAFETY: the index is in range.
        unsafe { core::LLVMSetOperand(self.0, index, value.0) }
    }

    /// All operands.
    pub fn operands(self) -> impl Iterator<Item = Value> {
        (0..self.operand_count()).map(move |i| self.operand(i))
    }

    /// Users, one entry a use, with the users that are metadata left out.
    pub fn users(self) -> Vec<Value> {
        let mut out = Vec::new();
        // SAFETY: live handle; the list is not changed while it is walked.
        unsafe {
            let mut usage = core::LLVMGetFirstUse(self.0);
            while !usage.is_null() {
                out.push(Value(core::LLVMGetUser(usage)));
                usage = core::LLVMGetNextUse(usage);
            }
        }
        out
    }

    /// Replaces all uses, debug records included.
    pub fn replace_uses(self, with: Value) {
        // SAFETY: live handles of one type.
        unsafe { core::LLVMReplaceAllUsesWith(self.0, with.0) }
    }

    /// Removes an instruction that has no uses left.
    pub fn erase(self) {
        // SAFETY: callers pass an instruction and give up the handle.
        unsafe { core::LLVMInstructionEraseFromParent(self.0) }
    }

    /// True of a function whose code keeps LLVM's rules.
    pub fn is_valid(self) -> bool {
        use inkwell::llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyFunction};
        // SAFETY: callers pass functions with a body.
        unsafe { LLVMVerifyFunction(self.0, LLVMVerifierFailureAction::LLVMReturnStatusAction) == 0 }
    }

    /// Value of an integer constant of at most 64 bits, sign extended.
    pub fn int(self) -> Option<i64> {
        if !self.is_constant_int() || self.ty().int_width() > 64 {
            return None;
        }
        // SAFETY: kind checked.
        Some(unsafe { core::LLVMConstIntGetSExtValue(self.0) })
    }

    /// The next instruction of the block.
    pub fn next(self) -> Option<Value> {
        // SAFETY: callers ask this of instructions only.
        some(unsafe { core::LLVMGetNextInstruction(self.0) })
    }

    /// Line of the instruction's debug location, 0 without one.
    pub fn line(self) -> u32 {
        // SAFETY: live handle.
        unsafe { core::LLVMGetDebugLocLine(self.0) }
    }

    /// Incoming pairs of a phi.
    pub fn incoming(self) -> Vec<(Value, Block)> {
        // SAFETY: callers pass phis only.
        unsafe {
            (0..core::LLVMCountIncoming(self.0))
                .map(|i| {
                    (
                        Value(core::LLVMGetIncomingValue(self.0, i)),
                        Block(core::LLVMGetIncomingBlock(self.0, i)),
                    )
                })
                .collect()
        }
    }
}
