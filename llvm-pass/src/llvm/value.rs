//! Values: functions, globals, instructions, constants, blocks.

use std::ffi::CStr;
use std::os::raw::{c_char, c_uint};

use inkwell::llvm_sys::core;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

use super::{Linkage, Opcode, Ordering, RmwKind, Type};

/// Any value of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Value(pub(super) LLVMValueRef);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Block(pub(super) LLVMBasicBlockRef);

fn some(raw: LLVMValueRef) -> Option<Value> {
    (!raw.is_null()).then_some(Value(raw))
}

fn text(pointer: *const c_char) -> String {
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

    /// Value of an integer constant of at most 64 bits, sign extended.
    pub fn int(self) -> Option<i64> {
        if !self.is_constant_int() || self.ty().int_width() > 64 {
            return None;
        }
        // SAFETY: kind checked.
        Some(unsafe { core::LLVMConstIntGetSExtValue(self.0) })
    }

    /// Block of an instruction.
    pub fn block(self) -> Block {
        // SAFETY: callers ask this of instructions only.
        Block(unsafe { core::LLVMGetInstructionParent(self.0) })
    }

    /// The next instruction of the block.
    pub fn next(self) -> Option<Value> {
        // SAFETY: callers ask this of instructions only.
        some(unsafe { core::LLVMGetNextInstruction(self.0) })
    }

    /// The function that an instruction lies in.
    pub fn parent_function(self) -> Value {
        self.block().function()
    }

    /// Line of the instruction's debug location, 0 without one.
    pub fn line(self) -> u32 {
        // SAFETY: live handle.
        unsafe { core::LLVMGetDebugLocLine(self.0) }
    }

    // ---- memory instructions ----

    /// Alignment of a load, store, alloca, global or atomic, bytes; 0 for none.
    pub fn align(self) -> u32 {
        // SAFETY: callers ask this of the classes named.
        unsafe { core::LLVMGetAlignment(self.0) }
    }

    /// Sets what [`Value::align`] returns.
    pub fn set_align(self, bytes: u32) {
        // SAFETY: as above.
        unsafe { core::LLVMSetAlignment(self.0, bytes) }
    }

    /// Atomic ordering of a load, store, fence or rmw.
    pub fn ordering(self) -> Ordering {
        // SAFETY: callers ask this of the classes named.
        unsafe { core::LLVMGetOrdering(self.0) }
    }

    /// Orderings of a compare and swap.
    pub fn cas_orderings(self) -> (Ordering, Ordering) {
        // SAFETY: callers ask this of cmpxchg only.
        unsafe { (core::LLVMGetCmpXchgSuccessOrdering(self.0), core::LLVMGetCmpXchgFailureOrdering(self.0)) }
    }

    /// Operation of an rmw.
    pub fn rmw_kind(self) -> RmwKind {
        // SAFETY: callers ask this of rmw instructions only.
        unsafe { core::LLVMGetAtomicRMWBinOp(self.0) }
    }

    /// True of a volatile load or store.
    pub fn is_volatile(self) -> bool {
        // SAFETY: callers ask this of loads and stores only.
        unsafe { core::LLVMGetVolatile(self.0) != 0 }
    }

    /// True of an integer comparison for equality or inequality.
    pub fn is_equality(self) -> bool {
        use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE};
        // SAFETY: callers ask this of integer comparisons only.
        matches!(unsafe { core::LLVMGetICmpPredicate(self.0) }, LLVMIntEQ | LLVMIntNE)
    }

    /// Makes a load or store atomic.
    pub fn set_ordering(self, ordering: Ordering) {
        // SAFETY: callers pass loads and stores.
        unsafe { core::LLVMSetOrdering(self.0, ordering) }
    }

    /// Type that an alloca reserves.
    pub fn allocated_type(self) -> Type {
        // SAFETY: callers ask this of allocas only.
        Type(unsafe { core::LLVMGetAllocatedType(self.0) })
    }

    // ---- calls ----

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

    /// Type in a call argument's `byval`-like attribute.
    pub fn call_type_attribute(self, argument: u32, name: &str) -> Option<Type> {
        // SAFETY: callers pass calls; attribute indices of arguments start at 1.
        unsafe {
            let raw = core::LLVMGetCallSiteEnumAttribute(self.0, argument + 1, attribute_kind(name));
            (!raw.is_null()).then(|| Type(core::LLVMGetTypeAttributeValue(raw)))
        }
    }

    /// Value of a call argument's integer attribute such as `align`.
    pub fn call_int_attribute(self, argument: u32, name: &str) -> Option<u64> {
        // SAFETY: as above.
        unsafe {
            let raw = core::LLVMGetCallSiteEnumAttribute(self.0, argument + 1, attribute_kind(name));
            (!raw.is_null()).then(|| core::LLVMGetEnumAttributeValue(raw))
        }
    }

    // ---- functions and globals ----

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
        let c = std::ffi::CString::new(section).expect("section names have no NUL");
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

    /// Makes a global thread-local with the initial-exec model.
    pub fn set_initial_exec(self) {
        use inkwell::llvm_sys::LLVMThreadLocalMode::LLVMInitialExecTLSModel;
        // SAFETY: callers pass global variables only.
        unsafe { core::LLVMSetThreadLocalMode(self.0, LLVMInitialExecTLSModel) }
    }

    /// Initialiser of a global variable.
    pub fn initializer(self) -> Option<Value> {
        // SAFETY: callers ask this of global variables only.
        some(unsafe { core::LLVMGetInitializer(self.0) })
    }

    /// Text of a constant array of bytes, without its final NUL.
    pub fn const_string(self) -> Option<String> {
        // SAFETY: live handle of a constant, asked whether it is a string first; {pointer, length} text of the context.
        unsafe {
            if core::LLVMIsAConstantDataArray(self.0).is_null() || core::LLVMIsConstantString(self.0) == 0 {
                return None;
            }
            let mut length = 0;
            let bytes = core::LLVMGetAsString(self.0, &mut length);
            let text = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
            Some(String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
        }
    }

    /// Sets the initialiser.
    pub fn set_initializer(self, value: Value) {
        // SAFETY: callers pass global variables and a constant of their type.
        unsafe { core::LLVMSetInitializer(self.0, value.0) }
    }

    /// Moves a global into the comdat group of another.
    pub fn share_comdat(self, other: Value) {
        // SAFETY: live handles of globals; a null comdat means none.
        unsafe {
            let comdat = inkwell::llvm_sys::comdat::LLVMGetComdat(other.0);
            if !comdat.is_null() {
                inkwell::llvm_sys::comdat::LLVMSetComdat(self.0, comdat);
            }
        }
    }

    /// Aliasee of an alias.
    pub fn aliasee(self) -> Value {
        // SAFETY: callers ask this of aliases only.
        Value(unsafe { core::LLVMAliasGetAliasee(self.0) })
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

    /// Type in a parameter's `byval`-like attribute.
    pub fn param_type_attribute(self, index: u32, name: &str) -> Option<Type> {
        // SAFETY: callers pass functions; attribute indices of parameters start at 1.
        unsafe {
            let raw = core::LLVMGetEnumAttributeAtIndex(self.0, index + 1, attribute_kind(name));
            (!raw.is_null()).then(|| Type(core::LLVMGetTypeAttributeValue(raw)))
        }
    }

    /// Adds an enum attribute to a function.
    pub fn add_function_attribute(self, name: &str) {
        self.add_attribute(core::LLVMGetEnumAttributeKindForName, name, u32::MAX, 0)
    }

    /// Adds an enum attribute to a function's parameter (0-based).
    pub fn add_param_attribute(self, index: u32, name: &str, value: u64) {
        self.add_attribute(core::LLVMGetEnumAttributeKindForName, name, index + 1, value)
    }

    fn add_attribute(
        self,
        kind_of: unsafe extern "C" fn(*const c_char, usize) -> c_uint,
        name: &str,
        index: u32,
        value: u64,
    ) {
        // SAFETY: live handle of a function; the context is its own.
        unsafe {
            let kind = kind_of(name.as_ptr().cast(), name.len());
            assert!(kind != 0, "LLVM knows no attribute {name}");
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let attribute = core::LLVMCreateEnumAttribute(context, kind, value);
            core::LLVMAddAttributeAtIndex(self.0, index, attribute);
        }
    }

    /// Removes an enum attribute of a function's parameter (0-based).
    pub fn remove_param_attribute(self, index: u32, name: &str) {
        // SAFETY: live handle of a function; removing an absent attribute does nothing.
        unsafe { core::LLVMRemoveEnumAttributeAtIndex(self.0, index + 1, attribute_kind(name)) }
    }

    /// Removes an instruction's metadata of the kind.
    pub fn remove_metadata(self, kind: &str) {
        // SAFETY: live handle of an instruction; a null node removes.
        unsafe {
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let kind = core::LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as c_uint);
            core::LLVMSetMetadata(self.0, kind, std::ptr::null_mut());
        }
    }

    /// True if a function has the enum attribute.
    pub fn has_function_attribute(self, name: &str) -> bool {
        // SAFETY: callers pass functions only.
        !unsafe { core::LLVMGetEnumAttributeAtIndex(self.0, u32::MAX, attribute_kind(name)) }.is_null()
    }

    /// First block of a function with a body.
    pub fn entry_block(self) -> Block {
        // SAFETY: callers pass definitions only.
        Block(unsafe { core::LLVMGetEntryBasicBlock(self.0) })
    }

    /// Blocks of a function in layout order.
    pub fn blocks(self) -> Vec<Block> {
        let mut out = Vec::new();
        // SAFETY: live handle of a function.
        unsafe {
            let mut block = core::LLVMGetFirstBasicBlock(self.0);
            while !block.is_null() {
                out.push(Block(block));
                block = core::LLVMGetNextBasicBlock(block);
            }
        }
        out
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

fn attribute_kind(name: &str) -> c_uint {
    // SAFETY: {pointer, length} string.
    unsafe { core::LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

impl Block {
    /// Function of the block.
    pub fn function(self) -> Value {
        // SAFETY: live handle.
        Value(unsafe { core::LLVMGetBasicBlockParent(self.0) })
    }

    /// Name of the block.
    pub fn name(self) -> String {
        // SAFETY: live handle.
        text(unsafe { core::LLVMGetBasicBlockName(self.0) })
    }

    /// Instructions in order.
    pub fn instructions(self) -> Vec<Value> {
        let mut out = Vec::new();
        // SAFETY: live handle.
        let mut next = some(unsafe { core::LLVMGetFirstInstruction(self.0) });
        while let Some(instruction) = next {
            out.push(instruction);
            next = instruction.next();
        }
        out
    }

    /// The terminator.
    pub fn terminator(self) -> Value {
        // SAFETY: blocks of a well-formed function have one.
        Value(unsafe { core::LLVMGetBasicBlockTerminator(self.0) })
    }

    /// Successors, one entry an edge.
    pub fn successors(self) -> Vec<Block> {
        let terminator = self.terminator().0;
        // SAFETY: live handle of a terminator.
        unsafe {
            (0..core::LLVMGetNumSuccessors(terminator))
                .map(|i| Block(core::LLVMGetSuccessor(terminator, i)))
                .collect()
        }
    }

    /// Blocks that branch here.
    pub fn predecessors(self) -> Vec<Block> {
        // SAFETY: live handle; a block's users are terminators and block addresses.
        let as_value = Value(unsafe { core::LLVMBasicBlockAsValue(self.0) });
        as_value.users().into_iter().filter(|u| u.is_instruction()).map(Value::block).collect()
    }

    /// First instruction that is not a phi (nor a landing pad, behind which code may be put).
    pub fn first_insertion_point(self) -> Value {
        self.instructions()
            .into_iter()
            .find(|i| !matches!(i.opcode(), Opcode::LLVMPHI | Opcode::LLVMLandingPad))
            .expect("a block ends in a terminator")
    }
}
