//! State bytes: one per line, read by the inline checks, written by the runtime alone.
//!
//! `state(a) = *(u8 *)(STATE_BASE + (a >> line_shift))`, loaded with acquire ordering. A load may proceed
//! if `state < READ_LIMIT`, a store if `state == WRITABLE`. Pages of the table that were never touched
//! read 0, hence private memory needs no range test.

/// Reads and writes allowed. All private memory, and blocks this process may write.
pub const WRITABLE: u8 = 0;
/// Reads allowed, a write must ask.
pub const READABLE: u8 = 1;
/// States at or above this value refuse reads too.
pub const READ_LIMIT: u8 = 2;
/// Invalid, nothing known of the newest version: a miss finds the home through the links.
pub const COLD: u8 = 2;
/// Invalid by timestamp: the bytes may be current, a miss asks the home whether they are.
pub const EXPIRED: u8 = 3;
/// Invalid by a write notice: a miss reads from the notice's writer.
pub const NOTICED: u8 = 4;
/// Invalid while holding own unpublished bytes: a miss merges.
pub const INVALID_DIRTY: u8 = 5;

/// Smallest and largest base-two logarithm of the line size that a program may be compiled for.
pub const MIN_LINE_SHIFT: u32 = 6;
/// Base-two logarithm of a page's bytes: the shortest line that the protection of pages can check.
pub const PAGE_SHIFT: u32 = 12;
/// See [`MIN_LINE_SHIFT`].
pub const MAX_LINE_SHIFT: u32 = 16;
/// Line size (as a shift) where the user names none.
pub const DEFAULT_LINE_SHIFT: u32 = 12;

/// What an access needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// A write of every byte before the thread's next release, with none read before it was written.
    Overwrite,
}

impl Access {
    /// States from this on refuse it.
    #[inline(always)]
    pub fn limit(self) -> u8 {
        match self {
            Access::Read => READ_LIMIT,
            Access::Write | Access::Overwrite => READABLE,
        }
    }
}

const _: () = assert!(WRITABLE == 0 && READABLE < READ_LIMIT && COLD >= READ_LIMIT);
