//! Codes of the atomic entry points.

/// `op` argument of `__dsm_atomic_rmw`; the operand's width comes in `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are LLVM's `atomicrmw` operations")]
pub enum RmwOp {
    Xchg = 0,
    Add = 1,
    Sub = 2,
    And = 3,
    Nand = 4,
    Or = 5,
    Xor = 6,
    Max = 7,
    Min = 8,
    UMax = 9,
    UMin = 10,
    FAdd = 11,
    FSub = 12,
    FMax = 13,
    FMin = 14,
    UIncWrap = 15,
    UDecWrap = 16,
    USubCond = 17,
    USubSat = 18,
    FMaximum = 19,
    FMinimum = 20,
}

impl RmwOp {
    /// All operations, in the order of their codes.
    pub const ALL: [RmwOp; 21] = [
        RmwOp::Xchg,
        RmwOp::Add,
        RmwOp::Sub,
        RmwOp::And,
        RmwOp::Nand,
        RmwOp::Or,
        RmwOp::Xor,
        RmwOp::Max,
        RmwOp::Min,
        RmwOp::UMax,
        RmwOp::UMin,
        RmwOp::FAdd,
        RmwOp::FSub,
        RmwOp::FMax,
        RmwOp::FMin,
        RmwOp::UIncWrap,
        RmwOp::UDecWrap,
        RmwOp::USubCond,
        RmwOp::USubSat,
        RmwOp::FMaximum,
        RmwOp::FMinimum,
    ];

    /// The operation with this code.
    pub fn from_code(code: u32) -> Option<RmwOp> {
        RmwOp::ALL.get(code as usize).copied()
    }

    /// Whether the operands are floating-point numbers.
    pub fn is_float(self) -> bool {
        use RmwOp::*;
        matches!(self, FAdd | FSub | FMax | FMin | FMaximum | FMinimum)
    }

    /// The new value of an object of `size` bytes, at most 16, that is `old`. `None`: there is no such operation on this size.
    pub fn apply(self, size: u32, old: u128, operand: u128) -> Option<u128> {
        let (a, b) = (old, operand);
        let (sa, sb) = (signed(a, size), signed(b, size));
        let result = match self {
            RmwOp::Xchg => b,
            RmwOp::Add => a.wrapping_add(b),
            RmwOp::Sub => a.wrapping_sub(b),
            RmwOp::And => a & b,
            RmwOp::Nand => !(a & b),
            RmwOp::Or => a | b,
            RmwOp::Xor => a ^ b,
            RmwOp::Max => sa.max(sb) as u128,
            RmwOp::Min => sa.min(sb) as u128,
            RmwOp::UMax => a.max(b),
            RmwOp::UMin => a.min(b),
            RmwOp::UIncWrap if a >= b => 0,
            RmwOp::UIncWrap => a + 1,
            RmwOp::UDecWrap if a == 0 || a > b => b,
            RmwOp::UDecWrap => a - 1,
            RmwOp::USubCond if a >= b => a - b,
            RmwOp::USubCond => a,
            RmwOp::USubSat => a.saturating_sub(b),
            RmwOp::FAdd | RmwOp::FSub | RmwOp::FMax | RmwOp::FMin | RmwOp::FMaximum | RmwOp::FMinimum => {
                self.apply_float(size, a, b)?
            }
        };
        Some(result & mask(size))
    }

    fn apply_float(self, size: u32, a: u128, b: u128) -> Option<u128> {
        macro_rules! in_type {
            ($f:ty, $u:ty) => {{
                let (a, b) = (<$f>::from_bits(a as $u), <$f>::from_bits(b as $u));
                let nan = a.is_nan() || b.is_nan();
                let result = match self {
                    RmwOp::FAdd => a + b,
                    RmwOp::FSub => a - b,
                    RmwOp::FMax => a.max(b),
                    RmwOp::FMin => a.min(b),
                    RmwOp::FMaximum if nan => <$f>::NAN,
                    RmwOp::FMaximum => a.max(b),
                    RmwOp::FMinimum if nan => <$f>::NAN,
                    _ => a.min(b),
                };
                u128::from(result.to_bits())
            }};
        }
        match size {
            4 => Some(in_type!(f32, u32)),
            8 => Some(in_type!(f64, u64)),
            _ => None,
        }
    }
}

fn mask(size: u32) -> u128 {
    if size == 16 { u128::MAX } else { (1 << (8 * size)) - 1 }
}

/// Sign-extends the low `size` bytes.
fn signed(value: u128, size: u32) -> i128 {
    let shift = 128 - 8 * size;
    ((value << shift) as i128) >> shift
}

/// An atomic operation on an object of at most 16 bytes. Values are zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// `atomicrmw`.
    Rmw {
        /// What to do.
        op: RmwOp,
        /// Second operand.
        operand: u128,
    },
    /// `cmpxchg`.
    CompareExchange {
        /// Value to be replaced.
        expected: u128,
        /// By this one.
        new: u128,
    },
}

