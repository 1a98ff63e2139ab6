//! What a program of kernels is, in no particular language.
//!
//! Every value that is stored is masked to a range in which no operation overflows in any of the languages: elements are below 2^32,
//! factors below 2^7, expressions have a few terms. So signed 64-bit arithmetic is exact everywhere.

use crate::program::Language;

/// Elements of an item's window in each array.
pub const WINDOW: i64 = 256;
/// Elements of a kernel's local array; subscripts are taken modulo the smaller number.
pub const LOCAL: (i64, i64) = (24, 16);
/// Elements that a helper may touch from where its pointers point to.
pub const REACH: i64 = 8;

/// Element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Unsigned byte; in Fortran, `integer(1)`.
    U8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// The program's structure; see [`Part`].
    Record,
}

impl Type {
    /// Values that are stored are masked with this.
    pub fn mask(self) -> i64 {
        match self {
            Self::U8 => 0x7f,
            Self::I16 => 0x7fff,
            Self::I32 => 0xff_ffff,
            Self::I64 => 0xffff_ffff,
            Self::F32 | Self::F64 => 0xf_ffff,
            Self::Record => unreachable!("records are stored by their parts"),
        }
    }
}

/// Part of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Member of a record, a double.
    X,
    /// Member of a record, 32 bits.
    A,
    /// Element of a member of a record, five bytes.
    C(i64),
    /// Element of a member of a record, three times 64 bits.
    V(i64),
    /// Member of an inner record, of which there are two: 16 bits.
    Inner(i64),
    /// A bit-field of five bits; in Fortran, a member of 16 bits.
    Bits,
}

impl Part {
    /// The part's own type.
    pub fn of(self, ty: Type) -> Type {
        match self {
            Self::Whole => ty,
            Self::X => Type::F64,
            Self::A => Type::I32,
            Self::C(_) => Type::U8,
            Self::V(_) => Type::I64,
            Self::Inner(_) | Self::Bits => Type::I16,
        }
    }

    /// Mask of what is stored to this part of an element of `ty`.
    pub fn mask(self, ty: Type) -> i64 {
        if self == Self::Bits { 0x1f } else { self.of(ty).mask() }
    }
}

/// Where the windows of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// One global array, windows one behind the other.
    Global,
    /// The same in memory from the heap.
    Heap,
    /// The same as a member of a global structure, behind this many bytes.
    Member(i64),
    /// Each window is an allocation of its own.
    Rows,
    /// Element by element next to those of the other items.
    Columns,
}

/// An array: a window of [`WINDOW`] elements for each item.
#[derive(Debug, Clone, Copy)]
pub struct Array {
    /// Type of its elements.
    pub ty: Type,
    /// Where they are.
    pub place: Place,
}

/// A number, known to the compiler or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Written into the program.
    Literal(i64),
    /// Element of the array of parameters.
    Parameter(usize),
}

/// Loop variable.
pub type Variable = u32;

/// A sum of loop variables times factors, and an offset.
#[derive(Debug, Clone)]
pub struct Affine {
    /// Factors and variables.
    pub terms: Vec<(i64, Variable)>,
    /// What is added.
    pub offset: Number,
}

/// Which element.
#[derive(Debug, Clone)]
pub enum Subscript {
    /// Inside the window by the ranges of the variables.
    Affine(Affine),
    /// Through the table of positions; true: the window of the other item's table.
    Indirect(Affine, bool),
}

/// Array argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// Window of the kernel's own item in an array that it may write.
    Target(usize),
    /// Window of the other item in an array that nobody writes meanwhile.
    Source(usize),
}

/// An element of an operand, or a part of it.
#[derive(Debug, Clone)]
pub struct Access {
    /// Whose.
    pub operand: Operand,
    /// Which part.
    pub part: Part,
    /// Which element.
    pub subscript: Subscript,
}

