//! What to do when a peer is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the launcher gets to end the job: it sees the same process die, and knows the cause.
const GRACE: Duration = if cfg!(test) { Duration::from_millis(100) } else { Duration::from_secs(10) };

/// Ends the process because a peer cannot be reached, with one message, unless the launcher does so before. Any number of threads may get here.
#[cold]
pub(crate) fn lost(rank: u32, why: &dyn std::fmt::Display) -> ! {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    std::thread::sleep(GRACE);
    if !IS_ENDING.swap(true, Ordering::SeqCst) {
        eprintln!("dsm: error: lost the connection to process {rank}: {why}");
        // SAFETY: ends the process without handlers, which would want the peer's memory; other threads may hold any lock.
        unsafe { libc::_exit(1) }
    }
    loop {
        std::thread::park();
    }
}

/// The value, or the end of the process.
pub(super) fn or_lost<T>(rank: u32, result: std::io::Result<T>) -> T {
    result.unwrap_or_else(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => lost(rank, &"it has closed the connection"),
        _ => lost(rank, &error),
    })
}
