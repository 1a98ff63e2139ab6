//! Memory files and their mappings.

use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Why memory could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// `memfd_create` failed.
    #[error("cannot create a memory file: {0}")]
    Create(io::Error),
    /// `ftruncate` failed.
    #[error("cannot size a memory file to {bytes} bytes: {source}")]
    Size {
        /// Size wanted.
        bytes: u64,
        /// Cause.
        source: io::Error,
    },
    /// `mmap` failed.
    #[error("cannot map {bytes} bytes at {address:#x}: {source}")]
    Map {
        /// Address wanted.
        address: usize,
        /// Size wanted.
        bytes: usize,
        /// Cause.
        source: io::Error,
    },
}

/// An anonymous file that can be mapped by several processes. It disappears with the last of them.
#[derive(Debug)]
pub struct MemoryFile(OwnedFd);

impl MemoryFile {
    /// A new file of size 0. It is closed on exec.
    pub fn create(name: &str) -> Result<Self, SegmentError> {
        let name = CString::new(name).map_err(|e| SegmentError::Create(e.into()))?;
        // SAFETY: the name is a NUL-terminated string that lives for the call.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(SegmentError::Create(io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is new and ours.
        Ok(MemoryFile(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// A file that another process created.
    pub fn from_fd(fd: OwnedFd) -> Self {
        MemoryFile(fd)
    }

    /// Sets the size; new bytes are zero and take no memory until touched.
    pub fn set_size(&self, bytes: u64) -> Result<(), SegmentError> {
        // SAFETY: plain system call on an own descriptor.
        if unsafe { libc::ftruncate(self.0.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(SegmentError::Size { bytes, source: io::Error::last_os_error() });
        }
        Ok(())
    }

    /// Bytes that take memory now.
    pub fn resident_bytes(&self) -> u64 {
        // SAFETY: `stat` is plain data, filled in by the kernel.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: own descriptor and a valid place for the result.
        if unsafe { libc::fstat(self.0.as_raw_fd(), &mut stat) } != 0 {
            return 0;
        }
        stat.st_blocks as u64 * 512
    }

    /// First offset in a range that takes memory now, or its end.
    pub fn next_resident(&self, range: Range<usize>) -> usize {
        // SAFETY: plain system call on an own descriptor; nobody reads or writes at the position.
        let at = unsafe { libc::lseek(self.0.as_raw_fd(), range.start as libc::off_t, libc::SEEK_DATA) };
        usize::try_from(at).unwrap_or(range.end).min(range.end)
    }

    /// Whether no byte of a range of offsets takes memory: all are zero, and nobody has stored there. What the system has swapped out takes memory. False, too, if the
    /// system does not tell.
    pub fn is_hole(&self, range: Range<usize>) -> bool {
        // SAFETY: plain system call on an own descriptor; nobody reads or writes at the position.
        let at = unsafe { libc::lseek(self.0.as_raw_fd(), range.start as libc::off_t, libc::SEEK_DATA) };
        match usize::try_from(at) {
            Ok(data) => data >= range.end,
            Err(_) => io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO),
        }
    }

    /// Bytes of a range of offsets that take memory now.
    pub fn resident_bytes_of(&self, range: Range<usize>) -> u64 {
        self.resident(range).map(|part| part.len() as u64).sum()
    }

    /// The parts of a range of offsets that take memory now, in order. System calls only, so that signal handlers may use it.
    pub fn resident(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let Range { start, end } = range;
        let seek = move |from: usize, whence| {
            // SAFETY: plain system call on an own descriptor; nobody reads or writes at the position.
            let at = unsafe { libc::lseek(self.0.as_raw_fd(), from as libc::off_t, whence) };
            usize::try_from(at).unwrap_or(end).min(end)
        };
        let mut at = start;
        std::iter::from_fn(move || {
            // Where nothing but holes is left the search fails.
            let data = if at < end { seek(at, libc::SEEK_DATA) } else { end };
            at = if data < end { seek(data, libc::SEEK_HOLE) } else { end };
            (data < end).then_some(data..at)
        })
    }

    /// Copies what the file has from an offset on, zeros where it takes no memory; changes nothing of it. Returns whether it has so much.
    pub fn read_at(&self, offset: usize, into: &mut [u8]) -> bool {
        let mut done = 0;
        while done < into.len() {
            let rest = &mut into[done..];
            let at = (offset + done) as libc::off_t;
            // SAFETY: writes into the slice.
            match unsafe { libc::pread(self.0.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len(), at) } {
                bytes if bytes > 0 => done += bytes as usize,
                _ => return false,
            }
        }
        true
    }

    /// Maps `bytes` of the file from `offset` at `address`, shared, in place of whatever is mapped there.
    ///
    /// # Safety
    /// Nothing in use lies in the address range, or the caller wants it replaced.
    pub unsafe fn map_at(&self, address: usize, bytes: usize, offset: u64) -> Result<*mut u8, SegmentError> {
        // SAFETY: the caller's promise.
        unsafe {
            map_fixed(
                address,
                bytes,
                libc::MAP_SHARED | libc::MAP_FIXED,
                Some((self, offset)),
                libc::PROT_READ | libc::PROT_WRITE,
            )
        }
    }

    /// As [`MemoryFile::map_at`], but private: stores stay in this process.
    ///
    /// # Safety
    /// As for [`MemoryFile::map_at`].
    pub unsafe fn map_private_at(
        &self,
        address: usize,
        bytes: usize,
        offset: u64,
    ) -> Result<*mut u8, SegmentError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the caller's promise.
        unsafe { map_fixed(address, bytes, flags, Some((self, offset)), libc::PROT_READ | libc::PROT_WRITE) }
    }

    /// The descriptor.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.0.as_fd()
    }
}

/// Gives the memory of whole pages of a mapped memory file back to the system, for all who have mapped it. Later they are zero.
/// Returns whether the system did so.
///
/// # Safety
/// The range is part of one mapping of a [`MemoryFile`], and nobody needs what is in it.
pub unsafe fn give_back(address: *mut u8, bytes: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { libc::madvise(address.cast(), bytes, libc::MADV_REMOVE) == 0 }
}

/// As [`give_back`], of memory that [`reserve`] returned.
///
/// # Safety
/// The range is part of such memory, and nobody needs what is in it.
pub unsafe fn give_back_reserved(address: *mut u8, bytes: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { libc::madvise(address.cast(), bytes, libc::MADV_DONTNEED) == 0 }
}

/// Bytes of a huge page, where there are such. Elsewhere [`into_huge_pages`] fails.
pub const HUGE_PAGE: usize = 2 << 20;
/// How often [`into_huge_pages`] tries.
const COLLAPSE_ATTEMPTS: u32 = 10;

/// Moves whole huge pages of a mapped memory file, in each of which some memory is in use, into such pages, for all who have mapped it. What is there stays the same.
///
/// # Errors
/// What the system says: it cannot do so at all, there is no such page left, or others have held on to some of the memory for milliseconds.
pub fn into_huge_pages(address: usize, bytes: usize) -> io::Result<()> {
    let mut attempts = 0;
    loop {
        // SAFETY: changes neither contents nor what is mapped where, and fails where nothing is mapped.
        if unsafe { libc::madvise(address as *mut libc::c_void, bytes, libc::MADV_COLLAPSE) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        attempts += 1;
        // Some page is being looked at, by another process or by the system itself.
        if error.kind() != io::ErrorKind::WouldBlock || attempts == COLLAPSE_ATTEMPTS {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether core files have what is mapped in these addresses, in parts of which nothing may be. System calls only.
pub fn dump(addresses: Range<usize>, wanted: bool) {
    let advice = if wanted { libc::MADV_DODUMP } else { libc::MADV_DONTDUMP };
    // SAFETY: changes neither contents nor what is mapped where.
    unsafe { libc::madvise(addresses.start as *mut libc::c_void, addresses.len(), advice) };
}

/// Reserves zero memory anywhere, without commitment.
pub fn reserve(bytes: usize) -> Result<*mut u8, SegmentError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the kernel picks a free place.
    let got =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return Err(SegmentError::Map { address: 0, bytes, source: io::Error::last_os_error() });
    }
    Ok(got.cast())
}

/// Reserves zero memory at an address that must be free, without commitment.
pub fn reserve_at(address: usize, bytes: usize) -> Result<*mut u8, SegmentError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: MAP_FIXED_NOREPLACE fails where something is mapped.
    unsafe { map_fixed(address, bytes, flags, None, libc::PROT_READ | libc::PROT_WRITE) }
}

unsafe fn map_fixed(
    address: usize,
    bytes: usize,
    flags: i32,
    file: Option<(&MemoryFile, u64)>,
    protection: i32,
) -> Result<*mut u8, SegmentError> {
    let (fd, offset) = file.map_or((-1, 0), |(f, offset)| (f.0.as_raw_fd(), offset));
    // SAFETY: the caller vouches for the range; the kernel checks the rest.
    let got = unsafe {
        libc::mmap(address as *mut libc::c_void, bytes, protection, flags, fd, offset as libc::off_t)
    };
    if got == libc::MAP_FAILED || got as usize != address {
        return Err(SegmentError::Map { address, bytes, source: io::Error::last_os_error() });
    }
    Ok(got.cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_hold_what_was_there() {
        const BYTES: usize = 2 * HUGE_PAGE;
        let file = MemoryFile::create("dsm-test").unwrap();
        file.set_size(BYTES as u64).unwrap();
        let [own, peer] = [(); 2].map(|()| {
            let place = reserve(BYTES + HUGE_PAGE).unwrap() as usize;
            // SAFETY: part of the reservation.
            unsafe { file.map_at(place.next_multiple_of(HUGE_PAGE), BYTES, 0).unwrap() }
        });
        let value = |at: usize| (at / 4096 % 251) as u8 + 1;
        let touched = |at: &usize| at.is_multiple_of(3 * 4096) || at.is_multiple_of(HUGE_PAGE);
        for at in (0..BYTES).step_by(4096).filter(touched) {
            // SAFETY: inside the mapping; only this thread uses it.
            unsafe { own.add(at).write(value(at)) };
        }
        assert_eq!(file.next_resident(4096..BYTES), 3 * 4096);
        assert!(file.is_hole(4096..3 * 4096) && !file.is_hole(4096..3 * 4096 + 1) && !file.is_hole(0..8192));
        let pages = (0..BYTES).step_by(4096).filter(touched).count();
        assert_eq!(file.resident_bytes_of(0..BYTES), 4096 * pages as u64);
        assert!(
            file.resident(1..12288).eq(std::iter::once(1..4096))
                && file.resident(4096..8192).next().is_none()
        );
        match into_huge_pages(own as usize, BYTES) {
            Ok(()) => assert_eq!(file.resident_bytes_of(0..BYTES), BYTES as u64),
            // Systems without.
            Err(error) => {
                assert!([Some(libc::EINVAL), Some(libc::ENOMEM)].contains(&error.raw_os_error()), "{error}")
            }
        }
        for at in (0..BYTES).step_by(4096) {
            let expected = if touched(&at) { value(at) } else { 0 };
            // SAFETY: as above.
            let found = unsafe { (own.add(at).read(), peer.add(at).read()) };
            assert_eq!(found, (expected, expected), "{at:#x}");
        }
        assert!(into_huge_pages(0x1000, HUGE_PAGE).is_err(), "nothing is mapped there");
    }
}
