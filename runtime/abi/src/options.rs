//! What the driver tells the plugin.

/// Name of the environment variable: `key=value;key=value`.
pub const VARIABLE: &str = "DSM_PASS_OPTIONS";

/// Optimisations of the pass that `disable=` turns off, and `-fdsm-disable=` of the driver.
pub const SWITCHES: &[&str] = &[
    "private",
    "invariant",
    "linear",
    "guards",
    "merge",
    "available",
    "hoist",
    "nest",
    "window",
    "stride",
    "version",
    "flags",
    "overwrite",
    "callers",
    "clone",
];
