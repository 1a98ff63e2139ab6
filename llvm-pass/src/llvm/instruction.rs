//! Questions about values that LLVM's C API does not answer.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::llvm_sys::{LLVMGEPFlagNUW, core};

use super::{Module, Value};

unsafe extern "C" {
    fn dsm_shim_constant_offset(pointer: LLVMValueRef, m: LLVMModuleRef, offset: *mut i64) -> LLVMValueRef;
    fn dsm_shim_call_touches_memory(i: LLVMValueRef) -> c_int;
    fn dsm_shim_call_no_sync(i: LLVMValueRef) -> c_int;
    fn dsm_shim_call_no_capture(i: LLVMValueRef, argument: u32) -> c_int;
    fn dsm_shim_call_returns_twice(i: LLVMValueRef) -> c_int;
    fn dsm_shim_call_must_tail(i: LLVMValueRef) -> c_int;
    fn dsm_shim_static_alloca(i: LLVMValueRef) -> c_int;
    fn dsm_shim_alloca_special(i: LLVMValueRef) -> c_int;
    fn dsm_shim_single_thread_scope(i: LLVMValueRef) -> c_int;
    fn dsm_shim_asm_operands(i: LLVMValueRef) -> c_int;
    fn dsm_shim_asm_operand_in_memory(i: LLVMValueRef, index: u32) -> c_int;
    fn dsm_shim_pointer_align(v: LLVMValueRef, m: LLVMModuleRef) -> u64;
}

/// Operands of inline assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsmOperands {
    /// It has no instructions: a barrier for the compiler.
    None,
    /// In registers, or none.
    Registers,
    /// At least one in memory.
    Memory,
}

impl Value {
    /// True of a sum, difference, product or left shift whose overflow as signed numbers is poison.
    pub fn is_free_of_signed_overflow(self) -> bool {
        // SAFETY: callers pass such instructions.
        unsafe { core::LLVMGetNSW(self.0) != 0 }
    }

    /// Makes signed overflow poison.
    pub fn set_free_of_signed_overflow(self) {
        // SAFETY: callers pass sums, differences, products and left shifts.
        unsafe { core::LLVMSetNSW(self.0, 1) }
    }

    /// True of a `getelementptr` that says that its sum does not wrap as a number without a sign.
    pub fn is_free_of_unsigned_wrap(self) -> bool {
        // SAFETY: callers pass instructions `getelementptr`.
        unsafe { core::LLVMGEPGetNoWrapFlags(self.0) & LLVMGEPFlagNUW != 0 }
    }

    /// Lets the sum of a `getelementptr` wrap as a number without a sign.
    pub fn allow_unsigned_wrap(self) {
        // SAFETY: callers pass instructions `getelementptr`.
        unsafe { core::LLVMGEPSetNoWrapFlags(self.0, core::LLVMGEPGetNoWrapFlags(self.0) & !LLVMGEPFlagNUW) }
    }

    /// True of an `or` whose operands have no bit in common.
    pub fn is_disjoint(self) -> bool {
        // SAFETY: callers pass instructions `or`.
        unsafe { core::LLVMGetIsDisjoint(self.0) != 0 }
    }

    /// Makes bits that the operands have in common poison.
    pub fn set_disjoint(self) {
        // SAFETY: callers pass instructions `or`.
        unsafe { core::LLVMSetIsDisjoint(self.0, 1) }
    }

    /// True of a zero extension of what is not negative as a signed number.
    pub fn is_non_negative(self) -> bool {
        // SAFETY: callers pass zero extensions.
        unsafe { core::LLVMGetNNeg(self.0) != 0 }
    }

    /// True if a call may read or write memory.
    pub fn call_touches_memory(self) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_call_touches_memory(self.0) != 0 }
    }

    /// True if a call is marked as never synchronising.
    pub fn call_no_sync(self) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_call_no_sync(self.0) != 0 }
    }

    /// True if a call is marked as not capturing the argument.
    pub fn call_no_capture(self, argument: u32) -> bool {
        // SAFETY: callers pass calls and an argument in range.
        unsafe { dsm_shim_call_no_capture(self.0, argument) != 0 }
    }

    /// True if a call may return twice.
    pub fn call_returns_twice(self) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_call_returns_twice(self.0) != 0 }
    }

    /// True of a `musttail` call.
    pub fn call_must_tail(self) -> bool {
        // SAFETY: callers pass instructions.
        unsafe { dsm_shim_call_must_tail(self.0) != 0 }
    }

    /// True of an alloca of constant size in the entry block.
    pub fn is_static_alloca(self) -> bool {
        // SAFETY: callers pass allocas.
        unsafe { dsm_shim_static_alloca(self.0) != 0 }
    }

    /// True of a `swifterror` alloca.
    pub fn is_swift_error(self) -> bool {
        // SAFETY: callers pass allocas.
        unsafe { dsm_shim_alloca_special(self.0) == 2 }
    }

    /// True of an atomic that orders only against signal handlers of its own thread.
    pub fn is_single_thread(self) -> bool {
        // SAFETY: callers pass atomic instructions.
        unsafe { dsm_shim_single_thread_scope(self.0) != 0 }
    }

    /// Whether an argument of inline assembly is where an operand lies, and not an operand itself.
    pub fn asm_operand_in_memory(self, index: u32) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_asm_operand_in_memory(self.0, index) != 0 }
    }

    /// Whether an argument of inline assembly is where an operand lies that the assembly reads. One that is read and written is two arguments.
    pub fn asm_reads_operand_in_memory(self, index: u32) -> bool {
        // SAFETY: callers pass calls.
        unsafe { dsm_shim_asm_operand_in_memory(self.0, index) == 2 }
    }

    /// Where inline assembly has its operands.
    pub fn asm_operands(self) -> AsmOperands {
        // SAFETY: callers pass calls.
        match unsafe { dsm_shim_asm_operands(self.0) } {
            0 => AsmOperands::None,
            1 => AsmOperands::Registers,
            _ => AsmOperands::Memory,
        }
    }

    /// The pointer that this one is at a constant distance from, and the distance in bytes.
    pub fn constant_offset(self, module: Module) -> (Value, i64) {
        let mut offset = 0;
        // SAFETY: callers pass pointers.
        let base = unsafe { dsm_shim_constant_offset(self.0, module.0, &mut offset) };
        (Value(base), offset)
    }

    /// Alignment that is known of a pointer.
    pub fn pointer_align(self, module: Module) -> u64 {
        // SAFETY: callers pass pointers.
        unsafe { dsm_shim_pointer_align(self.0, module.0) }
    }
}
