//! Checks and tests as the rewriter makes them: before instructions, in preheaders, under run-time conditions.

use crate::analysis::facts::{
    Array, BlockId, Condition, ExprId, Kind, LoopId, Object, RuntimeSteps, Site, Stride, StripOrigin, ValueId,
};

/// Lines whose states one load of the table tests.
pub const WORD_LINES: u64 = 8;

/// How the state of `[address, address + length)` is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// The bytes lie in one line: one state byte.
    Line,
    /// The bytes lie in at most two lines: the states of both ends.
    Ends,
    /// The bytes lie in at most [`WORD_LINES`] lines: one word of the state table.
    Word,
    /// Any length: both ends, and the runtime's range entry if there are lines in between.
    Range,
}

/// A check before an instruction, at `delta` bytes from the address it uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Instruction that the check is put before, and whose operand it starts from.
    pub site: Site,
    /// Operand with the address.
    pub operand: u32,
    /// Distance from that address, bytes.
    pub delta: i64,
    /// Bytes checked.
    pub length: u64,
    /// Read or write.
    pub kind: Kind,
    /// How.
    pub test: Test,
    /// Number of accesses that rely on it.
    pub covers: u32,
    /// Set if it is made in the second version of the loop only.
    pub version: Option<LoopId>,
    /// Of one store on whose check nothing else relies: the slow path gets the value, see [`super::value`].
    pub value: bool,
}

/// A test whether memory is valid, in a preheader. It fetches nothing that is not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValidityTest {
    /// The preheader.
    pub at: BlockId,
    /// Read or write.
    pub kind: Kind,
    /// First byte, up to `delta`.
    pub start: Start,
    /// Distance from it, bytes.
    pub delta: i64,
    /// Bytes.
    pub length: u64,
    /// Where they are repeated.
    pub strides: Vec<Stride>,
    /// Expression of a number of reads that are going to happen in it: enough of them make fetching it pay.
    pub uses: Option<ExprId>,
    /// Expression of the number of iterations that the test has to be worth, if it is not certain to be.
    pub worth: Option<ExprId>,
}

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// An expression.
    Expr(ExprId),
    /// A global.
    Value(ValueId),
    /// All of an array of Fortran; length and strides do not count.
    Array(Array),
    /// All of the allocation that an address lies in; length and strides do not count.
    Allocation(ValueId),
}

/// A loop with two versions, with and without checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// The loop.
    pub over: LoopId,
    /// Indices into [`FunctionPlan::validity_tests`][super::FunctionPlan::validity_tests]; all must hold for the version without checks.
    pub tests: Vec<usize>,
    /// Jobs of one process take the version without checks whatever the tests say.
    pub single: bool,
    /// In the place of tests: what decides anew which version is executed, each time that some iterations are over.
    pub strip: Vec<StripPart>,
}

/// What lies in one line in so many iterations as a strip of a loop has: of each iteration `[origin + first, origin + past)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StripPart {
    /// Read or write.
    pub kind: Kind,
    /// An address that is known where an iteration begins.
    pub origin: StripOrigin,
    /// Distance of the first byte from it.
    pub first: i64,
    /// Distance of the end.
    pub past: i64,
    /// What the origin advances in each iteration at most, bytes: a power of two or 0.
    pub step: u64,
    /// Whether it advances downwards.
    pub backwards: bool,
}

/// A check in a loop's preheader, of `[start + delta, start + delta + extent + length)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopCheck {
    /// The loop.
    pub over: LoopId,
    /// Its preheader.
    pub preheader: BlockId,
    /// Read or write.
    pub kind: Kind,
    /// Address expression.
    pub start: ExprId,
    /// Distance from it, bytes.
    pub delta: i64,
    /// Length expression.
    pub extent: ExprId,
    /// Where the range is repeated.
    pub strides: Vec<Stride>,
    /// Steps known at run time only: the range is what they cover if they leave no line out.
    pub runtime_steps: Option<RuntimeSteps>,
    /// Further bytes.
    pub length: u64,
    /// When it is made.
    pub condition: CheckCondition,
    /// The variable that all of it lies in, if it is known.
    pub object: Option<Object>,
    /// Preheader in which the window is emptied that the check remembers what is valid in, if it has one.
    pub window: Option<BlockId>,
    /// Whether a range outside of the window is looked at inline before the runtime looks.
    pub refills: bool,
    /// Number of accesses that rely on it.
    pub covers: u32,
    /// Set if all of it is stored to, and not read before unless it meets one of these.
    pub overwrites: Option<Vec<ReadRange>>,
}

/// A range in a loop's preheader that is fetched because the loop is expected to touch it: `[start + delta, start + delta + extent + length)`. Nothing relies on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// The loop.
    pub over: LoopId,
    /// Its preheader.
    pub preheader: BlockId,
    /// Read or write.
    pub kind: Kind,
    /// Address expression.
    pub start: ExprId,
    /// Distance from it, bytes.
    pub delta: i64,
    /// Length expression.
    pub extent: ExprId,
    /// Further bytes.
    pub length: u64,
    /// Number of accesses that are expected to touch it.
    pub covers: u32,
}

/// `[start + delta, start + delta + extent + length)`, repeated at the strides: what a load reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadRange {
    /// Address expression.
    pub start: ExprId,
    /// Distance from it, bytes.
    pub delta: i64,
    /// Length expression.
    pub extent: ExprId,
    /// Further bytes.
    pub length: u64,
    /// Where the range is repeated.
    pub strides: Vec<Stride>,
}

/// Condition of a loop's check; the numbers index [`FunctionPlan::flags`][super::FunctionPlan::flags].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CheckCondition {
    /// Always made.
    Always,
    /// Made if the flag is set.
    If(usize),
    /// Made unless the flag is set.
    Unless(usize),
}

/// Run-time conditions, evaluated together in a preheader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flag {
    /// Where.
    pub preheader: BlockId,
    /// All must hold.
    pub conditions: Vec<Condition>,
}

/// Number of a flag, which is added if it is new.
pub(crate) fn number_flag(flags: &mut Vec<Flag>, flag: Flag) -> usize {
    flags.iter().position(|f| *f == flag).unwrap_or_else(|| {
        flags.push(flag);
        flags.len() - 1
    })
}
