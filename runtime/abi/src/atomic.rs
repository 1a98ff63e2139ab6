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
