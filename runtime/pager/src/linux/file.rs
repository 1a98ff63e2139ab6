//! The file on disk. It has no name, so that nothing of it stays, however the process ends.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::page::PAGE_BYTES;
use crate::slots::Slots;

/// Why there is no file.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be made.
    #[error(
        "cannot make a file in {0} for memory that does not fit: {1}; name another directory with --spill (DSM_SPILL)"
    )]
    Create(PathBuf, io::Error),
    /// It cannot be so large.
    #[error(
        "the file system of {0} has no files of {1} bytes ({2}); lower DSM_HEAP, or name another directory with --spill (DSM_SPILL)"
    )]
    Size(PathBuf, usize, io::Error),
}

/// See the module documentation. Transfers go past the system's cache where the file system can do that.
#[derive(Debug)]
pub struct SpillFile {
    file: OwnedFd,
    directory: PathBuf,
    is_direct: bool,
}

impl SpillFile {
    /// A file in a directory for `bytes` bytes of data; it takes no space before something is written, and never more than the data and a cluster of slots.
    ///
    /// # Errors
    /// The directory is missing, or its file system refuses.
    pub fn create(directory: &Path, bytes: usize) -> Result<SpillFile, FileError> {
        let create = |error| FileError::Create(directory.into(), error);
        let (file, is_direct) = match open(directory, libc::O_DIRECT) {
            Ok(file) => (file, true),
            // The file system cannot do without the system's cache.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                (open(directory, 0).map_err(create)?, false)
            }
            Err(error) => return Err(create(error)),
        };
        let bytes = Slots::file_bytes(bytes.div_ceil(PAGE_BYTES));
        // SAFETY: plain system call on an own descriptor.
        if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(FileError::Size(directory.into(), bytes, io::Error::last_os_error()));
        }
        Ok(SpillFile { file, directory: directory.into(), is_direct })
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether transfers go past the system's cache.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    pub(super) fn raw(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl AsFd for SpillFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn open(directory: &Path, flags: i32) -> io::Result<OwnedFd> {
    let name = CString::new(directory.as_os_str().as_bytes())?;
    let flags = flags | libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the name is a NUL-terminated string.
    match unsafe { libc::open(name.as_ptr(), flags, 0o600) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor is new and ours.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}
