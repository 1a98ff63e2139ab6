//! End of a process.
//!
//! The job ends in an orderly way when process 0 returns from `main`, or any process calls `exit`, which the others have process 0 do: a handler that was registered
//! before all of the program's own, and therefore runs after them, says so to the other processes, which then leave without running handlers or destructors of the program.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::job::JobPage;
use crate::job::child;
use crate::stdio::mailbox::{self, Operation};
use crate::{access_counters, cxx, fortran, heap, memory, omp, profile, pthread, stats, stdio, sync};

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

crate::control::declare! {
    /// Number of processes that have left their counters, in process 0.
    static LEFT: u64;
}

/// Registers what a process does at its end, before the program registers anything.
pub fn init() {
    // SAFETY: the handler is a plain function that stays loaded.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}

/// Runs after the program's own handlers, in whichever process calls `exit`.
extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    if child::is_child() {
        return;
    }
    match sync::rank() {
        0 => end_job(),
        _ => have_first_exit(status),
    }
}

/// Handlers and streams of the program are process 0's: it ends the program in place of this process, which waits to be ended.
fn have_first_exit(status: c_int) -> ! {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    stdio::give_back();
    sync::flush();
    let _ = mailbox::request(0, Operation::Exit, 0, (status.into(), 0), &[], &mut []);
    loop {
        // SAFETY: waits.
        unsafe { libc::pause() };
    }
}

/// The status with which another process ends the program.
static STATUS_OF_ANOTHER: OnceLock<c_int> = OnceLock::new();

/// Has a thread of process 0 call `exit` for another process.
pub fn exit_for_another(status: c_int) {
    unsafe extern "C" fn exit(_: *mut c_void) -> *mut c_void {
        sync::flush();
        // SAFETY: ends the program as in the process that asked.
        unsafe { libc::exit(STATUS_OF_ANOTHER.get().copied().unwrap_or_default()) }
    }
    if STATUS_OF_ANOTHER.set(status).is_ok() {
        pthread::thread::spawn_worker("the end of the program", exit);
    }
}

fn end_job() {
    // Processes in the middle of a region never come to their end.
    let is_outside = omp::frame::existing().is_none_or(|frame| frame.level == 0);
    let tools_end = omp::ompt::tool::finish() && is_outside && STATUS_OF_ANOTHER.get().is_none();
    if sync::size() > 1 {
        stdio::flush_others();
    }
    JobPage::get().finish();
    sync::end_job();
    heap::report_rules();
    if let Some(line) = access_counters::line() {
        // SAFETY: a null stream means all of them.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        eprintln!("{line}");
    }
    let is_measured = stats::are_wanted();
    // Where some segments are reached by requests, their owners stay until this process needs nothing more of them: they have to serve it.
    if is_measured
        || tools_end
        || profile::is_wanted()
        || memory::shared().is_some_and(|shared| !shared.segments.are_mapped())
    {
        stats::deposit();
        profile::deposit();
        wait_for_deposits(if tools_end { TOOL_LIMIT } else { DEPOSIT_LIMIT });
    }
    JobPage::get().satisfy();
    if is_measured {
        // The table goes behind what the program printed.
        // SAFETY: a null stream means all of them.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        stats::write();
    }
    profile::write(omp::threads_in_job());
}

/// How long the other processes have to leave their counters.
const DEPOSIT_LIMIT: Duration = Duration::from_millis(500);

/// The same if their tools have something to write.
const TOOL_LIMIT: Duration = Duration::from_secs(10);

/// Gives the other processes a moment to leave their counters; one that hangs in a region never does.
fn wait_for_deposits(limit: Duration) {
    let deadline = Instant::now() + limit;
    while LEFT.shared(0).load(Ordering::SeqCst) as u32 + 1 < sync::size() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Orderly end of a process that is not 0.
pub fn leave_worker() -> ! {
    cxx::end_worker();
    // Flang's library calls `exit` after it has closed the units: this handler comes before all others.
    // SAFETY: the handler is a plain function that stays loaded.
    unsafe { libc::atexit(end_worker) };
    fortran::end_worker();
    end_worker();
    unreachable!("the process has ended");
}

/// Leaves the counters and ends the process, without the program's handlers, which belong to process 0.
extern "C" fn end_worker() {
    // SAFETY: flushes what regions printed here. First: the launcher does not wait long once process 0 has ended.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    stats::deposit();
    profile::deposit();
    // Process 0 has done so on its own host.
    JobPage::get().finish();
    LEFT.shared(0).fetch_add(1, Ordering::SeqCst);
    outlast_first();
    // SAFETY: ends the process without handlers.
    unsafe { libc::_exit(0) }
}

/// Stays, where memory is reached through its owners, until nobody wants any of this process's: process 0 has then seen all others leave.
fn outlast_first() {
    match memory::shared() {
        None => {}
        Some(shared) if shared.segments.are_mapped() => {}
        Some(shared) if shared.segments.is_mapped(0) => JobPage::get().wait_satisfied(),
        Some(shared) => shared.segments.wait_end(0),
    }
}
