//! What the analysis hands to the planner: plain data about one function, without LLVM.
//!
//! Instructions are named by [`Site`], their number in layout order; addresses by a [`Key`] (equal keys have a
//! constant distance) and an offset; loop-invariant expressions by [`ExprId`]. Blocks are in reverse postorder, the
//! entry first; unreachable blocks are absent. The order of events in a block is the order of execution.

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

/// A load or store of a fixed number of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Read or write.
    pub kind: Kind,
    /// Number of the operand that is the address.
    pub operand: u32,
    /// Address up to a constant.
    pub key: Key,
    /// Distance from the key, bytes.
    pub offset: i64,
    /// Bytes touched, at least 1.
    pub size: u64,
    /// Guaranteed alignment of the address, a power of two.
    pub align: u64,
    /// Set if it needs no check.
    pub private: Option<Private>,
    /// Extents over enclosing loops, innermost first.
    pub hulls: Vec<Hull>,
    /// Why there is no hull over the innermost loop, or none over the next one.
    pub stay: Option<Stay>,
    /// What it can touch at most, if it has no hull.
    pub span: Option<Span>,
    /// The variable that it lies in.
    pub object: Option<Object>,
    /// The allocated array of Fortran that it lies in.
    pub array: Option<Array>,
}

/// All bytes that an access may touch while a loop runs, and maybe others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// The loop; everything can be computed in its preheader.
    pub over: LoopId,
    /// Equal for spans with a constant distance.
    pub start_key: ExprId,
    /// Distance of the first byte from the key.
    pub start_offset: i64,
    /// Expression of the first byte's address.
    pub start: ExprId,
    /// Where the bytes of the access are repeated.
    pub strides: Vec<Stride>,
}

/// A global variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Object {
    /// Its address.
    pub value: ValueId,
    /// Its size.
    pub bytes: u64,
}

/// An allocatable variable of a Fortran module: its extents are known at run time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Array {
    /// Address of its descriptor.
    pub descriptor: ValueId,
    /// Address of its elements, as it was read from the descriptor.
    pub base: ValueId,
}

/// Why an access has no hull over a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stay {
    /// How often the loop runs is not known before it starts.
    NoCount,
    /// Not every iteration executes the access.
    Conditional,
    /// The address is no linear function of the iteration.
    Irregular,
    /// The bounds cannot be computed in front of the loop, or have too many dimensions.
    Bounds,
    /// The loop has a sync point.
    Sync,
}

impl Stay {
    /// For messages to the user.
    pub fn text(self) -> &'static str {
        match self {
            Stay::NoCount => "how often the loop runs is not known before it starts",
            Stay::Conditional => "not every iteration executes it",
            Stay::Irregular => "its address is no linear function of the iteration",
            Stay::Bounds => "its bounds cannot be computed before the loop",
            Stay::Sync => "the loop may synchronise",
        }
    }
}

/// All bytes that an access touches while a loop runs: `[start, start + length)`, repeated at the strides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hull {
    /// The loop; start and length can be computed in its preheader.
    pub over: LoopId,
    /// Key of the first byte's address.
    pub start_key: Key,
    /// Its distance from the key.
    pub start_offset: i64,
    /// Expression of the first byte's address.
    pub start: ExprId,
    /// Expression of the length in bytes minus the size of the access.
    pub extent: ExprId,
    /// Set if the loop's step is known only at run time: what start and extent say is true of steps forwards that leave no line out.
    pub walk: Option<Walk>,
    /// Dimensions that leave lines out between their steps, at most [`MAX_STRIDES`].
    pub strides: Vec<Stride>,
    /// What must hold when the loop is entered for the hull to be exact; grows from loop to enclosing loop.
    pub conditions: Vec<Condition>,
    /// Set for stores that overwrite, see `analysis::overwrite`.
    pub fills: Option<Fills>,
}

/// When a hull is overwritten.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fills {
    /// So many bytes side by side have to be stored to in each iteration for no byte of the dense part to be left out.
    pub least: u64,
    /// Loads of the loop that must not read any of it.
    pub readers: Vec<Site>,
}

/// The steps of a loop that may leave lines out, or go backwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Walk {
    /// Expression of the distance in bytes, signed.
    pub step: ExprId,
    /// Expression of the number of steps.
    pub count: ExprId,
    /// Expression of the length in bytes of what one iteration touches, minus the size of the access.
    pub extent: ExprId,
}

/// Dimensions that the runtime's entries for strided ranges take.
pub const MAX_STRIDES: usize = 2;

/// The bytes are touched again at `step`, `2 * step`, ... `count * step` behind them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stride {
    /// Expression of the distance in bytes.
    pub step: ExprId,
    /// Expression of the number of repetitions.
    pub count: ExprId,
}

