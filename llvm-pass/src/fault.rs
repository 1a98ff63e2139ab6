//! Known ways to get the pass wrong. A test asks for one at a time (`-fdsm-fault=NAME`, or `NAME:N` for the N-th place, from 0) and has to find
//! that the program which was compiled so is wrong: by what `-fdsm-verify` says, by `DSM_GUARD`, or by its output.
//!
//! Where a stage hands its result on as plain data, the fault is put into that ([`facts`], [`plan`]); the rest asks [`is`] in place. Without the option,
//! that is one look at a word a decision.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::analysis::facts::{FunctionFacts, Kind, Length, What};
use crate::llvm::{Block, Opcode, Value};
use crate::plan::{CheckCondition, FunctionPlan, Start, Test};

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A seeded fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// All of them.
            pub const ALL: &[Fault] = &[$(Fault::$name,)*];

            /// As it is spelt on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$name => $text,)* }
            }
        }
    };
}

faults! {
    /// A check in straight-line code is left out.
    DropCheck = "drop-check",
    /// A check in front of a loop is left out.
    DropLoopCheck = "drop-loop-check",
    /// The check of what a call touches is left out.
    DropRange = "drop-range",
    /// The checks of accesses under a mask are left out.
    DropMasked = "drop-masked",
    /// Atomic operations stay what they are.
    DropAtomics = "drop-atomics",
    /// A check in straight-line code asks for loads where it covers stores.
    CheckKind = "check-kind",
    /// A check in front of a loop asks for loads where it covers stores.
    LoopCheckKind = "loop-check-kind",
    /// The test in front of two versions asks for loads where one stores.
    ReadyKind = "ready-kind",
    /// A check in straight-line code ends with its first member.
    CheckLength = "check-length",
    /// A range in front of a loop ends one element early.
    LoopCheckLength = "loop-check-length",
    /// A range in front of a loop begins one element late.
    LoopCheckStart = "loop-check-start",
    /// The range of a walk downwards begins where the walk does.
    StrideSign = "stride-sign",
    /// A range with strides has its first row only.
    Strides = "strides",
    /// The check of a call's memory has half the length.
    RangeLength = "range-length",
    /// An access that may straddle two lines is checked for the first.
    Straddle = "straddle",
    /// A check of several lines looks at the first and the last.
    WordEnds = "word-ends",
    /// The lines' states are looked up at the wrong place.
    StateAddress = "state-address",
    /// Loads pass where the state is cold.
    StateLimit = "state-limit",
    /// A miss makes the first byte valid only.
    MissLength = "miss-length",
    /// States are loaded without acquire order.
    StateOrder = "state-order",
    /// A barrier is no synchronisation.
    SyncBarrier = "sync-barrier",
    /// A critical section is none.
    SyncCritical = "sync-critical",
    /// The end of tasks is none.
    SyncTasks = "sync-tasks",
    /// A flush is none.
    SyncFlush = "sync-flush",
    /// The flush behind an atomic load of any order is left out.
    FlushOrder = "flush-order",
    /// An OpenMP lock is none.
    SyncLock = "sync-lock",
    /// A mutex is none.
    SyncMutex = "sync-mutex",
    /// A parallel region is none.
    SyncFork = "sync-fork",
    /// A call of a function that synchronises is none.
    SyncOwn = "sync-own",
    /// A call of a function of another file is none.
    SyncExtern = "sync-extern",
    /// A call through a pointer is none.
    SyncIndirect = "sync-indirect",
    /// Loops synchronise nowhere.
    SyncLoop = "sync-loop",
    /// A local variable that escapes is private, though it moves to the shared stack.
    PrivateLocal = "private-local",
    /// A local variable that escapes stays on the native stack.
    Escape = "escape",
    /// Global variables are private.
    PrivateGlobal = "private-global",
    /// Parameters of local functions are private, whatever the calls pass.
    PrivateArgument = "private-argument",
    /// Parameters that nothing else is an alias of are private.
    PrivateNoalias = "private-noalias",
    /// What `malloc` returns is private.
    PrivateHeap = "private-heap",
    /// The remainder of a collapsed loop's counter is the counter.
    CollapseRemainder = "collapse-remainder",
    /// Subscripts that may wrap are widened.
    WidenWrapping = "widen-wrapping",
    /// Pointers that become integers stay where they are when they are walked with.
    WalkDistance = "walk-distance",
    /// Recurrences in loops do not wrap, whatever is known of them.
    LinearWrapping = "linear-wrapping",
    /// Loops that count up to what lies a distance behind their first number run once.
    DistanceShort = "distance-short",
    /// A window has no end.
    WindowEnd = "window-end",
    /// A window is emptied at the function's entry.
    WindowEmptied = "window-emptied",
    /// A window has no end once it is refilled.
    RefillEnd = "refill-end",
    /// What a walk backwards touches begins at its first step.
    WalkBackwards = "walk-backwards",
    /// The test in front of two versions asks for the first bytes of a variable.
    ReadyLength = "ready-length",
    /// The test of an allocation in front of two versions ends behind its first bytes.
    AllocationLength = "allocation-length",
    /// The check in front of an inner loop is left out where the one in front of the nest is not made.
    NestFlag = "nest-flag",
    /// Loops have no checks, whatever the number of processes.
    SingleAlways = "single-always",
    /// The test of a footprint in front of a nest ends behind its first byte.
    FootprintEnd = "footprint-end",
    /// The test of a footprint asks for loads.
    FootprintKind = "footprint-kind",
    /// Strips of loops have twice as many iterations as lie in a line.
    StripLength = "strip-length",
    /// Strips of loops are executed without checks where their lines allow loads.
    StripKind = "strip-kind",
    /// A static object counts as initialised once a thread has looked.
    StaticsUnseen = "statics-unseen",
    /// A loop around a compare-and-swap that sets bits toggles them.
    CasKind = "cas-kind",
    /// A function with a name of POSIX is the C library's in any case.
    SyncNamesake = "sync-namesake",
    /// A loop around a compare-and-swap does not acquire what its load acquires.
    CasOrder = "cas-order",
    /// What one path has checked counts where paths join.
    AvailableJoin = "available-join",
    /// A check for loads counts for stores.
    AvailableKind = "available-kind",
    /// A store is executed at the home though other accesses rely on its check.
    ValueRelied = "value-relied",
    /// Accesses have no check where what they are expected to touch is fetched.
    HintRelied = "hint-relied",
    /// Functions rely on more than their callers check.
    CallersMore = "callers-more",
    /// Callers do not check what functions rely on.
    CallersNone = "callers-none",
    /// Stores that leave bytes out overwrite.
    OverwritePartial = "overwrite-partial",
    /// A call that stores to memory in part overwrites it.
    OverwriteCall = "overwrite-call",
    /// Library functions touch one byte.
    LibraryLength = "library-length",
    /// Library functions only read.
    LibraryKind = "library-kind",
    /// Library functions touch nothing.
    LibraryNothing = "library-nothing",
    /// Private copies of reductions have one byte.
    ReductionBytes = "reduction-bytes",
    /// Variables of `copyprivate` have one byte.
    CopyprivateBytes = "copyprivate-bytes",
    /// Barriers behind reductions are left out, whatever was loaded and stored in between.
    ReductionBarrier = "reduction-barrier",
    /// Values that a thread carries from chunk to chunk are left out of account where threads may have other chunks.
    ChunksCarried = "chunks-carried",
    /// Code with checks in front of loops uses values before they are computed.
    InvalidCode = "invalid-code",
    /// Code with merged checks asks the code generator for what it does not have.
    FatalCode = "fatal-code",
    /// The pass ends the compiler at a function with checks in front of loops.
    Crash = "crash",
}

