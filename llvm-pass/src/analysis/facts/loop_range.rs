//! What an access touches while a loop runs.

use super::{ExprId, Key, Kind, LoopId, Object, Site, ValueId};

/// All bytes that an access touches while a loop runs: `[start, start + length)`, repeated at the strides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopRange {
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
    /// The length in bytes minus the size of the access where it is a constant, and nothing is left out or depends on conditions.
    pub bytes: Option<i64>,
    /// Set if the loop's step is known only at run time: what start and extent say is true of steps forwards that leave no line out.
    pub runtime_steps: Option<RuntimeSteps>,
    /// Dimensions that leave lines out between their steps, at most [`MAX_STRIDES`].
    pub strides: Vec<Stride>,
    /// What must hold when the loop is entered for the loop range to be exact; grows from loop to enclosing loop.
    pub conditions: Vec<Condition>,
    /// Set for stores that overwrite, see `analysis::overwrite`.
    pub fills: Option<Fills>,
}

/// When a loop range is overwritten.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fills {
    /// So many bytes side by side have to be stored to in each iteration for no byte of the dense part to be left out.
    pub least: u64,
    /// Loads of the loop that must not read any of it.
    pub readers: Vec<Site>,
}

/// The steps of a loop that may leave lines out, or go backwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RuntimeSteps {
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
