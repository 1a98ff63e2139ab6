//! Instruction building.

use std::os::raw::c_uint;

use inkwell::llvm_sys::core;
use inkwell::llvm_sys::prelude::{LLVMBuilderRef, LLVMValueRef};

use super::{Block, Context, IntPredicate, Module, Ordering, RmwKind, Type, Value};

const NONE: *const std::os::raw::c_char = c"".as_ptr();

/// A builder with its context; owns the LLVM builder.
pub struct Builder {
    raw: LLVMBuilderRef,
    /// Context of the module.
    pub context: Context,
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: made in `new`, disposed once.
        unsafe { core::LLVMDisposeBuilder(self.raw) }
    }
}

/// Two-operand instructions.
macro_rules! binary {
    ($($name:ident: $build:ident;)*) => {
        $(#[doc = concat!("LLVM's `", stringify!($name), "`.")]
        pub fn $name(&self, x: Value, y: Value) -> Value {
            // SAFETY: live handles of one integer type; the builder is positioned.
            Value(unsafe { core::$build(self.raw, x.0, y.0, NONE) })
        })*
    };
}

impl Builder {
    /// A builder for the module.
    pub fn new(module: Module) -> Builder {
        let context = module.context();
        // SAFETY: live handle.
        Builder { raw: unsafe { core::LLVMCreateBuilderInContext(context.0) }, context }
    }

    /// Builds before an instruction, with its debug location.
    pub fn before(&self, instruction: Value) -> &Self {
        // SAFETY: live handle of an instruction.
        unsafe { core::LLVMPositionBuilderBefore(self.raw, instruction.0) }
        self
    }

    /// Builds before an instruction and its debug records (for entry code).
    pub fn before_records(&self, instruction: Value) -> &Self {
        // SAFETY: live handle of an instruction.
        unsafe { core::LLVMPositionBuilderBeforeInstrAndDbgRecords(self.raw, instruction.0) }
        self
    }

    /// Builds at the end of a block.
    pub fn at_end(&self, block: Block) -> &Self {
        // SAFETY: live handle.
        unsafe { core::LLVMPositionBuilderAtEnd(self.raw, block.0) }
        self
    }

    /// Takes the debug location of an instruction for what follows (none if it has none).
    pub fn locate_as(&self, instruction: Value) -> &Self {
        // SAFETY: live handle of an instruction; a null location clears.
        unsafe {
            let location = core_debug_loc(instruction.0);
            core::LLVMSetCurrentDebugLocation2(self.raw, location);
        }
        self
    }

