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
//! A read of a few pages is handed over by the pager's thread, which sees that it is done and puts the pages into the memory file. A read of many is executed by a thread of its own, up to that they are
//! in the file: copying takes longer than all else that the pager does for a page of a scan. So a page may be there that the pager believes to be under way. That is no harm: nobody else touches the file's
//! contents of such a page, as all that takes pages out of it, or puts them in, begins with the pager's knowing that they are resident, or nowhere. An access of the program finds the page unmapped, and waits
//! as if it was not there. One of the runtime, or of another process, finds what the disk has; stores of the runtime trap until the pager has heard of the page, those of other processes are told of by
//! [`stores`] as ever: what they change after the last [`stores::Stores::watch`], which came before the page was written, keeps it from leaving as a clean one. Tests have pages placed at any time between
//! the transfer and the pager's hearing of it.
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