/// Something that is known only at run time, but does not change in the loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Condition {
    /// The branch around an inner loop goes into it.
    Guard {
        /// The branch's condition.
        value: ValueId,
        /// The value that leads into the loop.
        holds: bool,
    },
    /// No line lies between the bytes of one iteration and the next: `step <= extent + slack`, unsigned.
    Dense {
        /// Distance between the iterations' first bytes.
        step: ExprId,
        /// Length expression of the bytes of one iteration.
        extent: ExprId,
        /// Size of the access, and of a gap that cannot hold a line.
        slack: u64,
    },
    /// All of a global variable is valid. Made by the planner.
    Valid {
        /// The variable.
        object: Object,
        /// For what.
        kind: Kind,
    },
}

/// Length of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Length {
    /// Constant.
    Bytes(u64),
    /// Value of an argument of the call.
    Arg(u32),
    /// Product of two arguments.
    Product(u32, u32),
    /// The NUL-terminated string at the address.
    Str,
    /// One more than the summed lengths of the strings at these arguments.
    StrLen(Vec<u32>),
    /// One more than the characters that this `sprintf` call will write.
    Formatted {
        /// Argument with the format.
        format: u32,
    },
    /// The elements that the array descriptor of Fortran at the address names.
    Descriptor,
    /// The objects of the namelist of Fortran at the address.
    Namelist,
    /// The next elements of the array constructor of Fortran at the address.
    Constructor {
        /// How many at most.
        elements: u64,
    },
    /// Value of an argument times a constant.
    Scaled(u32, u64),
    /// As many `struct iovec` as the argument says, and the memory that they name.
    Vectors(u32),
}

impl Length {
    /// True if the memory lies elsewhere than at the address.
    pub fn is_indirect(&self) -> bool {
        use Length::{Constructor, Descriptor, Namelist, Vectors};
        matches!(self, Descriptor | Namelist | Constructor { .. } | Vectors(_))
    }
}

/// What a format is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Output.
    Print,
    /// Output to memory at this argument, as long as it gets.
    PrintTo(u32),
    /// Input, from the string at this argument or else from a stream.
    Scan(Option<u32>),
}

/// Where the arguments of a format are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arguments {
    /// From this argument on.
    From(u32),
    /// Behind the `va_list` at this argument.
    List(u32),
}

/// A call whose format is read at run time to make the memory behind the arguments valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatCall {
    /// What for.
    pub purpose: Purpose,
    /// Argument with the format.
    pub format: u32,
    /// The arguments.
    pub arguments: Arguments,
}

/// Memory that a call touches behind the pass's back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// Read or write.
    pub kind: Kind,
    /// Argument with the address.
    pub argument: u32,
    /// How long.
    pub length: Length,
    /// Every byte is stored to; what is read, it was made valid for before.
    pub fills: bool,
    /// Set if it needs no check.
    pub private: Option<Private>,
}

/// Shape of an access under a mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// Lane `i` at `address + i * element`, if its mask bit is set.
    Contiguous,
    /// Lane `i` at its own address, if its mask bit is set.
    Scattered,
    /// As many elements from the address on as mask bits are set.
    Packed,
}

/// A masked access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Masked {
    /// Read or write.
    pub kind: Kind,
    /// Placement of the lanes.
    pub lanes: Lanes,
    /// Number of lanes.
    pub count: u32,
    /// Bytes of a lane.
    pub element: u64,
    /// Operand with the address or the vector of addresses.
    pub address: u32,
    /// Operand with the mask.
    pub mask: u32,
    /// Set if it needs no check.
    pub private: Option<Private>,
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
    /// Something that the user should know; the text says what.
    Remark(String),
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

/// A loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopFacts {
    /// Enclosing loop.
    pub parent: Option<LoopId>,
    /// The header.
    pub header: BlockId,
    /// Block that alone enters the loop, if there is one.
    pub preheader: Option<BlockId>,
    /// True if the loop (or a loop in it) holds a sync point.
    pub syncs: bool,
    /// Expression of the number of times that its back edge is taken, if it can be computed in the preheader.
    pub count: Option<ExprId>,
    /// Instructions of an innermost loop that can be copied, else 0.
    pub copy_cost: u32,
}

/// Locals that move to the shared stack.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StackFacts {
    /// Escaping allocas of the entry block with constant size.
    pub fixed: Vec<StackSlot>,
    /// Allocas of run-time size, and whether they escape.
    pub dynamic: Vec<(Site, bool)>,
    /// Parameters passed in memory whose copy escapes: (index, bytes, alignment).
    pub byval: Vec<(u32, u64, u64)>,
    /// `llvm.stacksave` and `llvm.stackrestore` calls.
    pub saves: Vec<Site>,
    /// See `saves`.
    pub restores: Vec<Site>,
    /// Calls that may return twice, and landing pads.
    pub reentries: Vec<Site>,
}

/// An alloca that moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackSlot {
    /// The alloca.
    pub site: Site,
    /// Its name for printing.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Alignment.
    pub align: u64,
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
