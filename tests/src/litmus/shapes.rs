//! The shapes and what they allow.

use std::collections::BTreeSet;

/// A variable, one of [`VARIABLES`]; all start at 0.
pub type Variable = usize;
/// Names of the variables.
pub const VARIABLES: [&str; 3] = ["x", "y", "d"];
/// Registers of a shape: those that threads load into.
pub type Register = usize;

/// One step of a thread.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Atomic store.
    Store(Variable, i64),
    /// Atomic load.
    Load(Register, Variable),
    /// Atomic fetch-and-add of 1.
    FetchAdd(Register, Variable),
    /// Atomic store if a register is not 0.
    StoreIf(Register, Variable, i64),
    /// Spin until the variable has the value.
    Await(Variable, i64),
    /// Plain write.
    Write(Variable, i64),
    /// Plain read.
    Read(Register, Variable),
    /// Plain read if a register is not 0.
    ReadIf(Register, Register, Variable),
    /// Plain write of one byte of a variable.
    WriteByte(Variable, u32, i64),
    /// Plain write of a whole variable, all bytes of it this value.
    WriteBytes(Variable, i64),
    /// Plain read of one byte, if there is a condition: if that register is not 0.
    ReadByte(Register, Option<Register>, Variable, u32),
    /// Plain read of a whole variable at once, as the sum of its bytes; the condition as before.
    ReadSum(Register, Option<Register>, Variable),
    /// Under a lock: plain read into the register, then plain increment.
    Increment(Register, Variable),
    /// Under a lock: plain write to the first variable, then the second, its flag, is set.
    Announce(Wait, Variable, i64, Variable),
    /// Under a lock: waits until the second variable is set, then plain read of the first.
    Obtain(Wait, Register, Variable, Variable),
    /// Barrier of all threads.
    Barrier,
}

/// How threads wait for a condition under a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// An OpenMP lock is given back and taken again until the flag is set.
    Lock,
    /// A POSIX mutex and a condition variable.
    Condition,
}

/// How atomic steps are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// C11, sequentially consistent.
    SeqCst,
    /// C11, acquire loads and release stores.
    AcqRel,
    /// C11 relaxed, with a sequentially consistent fence between any two steps.
    Fenced,
    /// OpenMP `atomic seq_cst`.
    OmpSeqCst,
    /// OpenMP `atomic` with `release` and `acquire`.
    OmpAcqRel,
    /// OpenMP relaxed atomics with `flush` between any two steps.
    Flushed,
    /// Plain variables, with `flush` behind stores and in waiting loops only. For shapes that spin.
    Plain,
    /// C11 relaxed, compiled with `-fdsm-weakest-order=acq_rel`.
    Relaxed,
    /// Volatile variables, and relaxed read-modify-writes of them, compiled with this option.
    Volatile,
}

/// The orders that C11 and OpenMP define.
pub const ORDERS: [Order; 7] = [
    Order::SeqCst,
    Order::AcqRel,
    Order::Fenced,
    Order::OmpSeqCst,
    Order::OmpAcqRel,
    Order::Flushed,
    Order::Plain,
];

/// The orders that need `-fdsm-weakest-order=acq_rel`.
pub const STRENGTHENED: [Order; 2] = [Order::Relaxed, Order::Volatile];

impl Order {
    /// Whether only sequentially consistent outcomes are allowed.
    pub fn is_strong(self) -> bool {
        !matches!(self, Self::AcqRel | Self::OmpAcqRel | Self::Relaxed | Self::Volatile)
    }
}

/// A shape.
#[derive(Debug)]
pub struct Shape {
    /// Its usual name.
    pub name: &'static str,
    /// The threads.
    pub threads: &'static [&'static [Step]],
    /// Number of registers; the outcome is their values, then those of `finals`.
    pub registers: usize,
    /// Variables whose value after all threads is part of the outcome.
    pub finals: &'static [Variable],
    /// The outcomes that the shape is known for; not sequentially consistent.
    pub famous: &'static [&'static [i64]],
    /// Whether acquire and release allow the famous outcomes.
    pub weak: bool,
    /// Whether the shape has atomic steps (otherwise memory orders make no difference).
    pub atomic: bool,
}

