//! What builds with `-fdsm-count` count: accesses and checks as they are executed. Other builds never come here.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ACCESSES: AtomicU64 = AtomicU64::new(0);
static SHARED: AtomicU64 = AtomicU64::new(0);
static CHECKS: AtomicU64 = AtomicU64::new(0);

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_count(accesses: u64, shared: u64, checks: u64) {
    for (counter, more) in [(&ACCESSES, accesses), (&SHARED, shared), (&CHECKS, checks)] {
        if more > 0 {
            counter.fetch_add(more, Relaxed);
        }
    }
}

/// A line about this process; `None` if nothing was counted.
pub fn line() -> Option<String> {
    let (accesses, shared, checks) = (ACCESSES.load(Relaxed), SHARED.load(Relaxed), CHECKS.load(Relaxed));
    let text = format!(
        "dsm: process 0 executed {accesses} accesses, {shared} of them to memory that may be shared, and {checks} checks"
    );
    (accesses > 0 || checks > 0).then_some(text)
}
