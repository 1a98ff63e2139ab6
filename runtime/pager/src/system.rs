//! What a pager needs of the operating system.

use crate::page::{Page, Run};
use crate::slots::Extent;

/// The memory file's mappings, and the file on disk. Runs given to one call lie inside one range of addresses only by accident: implementations split them.
pub trait System {
    /// Pages of zeros for pages that have no contents: in the program mapping, stores allowed. Wakes who waits for them.
    fn zero(&mut self, run: Run);

    /// Contents of pages, which a read has brought, get into the memory file: not in the program mapping; stores through the view trap.
    fn place(&mut self, run: Run);

    /// Puts resident pages into the program mapping, and wakes who waits for them. `stores`: whether these do not trap.
    fn map(&mut self, run: Run, stores: bool);

    /// Takes resident pages out of the program mapping.
    fn unmap(&mut self, runs: &[Run]);

    /// Stores trap from now on, in both mappings. What other processes store does not; from now on it is remembered, and so is what they are just about to store.
    fn protect(&mut self, run: Run);

    /// Stores do not trap any more. Wakes who waits for that.
    fn unprotect(&mut self, run: Run);

    /// Lets accesses that wait try again.
    fn wake(&mut self, run: Run);

    /// Takes resident pages out of the memory file, for all who have it mapped, unless another process has stored to them since [`System::protect`], or is just about to.
    /// Pages that were not protected have not been stored to in this process. Returns whether it did.
    fn remove(&mut self, run: Run) -> bool;

    /// Whether nobody needs what is in the pages, as far as is known.
    fn are_discardable(&mut self, run: Run) -> bool;

    /// Takes resident pages out of the memory file if nobody needs what is in them. Returns whether it did. Later they may have any contents.
    fn discard(&mut self, run: Run) -> bool;

    /// Whether another process has a page in memory, as far as is known, or none can have it.
    fn is_elsewhere(&mut self, page: Page) -> bool;

    /// Begins to read pages, from disk, where they have slots that follow each other, or from other processes that have the same contents in memory. A call of
    /// [`Pager::read_done`](crate::Pager::read_done) follows.
    fn read(&mut self, run: Run, slot: u32);

    /// Begins to write resident pages. A call of [`Pager::write_done`](crate::Pager::write_done) follows.
    fn write(&mut self, extent: Extent);

    /// What takes some time comes next: reads and writes that were begun go on meanwhile.
    fn hand_over(&mut self) {}
}
