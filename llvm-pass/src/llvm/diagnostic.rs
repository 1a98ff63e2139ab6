//! Messages in the compiler's own form.

use std::os::raw::{c_char, c_int, c_uint};
use std::path::PathBuf;

use inkwell::llvm_sys::core;
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
    pub fn place_text(self) -> String {
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

    /// File and line of an instruction in the source; `None` if the compiler does not remember it. The file is as seen from the working
    /// directory.
    pub fn place(self) -> Option<(String, u32)> {
        // SAFETY: callers ask this of instructions; a name has the length that LLVM says and lives as long as the module.
        let name = |get: unsafe extern "C" fn(LLVMValueRef, *mut c_uint) -> *const c_char| unsafe {
            let mut len = 0;
            let text = get(self.0, &raw mut len).cast::<u8>();
            let bytes = if text.is_null() { &[] } else { std::slice::from_raw_parts(text, len as usize) };
            String::from_utf8_lossy(bytes).into_owned()
        };
        let file = name(core::LLVMGetDebugLocFilename);
        if file.is_empty() {
            return None;
        }
        let path = PathBuf::from(name(core::LLVMGetDebugLocDirectory)).join(file);
        let here = std::env::current_dir().unwrap_or_default();
        let path = path.strip_prefix(&here).unwrap_or(&path);
        // SAFETY: as above.
        Some((path.to_string_lossy().into_owned(), unsafe { core::LLVMGetDebugLocLine(self.0) }))
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