impl Fault {
    /// Reads `NAME` or `NAME:N`.
    pub fn parse(text: &str) -> Option<(Fault, u32)> {
        let (name, place) = text.split_once(':').unwrap_or((text, "0"));
        let fault = Fault::ALL.iter().find(|f| f.name() == name)?;
        Some((*fault, place.parse().ok()?))
    }
}

/// The fault that was asked for and one more, else 0.
static FAULT: AtomicU32 = AtomicU32::new(0);
/// Which of the places where it could be is meant.
static PLACE: AtomicU32 = AtomicU32::new(0);

/// Puts a fault into what follows.
pub fn seed(fault: Option<(Fault, u32)>) {
    FAULT.store(fault.map_or(0, |(fault, _)| fault as u32 + 1), Ordering::Relaxed);
    PLACE.store(fault.map_or(0, |(_, place)| place), Ordering::Relaxed);
}

/// Whether this fault was asked for.
pub fn is(fault: Fault) -> bool {
    FAULT.load(Ordering::Relaxed) == fault as u32 + 1
}

/// Whether this fault was asked for, at the place that is looked at now: each call is one.
fn is_here(fault: Fault) -> bool {
    is(fault) && PLACE.fetch_sub(1, Ordering::Relaxed) == 0
}

/// Puts it into facts.
pub fn facts(facts: &mut FunctionFacts) {
    if is(Fault::SyncLoop) {
        facts.loops.iter_mut().for_each(|l| l.syncs = false);
    }
    if is(Fault::CallersMore) {
        for given in &mut facts.given {
            (given.lo, given.hi, given.kind) = (given.lo - 4096, given.hi + 4096, Kind::Store);
        }
    }
    if is(Fault::CallersNone) {
        for block in &mut facts.blocks {
            block.events.retain(|e| !matches!(&e.what, What::Access(access) if access.of_callee));
        }
    }
}

