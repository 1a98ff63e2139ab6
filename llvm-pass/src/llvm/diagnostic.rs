//! Messages in the compiler's own form.

use std::os::raw::c_int;

use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};

use super::{Loop, Module, Raw, Value};

unsafe extern "C" {
    fn dsm_shim_diagnose(f: LLVMValueRef, i: LLVMValueRef, severity: c_int, text: *const u8, len: usize);
    fn dsm_shim_module_diagnose(m: LLVMModuleRef, severity: c_int, text: *const u8, len: usize);
    fn dsm_shim_place(i: LLVMValueRef, out: *mut u8, size: usize) -> usize;
    fn dsm_shim_remark(
        i: LLVMValueRef,
        missed: c_int,
        name: *const u8,
        name_len: usize,
        text: *const u8,
        len: usize,
    );
    fn dsm_shim_loop_remark(l: Raw, name: *const u8, name_len: usize, text: *const u8, len: usize);
}

/// Strength of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// Ends the compilation.
    Error = 0,
    /// A warning.
    Warning = 1,
}

impl Value {
    /// File, line and function of an instruction; the function alone without debug information.
    pub fn place(self) -> String {
        let mut text = [0u8; 1000];
        // SAFETY: callers pass instructions; the buffer is as long as said.
        let length = unsafe { dsm_shim_place(self.0, text.as_mut_ptr(), text.len()) };
        String::from_utf8_lossy(&text[..length]).into_owned()
    }

    /// Reports at a function, and an instruction's place in it.
    pub fn diagnose(self, at: Option<Value>, severity: Severity, text: &str) {
        let at = at.map_or(std::ptr::null_mut(), |v| v.0);
        // SAFETY: `self` is a function; {pointer, length} string.
        unsafe { dsm_shim_diagnose(self.0, at, severity as c_int, text.as_ptr(), text.len()) }
    }

    /// An optimisation remark of pass "dsm" at the instruction.
    pub fn remark(self, missed: bool, name: &str, text: &str) {
        // SAFETY: `self` is an instruction; {pointer, length} strings.
        unsafe {
            dsm_shim_remark(self.0, missed.into(), name.as_ptr(), name.len(), text.as_ptr(), text.len());
        }
    }
}

impl Loop {
    /// An optimisation remark of pass "dsm" at the loop.
    pub fn remark(self, name: &str, text: &str) {
        // SAFETY: live handle; {pointer, length} strings.
        unsafe {
            dsm_shim_loop_remark(self.0, name.as_ptr(), name.len(), text.as_ptr(), text.len());
        }
    }
}

impl Module {
    /// Reports about the whole module.
    pub fn diagnose(self, severity: Severity, text: &str) {
        // SAFETY: {pointer, length} string.
        unsafe { dsm_shim_module_diagnose(self.0, severity as c_int, text.as_ptr(), text.len()) }
    }
}
