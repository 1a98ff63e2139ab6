//! What a Fortran input or output statement does with its unit, for `__dsm_fortran_unit`.

/// Reads, writes or positions it; connects it where it is not connected yet.
pub const UNIT_USE: u32 = 0;
/// Connects it.
pub const UNIT_OPEN: u32 = 1;
/// Disconnects it.
pub const UNIT_CLOSE: u32 = 2;
/// The statement has no external unit, or only asks about it; the number means nothing.
pub const UNIT_NONE: u32 = 3;
