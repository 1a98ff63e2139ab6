//! What a generated program is, and its meaning: a sequential interpreter.
//!
//! All arithmetic is modulo 2^64 and narrowed on stores. Floating-point elements hold integers below
//! 2^24, so that every operation on them is exact in any order.

/// Element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `int8_t`
    I8,
    /// `uint8_t`
    U8,
    /// `int16_t`
    I16,
    /// `uint16_t`
    U16,
    /// `int32_t`
    I32,
    /// `uint32_t`
    U32,
    /// `int64_t`
    I64,
    /// `uint64_t`
    U64,
    /// `float`
    F32,
    /// `double`
    F64,
}

/// All types.
pub const TYPES: [Type; 10] = [
    Type::I8,
    Type::U8,
    Type::I16,
    Type::U16,
    Type::I32,
    Type::U32,
    Type::I64,
    Type::U64,
    Type::F32,
    Type::F64,
];

/// Mask of the values stored in floating-point elements.
pub const FLOAT_MASK: u64 = 0xF_FFFF;
/// Mask of the values added to them without an intervening store; bounds their growth.
pub const FLOAT_STEP_MASK: u64 = 7;

impl Type {
    /// Whether elements are floating-point.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether `+=` is defined in C for every value (no signed overflow after promotion).
    pub fn adds_freely(self) -> bool {
        !matches!(self, Self::I32 | Self::I64)
    }

    /// The value that an element has after `value` was stored to it.
    pub fn narrow(self, value: u64) -> i64 {
        match self {
            Self::I8 => value as i8 as i64,
            Self::U8 => value as u8 as i64,
            Self::I16 => value as i16 as i64,
            Self::U16 => value as u16 as i64,
            Self::I32 => value as i32 as i64,
            Self::U32 => value as u32 as i64,
            Self::I64 | Self::U64 => value as i64,
            Self::F32 | Self::F64 => (value & FLOAT_MASK) as i64,
        }
    }
}

/// Where an array's elements live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A static array.
    Global,
    /// One heap block; elements start at this element offset.
    Heap(u32),
    /// A local array of the function, shared by the team.
    Stack,
    /// A member of a static array of records; the number is the record type.
    GlobalField(u32),
    /// A member of a heap array of records.
    HeapField(u32),
    /// Heap rows of this many elements, allocated by different threads.
    Rows(u32),
}

/// An array of the program.
#[derive(Debug, Clone)]
pub struct Array {
    /// Element type.
    pub ty: Type,
    /// Number of elements.
    pub len: u64,
    /// Where it lives.
    pub place: Place,
}

/// Index `(i * scale + shift) % len` of an array.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    /// Factor.
    pub scale: u64,
    /// Summand.
    pub shift: u64,
}

impl Index {
    /// The element that iteration `i` touches in an array of `len` elements.
    pub fn at(self, i: u64, len: u64) -> u64 {
        (i * self.scale + self.shift) % len
    }
}

/// A summand of an expression.
#[derive(Debug, Clone, Copy)]
pub enum Term {
    /// `i * factor`
    Iteration(u64),
    /// constant
    Constant(u64),
    /// element of an array times a factor
    Element(usize, Index, u64),
    /// shared scalar times a factor
    Scalar(usize, u64),
    /// element read through the pointer table, times a factor
    Pointed(Index, u64),
}

/// A sum of terms.
pub type Expression = Vec<Term>;

/// How a loop's iterations are spread over the team.
#[derive(Debug, Clone, Copy)]
pub enum Owner {
    /// `omp for` with this schedule clause.
    Schedule(&'static str, u32),
    /// Thread `(i / grain + shift) % team`, written out by hand.
    Rotated(u64, u64),
    /// Contiguous blocks, the last thread first.
    BlocksReversed,
}

/// Commutative operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commutative {
    /// Addition.
    Add,
    /// Exclusive or; integers only.
    Xor,
}

/// How concurrent updates are protected.
#[derive(Debug, Clone, Copy)]
pub enum Guard {
    /// `critical`, named or not.
    Critical(Option<u32>),
    /// An `omp_lock_t`.
    Lock(u32),
    /// An `omp_nest_lock_t`, taken twice.
    NestLock,
    /// One of four locks, by element.
    Striped,
    /// `omp atomic`.
    Atomic,
}