use Step::{
    Announce, Await, Barrier, FetchAdd, Increment, Load, Obtain, Read, ReadByte, ReadIf, ReadSum, Store,
    StoreIf, Write, WriteByte, WriteBytes,
};
const X: Variable = 0;
const Y: Variable = 1;
const D: Variable = 2;

const BASE: Shape =
    Shape { name: "", threads: &[], registers: 2, finals: &[], famous: &[], weak: false, atomic: true };

/// The list.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "MP",
        threads: &[&[Store(X, 1), Store(Y, 1)], &[Load(0, Y), Load(1, X)]],
        famous: &[&[1, 0]],
        ..BASE
    },
    Shape {
        name: "MP_data",
        threads: &[&[Write(D, 1), Store(Y, 1)], &[Load(0, Y), ReadIf(1, 0, D)]],
        famous: &[&[1, 0]],
        ..BASE
    },
    Shape {
        name: "SB",
        threads: &[&[Store(X, 1), Load(0, Y)], &[Store(Y, 1), Load(1, X)]],
        famous: &[&[0, 0]],
        weak: true,
        ..BASE
    },
    Shape {
        name: "LB",
        threads: &[&[Load(0, X), Store(Y, 1)], &[Load(1, Y), Store(X, 1)]],
        famous: &[&[1, 1]],
        ..BASE
    },
    Shape {
        name: "IRIW",
        threads: &[&[Store(X, 1)], &[Store(Y, 1)], &[Load(0, X), Load(1, Y)], &[Load(2, Y), Load(3, X)]],
        registers: 4,
        famous: &[&[1, 0, 1, 0]],
        weak: true,
        ..BASE
    },
    Shape { name: "CoRR", threads: &[&[Store(X, 1)], &[Load(0, X), Load(1, X)]], famous: &[&[1, 0]], ..BASE },
    Shape {
        name: "CoRR_writers",
        threads: &[&[Store(X, 1)], &[Store(X, 2)], &[Load(0, X), Load(1, X)], &[Load(2, X), Load(3, X)]],
        registers: 4,
        famous: &[&[1, 2, 2, 1], &[2, 1, 1, 2], &[1, 0, 0, 0]],
        ..BASE
    },
    Shape {
        name: "W2_2",
        threads: &[&[Store(X, 1), Store(Y, 2)], &[Store(Y, 1), Store(X, 2)]],
        registers: 0,
        finals: &[X, Y],
        famous: &[&[1, 1]],
        weak: true,
        ..BASE
    },
    Shape {
        name: "S",
        threads: &[&[Store(X, 2), Store(Y, 1)], &[Load(0, Y), Store(X, 1)]],
        registers: 1,
        finals: &[X],
        famous: &[&[1, 2]],
        ..BASE
    },
    Shape {
        name: "R",
        threads: &[&[Store(X, 1), Store(Y, 1)], &[Store(Y, 2), Load(0, X)]],
        registers: 1,
        finals: &[Y],
        famous: &[&[0, 2]],
        weak: true,
        ..BASE
    },
    Shape {
        name: "WRC",
        threads: &[&[Store(X, 1)], &[Load(0, X), Store(Y, 1)], &[Load(1, Y), Load(2, X)]],
        registers: 3,
        famous: &[&[1, 1, 0]],
        ..BASE
    },
    Shape {
        name: "ISA2_data",
        threads: &[
            &[Write(D, 1), Store(X, 1)],
            &[Load(0, X), StoreIf(0, Y, 1)],
            &[Load(1, Y), ReadIf(2, 1, D)],
        ],
        registers: 3,
        famous: &[&[1, 1, 0]],
        ..BASE
    },
    Shape {
        name: "RMW",
        threads: &[&[FetchAdd(0, X)], &[FetchAdd(1, X)], &[FetchAdd(2, X)]],
        registers: 3,
        finals: &[X],
        famous: &[&[0, 0, 1, 2], &[0, 0, 0, 1]],
        ..BASE
    },
    Shape {
        name: "flag",
        threads: &[&[Write(D, 7), Store(Y, 1)], &[Await(Y, 1), Read(0, D)]],
        registers: 1,
        famous: &[&[0]],
        ..BASE
    },
    Shape {
        name: "flag_chain",
        threads: &[
            &[Write(D, 7), Store(Y, 1)],
            &[Await(Y, 1), Read(0, D), Write(D, 8), Store(X, 1)],
            &[Await(X, 1), Read(1, D)],
        ],
        famous: &[&[7, 7], &[0, 8], &[7, 0]],
        ..BASE
    },
    Shape {
        name: "lock",
        threads: &[&[Increment(0, D)], &[Increment(1, D)], &[Increment(2, D)]],
        registers: 3,
        finals: &[D],
        famous: &[&[0, 0, 1, 2]],
        atomic: false,
        ..BASE
    },
    Shape {
        name: "lock_twice",
        threads: &[&[Increment(0, D), Increment(1, D)], &[Increment(2, D), Increment(3, D)]],
        registers: 4,
        finals: &[D],
        famous: &[&[0, 1, 0, 1, 2]],
        atomic: false,
        ..BASE
    },
    Shape {
        name: "barrier",
        threads: &[
            &[Write(D, 5), Barrier, Read(0, X), Barrier, Write(D, 6), Barrier],
            &[Write(X, 4), Barrier, Read(1, D), Barrier, Barrier, Read(2, D)],
        ],
        registers: 3,
        famous: &[&[0, 5, 6], &[4, 0, 6], &[4, 5, 5]],
        atomic: false,
        ..BASE
    },
    Shape {
        name: "barrier_ring",
        threads: &[
            &[Write(X, 1), Barrier, Read(0, Y)],
            &[Write(Y, 2), Barrier, Read(1, D)],
            &[Write(D, 3), Barrier, Read(2, X)],
        ],
        registers: 3,
        famous: &[&[0, 3, 1], &[2, 0, 1], &[2, 3, 0]],
        atomic: false,
        ..BASE
    },
    Shape {
        name: "bytes_then_word",
        threads: &[
            &[WriteByte(D, 0, 1), WriteByte(D, 7, 2), Store(Y, 1)],
            &[Load(0, Y), ReadSum(1, Some(0), D)],
        ],
        famous: &[&[1, 0], &[1, 1], &[1, 2]],
        ..BASE
    },
    Shape {
        name: "word_then_bytes",
        threads: &[
            &[WriteBytes(D, 1), Store(Y, 1)],
            &[Load(0, Y), ReadByte(1, Some(0), D, 0), ReadByte(2, Some(0), D, 7)],
        ],
        registers: 3,
        famous: &[&[1, 0, 1], &[1, 1, 0], &[1, 0, 0]],
        ..BASE
    },
    Shape {
        name: "byte_over_word",
        threads: &[
            &[WriteBytes(D, 1), Store(X, 1)],
            &[Await(X, 1), WriteByte(D, 3, 2), Store(Y, 1)],
            &[Await(Y, 1), ReadSum(0, None, D), ReadByte(1, None, D, 3)],
        ],
        famous: &[&[8, 1], &[8, 2], &[2, 2]],
        ..BASE
    },
    Shape {
        name: "bytes_of_a_word",
        threads: &[
            &[WriteByte(D, 0, 1), Barrier, ReadSum(0, None, D)],
            &[WriteByte(D, 3, 2), Barrier, ReadSum(1, None, D)],
            &[WriteByte(D, 7, 4), Barrier, ReadByte(2, None, D, 0)],
        ],
        registers: 3,
        famous: &[&[5, 7, 1], &[7, 3, 1], &[7, 7, 0]],
        atomic: false,
        ..BASE
    },
    Shape {
        name: "RMW_data",
        threads: &[&[Write(D, 1), FetchAdd(0, X)], &[FetchAdd(1, X), ReadIf(2, 1, D)]],
        registers: 3,
        famous: &[&[0, 1, 0], &[0, 0, 0]],
        ..BASE
    },
    Shape {
        name: "RMW_beside",
        threads: &[
            &[FetchAdd(0, X), FetchAdd(1, X), Barrier, Read(2, D)],
            &[Write(D, 5), FetchAdd(3, X), Barrier],
        ],
        registers: 4,
        finals: &[X],
        famous: &[&[0, 1, 0, 2, 3], &[0, 1, 5, 0, 2], &[0, 1, 5, 2, 2]],
        ..BASE
    },
    Shape {
        name: "RMW_store",
        threads: &[&[Store(X, 5)], &[FetchAdd(0, X)], &[FetchAdd(1, X)]],
        finals: &[X],
        famous: &[&[0, 0, 5], &[0, 1, 2], &[5, 5, 6]],
        ..BASE
    },
    Shape {
        name: "lock_flag",
        threads: &[&[Announce(Wait::Lock, D, 7, Y)], &[Obtain(Wait::Lock, 0, D, Y)]],
        registers: 1,
        famous: &[&[0]],
        atomic: false,
        ..BASE
    },
    Shape {
        name: "lock_flag_chain",
        threads: &[
            &[Write(X, 3), Announce(Wait::Lock, D, 7, Y)],
            &[Obtain(Wait::Lock, 0, D, Y), Increment(1, D)],
            &[Obtain(Wait::Lock, 2, X, Y)],
        ],
        registers: 3,
        finals: &[D],
        famous: &[&[0, 7, 3, 8], &[7, 0, 3, 1], &[7, 7, 0, 8]],
        atomic: false,
        ..BASE
    },
    Shape {
        name: "condition",
        threads: &[
            &[Write(X, 3), Announce(Wait::Condition, D, 7, Y)],
            &[Obtain(Wait::Condition, 0, D, Y), Read(1, X)],
            &[Obtain(Wait::Condition, 2, X, Y)],
        ],
        registers: 3,
        famous: &[&[0, 3, 3], &[7, 0, 3], &[7, 3, 0]],
        atomic: false,
        ..BASE
    },
];

