//! What the analysis hands to the planner: plain data about one function, without LLVM.
//!
//! Instructions are named by [`Site`], their number in layout order; addresses by a [`Key`] (equal keys have a
//! constant distance) and an offset; loop-invariant expressions by [`ExprId`]. Blocks are in reverse postorder, the
//! entry first; unreachable blocks are absent. The order of events in a block is the order of execution.

mod access;
mod calls;
mod graph;
mod loop_range;
mod loops;
mod stack;

pub use access::{
    Access, Allocation, Array, ExpectedRange, Footprint, HoistObstacle, Object, Span, StripBounds,
    StripOrigin,
};
pub use calls::{Arguments, FormatCall, Lanes, Length, Limit, Masked, Purpose, Range};
pub use graph::{Argument, CallEdge, CallId, Checked, Extent, FunctionId, FunctionNode, Graph};
pub use loop_range::{Condition, Fills, LoopRange, MAX_STRIDES, RuntimeSteps, Stride};
pub use loops::{Exit, Guard, LoopFacts};
pub use stack::{StackFacts, StackSlot};

/// Number of an instruction in its function.
pub type Site = u32;
/// Index into [`FunctionFacts::blocks`].
pub type BlockId = usize;
/// Index into [`FunctionFacts::loops`].
pub type LoopId = usize;
/// Number of an address up to a constant distance.
pub type Key = u32;
/// Number of an expression that the rewriter can expand.
pub type ExprId = u32;
/// Number of a value that the rewriter can use.
pub type ValueId = u32;

/// What an access wants to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Read: any state below `READ_LIMIT` will do.
    Load,
    /// Write: needs `WRITABLE`, which also allows reading.
    Store,
}

/// Why an access needs no check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Private {
    /// A local variable whose address nobody else can learn.
    Local,
    /// Read-only data.
    Constant,
    /// A thread-local variable.
    ThreadLocal,
    /// The callee's own copy of an argument passed in memory.
    ByvalCopy,
    /// A parameter that gets pointers to private memory only.
    Argument,
    /// Thread numbers that the OpenMP runtime passes by address.
    ThreadNumber,
    /// The program says so.
    Declared,
    /// Null or undefined: executing it is an error of the program.
    Undefined,
    /// Not in the default address space (segment-relative).
    OtherAddressSpace,
}

impl Private {
    /// For messages.
    pub fn text(self) -> &'static str {
        match self {
            Private::Local => "a local variable whose address does not escape",
            Private::Constant => "a constant",
            Private::ThreadLocal => "a thread-local variable",
            Private::ByvalCopy => "the function's copy of an argument that is passed in memory",
            Private::Argument => "a parameter that gets pointers to private memory from all calls",
            Private::ThreadNumber => "a thread number of the OpenMP runtime's",
            Private::Declared => "declared so by the program",
            Private::Undefined => "an address that is null or undefined",
            Private::OtherAddressSpace => "in an address space of its own",
        }
    }
}

/// Something that the planner must know about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A fixed access.
    Access(Access),
    /// An access under a mask.
    Masked(Masked),
    /// An atomic operation; set if its address is private.
    Atomic(Option<Private>),
    /// Memory touched by a call.
    Ranges(Vec<Range>),
    /// Memory touched by a call as its format says.
    Format(FormatCall),
    /// A point after which earlier checks no longer hold.
    Sync,
    /// An instruction that the pass cannot make safe; the text says why.
    Unsupported(String),
    /// A call that hands memory which may be shared to a function, of this name, of which nothing is known.
    Unknown(String),
}

/// An event at an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The instruction.
    pub site: Site,
    /// What it does.
    pub what: What,
}

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockFacts {
    /// Name for printing.
    pub name: String,
    /// Predecessors.
    pub preds: Vec<BlockId>,
    /// Innermost loop.
    pub inner: Option<LoopId>,
    /// Events in order.
    pub events: Vec<Event>,
}

/// Everything about a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionFacts {
    /// Name.
    pub name: String,
    /// Reachable blocks in reverse postorder.
    pub blocks: Vec<BlockFacts>,
    /// Loops, outer ones before inner ones.
    pub loops: Vec<LoopFacts>,
    /// Stack.
    pub stack: StackFacts,
    /// What every caller has checked.
    pub given: Vec<Checked>,
}

impl FunctionFacts {
    /// True if loop `inner` is `outer` or lies in it.
    pub fn within(&self, mut inner: LoopId, outer: LoopId) -> bool {
        loop {
            if inner == outer {
                return true;
            }
            match self.loops[inner].parent {
                Some(parent) => inner = parent,
                None => return false,
            }
        }
    }
}
