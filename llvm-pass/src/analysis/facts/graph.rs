//! Which functions call each other, and what each call of a function touches: plain data about a module, without LLVM.

use super::{Key, Kind};

/// Index into [`Graph::functions`].
pub type FunctionId = usize;
/// Index into [`Graph::calls`].
pub type CallId = usize;

/// Functions with a body and the direct calls of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// Functions.
    pub functions: Vec<FunctionNode>,
    /// Calls.
    pub calls: Vec<CallEdge>,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionNode {
    /// Name for printing.
    pub name: String,
    /// True if nothing but the calls of the graph uses it.
    pub local: bool,
    /// True if it may acquire.
    pub syncs: bool,
    /// Instructions, if it can be copied, else 0.
    pub copy_cost: u32,
    /// What every call of it touches.
    pub touches: Vec<Extent>,
    /// By parameter: how many accesses go through it.
    pub through: Vec<u32>,
}

/// Bytes behind the address that a parameter is: `[lo, hi)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Extent {
    /// Number of the parameter.
    pub parameter: u32,
    /// Read or write.
    pub kind: Kind,
    /// First byte.
    pub lo: i64,
    /// First byte behind.
    pub hi: i64,
}

/// Bytes that are valid when a function is entered: `[lo, hi)` from the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Of the address.
    pub key: Key,
    /// For what.
    pub kind: Kind,
    /// First byte.
    pub lo: i64,
    /// First byte behind.
    pub hi: i64,
}

/// A direct call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallEdge {
    /// Who calls.
    pub caller: FunctionId,
    /// Who is called.
    pub callee: FunctionId,
    /// True if every call of the caller makes it.
    pub always: bool,
    /// True if it is in a loop.
    pub in_loop: bool,
    /// What it passes.
    pub arguments: Vec<Argument>,
}

/// An argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A pointer to private memory.
    Private,
    /// An address at a constant distance from a parameter of the caller.
    Parameter {
        /// Its number.
        index: u32,
        /// The distance, bytes.
        offset: i64,
    },
    /// An address that is a linear function of the iteration of the loop around the call.
    Walks,
    /// Anything else.
    Other,
}