impl Update {
    /// Reads.
    pub const NONE: Update = Update::Rmw { op: RmwOp::Or, operand: 0 };

    /// Stores a value.
    pub fn store(value: u128) -> Update {
        Update::Rmw { op: RmwOp::Xchg, operand: value }
    }

    /// The new value of an object of `size` bytes that is `old`. `None`: it stays as it is, or there is no such operation on this size.
    #[inline]
    pub fn apply(self, size: u32, old: u128) -> Option<u128> {
        match self {
            Update::Rmw { op, operand } => op.apply(size, old, operand),
            Update::CompareExchange { expected, new } => (old == expected).then_some(new),
        }
    }

    /// As [`Update::apply`], for 1, 2, 4 or 8 bytes. The additions of most programs are a few instructions, and where size and operation are constants, one.
    #[inline(always)]
    pub fn apply_to_word(self, bytes: usize, old: u64) -> Option<u64> {
        match (self, bytes) {
            (Update::Rmw { op: RmwOp::Add, operand }, 8) => Some(old.wrapping_add(operand as u64)),
            (Update::Rmw { op: RmwOp::Add, operand }, 4) => {
                Some((old as u32).wrapping_add(operand as u32).into())
            }
            (Update::Rmw { op: RmwOp::FAdd, operand }, 8) => {
                Some((f64::from_bits(old) + f64::from_bits(operand as u64)).to_bits())
            }
            (Update::Rmw { op: RmwOp::FAdd, operand }, 4) => {
                Some((f32::from_bits(old as u32) + f32::from_bits(operand as u32)).to_bits().into())
            }
            (Update::CompareExchange { expected, new }, _) => (old == expected as u64).then_some(new as u64),
            _ => self.apply(bytes as u32, old.into()).map(|new| new as u64),
        }
    }
}

/// `order` arguments: the values of C11's `memory_order_*`.
pub mod order {
    /// `memory_order_relaxed`; also LLVM's unordered and monotonic.
    pub const RELAXED: u32 = 0;
    /// `memory_order_acquire`.
    pub const ACQUIRE: u32 = 2;
    /// `memory_order_release`.
    pub const RELEASE: u32 = 3;
    /// `memory_order_acq_rel`.
    pub const ACQ_REL: u32 = 4;
    /// `memory_order_seq_cst`.
    pub const SEQ_CST: u32 = 5;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations() {
        let apply = |op: RmwOp, size, a, b| op.apply(size, a, b).unwrap();
        assert_eq!(apply(RmwOp::Add, 1, 250, 10), 4);
        assert_eq!(apply(RmwOp::Max, 1, 0xff, 1), 1);
        assert_eq!(apply(RmwOp::UMax, 1, 0xff, 1), 0xff);
        assert_eq!(apply(RmwOp::Nand, 2, 0xf0f0, 0xff00), 0x0fff);
        assert_eq!(apply(RmwOp::UIncWrap, 4, 7, 7), 0);
        assert_eq!(apply(RmwOp::UDecWrap, 4, 0, 7), 7);
        let sum = apply(RmwOp::FAdd, 8, 1.5f64.to_bits().into(), 2.25f64.to_bits().into());
        assert_eq!(f64::from_bits(sum as u64), 3.75);
        assert_eq!(RmwOp::FAdd.apply(2, 1, 1), None);
    }

    #[test]
    fn updates() {
        assert_eq!(Update::store(7).apply(4, 9), Some(7));
        assert_eq!(Update::Rmw { op: RmwOp::Sub, operand: 1 }.apply(2, 0), Some(0xffff));
        let exchange = Update::CompareExchange { expected: 3, new: 4 };
        assert_eq!((exchange.apply(8, 3), exchange.apply(8, 5)), (Some(4), None));
    }

    #[test]
    fn words_are_changed_as_objects_are() {
        let integers = [0, 1, 3, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 63, u64::MAX];
        // As either type not one that is no number, of which there are many.
        let floats =
            [0.0, 1.0, -2.5, 1e9, 1e-9, 0.1, -0.0, f64::MAX, f64::MIN_POSITIVE, -7.0].map(f64::to_bits);
        for op in RmwOp::ALL {
            let values = if op.is_float() { floats } else { integers };
            for bytes in [1, 2, 4, 8usize] {
                let mask = u64::MAX >> (64 - 8 * bytes);
                for (old, operand) in values.iter().flat_map(|a| values.map(|b| (a & mask, b & mask))) {
                    let update = Update::Rmw { op, operand: operand.into() };
                    let object = update.apply(bytes as u32, old.into()).map(|new| new as u64);
                    assert_eq!(
                        update.apply_to_word(bytes, old),
                        object,
                        "{op:?} {bytes} {old:x} {operand:x}"
                    );
                }
            }
        }
    }
}