/// A summand.
#[derive(Debug, Clone)]
pub enum Term {
    /// Constant.
    Constant(i64),
    /// The item's number times a factor.
    Item(i64),
    /// The number of the round.
    Round,
    /// A loop variable times a factor.
    Variable(i64, Variable),
    /// An element.
    Element(Access),
    /// Element of the kernel's local array.
    Local(Affine),
}

/// A sum.
pub type Expression = Vec<Term>;

/// `expression % modulus compare against`; the comparison is a C operator.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Left side.
    pub value: Expression,
    /// Modulus.
    pub modulus: i64,
    /// `==`, `!=`, `<` or `>`.
    pub compare: &'static str,
    /// Right side.
    pub against: i64,
}

/// What a helper is given to write to.
#[derive(Debug, Clone)]
pub enum Destination {
    /// Elements of a target from here on.
    Shared(Access),
    /// The kernel's local array from here on.
    Local(Affine),
}

/// Early ways out of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Of the loop.
    Break,
    /// Of the iteration.
    Continue,
    /// Of the kernel.
    Return,
}

/// How an element takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// Assignment.
    Set,
    /// 31 times its old value is added.
    Mix,
    /// The value is computed into a variable first.
    Late,
}

/// A step of a kernel.
#[derive(Debug, Clone)]
pub enum Statement {
    /// Store to an element.
    Store(Access, Update, Expression),
    /// Store to the local array.
    Keep(Affine, Expression),
    /// Adds to the kernel's result.
    Accumulate(Expression),
    /// Something done on a condition.
    If(Condition, Box<Statement>),
    /// A call of a helper: number, where to, from where, a number.
    Call(usize, Destination, Access, i64),
    /// Elements of a source of the same type: target, position, source, position, number of them.
    Copy(usize, Number, Operand, i64, Number),
    /// The same value (0 or, for bytes, 1) in elements: target, position, number of them.
    Fill(usize, Number, Number),
    /// Elements move within a target, ranges may overlap: target, to, from, number of them.
    Move(usize, i64, i64, Number),
    /// A whole record is assigned.
    Assign(Access, Access),
    /// Independent iterations over consecutive elements of a target; the value reads sources only.
    Each(Each),
    /// Way out of the innermost loop on a condition.
    Exit(Condition, Exit),
    /// A counter of the whole program is increased in a critical section, or by a compare-and-swap: a synchronisation amid accesses.
    Synchronise,
    /// A loop.
    Loop(Loop),
}

/// `target[at + v] = value` for `v` in `0..count`, for all or where the condition holds.
#[derive(Debug, Clone)]
pub struct Each {
    /// Its variable.
    pub variable: Variable,
    /// Iterations.
    pub count: i64,
    /// Which target.
    pub target: usize,
    /// First element.
    pub at: i64,
    /// Condition.
    pub when: Option<Condition>,
    /// Value.
    pub value: Expression,
}

/// Types of loop variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integer {
    /// `int`
    Int,
    /// `long`
    Long,
    /// `unsigned`
    Unsigned,
    /// `unsigned long`
    UnsignedLong,
    /// `short`
    Short,
}

/// How a loop counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// From low up to high, exclusive.
    Up,
    /// From high down to low.
    Down,
    /// `v = high; v-- > low`.
    CountDown,
    /// Test at the end; there is an iteration at least.
    Do,
    /// Ends at inequality.
    NotEqual,
    /// From an outer variable to the same plus the number, inclusive.
    Within(Variable, i64),
    /// From 0 to an outer variable, exclusive.
    Below(Variable),
}

/// A loop.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Its variable.
    pub variable: Variable,
    /// The variable's type.
    pub ty: Integer,
    /// How it counts.
    pub form: Form,
    /// Lower end.
    pub low: Number,
    /// Upper end.
    pub high: Number,
    /// Step, positive.
    pub step: Number,
    /// It goes on while this holds.
    pub during: Option<Condition>,
    /// What is repeated.
    pub body: Vec<Statement>,
}

