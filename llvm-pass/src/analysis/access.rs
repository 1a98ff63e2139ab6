//! From an instruction to its events.

use crate::llvm::{AsmOperands, Module, Opcode, Ordering, TypeKind, Value};

use super::callee::{Callee, callee};
use super::facts::{
    Access, Arguments, Extent, FormatCall, Kind, Lanes, Length, Masked, Private, Purpose, Range, What,
};
use super::format::{FormatArg, print_arguments, scan_arguments};
use super::fortran;
use super::graph::Given;
use super::libc::Format;
use super::openmp;
use super::pointer::Privacy;

/// Size of the System V `va_list`, the largest of the targets that are supported.
const VA_LIST_BYTES: u64 = 32;

/// Size of the code that `llvm.init.trampoline` writes, the largest of the targets that are supported.
const TRAMPOLINE_BYTES: u64 = 32;

/// Longest copy that is taken for a load and a store, bytes.
const MAX_FIXED: i64 = 1 << 30;

/// True of intrinsics that copy from their second argument to their first as many bytes as the third says.
pub fn is_copy(intrinsic: &str) -> bool {
    intrinsic.starts_with("llvm.memcpy") || intrinsic.starts_with("llvm.memmove")
}

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

    /// One end of a call that copies or sets a number of bytes that is known here: no other than a load or store of so many.
    fn fixed(&self, call: Value, kind: Kind, argument: u32, bytes: u64) -> What {
        let align = call.call_int_attribute(argument, "align").unwrap_or(1);
        What::Access(Access {
            private: self.private(call.operand(argument)),
            ..Access::new(kind, argument, bytes, align)
        })
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

    fn intrinsic(&self, call: Value, name: &str) -> Vec<What> {
        let ranges = |list: &[(Kind, u32, Length)]| {
            let list = list.iter().map(|(k, a, l)| self.range(call, *k, *a, l.clone())).collect();
            vec![What::Ranges(list)]
        };
        let copies = is_copy(name);
        if copies || name.starts_with("llvm.memset") {
            return match call.operand(2).int() {
                Some(0) => vec![],
                Some(bytes) if (1..=MAX_FIXED).contains(&bytes) => {
                    let from = copies.then(|| self.fixed(call, Kind::Load, 1, bytes as u64));
                    from.into_iter().chain([self.fixed(call, Kind::Store, 0, bytes as u64)]).collect()
                }
                _ => {
                    let from = copies.then(|| self.range(call, Kind::Load, 1, Length::Arg(2)));
                    vec![What::Ranges(
                        from.into_iter().chain([self.filled(call, 0, Length::Arg(2))]).collect(),
                    )]
                }
            };
        }
        if name.starts_with("llvm.init.trampoline") {
            return ranges(&[(Kind::Store, 0, Length::Bytes(TRAMPOLINE_BYTES))]);
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
            "llvm.adjust.trampoline",
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
        for (kind, argument, length) in function.effects() {
            // A declaration with another signature is not the function of the table.
            let operands: Vec<u32> = match &length {
                Length::Arg(a)
                | Length::Formatted { format: a }
                | Length::Scaled(a, _)
                | Length::Vectors(a) => {
                    vec![argument, *a]
                }
                Length::Product(x, y) => vec![argument, *x, *y],
                Length::StrLen(list) => list.iter().copied().chain([argument]).collect(),
                _ => vec![argument],
            };
            if operands.iter().any(|&i| i >= call.arg_count())
                || !call.operand(argument).ty().is_plain_pointer()
            {
                return self.external(call, name);
            }
            ranges.push(match kind {
                Kind::Store if function.fills => self.filled(call, argument, length),
                _ => self.range(call, kind, argument, length),
            });
        }
        let fixed = match function.format {
            Format::None => Some((0, vec![])),
            Format::PrintList(..) | Format::PrintToList(..) | Format::ScanList(..) => None,
            Format::Print(format, first) => {
                constant_format(call, format).map(|f| (first, print_arguments(&f)))
            }
            Format::Scan(format, first, source) => constant_format(call, format)
                .map(|f| (first, scan_arguments(&f, source)))
                .filter(|(_, arguments)| arguments.iter().all(|a| a.length.is_some())),
        };
        if let Some((first, arguments)) = fixed {
            self.fixed_format(call, first, &arguments, &mut ranges);
            return vec![What::Ranges(ranges)];
        }
        let formatted = ranges.iter().find(|r| matches!(r.length, Length::Formatted { .. }));
        let to = formatted.map(|r| r.argument);
        ranges.retain(|r| !matches!(r.length, Length::Formatted { .. }));
        let mut out = Vec::new();
        if let Some(format) = self.format_call(call, function.format, to) {
            if let Arguments::List(list) = format.arguments {
                ranges.push(self.range(call, Kind::Store, list, Length::Bytes(VA_LIST_BYTES.min(24))));
            }
            out.push(What::Format(format));
        }
        out.insert(0, What::Ranges(ranges));
        out
    }

    /// The memory arguments of a format that is known here.
    fn fixed_format(&self, call: Value, first: u32, arguments: &[FormatArg], ranges: &mut Vec<Range>) {
        for argument in arguments {
            let index = first + argument.position;
            if index >= call.arg_count() || !call.operand(index).ty().is_plain_pointer() {
                continue;
            }
            let length = argument.length.clone().expect("other formats are read at run time");
            ranges.push(self.range(call, argument.kind, index, length));
        }
        // Outputs last: the strings that bound them must be readable first.
        ranges.sort_by_key(|r| matches!(r.length, Length::Formatted { .. }));
    }

    /// A format that has to be read at run time; `None` if no argument behind it can be shared memory.
    fn format_call(&self, call: Value, format: Format, to: Option<u32>) -> Option<FormatCall> {
        let print = to.map_or(Purpose::Print, Purpose::PrintTo);
        let (purpose, format, arguments) = match format {
            Format::None => return None,
            Format::Print(format, first) => (print, format, Arguments::From(first)),
            Format::PrintList(format, list) => (print, format, Arguments::List(list)),
            Format::PrintToList(format, list, to) => (Purpose::PrintTo(to), format, Arguments::List(list)),
            Format::Scan(format, first, source) => (Purpose::Scan(source), format, Arguments::From(first)),
            Format::ScanList(format, list, source) => (Purpose::Scan(source), format, Arguments::List(list)),
        };
        let shared = |i: u32| {
            let argument = call.operand(i);
            argument.ty().is_plain_pointer() && self.private(argument).is_none()
        };
        let needed = match (arguments, purpose) {
            (Arguments::List(list), _) => list < call.arg_count(),
            (Arguments::From(first), Purpose::PrintTo(to)) => {
                shared(to) || (first..call.arg_count()).any(shared)
            }
            (Arguments::From(first), _) => (first..call.arg_count()).any(shared),
        };
        needed.then_some(FormatCall { purpose, format, arguments })
    }

    fn external(&self, call: Value, name: &str) -> Vec<What> {
        if LOCAL.contains(&name) {
            return vec![What::Unsupported(format!("{name} synchronises threads of one process only"))];
        }
        let shared = |a: &Value| a.ty().is_plain_pointer() && self.private(*a).is_none();
        // Where there is a body, dsm-cc compiles it, here or in another source.
        let known = !call.callee().is_declaration();
        if !known && call.args().iter().any(shared) && call.call_touches_memory() {
            return vec![What::Remark(format!(
                "{name} gets a pointer to memory that may be shared; if it is not compiled with dsm-cc, its accesses are not checked"
            ))];
        }
        vec![]
    }

    fn asm(&self, call: Value) -> Vec<What> {
        let shared = |a: &Value| a.ty().is_plain_pointer() && self.private(*a).is_none();
        // An operand in memory is handed over by its address; an address may also be an operand itself.
        let text = match call.asm_operands() {
            AsmOperands::Memory => {
                "inline assembly with an operand in memory that may be shared: its accesses are not checked"
            }
            AsmOperands::Registers => {
                "inline assembly gets the address of memory that may be shared: its accesses are not checked"
            }
            AsmOperands::None => return vec![],
        };
        if call.args().iter().any(shared) { vec![What::Unsupported(text.to_owned())] } else { vec![] }
    }
}

/// Functions whose objects only the C library understands.
const LOCAL: [&str; 5] = ["sem_open", "thrd_create", "mtx_trylock", "mtx_timedlock", "cnd_timedwait"];

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
