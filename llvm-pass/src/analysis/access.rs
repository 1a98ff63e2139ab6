//! From an instruction to its events.

use crate::llvm::{Module, Opcode, Ordering, TypeKind, Value};

use super::callee::{Callee, callee};
use super::facts::{Access, Kind, Lanes, Length, Masked, Private, Range, What};
use super::format::{print_arguments, scan_arguments};
use super::libc::Format;
use super::openmp;
use super::pointer::Privacy;

/// Size of the System V `va_list`, the largest of the targets that are supported.
const VA_LIST_BYTES: u64 = 32;

/// Reads instructions of one function.
pub struct Reader<'a> {
    /// The module.
    pub module: Module,
    /// The function.
    pub function: Value,
    /// Who shares what.
    pub privacy: &'a Privacy,
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
        What::Access(Access { kind, operand, key: 0, offset: 0, size, align, private, hulls: vec![] })
    }

    fn range(&self, call: Value, kind: Kind, argument: u32, length: Length) -> Range {
        Range { kind, argument, length, private: self.private(call.operand(argument)) }
    }

    fn call(&self, call: Value) -> Vec<What> {
        let mut out = match callee(call) {
            Callee::Intrinsic(name) => self.intrinsic(call, &name),
            Callee::OpenMp(name) => self.openmp(call, &name),
            Callee::Libc(name, function) => self.libc(call, &name, &function),
            Callee::Heap(name) => self.heap(call, &name),
            Callee::Asm => self.asm(call),
            Callee::Own(_) | Callee::Indirect => vec![],
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

    fn intrinsic(&self, call: Value, name: &str) -> Vec<What> {
        let ranges = |list: &[(Kind, u32, Length)]| {
            let list = list.iter().map(|(k, a, l)| self.range(call, *k, *a, l.clone())).collect();
            vec![What::Ranges(list)]
        };
        let length = || match call.operand(2).int() {
            Some(bytes) if bytes >= 0 => Length::Bytes(bytes as u64),
            _ => Length::Arg(2),
        };
        if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") {
            return ranges(&[(Kind::Load, 1, length()), (Kind::Store, 0, length())]);
        }
        if name.starts_with("llvm.memset") {
            return ranges(&[(Kind::Store, 0, length())]);
        }
        if name.starts_with("llvm.va_start") {
            return ranges(&[(Kind::Store, 0, Length::Bytes(VA_LIST_BYTES.min(24)))]);
        }
        if name.starts_with("llvm.va_copy") {
            let bytes = || Length::Bytes(24);
            return ranges(&[(Kind::Load, 1, bytes()), (Kind::Store, 0, bytes())]);
        }
        if let Some(masked) = self.masked(call, name) {
            return vec![masked];
        }
        self.other_intrinsic(call, name)
    }

    fn masked(&self, call: Value, name: &str) -> Option<What> {
        let (kind, lanes, address, mask, vector) = if name.starts_with("llvm.masked.load") {
            (Kind::Load, Lanes::Contiguous, 0, 1, call.ty())
        } else if name.starts_with("llvm.masked.store") {
            (Kind::Store, Lanes::Contiguous, 1, 2, call.operand(0).ty())
        } else if name.starts_with("llvm.masked.gather") {
            (Kind::Load, Lanes::Scattered, 0, 1, call.ty())
        } else if name.starts_with("llvm.masked.scatter") {
            (Kind::Store, Lanes::Scattered, 1, 2, call.operand(0).ty())
        } else if name.starts_with("llvm.masked.expandload") {
            (Kind::Load, Lanes::Packed, 0, 1, call.ty())
        } else if name.starts_with("llvm.masked.compressstore") {
            (Kind::Store, Lanes::Packed, 1, 2, call.operand(0).ty())
        } else {
            return None;
        };
        let private = match lanes {
            Lanes::Scattered => None,
            _ => self.private(call.operand(address)),
        };
        if vector.kind() != TypeKind::LLVMVectorTypeKind {
            return Some(What::Unsupported("masked access to a vector of run-time length".to_owned()));
        }
        let element = self.module.store_size(vector.element());
        Some(What::Masked(Masked { kind, lanes, count: vector.lanes(), element, address, mask, private }))
    }

    /// Intrinsics of the target, such as non-temporal or AVX masked accesses.
    fn other_intrinsic(&self, call: Value, name: &str) -> Vec<What> {
        const SILENT: &[&str] = &[
            "llvm.lifetime.",
            "llvm.prefetch",
            "llvm.invariant.",
            "llvm.assume",
            "llvm.dbg.",
            "llvm.objectsize",
            "llvm.stack",
            "llvm.va_end",
            "llvm.launder",
            "llvm.strip",
            "llvm.ptrmask",
            "llvm.threadlocal",
            "llvm.experimental.noalias",
            "llvm.var.annotation",
            "llvm.ptr.annotation",
            "llvm.frameaddress",
            "llvm.returnaddress",
            "llvm.eh.",
            "llvm.fake.use",
            "llvm.annotation",
            "llvm.preserve.",
            "llvm.ubsantrap",
            "llvm.donothing",
            "llvm.clear_cache",
            "llvm.type.",
            "llvm.localescape",
            "llvm.sponentry",
        ];
        if SILENT.iter().any(|p| name.starts_with(p)) || !call.call_touches_memory() {
            return vec![];
        }
        let mut ranges = Vec::new();
        let widest = std::iter::once(call.ty())
            .chain(call.args().into_iter().map(Value::ty))
            .filter(|t| t.kind() == TypeKind::LLVMVectorTypeKind && t.is_fixed_size())
            .map(|t| self.module.store_size(t))
            .max();
        for (index, argument) in call.args().into_iter().enumerate() {
            if !argument.ty().is_plain_pointer() || self.private(argument).is_some() {
                continue;
            }
            let Some(bytes) = widest else {
                return vec![What::Unsupported(format!("call of {name} on memory that may be shared"))];
            };
            let kind = if call.may_write() { Kind::Store } else { Kind::Load };
            ranges.push(self.range(call, kind, index as u32, Length::Bytes(bytes)));
        }
        vec![What::Ranges(ranges)]
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

    fn libc(&self, call: Value, name: &str, function: &super::libc::Function) -> Vec<What> {
        let mut ranges = Vec::new();
        let mut notes = Vec::new();
        for (kind, argument, length) in function.effects() {
            // A declaration with another signature is not the function of the table.
            let operands: Vec<u32> = match &length {
                Length::Arg(a) | Length::Formatted { format: a } => vec![argument, *a],
                Length::Product(x, y) => vec![argument, *x, *y],
                Length::StrLen(list) => list.iter().copied().chain([argument]).collect(),
                _ => vec![argument],
            };
            if operands.iter().any(|&i| i >= call.arg_count())
                || !call.operand(argument).ty().is_plain_pointer()
            {
                return self.external(call, name);
            }
            ranges.push(self.range(call, kind, argument, length));
        }
        let arguments = match function.format {
            Format::None => Some((0, vec![])),
            Format::List => None,
            Format::Print(format, first) => {
                constant_format(call, format).map(|f| (first, print_arguments(&f)))
            }
            Format::Scan(format, first, source) => {
                constant_format(call, format).map(|f| (first, scan_arguments(&f, source)))
            }
        };
        let Some((first, arguments)) = arguments else {
            notes.push(What::Remark(format!(
                "the arguments of {name} are not known here: strings among them are not made valid before the call"
            )));
            notes.insert(0, What::Ranges(ranges));
            return notes;
        };
        // Outputs last: the strings that bound them must be readable first.
        for argument in arguments {
            let index = first + argument.position;
            if index >= call.arg_count() || !call.operand(index).ty().is_plain_pointer() {
                continue;
            }
            match argument.length {
                Some(length) => ranges.push(self.range(call, argument.kind, index, length)),
                None if self.private(call.operand(index)).is_none() => notes.push(What::Remark(format!(
                    "{name} writes a string of unknown length to memory that may be shared; give the conversion a width"
                ))),
                None => {}
            }
        }
        let formatted = |r: &Range| matches!(r.length, Length::Formatted { .. });
        ranges.sort_by_key(formatted);
        notes.insert(0, What::Ranges(ranges));
        notes
    }

    fn external(&self, call: Value, name: &str) -> Vec<What> {
        if name.starts_with("__atomic_") {
            let shared = call.args().iter().any(|a| a.ty().is_plain_pointer() && self.private(*a).is_none());
            if shared {
                return vec![What::Unsupported(format!(
                    "{name} on memory that may be shared: atomics wider than 16 bytes or without alignment are not supported"
                ))];
            }
        }
        let shared = |a: &Value| a.ty().is_plain_pointer() && self.private(*a).is_none();
        if call.args().iter().any(shared) && call.call_touches_memory() {
            return vec![What::Remark(format!(
                "{name} gets a pointer to memory that may be shared; if it is not compiled with dsm-cc, its accesses are not checked"
            ))];
        }
        vec![]
    }

    fn asm(&self, call: Value) -> Vec<What> {
        let shared = |a: &Value| a.ty().is_plain_pointer() && self.private(*a).is_none();
        if call.asm_touches_memory() && call.args().iter().any(shared) {
            return vec![What::Unsupported(
                "inline assembly with an operand in memory that may be shared: its accesses are not checked"
                    .to_owned(),
            )];
        }
        vec![]
    }
}

/// Text of a format that is a constant.
fn constant_format(call: Value, argument: u32) -> Option<Vec<u8>> {
    let global = call.operand(argument);
    if !global.is_global_variable() || !global.is_global_constant() {
        return None;
    }
    let initializer = global.initializer()?;
    if let Some(text) = initializer.constant_string() {
        return Some(text);
    }
    // An empty string is a zero initialiser.
    (initializer.ty().kind() == TypeKind::LLVMArrayTypeKind && initializer.is_constant()).then(Vec::new)
}
