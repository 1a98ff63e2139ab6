//! `userfaultfd(2)`: page faults of registered ranges are read from a descriptor, and answered by `ioctl(2)`.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use linux_raw_sys::general::{
    UFFD_API, UFFD_EVENT_PAGEFAULT, UFFD_FEATURE_MINOR_SHMEM, UFFD_FEATURE_MISSING_SHMEM,
    UFFD_FEATURE_WP_HUGETLBFS_SHMEM, UFFD_PAGEFAULT_FLAG_MINOR, UFFD_PAGEFAULT_FLAG_WP,
    UFFD_PAGEFAULT_FLAG_WRITE, UFFDIO_COPY_MODE_WP, UFFDIO_REGISTER_MODE_MINOR, UFFDIO_REGISTER_MODE_MISSING,
    UFFDIO_REGISTER_MODE_WP, uffd_msg, uffdio_api, uffdio_continue, uffdio_copy, uffdio_range,
    uffdio_register, uffdio_writeprotect, uffdio_zeropage,
};
use linux_raw_sys::ioctl;
use thiserror::Error;

/// Bytes of a page of the system.
pub(super) const SYSTEM_PAGE: usize = 4096;
/// `UFFDIO_WRITEPROTECT_MODE_WP`.
const PROTECT: u64 = 1;
/// `UFFDIO_CONTINUE_MODE_WP`.
const CONTINUE_PROTECTED: u64 = 2;
/// Events that are read at once.
const EVENTS: usize = 64;

/// Why there is no `userfaultfd`.
#[derive(Debug, Error)]
pub enum UserfaultError {
    /// The process may not.
    #[error(
        "the system does not let this user handle page faults (userfaultfd: {0}); \
         set `sysctl vm.unprivileged_userfaultfd=1`, or give the program CAP_SYS_PTRACE"
    )]
    Denied(io::Error),
    /// The system is too old.
    #[error(
        "this system cannot handle page faults of shared memory in user space ({0}); Linux 6.4 or newer can"
    )]
    Features(io::Error),
    /// Anything else.
    #[error("cannot handle the page faults of {0:#x?}: {1}")]
    Register(Range<usize>, io::Error),
}

/// What an access found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing in the file.
    Missing,
    /// A page in the file that is not in this mapping.
    Unmapped,
    /// A page that it must not store to.
    Protected,
}

/// A descriptor for page faults.
#[derive(Debug)]
pub struct Userfault(OwnedFd);