/// Puts it into a plan.
pub fn plan(plan: &mut FunctionPlan) {
    plan.checks.retain(|_| !is_here(Fault::DropCheck));
    plan.loop_checks.retain(|_| !is_here(Fault::DropLoopCheck));
    plan.ranges.retain(|_| !is_here(Fault::DropRange));
    plan.masked.retain(|_| !is(Fault::DropMasked));
    plan.atomics.retain(|_| !is(Fault::DropAtomics));
    for check in &mut plan.checks {
        match check.test {
            _ if is(Fault::CheckKind) => check.kind = Kind::Load,
            _ if is(Fault::CheckLength) && check.covers > 1 => check.length = 1,
            Test::Ends if is(Fault::Straddle) => check.test = Test::Line,
            Test::Word if is(Fault::WordEnds) => check.test = Test::Ends,
            _ => {}
        }
    }
    loop_checks(plan);
    for test in &mut plan.validity_tests {
        match test.start {
            _ if is(Fault::ReadyKind) => test.kind = Kind::Load,
            Start::Value(_) if is(Fault::ReadyLength) => test.length = test.length.min(8),
            Start::Allocation(address) if is(Fault::AllocationLength) => {
                (test.start, test.length) = (Start::Value(address), 8);
            }
            _ => {}
        }
    }
    let parts = plan.footprints.iter_mut().flat_map(|footprint| &mut footprint.parts);
    parts.filter(|_| is(Fault::FootprintKind)).for_each(|part| part.kind = Kind::Load);
    let parts = plan.versions.iter_mut().flat_map(|version| &mut version.strip);
    parts.filter(|_| is(Fault::StripKind)).for_each(|part| part.kind = Kind::Load);
    for (_, range) in &mut plan.ranges {
        match &range.length {
            Length::Bytes(bytes) if is(Fault::RangeLength) => range.length = Length::Bytes(bytes / 2),
            Length::Arg(_) if is(Fault::RangeLength) => range.length = Length::Bytes(1),
            _ => {}
        }
        range.fills |= is(Fault::OverwriteCall) && range.kind == Kind::Store;
    }
}

/// Puts it into code: what the compiler cannot make an object of.
pub fn code(function: Value, plan: &FunctionPlan) {
    if is(Fault::FatalCode) && plan.checks.iter().any(|c| c.covers > 1) {
        function.set_collector("dsm-fault");
    }
    if plan.loop_checks.is_empty() {
        return;
    }
    if is(Fault::Crash) {
        std::process::abort();
    }
    if is(Fault::InvalidCode) {
        let of_block = |b: Block| b.instructions().into_iter().map(move |i| (b, i));
        let used = |(block, value): &(Block, Value)| {
            let user = |u: &Value| u.is_instruction() && u.block() == *block && *u != block.terminator();
            value.opcode() != Opcode::LLVMPHI
                && value.users().iter().any(|u| user(u) && u.opcode() != Opcode::LLVMPHI)
        };
        let found = function.blocks().into_iter().flat_map(of_block).find(used);
        if let Some((block, value)) = found {
            value.move_before(block.terminator());
        }
    }
}

fn loop_checks(plan: &mut FunctionPlan) {
    let element = 8;
    if is(Fault::NestFlag) {
        plan.loop_checks.retain(|c| !matches!(c.condition, CheckCondition::Unless(_)));
    }
    for check in &mut plan.loop_checks {
        if is(Fault::LoopCheckKind) {
            check.kind = Kind::Load;
        }
        if is(Fault::LoopCheckLength) {
            // The extent is the length without the last element.
            check.length = check.length.saturating_sub(element);
        }
        if is(Fault::LoopCheckStart) {
            check.delta += element as i64;
            check.length = check.length.saturating_sub(element);
        }
        if is(Fault::Strides) {
            check.strides.clear();
        }
        if is(Fault::OverwritePartial) && check.kind == Kind::Store {
            check.overwrites = Some(vec![]);
        }
        if is(Fault::WindowEmptied) {
            check.window = check.window.map(|_| 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_and_without_a_place() {
        for &fault in Fault::ALL {
            assert_eq!(Fault::parse(fault.name()), Some((fault, 0)));
            assert_eq!(Fault::parse(&format!("{}:3", fault.name())), Some((fault, 3)));
        }
        assert_eq!(Fault::parse("drop-checks"), None);
        assert_eq!(Fault::parse("drop-check:x"), None);
    }
}