/// Reduction operators.
#[derive(Debug, Clone, Copy)]
pub enum Reduction {
    /// `+`
    Add,
    /// `^`
    Xor,
    /// `|`
    Or,
    /// `max`
    Max,
    /// `min`
    Min,
}

/// Writes to the elements `residue, residue + stride, ...` of an array.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Array, unless `pointed`.
    pub array: usize,
    /// Write through the pointer table instead.
    pub pointed: bool,
    /// First element.
    pub residue: u64,
    /// Distance of elements.
    pub stride: u64,
    /// Who writes which.
    pub owner: Owner,
    /// Factor of the element's own old value.
    pub keep: u64,
    /// What is added.
    pub value: Expression,
}

/// One update under a guard.
#[derive(Debug, Clone)]
pub struct Update {
    /// Array.
    pub array: usize,
    /// Element by iteration.
    pub index: Index,
    /// Operation.
    pub operation: Commutative,
    /// Operand.
    pub value: Expression,
}

/// How a sequential recurrence over an array is carried from one element to the next.
#[derive(Debug, Clone, Copy)]
pub enum Chain {
    /// By one thread.
    Single,
    /// `ordered` with this schedule clause.
    Ordered(&'static str),
    /// Threads in turn, each waits for its neighbour's flag; `flush` or acquire/release atomics.
    Pipeline(bool),
    /// By the initial thread, outside of parallel regions.
    Serial,
}

/// What happens between two barriers.
#[derive(Debug, Clone)]
pub enum Phase {
    /// Loops without a barrier between them, over disjoint elements.
    Sweeps(Vec<Sweep>),
    /// Each sweep in a section of its own.
    Sections(Vec<Sweep>),
    /// Concurrent commutative updates.
    Guarded(Guard, Owner, u64, Vec<Update>),
    /// A reduction into a shared scalar.
    Reduce(usize, Reduction, Owner, u64, Expression),
    /// `a[i] = a[i] + 3 a[i-1] + value`.
    Recurrence(usize, Chain, Expression),
    /// The pointer table is set to the elements of an array, in the order of an index function.
    Repoint(usize, Index),
    /// A heap array moves to a new block; the old one is freed by another thread.
    Move(usize),
    /// Every thread compares the whole array.
    Check(usize),
    /// The parallel region ends and a new one begins.
    NewRegion,
}

/// A program.
#[derive(Debug, Clone)]
pub struct Model {
    /// What it was drawn from.
    pub seed: u64,
    /// Arrays.
    pub arrays: Vec<Array>,
    /// Shared scalars (`uint64_t`), each static or local by its parity.
    pub scalars: usize,
    /// Entries of the pointer table: elements of one array.
    pub pointers: u64,
    /// Phases.
    pub phases: Vec<Phase>,
}

/// Contents of everything at one moment.
#[derive(Debug, Clone)]
pub struct State {
    /// Elements of the arrays.
    pub arrays: Vec<Vec<i64>>,
    /// Scalars.
    pub scalars: Vec<u64>,
    /// What the pointer table points to.
    pub pointed: (usize, Vec<u64>),
}

impl State {
    /// The start of `model`: element k of array a holds `narrow(k * 3 + a)`, pointers are in order.
    pub fn new(model: &Model) -> Self {
        let fill =
            |(a, array): (usize, &Array)| (0..array.len).map(|k| array.ty.narrow(k * 3 + a as u64)).collect();
        Self {
            arrays: model.arrays.iter().enumerate().map(fill).collect(),
            scalars: (0..model.scalars as u64).collect(),
            pointed: (0, (0..model.pointers).collect()),
        }
    }

