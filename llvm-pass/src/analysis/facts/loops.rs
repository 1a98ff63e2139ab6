//! Loops.

use super::{BlockId, ExprId, LoopId, Site};

/// A loop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
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
    /// That number is the same in each iteration of the loop around it, as it is that of a distance ([`super::super::linear`]).
    pub by_distance: bool,
    /// Instructions of the loop and those in it if it can be copied, else 0.
    pub copy_cost: u32,
    /// Conditions under which it is entered, the nearest first.
    pub guards: Vec<Guard>,
    /// Comparisons that end it and could ask for equality.
    pub exits: Vec<Exit>,
}

/// A comparison whose result is known wherever a loop is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The comparison.
    pub compare: Site,
    /// Its result.
    pub holds: bool,
}

/// A comparison that ends a loop in the iteration in which its sides are equal, and in no iteration before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exit {
    /// The comparison.
    pub compare: Site,
    /// Its result where the loop ends.
    pub holds: bool,
}
