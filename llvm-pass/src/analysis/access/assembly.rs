//! Inline assembly that may access shared memory. Nobody checks what it accesses, so it is warned of.
//!
//! It has to know the address: as the place of an operand in memory, in a register, as a pointer or as an integer that was one, or in a local object that is an operand in memory. The last is how assembly with more pointers
//! than registers is written. Of local variables all stores count, whenever they are executed.
//!
//! This is no proof. An integer in a register is followed back to the pointer through what computes addresses, a variable to what is stored to it; an integer that comes from elsewhere is taken
//! for a number, and a pointer that comes from elsewhere for one to shared memory.

use std::collections::HashSet;

use crate::llvm::{AsmOperands, Opcode, Type, TypeKind, Value};

use super::{Reader, is_copy};
use crate::analysis::callee::{Callee, callee};
use crate::analysis::facts::{Private, What};

const AT_OPERAND: &str =
    "inline assembly with an operand in memory that may be shared: its accesses are not checked";
const IN_REGISTER: &str =
    "inline assembly gets the address of memory that may be shared: its accesses are not checked";
const IN_VARIABLE: &str = "inline assembly reads the address of memory that may be shared from an operand in memory: its accesses are not checked";

/// How many values are followed for one operand.
const LONGEST_WALK: usize = 64;

/// Bytes of a pointer, and bits.
const POINTER_BYTES: u64 = 8;
const POINTER_BITS: u32 = 64;

/// Bytes of an object, from the first to behind the last.
type Bytes = std::ops::Range<i64>;

