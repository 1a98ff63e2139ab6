//! Arguments of library functions whose addresses outlive the call: the function stores one, or one computed from it.
//!
//! What is only returned is not here: the escape analysis follows every result that can hold an address. Nor is what the program itself
//! has stored before (`strsep`, `getopt`, `mbsrtowcs` go on with addresses that they find in memory).

use crate::analysis::callee::replaced_keeps;

/// What a function does with an argument's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Nothing that outlives the call.
    No,
    /// It stores it where the pointer at this argument leads, unless that is null.
    At(u32),
    /// It stores it.
    Yes,
}

/// Number parsers: the place where they stopped goes to where their second argument points.
const PARSERS: &[&str] = &[
    "strtol",
    "strtoul",
    "strtoll",
    "strtoull",
    "strtod",
    "strtof",
    "strtold",
    "strtoimax",
    "strtoumax",
    "strtoq",
    "strtouq",
    "strtof32",
    "strtof64",
    "strtof128",
    "strtof32x",
    "strtof64x",
    "wcstol",
    "wcstoul",
    "wcstoll",
    "wcstoull",
    "wcstod",
    "wcstof",
    "wcstold",
    "wcstoimax",
    "wcstoumax",
    "wcstoq",
    "wcstouq",
];

/// Function and argument, of functions that are not replaced.
#[rustfmt::skip]
const STORED: &[(&str, u32)] = &[
    ("open_wmemstream", 0), ("open_wmemstream", 1), ("initstate_r", 1), ("setstate_r", 0),
    // The record names the buffer, and the last argument's pointer the record.
    ("getpwnam_r", 1), ("getpwnam_r", 2), ("getpwuid_r", 1), ("getpwuid_r", 2), ("getgrnam_r", 1), ("getgrnam_r", 2),
    ("getgrgid_r", 1), ("getgrgid_r", 2), ("gethostbyname_r", 1), ("gethostbyname_r", 2), ("readdir_r", 1), ("readdir64_r", 1),
];

/// What the function does with the address that its argument is.
pub fn kept(name: &str, argument: u32) -> Kept {
    let plain = name.strip_prefix("__isoc23_").unwrap_or(name);
    let plain = plain.strip_prefix("__").unwrap_or(plain);
    let plain = plain.strip_suffix("_l").or(plain.strip_suffix("_internal")).unwrap_or(plain);
    if argument == 0 && PARSERS.contains(&plain) {
        return Kept::At(1);
    }
    if STORED.contains(&(name, argument)) || replaced_keeps(name, argument) { Kept::Yes } else { Kept::No }
}
