//! What the driver tells the plugin.

/// Name of the environment variable: `key=value;key=value`.
pub const VARIABLE: &str = "DSM_PASS_OPTIONS";

/// What the pass says, as an error, of a function that its own changes made invalid. The driver then compiles with fewer changes.
pub const INVALID_CODE: &str =
    "the checks do not fit into the code of this function, which is an error in dsm-cc";

/// Optimisations of the pass that `disable=` turns off, and `-fdsm-disable=` of the driver.
pub const SWITCHES: &[&str] = &[
    "private",
    "invariant",
    "linear",
    "widen",
    "walk",
    "collapse",
    "guards",
    "merge",
    "value",
    "available",
    "hoist",
    "nest",
    "window",
    "refill",
    "stride",
    "version",
    "hint",
    "single",
    "footprint",
    "strip",
    "flags",
    "overwrite",
    "callers",
    "clone",
    "reduction",
    "copyprivate",
    "statics",
    "cas",
    "flush",
    "barrier",
    "chunks",
];

/// The weakest order that atomic and volatile accesses have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeakestOrder {
    /// None: it is as the program says.
    #[default]
    Relaxed,
    /// Loads acquire, stores release, a read-modify-write does both.
    AcqRel,
}

impl WeakestOrder {
    const ALL: [WeakestOrder; 2] = [WeakestOrder::Relaxed, WeakestOrder::AcqRel];

    /// Name in options.
    pub const fn name(self) -> &'static str {
        match self {
            WeakestOrder::Relaxed => "relaxed",
            WeakestOrder::AcqRel => "acq_rel",
        }
    }

    /// The one of this name.
    pub fn parse(name: &str) -> Option<WeakestOrder> {
        WeakestOrder::ALL.into_iter().find(|order| order.name() == name)
    }
}

/// The switch without which a program that polls plain variables does something else: no optimisation.
pub const FLAGS: &str = "flags";

/// Optimisations that put code in front of loops, or copy them.
pub const LOOPS: &[&str] = &[
    "invariant",
    "linear",
    "widen",
    "walk",
    "collapse",
    "guards",
    "hoist",
    "nest",
    "window",
    "refill",
    "stride",
    "version",
    "hint",
    "single",
    "footprint",
    "strip",
    "overwrite",
];
