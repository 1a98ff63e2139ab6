//! Functions and global variables.

use std::ffi::{CString, c_int};

use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::{comdat, core};

use crate::llvm::{Block, Linkage, Module, Type, Value};

use super::{some, text};

unsafe extern "C" {
    fn dsm_shim_is_interposable(global: LLVMValueRef) -> c_int;
}

impl Value {
    /// Whether another definition may take the place of this one when the program is linked or loaded (`-fsemantic-interposition`).
    pub fn is_interposable(self) -> bool {
        // SAFETY: callers ask this of globals only.
        unsafe { dsm_shim_is_interposable(self.0) != 0 }
    }

    /// Instructions of a function, in the order of its blocks.
    pub fn function_instructions(self) -> impl Iterator<Item = Value> {
        self.blocks().into_iter().flat_map(Block::instructions)
    }

    /// True without a body or initialiser.
    pub fn is_declaration(self) -> bool {
        // SAFETY: callers ask this of globals only.
        unsafe { core::LLVMIsDeclaration(self.0) != 0 }
    }

    /// Function type of a function; value type of a global.
    pub fn value_type(self) -> Type {
        // SAFETY: callers ask this of globals only.
        Type(unsafe { core::LLVMGlobalGetValueType(self.0) })
    }

    /// Linkage of a global.
    pub fn linkage(self) -> Linkage {
        // SAFETY: callers ask this of globals only.
        unsafe { core::LLVMGetLinkage(self.0) }
    }

    /// Sets the linkage of a global.
    pub fn set_linkage(self, linkage: Linkage) {
        // SAFETY: callers pass globals only.
        unsafe { core::LLVMSetLinkage(self.0, linkage) }
    }

    /// Gives a global hidden visibility.
    pub fn set_hidden(self) {
        // SAFETY: callers pass globals only.
        unsafe { core::LLVMSetVisibility(self.0, inkwell::llvm_sys::LLVMVisibility::LLVMHiddenVisibility) }
    }

    /// Section of a global, empty for none.
    pub fn section(self) -> String {
        // SAFETY: callers ask this of globals only.
        text(unsafe { core::LLVMGetSection(self.0) })
    }

    /// Sets the section of a global.
    pub fn set_section(self, section: &str) {
        let c = CString::new(section).expect("section names have no NUL");
        // SAFETY: LLVM copies the string.
        unsafe { core::LLVMSetSection(self.0, c.as_ptr()) }
    }

    /// True of a global declared `constant`.
    pub fn is_global_constant(self) -> bool {
        // SAFETY: callers ask this of global variables only.
        unsafe { core::LLVMIsGlobalConstant(self.0) != 0 }
    }

    /// Declares a global `constant`.
    pub fn set_global_constant(self) {
        // SAFETY: callers pass global variables only.
        unsafe { core::LLVMSetGlobalConstant(self.0, 1) }
    }