    fn evaluate(&self, expression: &Expression, i: u64) -> u64 {
        expression.iter().fold(0u64, |sum, term| {
            sum.wrapping_add(match *term {
                Term::Iteration(factor) => i.wrapping_mul(factor),
                Term::Constant(value) => value,
                Term::Element(array, index, factor) => {
                    let elements = &self.arrays[array];
                    (elements[index.at(i, elements.len() as u64) as usize] as u64).wrapping_mul(factor)
                }
                Term::Scalar(scalar, factor) => self.scalars[scalar].wrapping_mul(factor),
                Term::Pointed(index, factor) => {
                    let (array, order) = &self.pointed;
                    let element = order[index.at(i, order.len() as u64) as usize];
                    (self.arrays[*array][element as usize] as u64).wrapping_mul(factor)
                }
            })
        })
    }

    fn sweep(&mut self, model: &Model, sweep: &Sweep) {
        let array = if sweep.pointed { self.pointed.0 } else { sweep.array };
        let end = if sweep.pointed { model.pointers } else { model.arrays[array].len };
        for i in (sweep.residue..end).step_by(sweep.stride as usize) {
            let element = if sweep.pointed { self.pointed.1[i as usize] } else { i } as usize;
            let old = self.arrays[array][element] as u64;
            let value = old.wrapping_mul(sweep.keep).wrapping_add(self.evaluate(&sweep.value, i));
            self.arrays[array][element] = model.arrays[array].ty.narrow(value);
        }
    }

    fn update(&mut self, model: &Model, update: &Update, i: u64) {
        let array = &model.arrays[update.array];
        let element = update.index.at(i, array.len) as usize;
        let value = self.evaluate(&update.value, i);
        let slot = &mut self.arrays[update.array][element];
        *slot = match update.operation {
            Commutative::Add if array.ty.is_float() => *slot + (value & FLOAT_STEP_MASK) as i64,
            Commutative::Add => array.ty.narrow((*slot as u64).wrapping_add(value)),
            Commutative::Xor => array.ty.narrow(*slot as u64 ^ array.ty.narrow(value) as u64),
        };
    }

    /// Applies one phase.
    pub fn apply(&mut self, model: &Model, phase: &Phase) {
        match phase {
            Phase::Sweeps(sweeps) | Phase::Sections(sweeps) => {
                sweeps.iter().for_each(|sweep| self.sweep(model, sweep));
            }
            Phase::Guarded(_, _, iterations, updates) => {
                for i in 0..*iterations {
                    updates.iter().for_each(|update| self.update(model, update, i));
                }
            }
            Phase::Reduce(scalar, operator, _, iterations, value) => {
                let mut result = self.scalars[*scalar];
                for i in 0..*iterations {
                    let v = self.evaluate(value, i);
                    result = match operator {
                        Reduction::Add => result.wrapping_add(v),
                        Reduction::Xor => result ^ v,
                        Reduction::Or => result | v,
                        Reduction::Max => result.max(v),
                        Reduction::Min => result.min(v),
                    };
                }
                self.scalars[*scalar] = result;
            }
            Phase::Recurrence(array, _, value) => {
                for i in 1..model.arrays[*array].len {
                    let v = self.evaluate(value, i);
                    let elements = &mut self.arrays[*array];
                    let (before, old) = (elements[i as usize - 1] as u64, elements[i as usize] as u64);
                    let sum = old.wrapping_add(before.wrapping_mul(3)).wrapping_add(v);
                    elements[i as usize] = model.arrays[*array].ty.narrow(sum);
                }
            }
            Phase::Repoint(array, index) => {
                let len = model.arrays[*array].len;
                self.pointed = (*array, (0..model.pointers).map(|i| index.at(i, len)).collect());
            }
            Phase::Move(_) | Phase::Check(_) | Phase::NewRegion => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TYPES, Type};

    #[test]
    fn narrowing_is_idempotent_and_exact_for_floats() {
        for ty in TYPES {
            for value in [0, 1, 127, 128, 255, 40_000, u64::from(u32::MAX), u64::MAX, 0x1234_5678_9ABC_DEF0] {
                let once = ty.narrow(value);
                assert_eq!(ty.narrow(once as u64), once, "{ty:?} {value}");
            }
        }
        assert_eq!(Type::F32.narrow(u64::MAX) as f32 as i64, Type::F32.narrow(u64::MAX));
        assert_eq!(Type::I8.narrow(200), -56);
    }
}