/// What a helper does with the elements behind its pointers.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    /// Sets this many targets from as many sources.
    Loop(i64),
    /// Sets one target or another.
    Choose(i64),
    /// Adds up sources, as many as its number says, into one target.
    Sum,
    /// Walks through sources from both ends, each time on from the smaller one, and adds these up into one target.
    Meet,
}

/// A function that kernels call.
#[derive(Debug, Clone, Copy)]
pub struct Helper {
    /// Type of its targets.
    pub target: Type,
    /// Part of a target that it changes.
    pub target_part: Part,
    /// Type of its sources.
    pub source: Type,
    /// Part of a source that it reads.
    pub source_part: Part,
    /// What it does.
    pub task: Task,
    /// Which file it is in.
    pub file: usize,
    /// Whether its pointers are `restrict`.
    pub restrict: bool,
}

/// How a kernel gets its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// As arguments, `restrict` or not.
    Pointers(bool),
    /// As members of a structure whose address is passed.
    Structure,
    /// It names the arrays itself and is told the items.
    Direct,
}

/// A function that works on one window of each of its operands.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Arrays that it writes.
    pub targets: Vec<usize>,
    /// Arrays that it reads the other item's windows of.
    pub sources: Vec<usize>,
    /// How it gets them.
    pub passing: Passing,
    /// Whether it must not be inlined.
    pub noinline: bool,
    /// Which file it is in.
    pub file: usize,
    /// What it does.
    pub body: Vec<Statement>,
}

impl Kernel {
    /// The array behind an operand.
    pub fn array(&self, operand: Operand) -> usize {
        match operand {
            Operand::Target(number) => self.targets[number],
            Operand::Source(number) => self.sources[number],
        }
    }
}

/// How the items of a phase are spread over the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Each thread goes through all and takes its own.
    ByHand,
    /// A worksharing loop with this schedule clause; true: results are a reduction.
    For(&'static str, bool),
    /// A worksharing loop over two loops.
    Collapse,
    /// One thread does all.
    Single,
    /// The primary thread does all.
    Masked,
    /// Three sections.
    Sections,
    /// A task an item.
    Tasks,
    /// A taskloop with this clause.
    Taskloop(&'static str),
    /// Tasks of this phase's kernel, and of a second one that reads the windows as they become ready.
    Chain(usize),
    /// Parallel regions inside of a worksharing loop.
    Nested,
    /// One item after the other, each thread waits for a plain flag of the item before, with `flush`.
    InOrder,
}

/// What happens between two barriers: a kernel runs once for each item.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// Which kernel.
    pub kernel: usize,
    /// Distance of the other item.
    pub shift: i64,
    /// Who does it.
    pub distribution: Distribution,
}

/// What the parameters are declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opacity {
    /// `volatile`
    Volatile,
    /// Ordinary shared variables.
    Shared,
}

/// A program.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it was drawn from.
    pub seed: u64,
    /// What it is written in.
    pub language: Language,
    /// Number of items.
    pub items: i64,
    /// Elements from one window to the next, where windows are behind each other.
    pub pitch: i64,
    /// Whether records are packed.
    pub packed: bool,
    /// Number of source files.
    pub files: usize,
    /// Arrays.
    pub arrays: Vec<Array>,
    /// Helpers.
    pub helpers: Vec<Helper>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// Values of the parameters.
    pub parameters: Vec<i64>,
    /// How they are declared.
    pub opacity: Opacity,
    /// Phases of a round.
    pub phases: Vec<Phase>,
    /// Rounds.
    pub rounds: i64,
    /// One parallel region for all, or one a phase.
    pub one_region: bool,
}

impl Program {
    /// Takes the last store of each kernel away: what a test that compares results must notice.
    pub fn lose_writes(&mut self) {
        for kernel in &mut self.kernels {
            let last = kernel.body.iter().rposition(|s| matches!(s, Statement::Store(..)));
            kernel.body.remove(last.expect("every kernel ends with a store"));
        }
    }
}
