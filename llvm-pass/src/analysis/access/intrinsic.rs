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
        if let Some(target) = name.strip_prefix("llvm.x86.") {
            return self.x86(call, target).map(What::Masked);
        }
        let (kind, lanes, address, mask) = if name.starts_with("llvm.masked.load") {
            (Kind::Load, Lanes::Contiguous, 0, 1)
        } else if name.starts_with("llvm.masked.store") {
            (Kind::Store, Lanes::Contiguous, 1, 2)
        } else if name.starts_with("llvm.masked.gather") {
            (Kind::Load, Lanes::Scattered, 0, 1)
        } else if name.starts_with("llvm.masked.scatter") {
            (Kind::Store, Lanes::Scattered, 1, 2)
        } else if name.starts_with("llvm.masked.expandload") {
            (Kind::Load, Lanes::Packed, 0, 1)
        } else if name.starts_with("llvm.masked.compressstore") {
            (Kind::Store, Lanes::Packed, 1, 2)
        } else if name.starts_with("llvm.vp.load.") {
            (Kind::Load, Lanes::Contiguous, 0, 1)
        } else if name.starts_with("llvm.vp.store.") {
            (Kind::Store, Lanes::Contiguous, 1, 2)
        } else if name.starts_with("llvm.vp.gather.") {
            (Kind::Load, Lanes::Scattered, 0, 1)
        } else if name.starts_with("llvm.vp.scatter.") {
            (Kind::Store, Lanes::Scattered, 1, 2)
        } else if name.starts_with("llvm.experimental.vp.strided.load.") {
            (Kind::Load, Lanes::Strided { stride: 1, unit: 1 }, 0, 2)
        } else if name.starts_with("llvm.experimental.vp.strided.store.") {
            (Kind::Store, Lanes::Strided { stride: 2, unit: 1 }, 1, 3)
        } else if name.starts_with("llvm.matrix.column.major.load.") {
            return Some(self.columns(call, Kind::Load, 0));
        } else if name.starts_with("llvm.matrix.column.major.store.") {
            return Some(self.columns(call, Kind::Store, 1));
        } else {
            return None;
        };
        let vector = if kind == Kind::Load { call.ty() } else { call.operand(0).ty() };
        if vector.kind() != TypeKind::LLVMVectorTypeKind {
            return Some(What::Unsupported("masked access to a vector of run-time length".to_owned()));
        }
        let limit = name.contains(".vp.").then_some(mask + 1);
        let (count, element) = (vector.lanes(), self.module.store_size(vector.element()));
        let masked = Masked { kind, lanes, count, element, address, mask: Some(mask), limit, private: None };
        Some(What::Masked(self.with_privacy(call, masked)))
    }

    fn with_privacy(&self, call: Value, masked: Masked) -> Masked {
        let private = match masked.lanes {
            Lanes::Scattered => None,
            _ => self.private(call.operand(masked.address)),
        };
        Masked { private, ..masked }
    }

    /// A matrix in columns: behind the address stride, a flag, the numbers of rows and columns.
    fn columns(&self, call: Value, kind: Kind, address: u32) -> What {
        let vector = if kind == Kind::Load { call.ty() } else { call.operand(0).ty() };
        let number = |argument: u32| call.operand(argument).int().and_then(|n| u32::try_from(n).ok());
        let (Some(rows), Some(count)) = (number(address + 3), number(address + 4)) else {
            return What::Unsupported("a matrix whose size is not constant".to_owned());
        };
        let unit = self.module.store_size(vector.element());
        let lanes = Lanes::Strided { stride: address + 1, unit };
        let element = u64::from(rows) * unit;
        let masked = Masked { kind, lanes, count, element, address, mask: None, limit: None, private: None };
        What::Masked(self.with_privacy(call, masked))
    }

    /// Gathers, scatters and masked accesses of x86; `name` is what follows `llvm.x86.`.
    fn x86(&self, call: Value, name: &str) -> Option<Masked> {
        let operand = |i: u32| call.operand(i).ty();
        let avx512 = name.strip_prefix("avx512.mask.");
        let (kind, lanes, address, mask, vector) =
            if name.starts_with("avx2.gather.") || avx512.is_some_and(|n| n.starts_with("gather")) {
                (Kind::Load, Lanes::Indexed { index: 2, scale: 4 }, 1, 3, call.ty())
            } else if avx512.is_some_and(|n| n.starts_with("scatter")) {
                (Kind::Store, Lanes::Indexed { index: 2, scale: 4 }, 0, 1, operand(3))
            } else if name.starts_with("avx.maskload.") || name.starts_with("avx2.maskload.") {
                (Kind::Load, Lanes::Contiguous, 0, 1, call.ty())
            } else if name.starts_with("avx.maskstore.") || name.starts_with("avx2.maskstore.") {
                (Kind::Store, Lanes::Contiguous, 0, 1, operand(2))
            } else if name == "sse2.maskmov.dqu" {
                (Kind::Store, Lanes::Contiguous, 2, 1, operand(0))
            } else {
                return None;
            };
        if vector.kind() != TypeKind::LLVMVectorTypeKind
            || operand(mask).kind() != TypeKind::LLVMVectorTypeKind
        {
            return None;
        }
        // With indices wider than the data, or the other way round, the shorter vector counts.
        let indices = match lanes {
            Lanes::Indexed { index, .. } => operand(index).lanes(),
            _ => u32::MAX,
        };
        let count = vector.lanes().min(indices).min(operand(mask).lanes());
        let element = self.module.store_size(vector.element());
        let masked =
            Masked { kind, lanes, count, element, address, mask: Some(mask), limit: None, private: None };
        Some(self.with_privacy(call, masked))
    }

    /// Accesses of x86 to a number of bytes that the name says: read or write, argument, bytes.
    fn x86_fixed(&self, call: Value, name: &str) -> Option<Vec<(Kind, u32, u64)>> {
        const SIZES: &[(&str, Kind, u32, u64)] = &[
            ("sse3.ldu.dq", Kind::Load, 0, 16),
            ("avx.ldu.dq.256", Kind::Load, 0, 32),
            ("sse41.movntdqa", Kind::Load, 0, 16),
            ("avx2.movntdqa", Kind::Load, 0, 32),
            ("avx512.movntdqa", Kind::Load, 0, 64),
            ("sse.ldmxcsr", Kind::Load, 0, 4),
            ("sse.stmxcsr", Kind::Store, 0, 4),
            ("fxsave", Kind::Store, 0, 512),
            ("fxrstor", Kind::Load, 0, 512),
            ("directstore32", Kind::Store, 0, 4),
            ("directstore64", Kind::Store, 0, 8),
        ];
        if name == "movdir64b" {
            return Some(vec![(Kind::Load, 1, 64), (Kind::Store, 0, 64)]);
        }
        if let Some(words) = name.strip_prefix("avx512.mask.pmov").filter(|n| n.contains(".mem.")) {
            // Truncated lanes, one behind the other: the second letter of `qb` is the size of what is stored.
            let letters = words.trim_start_matches("us").trim_start_matches('s').as_bytes();
            let bytes = match letters.get(1)? {
                b'b' => 1,
                b'w' => 2,
                b'd' => 4,
                _ => return None,
            };
            return Some(vec![(Kind::Store, 0, bytes * u64::from(call.operand(1).ty().lanes()))]);
        }
        let sized =
            SIZES.iter().filter(|(prefix, ..)| name == *prefix || name.strip_suffix("64") == Some(prefix));
        let found: Vec<_> = sized.map(|&(_, kind, argument, bytes)| (kind, argument, bytes)).collect();
        (!found.is_empty()).then_some(found)
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
            // They move cache lines, and change no memory.
            "llvm.x86.sse2.clflush",
            "llvm.x86.clflushopt",
            "llvm.x86.clwb",
            "llvm.x86.cldemote",
            "llvm.x86.sse3.monitor",
            "llvm.x86.monitorx",
            "llvm.x86.umonitor",
            "llvm.x86.avx512.gatherpf.",
            "llvm.x86.avx512.scatterpf.",
        ];
        if SILENT.iter().any(|p| name.starts_with(p)) || !call.call_touches_memory() {
            return vec![];
        }
        let known = name.strip_prefix("llvm.x86.").and_then(|n| self.x86_fixed(call, n));
        if let Some(list) = known {
            let range = |(kind, argument, bytes)| self.range(call, kind, argument, Length::Bytes(bytes));
            return vec![What::Ranges(list.into_iter().map(range).collect())];
        }
        let shared = |a: &Value| a.ty().is_plain_pointer() && self.private(*a).is_none();
        if call.args().iter().any(shared) {
            return vec![What::Unsupported(format!(
                "{name} accesses memory that may be shared, in a way that is not known: its accesses are not checked"
            ))];
        }
        vec![]
    }
}
