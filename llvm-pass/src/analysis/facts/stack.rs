//! Locals that move to the shared stack.

use super::Site;

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
