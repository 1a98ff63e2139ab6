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
    /// Under a lock: plain read into the register, then plain increment.
    Increment(Register, Variable),
    /// Barrier of all threads.
    Barrier,
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
}

/// All orders.
pub const ORDERS: [Order; 7] = [
    Order::SeqCst,
    Order::AcqRel,
    Order::Fenced,
    Order::OmpSeqCst,
    Order::OmpAcqRel,
    Order::Flushed,
    Order::Plain,
];

impl Order {
    /// Whether only sequentially consistent outcomes are allowed.
    pub fn is_strong(self) -> bool {
        !matches!(self, Self::AcqRel | Self::OmpAcqRel)
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

use Step::{Await, Barrier, FetchAdd, Increment, Load, Read, ReadIf, Store, StoreIf, Write};
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
];

impl Shape {
    /// How often all threads meet. The same number for each.
    pub fn barriers(&self) -> usize {
        self.threads[0].iter().filter(|step| matches!(step, Barrier)).count()
    }

    /// The memory orders in which the shape is tested.
    pub fn orders(&self) -> impl Iterator<Item = Order> {
        let spins = self.threads.iter().copied().flatten().any(|step| matches!(step, Await(..)));
        let count = if self.atomic { ORDERS.len() } else { 1 };
        ORDERS.into_iter().take(count).filter(move |order| spins || *order != Order::Plain)
    }

    /// The outcomes that `order` allows.
    pub fn allowed(&self, order: Order) -> BTreeSet<Vec<i64>> {
        let mut outcomes = self.sequential();
        if self.weak && !order.is_strong() {
            outcomes.extend(self.famous.iter().map(|o| o.to_vec()));
        }
        outcomes
    }

    /// The outcomes of all interleavings.
    pub fn sequential(&self) -> BTreeSet<Vec<i64>> {
        let start = Machine {
            next: vec![0; self.threads.len()],
            memory: [0; VARIABLES.len()],
            registers: vec![0; self.registers],
        };
        let (mut seen, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
        self.explore(start, &mut seen, &mut outcomes);
        outcomes
    }

    fn explore(&self, machine: Machine, seen: &mut BTreeSet<Machine>, outcomes: &mut BTreeSet<Vec<i64>>) {
        if !seen.insert(machine.clone()) {
            return;
        }
        let ended = |t: usize| machine.next[t] == self.threads[t].len();
        if (0..self.threads.len()).all(ended) {
            let finals = self.finals.iter().map(|v| machine.memory[*v]);
            outcomes.insert(machine.registers.iter().copied().chain(finals).collect());
            return;
        }
        let waits = |t: usize| !ended(t) && matches!(self.threads[t][machine.next[t]], Barrier);
        if (0..self.threads.len()).all(waits) {
            let mut after = machine.clone();
            after.next.iter_mut().for_each(|n| *n += 1);
            return self.explore(after, seen, outcomes);
        }
        for thread in (0..self.threads.len()).filter(|t| !ended(*t)) {
            let mut after = machine.clone();
            if after.step(self.threads[thread][machine.next[thread]]) {
                after.next[thread] += 1;
                self.explore(after, seen, outcomes);
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Machine {
    next: Vec<usize>,
    memory: [i64; VARIABLES.len()],
    registers: Vec<i64>,
}

impl Machine {
    /// Takes a step; false if it has to wait.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Store(v, value) | Write(v, value) => self.memory[v] = value,
            Load(r, v) | Read(r, v) => self.registers[r] = self.memory[v],
            FetchAdd(r, v) | Increment(r, v) => {
                self.registers[r] = self.memory[v];
                self.memory[v] += 1;
            }
            StoreIf(r, v, value) => {
                if self.registers[r] != 0 {
                    self.memory[v] = value;
                }
            }
            ReadIf(r, condition, v) => {
                if self.registers[condition] != 0 {
                    self.registers[r] = self.memory[v];
                }
            }
            Await(v, value) => return self.memory[v] == value,
            Barrier => return false,
        }
        true
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
    }

    #[test]
    fn weak_orders_allow_more_only_where_the_shape_says_so() {
        for shape in SHAPES {
            let more = shape.allowed(Order::AcqRel).len() > shape.allowed(Order::SeqCst).len();
            assert_eq!(more, shape.weak, "{}", shape.name);
        }
    }
}
