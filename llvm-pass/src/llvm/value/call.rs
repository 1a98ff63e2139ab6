//! Calls.

use inkwell::llvm_sys::core;

use crate::llvm::{Opcode, Type, Value};

impl Value {
    /// True of call, invoke and callbr.
    pub fn is_call(self) -> bool {
        self.is_instruction()
            && matches!(self.opcode(), Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr)
    }

    /// Called operand of a call.
    pub fn callee(self) -> Value {
        // SAFETY: callers ask this of calls only.
        Value(unsafe { core::LLVMGetCalledValue(self.0) })
    }

    /// The function called directly.
    pub fn called_function(self) -> Option<Value> {
        Some(self.callee()).filter(|c| c.is_function())
    }

    /// Inline assembly without an instruction, as a callee: a barrier for the compiler.
    pub fn is_empty_asm(self) -> bool {
        let mut len = 0;
        if self.is_inline_asm() {
            // SAFETY: it is inline assembly; the text is not looked at.
            unsafe { core::LLVMGetInlineAsmAsmString(self.0, &mut len) };
        }
        self.is_inline_asm() && len == 0
    }

    /// Text and constraints of inline assembly, as a callee, in the syntax of AT&T; `None` of any other.
    pub fn asm_text(self) -> Option<(String, String)> {
        use inkwell::llvm_sys::LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
        let (mut len, mut constraints_len) = (0, 0);
        // SAFETY: callers ask this of inline assembly only.
        if unsafe { core::LLVMGetInlineAsmDialect(self.0) } as u32 != LLVMInlineAsmDialectATT as u32 {
            return None;
        }
        // SAFETY: callers ask this of inline assembly only; both are as long as is said.
        unsafe {
            let text = core::LLVMGetInlineAsmAsmString(self.0, &mut len);
            let constraints = core::LLVMGetInlineAsmConstraintString(self.0, &mut constraints_len);
            let copy = |start: *const std::os::raw::c_char, len: usize| {
                String::from_utf8_lossy(std::slice::from_raw_parts(start.cast(), len)).into_owned()
            };
            Some((copy(text, len), copy(constraints, constraints_len)))
        }
    }

    /// Number of arguments of a call.
    pub fn arg_count(self) -> u32 {
        // SAFETY: callers ask this of calls only.
        unsafe { core::LLVMGetNumArgOperands(self.0) }
    }

    /// Arguments of a call.
    pub fn args(self) -> Vec<Value> {
        (0..self.arg_count()).map(|i| self.operand(i)).collect()
    }

    /// Function type that a call was made with.
    pub fn call_type(self) -> Type {
        // SAFETY: callers ask this of calls only.
        Type(unsafe { core::LLVMGetCalledFunctionType(self.0) })
    }

    /// Replaces the called operand of a call.
    pub fn set_callee(self, function: Value) {
        self.set_operand(self.operand_count() - 1, function);
    }

    /// Makes a call a `musttail` one.
    pub fn set_must_tail(self) {
        use inkwell::llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail;
        // SAFETY: callers pass calls.
        unsafe { core::LLVMSetTailCallKind(self.0, LLVMTailCallKindMustTail) }
    }
}
