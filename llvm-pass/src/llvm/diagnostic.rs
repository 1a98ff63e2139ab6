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
    fn dsm_shim_remarks_wanted(f: LLVMValueRef) -> c_int;
    fn dsm_shim_remark(
        i: LLVMValueRef,
        l: Raw,
        kind: c_int,
        name: *const u8,
        name_len: usize,
        pieces: *const RawPiece,
        count: usize,
    );
    fn dsm_shim_position(i: LLVMValueRef, out: *mut u8, size: usize) -> usize;
    fn dsm_shim_loop_position(l: Raw, out: *mut u8, size: usize) -> usize;
    fn dsm_shim_source_name(pointer: LLVMValueRef, out: *mut u8, size: usize) -> usize;
}

/// Strength of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// Ends the compilation.
    Error = 0,
    /// A warning.
    Warning = 1,
}

/// Kind of an optimisation remark, by the option of the compiler that shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemarkKind {
    /// `-Rpass`: something was made better.
    Passed = 0,
    /// `-Rpass-missed`: something could not be made better.
    Missed = 1,
    /// `-Rpass-analysis`: what was found out.
    Analysis = 2,
}

/// A part of a remark, as the shim takes it: text, or under a key a value that optimisation records keep apart.
#[repr(C)]
struct RawPiece {
    key: *const u8,
    key_len: usize,
    text: *const u8,
    len: usize,
}

/// Hands a remark to LLVM, at the loop or else at the instruction.
fn emit(instruction: LLVMValueRef, l: Raw, kind: RemarkKind, name: &str, pieces: &[(&str, String)]) {
    let raw = |(key, text): &(&str, String)| RawPiece {
        key: key.as_ptr(),
        key_len: key.len(),
        text: text.as_ptr(),
        len: text.len(),
    };
    let raw: Vec<RawPiece> = pieces.iter().map(raw).collect();
    // SAFETY: callers pass an instruction or a loop; {pointer, length} strings and list, which outlive the call.
    unsafe {
        dsm_shim_remark(instruction, l, kind as c_int, name.as_ptr(), name.len(), raw.as_ptr(), raw.len());
    }
}

/// Text that the shim writes to a buffer; it is cut at the buffer's end.
fn written(write: impl FnOnce(*mut u8, usize) -> usize) -> String {
    let mut text = [0u8; 1000];
    let length = write(text.as_mut_ptr(), text.len());
    String::from_utf8_lossy(&text[..length]).into_owned()
}

impl Value {
    /// File, line and function of an instruction; the function alone without debug information.
    pub fn place_text(self) -> String {
        // SAFETY: callers pass instructions; the buffer is as long as said.
        written(|out, size| unsafe { dsm_shim_place(self.0, out, size) })
    }

    /// "file:line:column" of an instruction; empty if the compiler does not remember it.
    pub fn position(self) -> String {
        // SAFETY: callers pass instructions; the buffer is as long as said.
        written(|out, size| unsafe { dsm_shim_position(self.0, out, size) })
    }

    /// The source's name of the variable or function that a pointer points to, as far as it is known; "*p" for what the global `p` points to.
    pub fn source_name(self) -> String {
        // SAFETY: callers pass pointers; the buffer is as long as said.
        written(|out, size| unsafe { dsm_shim_source_name(self.0, out, size) })
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

    /// True if anybody reads remarks about the function.
    pub fn remarks_wanted(self) -> bool {
        // SAFETY: callers pass functions.
        unsafe { dsm_shim_remarks_wanted(self.0) != 0 }
    }

    /// An optimisation remark of pass "dsm" at the instruction, of parts that are texts or, under a name, values.
    pub fn remark(self, kind: RemarkKind, name: &str, pieces: &[(&str, String)]) {
        emit(self.0, std::ptr::null_mut(), kind, name, pieces);
    }
}

impl Loop {
    /// An optimisation remark of pass "dsm" at the loop, likewise.
    pub fn remark(self, kind: RemarkKind, name: &str, pieces: &[(&str, String)]) {
        emit(std::ptr::null_mut(), self.0, kind, name, pieces);
    }

    /// "file:line:column" of its start; empty if the compiler does not remember it.
    pub fn position(self) -> String {
        // SAFETY: live handle; the buffer is as long as said.
        written(|out, size| unsafe { dsm_shim_loop_position(self.0, out, size) })
    }
}

impl Module {
    /// Reports about the whole module.
    pub fn diagnose(self, severity: Severity, text: &str) {
        // SAFETY: {pointer, length} string.
        unsafe { dsm_shim_module_diagnose(self.0, severity as c_int, text.as_ptr(), text.len()) }
    }
}
