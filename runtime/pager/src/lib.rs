//! Memory larger than DRAM: a pager in user space that keeps at most a given part of a memory file resident and the rest in a file on disk.
//!
//! After external pagers as in Mach (M. Young et al., 1987), and vGASNet (T. Endo et al.), where SSDs are the memory and DRAM is their cache.
//!
//! # Two mappings
//! A process has its memory file mapped twice: where the program accesses it (*program mapping*), and where the runtime does (*view*). Both are registered with
//! `userfaultfd(2)`. A page that is read from disk is put into the memory file through the view. The program mapping gets it when the program touches it, which is how the pager knows that a page
//! that was read ahead is used. To see whether an old page is still used the pager takes it out of the program mapping only.
//! Other processes of the host may have the file mapped as well; where they find nothing, they ask the owner's pager.
//!
//! # Who places pages
//! The pager's thread hands over reads of a few pages to the system, sees that they are done, and puts the pages into the memory file. Threads of the pool execute reads of many pages and put them into the
//! file themselves, as copying takes longer than everything else that the pager does for a page of a scan. So a page may be in the file while the pager still counts it as under way. That does no harm: whatever
//! takes pages out of the file, or puts them in, concerns pages that the pager knows to be resident, or to be nowhere. An access of the program finds the page unmapped, and waits as for one that is not there. An
//! access of the runtime, or of another process, finds what the disk has. Stores of the runtime trap until the pager knows of the page; stores of other processes are recorded in [`stores`]: what they change after
//! the last [`stores::Stores::watch`], which came before the page was written, keeps the page from leaving as a clean one. Tests have pages placed at any time between the transfer and its report to the pager.
//!
//! # Why page faults and not the checks of states
//! A check that the compiler has moved in front of a loop lets the program touch everything that it covers, without a further look, until the next synchronisation. What is checked at once may be
//! larger than the memory. So the pager must be able to take any page at any time, and a page fault is what an access finds. It costs some microseconds where a disk takes a hundred.
//!
//! # Modules
//! - [`Pager`]: what is done on faults and completions, in terms of a [`System`]; no clock, no thread, no system call. Tests run it with random schedules on a simulated one.
//! - [`replacement`]: which page goes: [`replacement::S3Fifo`], and [`replacement::SecondChance`] to compare it with.
//! - `slots`: where pages are in the file on disk.
//! - [`requests`]: how other processes ask for pages.
//! - [`stores`]: what processes that have the memory file mapped as well say of their stores.
//! - [`linux`]: the system: `userfaultfd`, `io_uring`, the file.

pub mod linux;
mod page;
mod pager;
mod readahead;
pub mod replacement;
pub mod requests;
#[cfg(test)]
mod simulated;
mod slots;
mod statistics;
pub mod stores;
mod system;

pub use page::{PAGE_BYTES, Page, Run, runs};
pub use pager::{Fault, Pager};
pub use slots::Extent;
pub use statistics::Statistics;
pub use system::System;