    /// True of a thread-local global.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: callers ask this of global variables only.
        unsafe { core::LLVMIsThreadLocal(self.0) != 0 }
    }

    /// Makes a global thread-local with the model that suits all code.
    pub fn set_thread_local(self) {
        use inkwell::llvm_sys::LLVMThreadLocalMode::LLVMGeneralDynamicTLSModel;
        // SAFETY: callers pass global variables only.
        unsafe { core::LLVMSetThreadLocalMode(self.0, LLVMGeneralDynamicTLSModel) }
    }

    /// Makes a global thread-local with the initial-exec model.
    pub fn set_initial_exec(self) {
        use inkwell::llvm_sys::LLVMThreadLocalMode::LLVMInitialExecTLSModel;
        // SAFETY: callers pass global variables only.
        unsafe { core::LLVMSetThreadLocalMode(self.0, LLVMInitialExecTLSModel) }
    }

    /// Makes a global thread-local with the model of another.
    pub fn set_thread_local_as(self, other: Value) {
        // SAFETY: callers pass global variables only.
        unsafe { core::LLVMSetThreadLocalMode(self.0, core::LLVMGetThreadLocalMode(other.0)) }
    }

    /// Gives a global the visibility of another.
    pub fn set_visibility_as(self, other: Value) {
        // SAFETY: callers pass globals only.
        unsafe { core::LLVMSetVisibility(self.0, core::LLVMGetVisibility(other.0)) }
    }

    /// Deletes a function without uses.
    pub fn delete_function(self) {
        // SAFETY: callers pass functions and give up the handle.
        unsafe { core::LLVMDeleteFunction(self.0) }
    }

    /// Names the garbage collector of a function.
    pub fn set_collector(self, name: &str) {
        let name = CString::new(name).expect("a name has no zero");
        // SAFETY: `self` is a function; LLVM copies the name.
        unsafe { core::LLVMSetGC(self.0, name.as_ptr()) }
    }

    /// Initialiser of a global variable.
    pub fn initializer(self) -> Option<Value> {
        // SAFETY: callers ask this of global variables only.
        some(unsafe { core::LLVMGetInitializer(self.0) })
    }

    /// Text of a constant array of bytes, without a final NUL.
    pub fn const_string(self) -> Option<String> {
        self.constant_string().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sets the initialiser.
    pub fn set_initializer(self, value: Value) {
        // SAFETY: callers pass global variables and a constant of their type.
        unsafe { core::LLVMSetInitializer(self.0, value.0) }
    }

    /// Gives a global a comdat group of its own name, of which the linker keeps any.
    pub fn set_own_comdat(self, module: Module) {
        let name = CString::new(self.name()).expect("no NUL in names");
        // SAFETY: live handles of a module and a global in it, NUL-terminated string.
        unsafe {
            let comdat = comdat::LLVMGetOrInsertComdat(module.0, name.as_ptr());
            comdat::LLVMSetComdat(self.0, comdat);
        }
    }

    /// Moves a global into the comdat group of another.
    pub fn share_comdat(self, other: Value) {
        // SAFETY: live handles of globals; a null comdat means none.
        unsafe {
            let comdat = comdat::LLVMGetComdat(other.0);
            if !comdat.is_null() {
                comdat::LLVMSetComdat(self.0, comdat);
            }
        }
    }

    /// What the loader asks for the address of an indirect function: a function, or an expression of one.
    pub fn resolver(self) -> Value {
        // SAFETY: callers ask this of indirect functions only.
        Value(unsafe { core::LLVMGetGlobalIFuncResolver(self.0) })
    }

    /// Sets what [`Value::resolver`] returns.
    pub fn set_resolver(self, resolver: Value) {
        // SAFETY: callers pass an indirect function and a function.
        unsafe { core::LLVMSetGlobalIFuncResolver(self.0, resolver.0) }
    }

    /// Deletes a global variable without uses.
    pub fn delete_global(self) {
        // SAFETY: callers pass global variables and give up the handle.
        unsafe { core::LLVMDeleteGlobal(self.0) }
    }

    /// Number of parameters of a function.
    pub fn param_count(self) -> u32 {
        // SAFETY: callers ask this of functions only.
        unsafe { core::LLVMCountParams(self.0) }
    }

    /// A parameter of a function.
    pub fn param(self, index: u32) -> Value {
        debug_assert!(index < self.param_count());
        // SAFETY: the index is in range.
        Value(unsafe { core::LLVMGetParam(self.0, index) })
    }

    /// Bytes of a constant string initialiser, without a final NUL.
    pub fn constant_string(self) -> Option<Vec<u8>> {
        // SAFETY: live handle; the class is checked before the bytes are taken, and they are copied at once.
        unsafe {
            if core::LLVMIsAConstantDataArray(self.0).is_null() || core::LLVMIsConstantString(self.0) == 0 {
                return None;
            }
            let mut len = 0;
            let data = core::LLVMGetAsString(self.0, &mut len);
            let bytes = std::slice::from_raw_parts(data.cast::<u8>(), len).to_vec();
            Some(bytes.strip_suffix(&[0]).map(<[u8]>::to_vec).unwrap_or(bytes))
        }
    }
}
