//! Waiting for several descriptors at once, of which some may be other processes'.

use std::ffi::c_int;
use std::slice;

use super::descriptors::local_descriptor;
use crate::check;
use crate::job::library::set_errno;

/// The array with numbers of this process.
///
/// # Safety
/// The program passes an array of `count` elements.
unsafe fn translated(list: *mut libc::pollfd, count: u64) -> Vec<libc::pollfd> {
    check::writable(list as usize, count as usize * size_of::<libc::pollfd>());
    // SAFETY: the caller's promise; made accessible.
    let mut own = unsafe { slice::from_raw_parts(list, count as usize) }.to_vec();
    own.iter_mut().for_each(|p| p.fd = local_descriptor(p.fd));
    own
}

/// # Safety
/// As for [`translated`].
unsafe fn put_back(list: *mut libc::pollfd, own: &[libc::pollfd]) {
    // SAFETY: the caller's promise; made writable before.
    let list = unsafe { slice::from_raw_parts_mut(list, own.len()) };
    list.iter_mut().zip(own).for_each(|(to, from)| to.revents = from.revents);
}

/// `poll`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_poll(list: *mut libc::pollfd, count: u64, timeout_ms: c_int) -> c_int {
    // SAFETY: the program passes what `poll` demands.
    unsafe {
        let mut own = translated(list, count);
        let result = libc::syscall(libc::SYS_poll, own.as_mut_ptr(), count, timeout_ms) as c_int;
        put_back(list, &own);
        result
    }
}

/// `ppoll`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_ppoll(
    list: *mut libc::pollfd,
    count: u64,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the program passes what `ppoll` demands.
    unsafe {
        let mut own = translated(list, count);
        // The kernel writes what is left of the time, which the C library's does not show.
        let mut left = (!timeout.is_null()).then(|| {
            check::readable(timeout as usize, size_of::<libc::timespec>());
            timeout.read()
        });
        if !mask.is_null() {
            check::readable(mask as usize, size_of::<libc::sigset_t>());
        }
        let timeout = left.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let result = libc::syscall(libc::SYS_ppoll, own.as_mut_ptr(), count, timeout, mask, 8usize) as c_int;
        put_back(list, &own);
        result
    }
}

/// Sets of descriptors as `select` takes them: the program's, and what is asked of the kernel.
struct Sets {
    given: [*mut libc::fd_set; 3],
    /// Number in the program's sets, number here.
    pairs: Vec<(c_int, c_int)>,
    end: c_int,
}

impl Sets {
    /// # Safety
    /// The sets are the program's, or null.
    unsafe fn new(end: c_int, given: [*mut libc::fd_set; 3]) -> Sets {
        let present = || given.into_iter().filter(|set| !set.is_null());
        present().for_each(|set| check::writable(set as usize, size_of::<libc::fd_set>()));
        // SAFETY: the caller's promise.
        let used = (0..end).filter(|fd| present().any(|set| unsafe { libc::FD_ISSET(*fd, set) }));
        let pairs: Vec<(c_int, c_int)> = used.map(|fd| (fd, local_descriptor(fd))).collect();
        let end = pairs.iter().map(|(_, here)| here + 1).max().unwrap_or(0);
        Sets { given, pairs, end }
    }

    /// Whether all numbers here fit into sets; a closed one does not.
    fn fit(&self) -> bool {
        self.pairs.iter().all(|(_, here)| (0..libc::FD_SETSIZE as c_int).contains(here))
    }

    unsafe fn own(&self) -> [libc::fd_set; 3] {
        self.given.map(|given| {
            // SAFETY: a set without members; the others are as in `new`.
            unsafe {
                let mut own = std::mem::zeroed();
                for (fd, here) in &self.pairs {
                    if !given.is_null() && libc::FD_ISSET(*fd, given) {
                        libc::FD_SET(*here, &mut own);
                    }
                }
                own
            }
        })
    }

    unsafe fn put_back(&self, own: &[libc::fd_set; 3]) {
        for (given, own) in self.given.into_iter().zip(own).filter(|(given, _)| !given.is_null()) {
            for (fd, here) in &self.pairs {
                // SAFETY: as in `new`.
                unsafe {
                    if !libc::FD_ISSET(*here, own) {
                        libc::FD_CLR(*fd, given);
                    }
                }
            }
        }
    }
}

/// `pselect`, and `select` with its time in nanoseconds.
unsafe fn wait(
    end: c_int,
    given: [*mut libc::fd_set; 3],
    timeout: *mut libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the program passes what the functions demand.
    unsafe {
        let sets = Sets::new(end.clamp(0, libc::FD_SETSIZE as c_int), given);
        if !sets.fit() {
            set_errno(libc::EBADF);
            return -1;
        }
        let mut own = sets.own();
        let [read, write, except] =
            [0, 1, 2].map(|i| if given[i].is_null() { std::ptr::null_mut() } else { &raw mut own[i] });
        let signals = [mask as usize, 8];
        let result =
            libc::syscall(libc::SYS_pselect6, sets.end, read, write, except, timeout, signals.as_ptr())
                as c_int;
        if result >= 0 {
            sets.put_back(&own);
        }
        result
    }
}

/// `select`. The time that is left is told, as Linux does.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_select(
    end: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *mut libc::timeval,
) -> c_int {
    // SAFETY: the program passes what `select` demands.
    unsafe {
        if timeout.is_null() {
            return wait(end, [read, write, except], std::ptr::null_mut(), std::ptr::null());
        }
        check::writable(timeout as usize, size_of::<libc::timeval>());
        let mut left = libc::timespec { tv_sec: (*timeout).tv_sec, tv_nsec: (*timeout).tv_usec * 1000 };
        let result = wait(end, [read, write, except], &mut left, std::ptr::null());
        *timeout = libc::timeval { tv_sec: left.tv_sec, tv_usec: left.tv_nsec / 1000 };
        result
    }
}

/// `pselect`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_pselect(
    end: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the program passes what `pselect` demands.
    unsafe {
        if !mask.is_null() {
            check::readable(mask as usize, size_of::<libc::sigset_t>());
        }
        let mut left = (!timeout.is_null()).then(|| {
            check::readable(timeout as usize, size_of::<libc::timespec>());
            timeout.read()
        });
        let timeout = left.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        wait(end, [read, write, except], timeout, mask)
    }
}
