//! Waiting for descriptors.

use std::time::Duration;

/// Waits for events, at most for a time if there is one. An interruption is no event.
///
/// The system call is made directly: the C library's function is a cancellation point.
pub(crate) fn poll(polled: &mut [libc::pollfd], timeout: Option<Duration>) {
    let time = timeout
        .map(|t| libc::timespec { tv_sec: t.as_secs() as libc::time_t, tv_nsec: t.subsec_nanos().into() });
    // SAFETY: the array and the time live for the call; the signal mask stays as it is.
    let result = unsafe {
        libc::syscall(
            libc::SYS_ppoll,
            polled.as_mut_ptr(),
            polled.len(),
            time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            std::ptr::null::<libc::sigset_t>(),
            0,
        )
    };
    let error = std::io::Error::last_os_error();
    if result < 0 && error.kind() != std::io::ErrorKind::Interrupted {
        eprintln!("dsm: error: cannot wait for messages of other processes: {error}");
        // SAFETY: ends the process without handlers; other threads may hold any lock.
        unsafe { libc::_exit(1) }
    }
}
