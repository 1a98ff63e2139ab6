//! The pager's system on Linux.

mod advice;
mod copies;
mod disk;
mod file;
mod pool;
mod service;
mod uring;
mod userfault;

pub use copies::{COPIED_PAGES, Copies, Digest};
pub use disk::{Disk, DiskError};
pub use file::{FileError, SpillFile};
pub use service::{Handle, Mapping, Peers, Service, SingleProcess, View};
pub use userfault::UserfaultError;
