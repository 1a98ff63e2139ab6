//! Loop-invariant code is moved once more before anything is analysed, without LLVM's limit of 100 memory accesses a loop: the bounds of loops
//! with large bodies would stay loads in the enclosing loop, and no check could leave it. Switch: `invariant`.
//!
//! Soundness. The passes are LLVM's own (LICM, GVN, InstCombine, EarlyCSE, SimplifyCFG), on the program's code before it has any check; they
//! move nothing that LLVM could not have moved where it ran them itself. That includes accesses that go past a synchronisation: LLVM takes
//! the entries of OpenMP, fences and atomics for calls that may write any memory, and so do all accesses that are analysed here, so a load
//! that was moved is one whose value no other thread could have changed between the old and the new place in a program without data
//! races. It is checked where it is now.
//!
//! The counter is the number of loads and stores in loops before, less those after: moved out, or found to be the same as others.

use std::cell::Cell;

use crate::options::Options;

thread_local! {
    /// In loops of the module at hand: before, and after.
    static COUNTS: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

/// True if the code is to be moved.
pub fn enabled(options: &Options) -> bool {
    options.enabled("invariant")
}

/// Notes how many accesses of the module are in loops.
pub fn note(accesses: u64, after: bool) {
    COUNTS.with(|counts| {
        let [before, _] = counts.get();
        counts.set(if after { [before, accesses] } else { [accesses, accesses] });
    });
}

/// How many accesses were taken out of loops of the module whose counts were noted last.
pub fn taken_out() -> u64 {
    let [before, after] = COUNTS.take();
    before.saturating_sub(after)
}
