//! Loads and stores of a known number of bytes, and what is known of where they go.

use super::loop_range::{LoopRange, Stride};
use super::{ExprId, Key, Kind, LoopId, Private, ValueId};

/// A load or store of a fixed number of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Read or write.
    pub kind: Kind,
    /// Number of the operand that is the address, up to `lead`.
    pub operand: u32,
    /// Number among the accesses of the instruction.
    pub part: u32,
    /// Distance of the first byte from the operand.
    pub lead: i64,
    /// True if the function that the instruction calls makes it, and not the instruction itself.
    pub of_callee: bool,
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
    pub loop_ranges: Vec<LoopRange>,
    /// Why there is no loop range over the innermost loop, or none over the next one.
    pub hoist_obstacle: Option<HoistObstacle>,
    /// What it will touch unless the loop changes its own bound, if it has no loop range.
    pub expected: Option<ExpectedRange>,
    /// What it can touch at most, if it has no loop range.
    pub span: Option<Span>,
    /// The same over whole nests, innermost loop first: between two addresses.
    pub footprints: Vec<Footprint>,
    /// What bounds it in each iteration of its loop, if it has no loop range.
    pub strip: Option<Box<StripBounds>>,
    /// The variable that it lies in.
    pub object: Option<Object>,
    /// The allocated array of Fortran that it lies in.
    pub array: Option<Array>,
    /// An address in the allocation that it lies in, if it is computed from one.
    pub allocation: Option<Allocation>,
}

impl Access {
    /// An access of which only operand, bytes and alignment are known yet.
    pub fn new(kind: Kind, operand: u32, size: u64, align: u64) -> Access {
        Access {
            kind,
            operand,
            part: 0,
            lead: 0,
            of_callee: false,
            key: 0,
            offset: 0,
            size,
            align,
            private: None,
            loop_ranges: vec![],
            hoist_obstacle: None,
            expected: None,
            span: None,
            footprints: vec![],
            strip: None,
            object: None,
            array: None,
            allocation: None,
        }
    }
}

/// `[start, start + extent + size)`: what an access will touch while its innermost loop runs, if the bound that the loop loads again in each iteration stays what it was in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpectedRange {
    /// The loop; start and extent can be computed in its preheader.
    pub over: LoopId,
    /// Equal for ranges with a constant distance.
    pub start_key: ExprId,
    /// Distance of the first byte from the key.
    pub start_offset: i64,
    /// Expression of the first byte's address.
    pub start: ExprId,
    /// Expression of the length in bytes minus the size of the access. Any number: the range may make no sense.
    pub extent: ExprId,
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

/// All bytes that an access may touch while a nest of loops runs, and maybe others between them: from those at `lo` to those at `hi`. True if the nest is entered, and the numbers of iterations, as signed integers,
/// are below [`MAX_COUNT`](crate::analysis::footprints::MAX_COUNT).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// The outermost loop of the nest; everything can be computed in its preheader.
    pub over: LoopId,
    /// Equal for lowest addresses with a constant distance.
    pub lo_key: ExprId,
    /// Distance of the lowest address from the key.
    pub lo_offset: i64,
    /// Expression of the lowest address.
    pub lo: ExprId,
    /// Equal for highest addresses with a constant distance.
    pub hi_key: ExprId,
    /// Distance of the highest address from the key.
    pub hi_offset: i64,
    /// Expression of the highest address: of the first of the bytes there.
    pub hi: ExprId,
    /// Expressions of numbers of iterations, without the first.
    pub counts: Vec<ExprId>,
}

/// What bounds an address in an iteration of an innermost loop: see [`crate::llvm::StripBounds`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StripBounds {
    /// What it is computed from.
    pub origin: StripOrigin,
    /// Least and greatest distance from that, bytes.
    pub distance: (i64, i64),
    /// The least and the most that the origin advances in an iteration, bytes.
    pub step: (i64, i64),
}

/// An address that is known where an iteration begins: `base + scale * root`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StripOrigin {
    /// A phi of the loop's header.
    pub root: Option<ValueId>,
    /// An address that does not change.
    pub base: Option<ValueId>,
    /// What the root is multiplied with.
    pub scale: i64,
    /// Whether the root is extended to 64 bits with its sign, if it is.
    pub extended: Option<bool>,
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

/// What some address lies in: its extent is known at run time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Allocation {
    /// The address.
    pub address: ValueId,
    /// The outermost loop without sync points that it is known in front of.
    pub over: LoopId,
}

/// Why an access has no loop range over a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HoistObstacle {
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

impl HoistObstacle {
    /// For messages to the user.
    pub fn text(self) -> &'static str {
        match self {
            HoistObstacle::NoCount => "how often the loop runs is not known before it starts",
            HoistObstacle::Conditional => "not every iteration executes it",
            HoistObstacle::Irregular => "its address is no linear function of the iteration",
            HoistObstacle::Bounds => "its bounds cannot be computed before the loop",
            HoistObstacle::Sync => "the loop may synchronise",
        }
    }

    /// What could be changed in the source.
    pub fn help(self) -> &'static str {
        match self {
            HoistObstacle::NoCount => {
                "a loop that is left by its count alone, as 'for (i = 0; i < n; i++)' with a local n"
            }
            HoistObstacle::Conditional => {
                "an access in every iteration, as of a local variable that is stored behind the loop"
            }
            HoistObstacle::Irregular => {
                "a subscript that is linear in the loop's variable, or a variable whose size is known here"
            }
            HoistObstacle::Bounds => {
                "local copies of pointers, bounds and steps that are made in front of the loop"
            }
            HoistObstacle::Sync => {
                "calls and atomic operations moved out of the loop, or '-fdsm-effects' for a function that does not synchronise"
            }
        }
    }
}
