//! The module and its context.

use std::ffi::CString;

use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMModuleRef, LLVMValueRef};
use inkwell::llvm_sys::{core, debuginfo, target};

use super::{Linkage, Type, Value};

/// The module that the pass runs on.
#[derive(Clone, Copy)]
pub struct Module(pub(in crate::llvm) LLVMModuleRef);

/// Its context, source of types and constants.
#[derive(Clone, Copy)]
pub struct Context(pub(super) LLVMContextRef);

impl Module {
    /// The module's context.
    pub fn context(self) -> Context {
        // SAFETY: live handle.
        Context(unsafe { core::LLVMGetModuleContext(self.0) })
    }

    /// Name of the module.
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: live handle; the bytes are copied at once.
        unsafe {
            let data = core::LLVMGetModuleIdentifier(self.0, &mut len);
            String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned()
        }
    }

    /// Whether the front end has set a module flag of this name.
    pub fn has_flag(self, name: &str) -> bool {
        // SAFETY: live handle; {pointer, length} text.
        !unsafe { core::LLVMGetModuleFlag(self.0, name.as_ptr().cast(), name.len()) }.is_null()
    }

    /// Removes all debug information.
    pub fn forget_places(self) {
        // SAFETY: live handle.
        unsafe { debuginfo::LLVMStripModuleDebugInfo(self.0) };
    }

    /// Functions in order.
    pub fn functions(self) -> Vec<Value> {
        // SAFETY: live handle.
        unsafe { walk(core::LLVMGetFirstFunction(self.0), |v| core::LLVMGetNextFunction(v)) }
    }

    /// Global variables in order.
    pub fn globals(self) -> Vec<Value> {
        // SAFETY: live handle.
        unsafe { walk(core::LLVMGetFirstGlobal(self.0), |v| core::LLVMGetNextGlobal(v)) }
    }

    /// Indirect functions in order.
    pub fn indirect_functions(self) -> Vec<Value> {
        // SAFETY: live handle.
        unsafe { walk(core::LLVMGetFirstGlobalIFunc(self.0), |v| core::LLVMGetNextGlobalIFunc(v)) }
    }

    /// The function with this name.
    pub fn function(self, name: &str) -> Option<Value> {
        let c = CString::new(name).ok()?;
        // SAFETY: live handle, NUL-terminated string.
        let raw = unsafe { core::LLVMGetNamedFunction(self.0, c.as_ptr()) };
        (!raw.is_null()).then_some(Value(raw))
    }

    /// The global variable with this name.
    pub fn global(self, name: &str) -> Option<Value> {
        let c = CString::new(name).ok()?;
        // SAFETY: live handle, NUL-terminated string.
        let raw = unsafe { core::LLVMGetNamedGlobal(self.0, c.as_ptr()) };
        (!raw.is_null()).then_some(Value(raw))
    }

    /// Adds a second name of a function, which gives way to another definition.
    pub fn add_weak_alias(self, name: &str, function: Value) {
        let c = CString::new(name).expect("names of functions have no NUL");
        // SAFETY: live handles of this module; LLVM copies the name.
        unsafe {
            let alias = core::LLVMAddAlias2(self.0, function.value_type().0, 0, function.0, c.as_ptr());
            core::LLVMSetLinkage(alias, Linkage::LLVMWeakAnyLinkage);
        }
    }

    /// A new function declaration.
    pub fn add_function(self, name: &str, ty: Type) -> Value {
        let c = CString::new(name).expect("no NUL in names");
        // SAFETY: live handles, NUL-terminated string.
        Value(unsafe { core::LLVMAddFunction(self.0, c.as_ptr(), ty.0) })
    }

    /// A new global variable without initialiser.
    pub fn add_global(self, name: &str, ty: Type) -> Value {
        let c = CString::new(name).expect("no NUL in names");
        // SAFETY: live handles, NUL-terminated string.
        Value(unsafe { core::LLVMAddGlobal(self.0, ty.0, c.as_ptr()) })
    }

    /// Bytes that an access of the type touches.
    pub fn store_size(self, ty: Type) -> u64 {
        ty.store_size(self.0)
    }

    /// Bytes that an array element of the type takes.
    pub fn alloc_size(self, ty: Type) -> u64 {
        ty.alloc_size(self.0)
    }

    /// ABI alignment of the type.
    pub fn abi_align(self, ty: Type) -> u32 {
        ty.abi_align(self.0)
    }

    /// Target triple.
    pub fn target(self) -> String {
        // SAFETY: live handle; the string is the module's.
        super::value::text(unsafe { core::LLVMGetTarget(self.0) })
    }

    /// Width of pointers, bytes.
    pub fn pointer_size(self) -> u32 {
        // SAFETY: live handle.
        unsafe { target::LLVMPointerSize(target::LLVMGetModuleDataLayout(self.0)) }
    }

    /// An array constant of constants of one type.
    pub fn const_array(self, element: Type, values: &[Value]) -> Value {
        let mut raw: Vec<LLVMValueRef> = values.iter().map(|v| v.0).collect();
        // SAFETY: the array outlives the call.
        Value(unsafe { core::LLVMConstArray2(element.0, raw.as_mut_ptr(), raw.len() as u64) })
    }
}

/// Collects an intrusive list.
///
/// # Safety
/// `first` is null or a live object, and `next` is LLVM's successor function for its class.
unsafe fn walk(first: LLVMValueRef, next: impl Fn(LLVMValueRef) -> LLVMValueRef) -> Vec<Value> {
    let mut out = Vec::new();
    let mut at = first;
    while !at.is_null() {
        out.push(Value(at));
        at = next(at);
    }
    out
}

impl Context {
    /// `ptr`
    pub fn ptr(self) -> Type {
        // SAFETY: live handle.
        Type(unsafe { core::LLVMPointerTypeInContext(self.0, 0) })
    }

    /// `void`
    pub fn void(self) -> Type {
        // SAFETY: live handle.
        Type(unsafe { core::LLVMVoidTypeInContext(self.0) })
    }

    /// An integer type.
    pub fn int(self, bits: u32) -> Type {
        // SAFETY: live handle.
        Type(unsafe { core::LLVMIntTypeInContext(self.0, bits) })
    }

    /// `i8`
    pub fn i8(self) -> Type {
        self.int(8)
    }

    /// `i32`
    pub fn i32(self) -> Type {
        self.int(32)
    }

    /// `i64`
    pub fn i64(self) -> Type {
        self.int(64)
    }

    /// An anonymous struct constant.
    pub fn const_struct(self, fields: &[Value]) -> Value {
        let mut raw: Vec<LLVMValueRef> = fields.iter().map(|v| v.0).collect();
        // SAFETY: the array outlives the call.
        Value(unsafe { core::LLVMConstStructInContext(self.0, raw.as_mut_ptr(), raw.len() as u32, 0) })
    }

    /// A byte array constant.
    pub fn const_bytes(self, bytes: &[u8]) -> Value {
        // SAFETY: {pointer, length} bytes that LLVM copies.
        Value(unsafe { core::LLVMConstStringInContext2(self.0, bytes.as_ptr().cast(), bytes.len(), 1) })
    }
}
