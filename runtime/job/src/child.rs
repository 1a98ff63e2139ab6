//! Children that the program's `fork` makes: they have a private copy of what their parent had, and are no processes of the job.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{die, image};

thread_local! {
    /// Return address of the call that the thread is in, or was in last.
    static SITE: Cell<usize> = const { Cell::new(0) };
}

static CHILD: AtomicBool = AtomicBool::new(false);

/// The thread is in a call, with this return address, that may make a child.
pub fn set_site(site: usize) {
    SITE.set(site);
}

/// The return address of the thread's last [`set_site`]; 0: there was none.
pub fn site() -> usize {
    SITE.get()
}

/// This process is such a child from now on.
pub fn begin() {
    CHILD.store(true, Ordering::Relaxed);
}

/// Whether this process is such a child.
#[inline]
pub fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// Ends a child that asks for what only processes of the job have.
#[inline]
pub fn assert_of_job() {
    if is_child() {
        lost();
    }
}

#[cold]
fn lost() -> ! {
    let site = SITE.get();
    let at = if site == 0 { "in a library".into() } else { format!("at {}", image::call_site(site)) };
    die(&format!(
        "the child of the fork {at} uses memory that its parent did not have, or synchronisation with other processes; it is no part \
         of the job: let it call exec, or run the program as one process"
    ))
}
