//! From an instruction to its events: loads, stores and atomics here, and calls by whom they call. What inline assembly, intrinsics and functions of the C
//! library touch is in files of their own.

mod assembly;
mod intrinsic;
mod libc;

pub use intrinsic::is_copy;

use crate::llvm::{Module, Opcode, Ordering, Type, Value};

use super::callee::{Callee, callee};
use super::facts::{Access, Extent, Kind, Length, Private, Range, What};
use super::fortran;
use super::graph::Given;
use super::openmp;
use super::pointer::Privacy;

/// Size of the code that `llvm.init.trampoline` writes, and more.
const TRAMPOLINE_BYTES: u64 = 32;

/// Size of a `va_list`.
pub const VA_LIST_BYTES: u64 = 24;

/// Reads instructions of one function.
pub struct Reader<'a> {
    /// The module.
    pub module: Module,
    /// The function.
    pub function: Value,
    /// Who shares what.
    pub privacy: &'a Privacy,
    /// What callers check for functions.
    pub given: &'a Given,
}

impl Reader<'_> {
    /// Memory events of an instruction, in order; sync points are not among them. Accesses have no keys yet.
    pub fn events(&self, instruction: Value) -> Vec<What> {
        match instruction.opcode() {
            Opcode::LLVMLoad => vec![self.plain(instruction, Kind::Load, 0, instruction.ty())],
            Opcode::LLVMStore => vec![self.plain(instruction, Kind::Store, 1, instruction.operand(0).ty())],
            Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => vec![self.atomic(instruction, 0)],
            Opcode::LLVMFence if !instruction.is_single_thread() => vec![What::Atomic(None)],
            Opcode::LLVMVAArg => vec![],
            Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => self.call(instruction),
            _ => vec![],
        }
    }

    fn private(&self, pointer: Value) -> Option<Private> {
        self.privacy.in_function(self.function, pointer)
    }

    fn atomic(&self, instruction: Value, operand: u32) -> What {
        let private = self.private(instruction.operand(operand));
        What::Atomic(private)
    }

    fn plain(&self, instruction: Value, kind: Kind, operand: u32, ty: crate::llvm::Type) -> What {
        if instruction.ordering() != Ordering::LLVMAtomicOrderingNotAtomic {
            return self.atomic(instruction, operand);
        }
        let private = self.private(instruction.operand(operand));
        if !ty.is_fixed_size() {
            return match private {
                Some(_) => What::Ranges(vec![]),
                None => {
                    What::Unsupported("access to a vector of run-time length in shared memory".to_owned())
                }
            };
        }
        let size = self.module.store_size(ty).max(1);
        let align = u64::from(instruction.align().max(1));
        What::Access(Access { private, ..Access::new(kind, operand, size, align) })
    }

    fn range(&self, call: Value, kind: Kind, argument: u32, length: Length) -> Range {
        let operand = call.operand(argument);
        // What a private descriptor names may be shared, unless there is none.
        let private = match length.is_indirect() && !operand.is_null_pointer() {
            true => None,
            false => self.private(operand),
        };
        Range { kind, argument, length, fills: false, private }
    }

    /// Of a call that stores to all of it.
    fn filled(&self, call: Value, argument: u32, length: Length) -> Range {
        Range { fills: true, ..self.range(call, Kind::Store, argument, length) }
    }

    fn call(&self, call: Value) -> Vec<What> {
        let mut out = match callee(call) {
            Callee::Intrinsic(name) => self.intrinsic(call, &name),
            Callee::OpenMp(name) => self.openmp(call, &name),
            Callee::Libc(name, function) => self.libc(call, &name, &function),
            Callee::Heap(name) => self.heap(call, &name),
            // The runtime makes valid what it touches.
            Callee::Replaced(_) => vec![],
            Callee::Asm => self.asm(call),
            Callee::Own(function) => self.checked_for(call, function),
            Callee::Indirect => self.indirect(call),
            Callee::Extern(name) => self.external(call, &name),
        };
        // Arguments passed in memory are copied by the caller at the call.
        let copies: Vec<Range> = (0..call.arg_count())
            .filter_map(|i| {
                let ty = call.call_type_attribute(i, "byval")?;
                Some(self.range(call, Kind::Load, i, Length::Bytes(self.module.alloc_size(ty))))
            })
            .collect();
        if !copies.is_empty() {
            out.push(What::Ranges(copies));
        }
        out
    }

    /// What the call's own function finds checked.
    fn checked_for(&self, call: Value, function: Value) -> Vec<What> {
        let extents = self.given.get(&function).map_or(&[] as &[Extent], Vec::as_slice);
        let access = |e: &Extent| {
            let private = self.private(call.operand(e.parameter));
            let size = e.hi.abs_diff(e.lo);
            What::Access(Access {
                lead: e.lo,
                of_callee: true,
                private,
                ..Access::new(e.kind, e.parameter, size, 1)
            })
        };
        extents.iter().map(access).collect()
    }

    /// In Fortran, what a procedure pointer points to may be a trampoline in shared memory.
    fn indirect(&self, call: Value) -> Vec<What> {
        let callee = call.operands().count() as u32 - 1;
        if !fortran::is_fortran(self.module) || call.operand(callee) != call.callee() {
            return vec![];
        }
        vec![What::Ranges(vec![self.range(call, Kind::Load, callee, Length::Bytes(TRAMPOLINE_BYTES))])]
    }

    fn openmp(&self, call: Value, name: &str) -> Vec<What> {
        let Some(entry) = openmp::entry(name) else { return vec![] };
        let touched = entry.touches.iter().filter(|(_, argument, _)| *argument < call.arg_count());
        let ranges = touched.map(|&(kind, arg, bytes)| self.range(call, kind, arg, Length::Bytes(bytes)));
        vec![What::Ranges(ranges.collect())]
    }

    fn heap(&self, call: Value, name: &str) -> Vec<What> {
        // The other entries touch nothing of the program's, or do it through checks of their own.
        match name {
            "posix_memalign" => {
                vec![What::Ranges(vec![self.range(call, Kind::Store, 0, Length::Bytes(8))])]
            }
            _ => vec![],
        }
    }

    fn external(&self, call: Value, name: &str) -> Vec<What> {
        if LOCAL.contains(&name) {
            return vec![What::Unsupported(format!("{name} synchronises threads of one process only"))];
        }
        // Where there is a body, dsm-cc compiles it, here or in another source.
        let known = !call.callee().is_declaration();
        let hands_over = |i: u32| {
            let argument = call.operand(i);
            let copied = call.call_type_attribute(i, "byval");
            argument.ty().is_plain_pointer()
                && copied.map_or_else(|| self.private(argument).is_none(), Type::holds_pointer)
        };
        if !known && call.call_touches_memory() && (0..call.arg_count()).any(hands_over) {
            return vec![What::Unknown(name.to_owned())];
        }
        vec![]
    }
}

/// Functions whose objects only the C library understands.
const LOCAL: [&str; 5] = ["sem_open", "thrd_create", "mtx_trylock", "mtx_timedlock", "cnd_timedwait"];