    /// Gives what follows no debug location.
    pub fn locate_nowhere(&self) -> &Self {
        // SAFETY: a null location clears.
        unsafe { core::LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut()) };
        self
    }

    /// A new block at the end of the function.
    pub fn new_block(&self, function: Value, name: &str) -> Block {
        let name = std::ffi::CString::new(name).expect("no NUL in names");
        // SAFETY: live handles.
        Block(unsafe { core::LLVMAppendBasicBlockInContext(self.context.0, function.0, name.as_ptr()) })
    }

    binary! {
        add: LLVMBuildAdd;
        sub: LLVMBuildSub;
        mul: LLVMBuildMul;
        and: LLVMBuildAnd;
        or: LLVMBuildOr;
        lshr: LLVMBuildLShr;
        shl: LLVMBuildShl;
        xor: LLVMBuildXor;
    }

    /// `fneg`
    pub fn fneg(&self, x: Value) -> Value {
        // SAFETY: live handle of a floating-point number.
        Value(unsafe { core::LLVMBuildFNeg(self.raw, x.0, NONE) })
    }

    /// Integer comparison.
    pub fn icmp(&self, predicate: IntPredicate, x: Value, y: Value) -> Value {
        // SAFETY: live handles of one type.
        Value(unsafe { core::LLVMBuildICmp(self.raw, predicate, x.0, y.0, NONE) })
    }

    /// `select`
    pub fn select(&self, condition: Value, x: Value, y: Value) -> Value {
        // SAFETY: live handles, `x` and `y` of one type.
        Value(unsafe { core::LLVMBuildSelect(self.raw, condition.0, x.0, y.0, NONE) })
    }

    /// `ptrtoint` to i64.
    pub fn address(&self, pointer: Value) -> Value {
        // SAFETY: live handle of a pointer.
        Value(unsafe { core::LLVMBuildPtrToInt(self.raw, pointer.0, self.context.i64().0, NONE) })
    }

    /// `inttoptr`
    pub fn int_to_ptr(&self, address: Value) -> Value {
        // SAFETY: live handle of an integer.
        Value(unsafe { core::LLVMBuildIntToPtr(self.raw, address.0, self.context.ptr().0, NONE) })
    }

    /// Zero extension or truncation to an integer type.
    pub fn int_cast(&self, value: Value, ty: Type, signed: bool) -> Value {
        // SAFETY: live handles of integer kind.
        Value(unsafe { core::LLVMBuildIntCast2(self.raw, value.0, ty.0, signed.into(), NONE) })
    }

    /// `bitcast`
    pub fn bitcast(&self, value: Value, ty: Type) -> Value {
        // SAFETY: callers pass types of equal size.
        Value(unsafe { core::LLVMBuildBitCast(self.raw, value.0, ty.0, NONE) })
    }

    /// Byte offset from a pointer; the pointer itself for a constant zero.
    pub fn offset(&self, pointer: Value, bytes: Value) -> Value {
        if bytes.int() == Some(0) {
            return pointer;
        }
        let mut index = [bytes.0];
        // SAFETY: live handles; one index.
        Value(unsafe {
            core::LLVMBuildGEP2(self.raw, self.context.i8().0, pointer.0, index.as_mut_ptr(), 1, NONE)
        })
    }

    /// `load`
    pub fn load(&self, ty: Type, pointer: Value, align: u32) -> Value {
        // SAFETY: live handles.
        let load = Value(unsafe { core::LLVMBuildLoad2(self.raw, ty.0, pointer.0, NONE) });
        load.set_align(align);
        load
    }

    /// Atomic byte load.
    pub fn load_acquire(&self, ty: Type, pointer: Value, align: u32) -> Value {
        let load = self.load(ty, pointer, align);
        load.set_ordering(Ordering::LLVMAtomicOrderingAcquire);
        load
    }

    /// Volatile load.
    pub fn load_volatile(&self, ty: Type, pointer: Value, align: u32) -> Value {
        let load = self.load(ty, pointer, align);
        // SAFETY: live handle of a load.
        unsafe { core::LLVMSetVolatile(load.0, 1) };
        load
    }

    /// `atomicrmw` that is sequentially consistent.
    pub fn atomic_rmw(&self, kind: RmwKind, pointer: Value, operand: Value) -> Value {
        let ordering = Ordering::LLVMAtomicOrderingSequentiallyConsistent;
        // SAFETY: live handles.
        Value(unsafe { core::LLVMBuildAtomicRMW(self.raw, kind, pointer.0, operand.0, ordering, 0) })
    }

    /// `cmpxchg` that is sequentially consistent.
    pub fn atomic_cas(&self, pointer: Value, expected: Value, new: Value) -> Value {
        let order = Ordering::LLVMAtomicOrderingSequentiallyConsistent;
        // SAFETY: live handles, the last two of one type.
        let cas =
            unsafe { core::LLVMBuildAtomicCmpXchg(self.raw, pointer.0, expected.0, new.0, order, order, 0) };
        Value(cas)
    }

    /// `fence`
    pub fn fence(&self, ordering: Ordering) -> Value {
        // SAFETY: the builder is positioned.
        Value(unsafe { core::LLVMBuildFence(self.raw, ordering, 0, NONE) })
    }

    /// `phi` at the builder's place, the start of a block.
    pub fn phi(&self, ty: Type, incoming: &[(Value, Block)]) -> Value {
        // SAFETY: live handle.
        let phi = Value(unsafe { core::LLVMBuildPhi(self.raw, ty.0, NONE) });
        self.add_incoming(phi, incoming);
        phi
    }

    /// Adds values to a phi.
    pub fn add_incoming(&self, phi: Value, incoming: &[(Value, Block)]) {
        for (value, block) in incoming {
            // SAFETY: live handles of the phi's type and of its block's predecessors; the arrays outlive the call.
            unsafe { core::LLVMAddIncoming(phi.0, [value.0].as_mut_ptr(), [block.0].as_mut_ptr(), 1) }
        }
    }

    /// `freeze`
    pub fn freeze(&self, value: Value) -> Value {
        // SAFETY: live handle.
        Value(unsafe { core::LLVMBuildFreeze(self.raw, value.0, NONE) })
    }

    /// Empty assembly that may access any memory.
    pub fn compiler_barrier(&self) {
        let ty = self.context.void().function(&[], false);
        let clobbers = "~{memory}";
        // SAFETY: live handles; {pointer, length} strings that LLVM copies; a call without arguments.
        unsafe {
            let assembly = core::LLVMGetInlineAsm(
                ty.0,
                c"".as_ptr(),
                0,
                clobbers.as_ptr().cast(),
                clobbers.len(),
                1,
                0,
                inkwell::llvm_sys::LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            );
            let call = core::LLVMBuildCall2(self.raw, ty.0, assembly, std::ptr::null_mut(), 0, NONE);
            Value(call).add_call_attribute("nounwind");
        }
    }

    /// `store`
    pub fn store(&self, value: Value, pointer: Value, align: u32) -> Value {
        // SAFETY: live handles.
        let store = Value(unsafe { core::LLVMBuildStore(self.raw, value.0, pointer.0) });
        store.set_align(align);
        store
    }

    /// `alloca`
    pub fn alloca(&self, ty: Type, align: u32, name: &str) -> Value {
        // SAFETY: live handles.
        let alloca = Value(unsafe { core::LLVMBuildAlloca(self.raw, ty.0, NONE) });
        alloca.set_align(align);
        alloca.set_name(name);
        alloca
    }

    /// `call`
    pub fn call(&self, function: Value, ty: Type, args: &[Value]) -> Value {
        let mut raw: Vec<LLVMValueRef> = args.iter().map(|v| v.0).collect();
        // SAFETY: the arguments have the types of `ty`, which is the callee's type.
        Value(unsafe {
            core::LLVMBuildCall2(self.raw, ty.0, function.0, raw.as_mut_ptr(), raw.len() as c_uint, NONE)
        })
    }

    /// Call of a function with its own type.
    pub fn call_fn(&self, function: Value, args: &[Value]) -> Value {
        self.call(function, function.value_type(), args)
    }

    /// Call of an intrinsic.
    pub fn intrinsic(&self, module: Module, name: &str, overloads: &[Type], args: &[Value]) -> Value {
        let mut types: Vec<_> = overloads.iter().map(|t| t.0).collect();
        // SAFETY: {pointer, length} name; the arrays outlive the calls.
        let function = unsafe {
            let id = core::LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            assert!(id != 0, "LLVM knows no intrinsic {name}");
            Value(core::LLVMGetIntrinsicDeclaration(module.0, id, types.as_mut_ptr(), types.len()))
        };
        self.call_fn(function, args)
    }

    /// Unconditional branch.
    pub fn br(&self, to: Block) -> Value {
        // SAFETY: live handles.
        Value(unsafe { core::LLVMBuildBr(self.raw, to.0) })
    }

    /// Conditional branch whose first target is rare.
    pub fn br_rare(&self, condition: Value, rare: Block, usual: Block) -> Value {
        // SAFETY: live handles; the metadata node is made in the same context.
        unsafe {
            let branch = core::LLVMBuildCondBr(self.raw, condition.0, rare.0, usual.0);
            let kind_name = "prof";
            let kind = core::LLVMGetMDKindIDInContext(
                self.context.0,
                kind_name.as_ptr().cast(),
                kind_name.len() as c_uint,
            );
            let tag = "branch_weights";
            let i32_type = core::LLVMInt32TypeInContext(self.context.0);
            let mut parts = [
                core::LLVMMDStringInContext2(self.context.0, tag.as_ptr().cast(), tag.len()),
                core::LLVMValueAsMetadata(core::LLVMConstInt(i32_type, 1, 0)),
                core::LLVMValueAsMetadata(core::LLVMConstInt(i32_type, 1_000_000, 0)),
            ];
            let node = core::LLVMMDNodeInContext2(self.context.0, parts.as_mut_ptr(), parts.len());
            core::LLVMSetMetadata(branch, kind, core::LLVMMetadataAsValue(self.context.0, node));
            Value(branch)
        }
    }

    /// Conditional branch.
    pub fn br_if(&self, condition: Value, then: Block, otherwise: Block) -> Value {
        // SAFETY: live handles.
        Value(unsafe { core::LLVMBuildCondBr(self.raw, condition.0, then.0, otherwise.0) })
    }

    /// `ret`, `ret void` for none.
    pub fn ret(&self, value: Option<Value>) -> Value {
        // SAFETY: live handles.
        Value(unsafe {
            match value {
                Some(v) => core::LLVMBuildRet(self.raw, v.0),
                None => core::LLVMBuildRetVoid(self.raw),
            }
        })
    }

    /// `extractelement` with a constant lane.
    pub fn lane(&self, vector: Value, lane: u32) -> Value {
        let index = self.context.i32().constant(lane.into());
        // SAFETY: live handles; the lane is in range.
        Value(unsafe { core::LLVMBuildExtractElement(self.raw, vector.0, index.0, NONE) })
    }

    /// `insertvalue`
    pub fn insert_value(&self, aggregate: Value, value: Value, index: u32) -> Value {
        // SAFETY: live handles; the index is in range.
        Value(unsafe { core::LLVMBuildInsertValue(self.raw, aggregate.0, value.0, index, NONE) })
    }

    /// A field of a struct.
    pub fn extract_value(&self, aggregate: Value, index: u32) -> Value {
        // SAFETY: callers pass a struct with such a field.
        Value(unsafe { core::LLVMBuildExtractValue(self.raw, aggregate.0, index, NONE) })
    }

    /// A poison value.
    pub fn poison(&self, ty: Type) -> Value {
        // SAFETY: types live as long as the context.
        Value(unsafe { core::LLVMGetPoison(ty.0) })
    }
}

/// Debug location of an instruction, null for none.
///
/// # Safety
/// `instruction` is a live instruction.
unsafe fn core_debug_loc(instruction: LLVMValueRef) -> inkwell::llvm_sys::prelude::LLVMMetadataRef {
    // SAFETY: as the caller promises.
    unsafe { inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc(instruction) }
}