impl Shape {
    /// Whether the shape has accesses to the variable that atomic steps do not touch.
    pub fn has_data(&self) -> bool {
        self.threads.iter().copied().flatten().any(|step| match step {
            Write(v, _) | WriteByte(v, ..) | WriteBytes(v, _) | Increment(_, v) | Announce(_, v, ..) => {
                *v == D
            }
            _ => false,
        })
    }

    /// Number of barriers. The same for each thread.
    pub fn barriers(&self) -> usize {
        self.threads[0].iter().filter(|step| matches!(step, Barrier)).count()
    }

    /// The memory orders of a list in which the shape is tested.
    pub fn orders(&self, list: &'static [Order]) -> impl Iterator<Item = Order> + use<> {
        let spins = self.threads.iter().copied().flatten().any(|step| matches!(step, Await(..)));
        let count = if self.atomic { list.len() } else { 1 };
        list.iter().copied().take(count).filter(move |order| spins || *order != Order::Plain)
    }

    /// The outcomes that `order` allows.
    pub fn allowed(&self, order: Order) -> BTreeSet<Vec<i64>> {
        let mut outcomes = self.sequential();
        if self.weak && !order.is_strong() {
            outcomes.extend(self.famous.iter().map(|o| o.to_vec()));
        }
        outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, SHAPES};

