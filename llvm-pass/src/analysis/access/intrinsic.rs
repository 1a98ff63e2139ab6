//! What LLVM's intrinsics touch: copies and fills, masked accesses, variable arguments, accesses of the target's own.

use crate::llvm::{TypeKind, Value};

use super::{Reader, TRAMPOLINE_BYTES, VA_LIST_BYTES};
use crate::analysis::facts::{Access, Kind, Lanes, Length, Masked, What};

/// Longest copy that is taken for a load and a store, bytes.
const MAX_FIXED: i64 = 1 << 30;

/// True of intrinsics that copy from their second argument to their first as many bytes as the third says.
pub fn is_copy(intrinsic: &str) -> bool {
    intrinsic.starts_with("llvm.memcpy") || intrinsic.starts_with("llvm.memmove")
}

impl Reader<'_> {
    /// One end of a call that copies or sets a number of bytes that is known here: no other than a load or store of so many.
    fn fixed(&self, call: Value, kind: Kind, argument: u32, bytes: u64) -> What {
        let align = call.call_int_attribute(argument, "align").unwrap_or(1);
        What::Access(Access {
            private: self.private(call.operand(argument)),
            ..Access::new(kind, argument, bytes, align)
        })
    }

    pub(super) fn intrinsic(&self, call: Value, name: &str) -> Vec<What> {
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
            return ranges(&[(Kind::Store, 0, Length::Bytes(VA_LIST_BYTES))]);
        }
        if name.starts_with("llvm.va_copy") {
            let bytes = || Length::Bytes(VA_LIST_BYTES);
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
}