impl Reader<'_> {
    pub(super) fn asm(&self, call: Value) -> Vec<What> {
        let operands = call.asm_operands();
        if operands == AsmOperands::None {
            return vec![];
        }
        let is_shared = |a: &Value| a.ty().is_plain_pointer() && self.private(*a).is_none();
        let text = if call.args().iter().any(is_shared) {
            match operands {
                AsmOperands::Memory => AT_OPERAND,
                _ => IN_REGISTER,
            }
        } else if (0..call.arg_count()).any(|i| self.is_address_in_register(call, i)) {
            IN_REGISTER
        } else if (0..call.arg_count()).any(|i| self.is_address_in_memory(call, i)) {
            IN_VARIABLE
        } else {
            return vec![];
        };
        vec![What::Unsupported(text.to_owned())]
    }

    /// Whether an operand is an integer that may be such an address. Assembly that says of itself that it touches no memory only computes with it.
    fn is_address_in_register(&self, call: Value, index: u32) -> bool {
        let operand = call.operand(index);
        operand.ty().kind() == TypeKind::LLVMIntegerTypeKind
            && call.call_touches_memory()
            && self.may_hold_address(operand, &mut HashSet::new())
    }

    /// Whether an operand is read from private memory that may have such an address in it.
    fn is_address_in_memory(&self, call: Value, index: u32) -> bool {
        if !call.asm_reads_operand_in_memory(index) {
            return false;
        }
        let Some(ty) = call.call_type_attribute(index, "elementtype").filter(|ty| ty.is_fixed_size()) else {
            return false;
        };
        self.module.alloc_size(ty) >= POINTER_BYTES
            && self.may_contain_address(call.operand(index), ty, &mut HashSet::new())
    }

    /// Whether what a pointer points to, of this type, may have the address of shared memory in it.
    fn may_contain_address(&self, pointer: Value, ty: Type, seen: &mut HashSet<Value>) -> bool {
        let (base, offset) = self.object(pointer);
        match self.private(base) {
            Some(Private::Undefined | Private::OtherAddressSpace) => false,
            Some(Private::Local) if is_variable(base) => {
                let bytes = offset.map(|start| bytes_from(start, self.module.alloc_size(ty)));
                self.is_address_stored(base, bytes.as_ref(), ty.holds_pointer(), seen)
            }
            Some(Private::Constant) if base.is_global_variable() => {
                base.initializer().map_or(ty.holds_pointer(), |value| self.may_hold_address(value, seen))
            }
            _ => ty.holds_pointer(),
        }
    }

    /// The object that an address is computed from, and where in it the address is, if that is constant.
    fn object(&self, pointer: Value) -> (Value, Option<i64>) {
        let (mut base, offset) = pointer.constant_offset(self.module);
        let mut offset = Some(offset);
        while base.is_instruction() && base.opcode() == Opcode::LLVMGetElementPtr {
            (base, _) = base.operand(0).constant_offset(self.module);
            offset = None;
        }
        (base, offset)
    }

    /// Whether the function stores the address of shared memory to these bytes of a local variable, or anywhere in it. What is stored by others may be one if there are `pointers`.
    fn is_address_stored(
        &self,
        variable: Value,
        bytes: Option<&Bytes>,
        pointers: bool,
        seen: &mut HashSet<Value>,
    ) -> bool {
        let mut addresses = HashSet::from([variable]);
        let mut work = vec![variable];
        while let Some(address) = work.pop() {
            for user in address.users() {
                let stored = match user.opcode() {
                    Opcode::LLVMLoad | Opcode::LLVMICmp => false,
                    Opcode::LLVMStore if user.operand(1) == address => {
                        let value = user.operand(0);
                        let size = self.module.store_size(value.ty());
                        let stored = self.offset_in(variable, address).map(|start| bytes_from(start, size));
                        meet(stored.as_ref(), bytes) && self.may_hold_address(value, seen)
                    }
                    Opcode::LLVMGetElementPtr
                    | Opcode::LLVMBitCast
                    | Opcode::LLVMFreeze
                    | Opcode::LLVMPHI
                    | Opcode::LLVMSelect => {
                        if addresses.insert(user) {
                            work.push(user);
                        }
                        false
                    }
                    Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => {
                        self.stores_address(user, variable, address, bytes, pointers, seen)
                    }
                    _ => pointers,
                };
                if stored {
                    return true;
                }
            }
        }
        false
    }

    /// How far behind the start of a variable an address is, if that is constant.
    fn offset_in(&self, variable: Value, address: Value) -> Option<i64> {
        let (base, offset) = self.object(address);
        offset.filter(|_| base == variable)
    }

    /// Whether a call that gets an address in a local variable may store that of shared memory there.
    fn stores_address(
        &self,
        call: Value,
        variable: Value,
        address: Value,
        bytes: Option<&Bytes>,
        pointers: bool,
        seen: &mut HashSet<Value>,
    ) -> bool {
        const NO_STORES: [&str; 5] =
            ["llvm.lifetime.", "llvm.memset", "llvm.dbg.", "llvm.assume", "llvm.invariant."];
        let passed = || (0..call.arg_count()).filter(|i| call.operand(*i) == address);
        match callee(call) {
            Callee::Intrinsic(name) if NO_STORES.iter().any(|prefix| name.starts_with(prefix)) => false,
            Callee::Intrinsic(name) if is_copy(&name) => {
                if call.operand(0) != address || !seen.insert(call) {
                    return false;
                }
                let (from, offset) = self.object(call.operand(1));
                if self.private(from) != Some(Private::Local) || !is_variable(from) {
                    return pointers;
                }
                let to = self.offset_in(variable, address);
                let copied = to.zip(call.operand(2).int()).map(|(to, length)| to..to.saturating_add(length));
                // The same bytes where they were.
                let distance = offset.zip(to).map(|(offset, to)| offset.saturating_sub(to));
                let source =
                    bytes.zip(distance).map(|(b, d)| b.start.saturating_add(d)..b.end.saturating_add(d));
                meet(copied.as_ref(), bytes) && self.is_address_stored(from, source.as_ref(), pointers, seen)
            }
            // Assembly that reads it as well goes on from the address in it.
            Callee::Asm => pointers && !passed().any(|i| call.asm_reads_operand_in_memory(i)),
            _ => {
                let only_reads = |i: u32| {
                    let declared = call.called_function().filter(|f| i < f.param_count());
                    let says = |name: &str| {
                        call.call_int_attribute(i, name).is_some()
                            || declared.is_some_and(|f| f.has_param_attribute(i, name))
                    };
                    says("readonly") || says("readnone") || call.call_type_attribute(i, "byval").is_some()
                };
                pointers && !passed().all(only_reads)
            }
        }
    }

    /// Whether a value may be the address of shared memory, or have one in it.
    fn may_hold_address(&self, value: Value, seen: &mut HashSet<Value>) -> bool {
        let ty = value.ty();
        if ty.kind() == TypeKind::LLVMIntegerTypeKind && ty.int_width() < POINTER_BITS || value.is_undef() {
            return false;
        }
        if seen.len() >= LONGEST_WALK {
            return ty.holds_pointer();
        }
        if !seen.insert(value) {
            return false;
        }
        if ty.is_plain_pointer() && self.private(value).is_some() {
            return false;
        }
        let mut any = |values: &[Value]| values.iter().any(|v| self.may_hold_address(*v, seen));
        let opcode = if value.is_instruction() {
            value.opcode()
        } else if value.is_constant_expr() {
            value.const_opcode()
        } else if value.is_constant() && !ty.is_plain_pointer() {
            return any(&value.operands().collect::<Vec<_>>());
        } else {
            return ty.holds_pointer();
        };
        match opcode {
            Opcode::LLVMPtrToInt | Opcode::LLVMGetElementPtr => any(&[value.operand(0)]),
            Opcode::LLVMFreeze | Opcode::LLVMBitCast | Opcode::LLVMShuffleVector => {
                any(&value.operands().take(2).collect::<Vec<_>>())
            }
            Opcode::LLVMInsertElement | Opcode::LLVMInsertValue => any(&[value.operand(0), value.operand(1)]),
            Opcode::LLVMPHI => any(&value.incoming().into_iter().map(|(v, _)| v).collect::<Vec<_>>()),
            Opcode::LLVMSelect => any(&[value.operand(1), value.operand(2)]),
            Opcode::LLVMAdd | Opcode::LLVMOr => any(&[value.operand(0), value.operand(1)]),
            // The distance of two addresses is none.
            Opcode::LLVMSub => {
                any(&[value.operand(0)]) && !self.may_hold_address(value.operand(1), &mut HashSet::new())
            }
            // Neither is what the low bits of one say, its alignment for example.
            Opcode::LLVMAnd => {
                let is_low = |mask: Value| mask.int().is_some_and(|mask| (0..1 << 32).contains(&mask));
                !is_low(value.operand(1)) && any(&[value.operand(0)])
            }
            Opcode::LLVMLoad => self.may_contain_address(value.operand(0), ty, seen),
            _ => ty.holds_pointer(),
        }
    }
}

/// True of a local variable.
fn is_variable(object: Value) -> bool {
    object.is_instruction() && object.opcode() == Opcode::LLVMAlloca
}

fn bytes_from(start: i64, size: u64) -> Bytes {
    start..start.saturating_add_unsigned(size)
}

/// Whether two parts of an object may have bytes in common.
fn meet(a: Option<&Bytes>, b: Option<&Bytes>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return true };
    a.start < b.end && b.start < a.end
}