    #[test]
    fn famous_outcomes_are_not_sequential() {
        for shape in SHAPES {
            let sequential = shape.sequential();
            assert!(!sequential.is_empty(), "{} never ends", shape.name);
            for outcome in shape.famous {
                assert_eq!(outcome.len(), shape.registers + shape.finals.len(), "{}", shape.name);
                assert!(!sequential.contains(*outcome), "{} {outcome:?}", shape.name);
            }
        }
    }

    #[test]
    fn known_outcomes_are_enumerated() {
        let count = |name: &str| SHAPES.iter().find(|s| s.name == name).map(|s| s.sequential().len());
        assert_eq!(count("MP"), Some(3));
        assert_eq!(count("SB"), Some(3));
        assert_eq!(count("IRIW"), Some(15));
        assert_eq!(count("RMW"), Some(6));
        assert_eq!(count("barrier"), Some(1));
        assert_eq!(count("flag_chain"), Some(1));
        assert_eq!(count("bytes_of_a_word"), Some(1));
        assert_eq!(count("byte_over_word"), Some(1));
        assert_eq!(count("RMW_beside"), Some(3));
        assert_eq!(count("condition"), Some(1));
    }

    #[test]
    fn weak_orders_allow_more_only_where_the_shape_says_so() {
        for shape in SHAPES {
            let more = shape.allowed(Order::AcqRel).len() > shape.allowed(Order::SeqCst).len();
            assert_eq!(more, shape.weak, "{}", shape.name);
        }
    }
}
