//! Types and the data layout questions about them.

use std::os::raw::c_uint;

use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMTypeRef};
use inkwell::llvm_sys::{core, target};

pub use inkwell::llvm_sys::LLVMTypeKind as TypeKind;

/// A type; types live as long as the context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type(pub(super) LLVMTypeRef);

impl Type {
    /// What kind of type it is.
    pub fn kind(self) -> TypeKind {
        // SAFETY: types live as long as the context.
        unsafe { core::LLVMGetTypeKind(self.0) }
    }

    /// True for values with a size that is known at compile time.
    pub fn is_fixed_size(self) -> bool {
        // SAFETY: types live as long as the context.
        let sized = unsafe { core::LLVMTypeIsSized(self.0) } != 0;
        sized && !self.contains_scalable()
    }

    fn contains_scalable(self) -> bool {
        match self.kind() {
            TypeKind::LLVMScalableVectorTypeKind => true,
            TypeKind::LLVMArrayTypeKind => self.element().contains_scalable(),
            TypeKind::LLVMStructTypeKind => self.fields().into_iter().any(Type::contains_scalable),
            _ => false,
        }
    }

    /// True of pointers, and of structs, arrays and vectors with any.
    pub fn holds_pointer(self) -> bool {
        match self.kind() {
            TypeKind::LLVMPointerTypeKind => true,
            TypeKind::LLVMArrayTypeKind
            | TypeKind::LLVMVectorTypeKind
            | TypeKind::LLVMScalableVectorTypeKind => self.element().holds_pointer(),
            TypeKind::LLVMStructTypeKind => self.fields().into_iter().any(Type::holds_pointer),
            _ => false,
        }
    }

    /// Element type of a vector or array.
    pub fn element(self) -> Type {
        // SAFETY: callers ask this of vectors and arrays only.
        Type(unsafe { core::LLVMGetElementType(self.0) })
    }

    /// Number of lanes of a fixed vector.
    pub fn lanes(self) -> u32 {
        // SAFETY: callers ask this of fixed vectors only.
        unsafe { core::LLVMGetVectorSize(self.0) }
    }

    /// Width in bits of an integer type.
    pub fn int_width(self) -> u32 {
        // SAFETY: callers ask this of integer types only.
        unsafe { core::LLVMGetIntTypeWidth(self.0) }
    }

    /// Fields of a struct type.
    pub fn fields(self) -> Vec<Type> {
        // SAFETY: callers ask this of struct types only; the buffer has the length LLVM names.
        unsafe {
            let count = core::LLVMCountStructElementTypes(self.0);
            let mut out = vec![std::ptr::null_mut(); count as usize];
            core::LLVMGetStructElementTypes(self.0, out.as_mut_ptr());
            out.into_iter().map(Type).collect()
        }
    }

    /// Parameter types of a function type.
    pub fn params(self) -> Vec<Type> {
        // SAFETY: callers ask this of function types only; the buffer has the length LLVM names.
        unsafe {
            let count = core::LLVMCountParamTypes(self.0);
            let mut out = vec![std::ptr::null_mut(); count as usize];
            core::LLVMGetParamTypes(self.0, out.as_mut_ptr());
            out.into_iter().map(Type).collect()
        }
    }

    /// Whether a function type takes further arguments.
    pub fn is_variadic(self) -> bool {
        // SAFETY: callers ask this of function types only.
        unsafe { core::LLVMIsFunctionVarArg(self.0) != 0 }
    }

    /// Result type of a function type.
    pub fn result(self) -> Type {
        // SAFETY: callers ask this of function types only.
        Type(unsafe { core::LLVMGetReturnType(self.0) })
    }

    /// A function type with this result.
    pub fn function(self, params: &[Type], variadic: bool) -> Type {
        let mut raw: Vec<LLVMTypeRef> = params.iter().map(|t| t.0).collect();
        // SAFETY: the array outlives the call and has the stated length.
        Type(unsafe {
            core::LLVMFunctionType(self.0, raw.as_mut_ptr(), raw.len() as c_uint, variadic.into())
        })
    }

    /// An array of this type.
    pub fn array(self, count: u64) -> Type {
        // SAFETY: types live as long as the context.
        Type(unsafe { core::LLVMArrayType2(self.0, count) })
    }

    /// The zero of this type.
    pub fn zero(self) -> super::Value {
        // SAFETY: types live as long as the context.
        super::Value(unsafe { core::LLVMConstNull(self.0) })
    }

    /// An integer constant of this type.
    pub fn constant(self, value: u64) -> super::Value {
        // SAFETY: callers ask this of integer types only.
        super::Value(unsafe { core::LLVMConstInt(self.0, value, 0) })
    }

    /// True of pointers in the default address space.
    pub fn is_plain_pointer(self) -> bool {
        // SAFETY: the kind is checked first.
        self.kind() == TypeKind::LLVMPointerTypeKind
            && unsafe { core::LLVMGetPointerAddressSpace(self.0) } == 0
    }

    /// Bytes that a load or store of the type touches.
    pub fn store_size(self, module: LLVMModuleRef) -> u64 {
        // SAFETY: a module's data layout lives as long as the module.
        unsafe { target::LLVMStoreSizeOfType(core_layout(module), self.0) }
    }

    /// Bytes between elements of an array of the type.
    pub fn alloc_size(self, module: LLVMModuleRef) -> u64 {
        // SAFETY: as above.
        unsafe { target::LLVMABISizeOfType(core_layout(module), self.0) }
    }

    /// Alignment that the ABI gives the type.
    pub fn abi_align(self, module: LLVMModuleRef) -> u32 {
        // SAFETY: as above.
        unsafe { target::LLVMABIAlignmentOfType(core_layout(module), self.0) }
    }
}

fn core_layout(module: LLVMModuleRef) -> target::LLVMTargetDataRef {
    // SAFETY: the module is the live one that the pass runs on.
    unsafe { target::LLVMGetModuleDataLayout(module) }
}