impl Userfault {
    /// A descriptor; nothing is registered.
    ///
    /// # Errors
    /// The system has none, or not for this process.
    pub fn new() -> Result<Userfault, UserfaultError> {
        // SAFETY: plain system call.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) };
        if fd < 0 {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => UserfaultError::Denied(error),
                _ => UserfaultError::Features(error),
            });
        }
        // SAFETY: the descriptor is new and ours.
        let userfault = Userfault(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        let wanted = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
        let mut api = uffdio_api { api: UFFD_API.into(), features: wanted.into(), ioctls: 0 };
        userfault.control(ioctl::UFFDIO_API, &mut api).map_err(UserfaultError::Features)?;
        Ok(userfault)
    }

    fn control<T>(&self, request: u32, argument: &mut T) -> io::Result<()> {
        // SAFETY: `T` is the structure that belongs to the request, which names ranges of memory that this object's owner registered.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, argument as *mut T) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Faults in these addresses, which are mapped, come here from now on. `unmapped`: those too that find the page in the file.
    ///
    /// # Errors
    /// The system's.
    pub fn register(&self, addresses: Range<usize>, unmapped: bool) -> Result<(), UserfaultError> {
        let minor = if unmapped { UFFDIO_REGISTER_MODE_MINOR } else { 0 };
        let mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP | minor;
        let mut register = uffdio_register { range: range(&addresses), mode: mode.into(), ioctls: 0 };
        self.control(ioctl::UFFDIO_REGISTER, &mut register)
            .map_err(|error| UserfaultError::Register(addresses, error))
    }

    /// Hands on faults that wait: address, what was found, and whether the access stores. Returns whether there may be more.
    pub(super) fn read(&self, mut take: impl FnMut(usize, Kind, bool)) -> bool {
        const BYTES: usize = size_of::<uffd_msg>();
        let mut events = [const { std::mem::MaybeUninit::<uffd_msg>::uninit() }; EVENTS];
        // SAFETY: writes whole events into the array.
        let got = unsafe { libc::read(self.0.as_raw_fd(), events.as_mut_ptr().cast(), EVENTS * BYTES) };
        let count = usize::try_from(got).unwrap_or(0) / BYTES;
        for event in &events[..count] {
            // SAFETY: the system has written so many; events of page faults have this member.
            let event = unsafe { event.assume_init_ref() };
            if u32::from(event.event) != UFFD_EVENT_PAGEFAULT {
                continue;
            }
            // SAFETY: as above.
            let fault = unsafe { event.arg.pagefault };
            let (address, flags) = (fault.address as usize, fault.flags);
            let has = |flag: u32| flags & u64::from(flag) != 0;
            let kind = match () {
                () if has(UFFD_PAGEFAULT_FLAG_WP) => Kind::Protected,
                () if has(UFFD_PAGEFAULT_FLAG_MINOR) => Kind::Unmapped,
                () => Kind::Missing,
            };
            take(address, kind, has(UFFD_PAGEFAULT_FLAG_WRITE));
        }
        count == EVENTS
    }

    /// Answers for a range page by page: `answer` gets the rest of the range, and returns how many bytes of it are done, or the system's error. Pages that are there already are skipped;
    /// who waits for one of those is woken.
    fn answer(&self, addresses: Range<usize>, mut answer: impl FnMut(Range<usize>) -> Result<usize, i32>) {
        let mut at = addresses.start;
        while at < addresses.end {
            match answer(at..addresses.end) {
                Ok(done) => at += done,
                Err(libc::EEXIST) => {
                    self.wake(at..at + SYSTEM_PAGE);
                    at += SYSTEM_PAGE;
                }
                // Mappings are being changed.
                Err(libc::EAGAIN) => {}
                // The range is not registered any more: the process ends, or the program has replaced the mapping.
                Err(_) => return,
            }
        }
    }

    /// The system's account of how far it got: bytes, or an error, negative.
    fn progress(result: io::Result<()>, done: i64) -> Result<usize, i32> {
        match (result, done) {
            (_, done) if done > 0 => Ok(done as usize),
            (Ok(()), _) => Err(0),
            (Err(error), 0) => Err(error.raw_os_error().unwrap_or(0)),
            (Err(_), error) => Err(-error as i32),
        }
    }

    /// Puts zeros into the file and the mapping.
    pub(super) fn zero(&self, addresses: Range<usize>) {
        self.answer(addresses, |rest| {
            let mut zero = uffdio_zeropage { range: range(&rest), mode: 0, zeropage: 0 };
            let result = self.control(ioctl::UFFDIO_ZEROPAGE, &mut zero);
            Self::progress(result, zero.zeropage)
        });
    }

    /// Puts contents into the file and the mapping; stores trap.
    ///
    /// # Safety
    /// At `from` there are as many bytes as the range has.
    pub(super) unsafe fn copy(&self, addresses: Range<usize>, from: *const u8) {
        let start = addresses.start;
        self.answer(addresses, |rest| {
            let mut copy = uffdio_copy {
                dst: rest.start as u64,
                src: from as u64 + (rest.start - start) as u64,
                len: rest.len() as u64,
                mode: UFFDIO_COPY_MODE_WP.into(),
                copy: 0,
            };
            let result = self.control(ioctl::UFFDIO_COPY, &mut copy);
            Self::progress(result, copy.copy)
        });
    }

    /// Puts pages that are in the file into the mapping. `stores`: whether these do not trap.
    pub(super) fn map(&self, addresses: Range<usize>, stores: bool) {
        self.answer(addresses, |rest| {
            let mode = if stores { 0 } else { CONTINUE_PROTECTED };
            let mut map = uffdio_continue { range: range(&rest), mode, mapped: 0 };
            let result = self.control(ioctl::UFFDIO_CONTINUE, &mut map);
            Self::progress(result, map.mapped)
        });
    }

    /// Whether stores trap from now on. If they do not, who waits is woken.
    pub(super) fn protect(&self, addresses: Range<usize>, stores_trap: bool) {
        let mode = if stores_trap { PROTECT } else { 0 };
        let mut protect = uffdio_writeprotect { range: range(&addresses), mode };
        while self
            .control(ioctl::UFFDIO_WRITEPROTECT, &mut protect)
            .is_err_and(|error| error.raw_os_error() == Some(libc::EAGAIN))
        {}
    }

    /// Who waits tries again.
    pub(super) fn wake(&self, addresses: Range<usize>) {
        _ = self.control(ioctl::UFFDIO_WAKE, &mut range(&addresses));
    }
}

impl AsFd for Userfault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn range(addresses: &Range<usize>) -> uffdio_range {
    uffdio_range { start: addresses.start as u64, len: addresses.len() as u64 }
}
