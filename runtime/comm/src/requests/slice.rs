//! Slices of processor time of the threads that serve peers.
//!
//! Where every processor has a thread that computes, a thread that serves has to take the processor from one of them as soon as a message comes: a peer waits. Linux decides that by deadlines (I. Stoica and
//! H. Abdel-Wahab, "Earliest Eligible Virtual Deadline First", 1995), and a thread that asks for shorter slices has an earlier one. Its share of the processors stays the same.

use std::time::Duration;

/// The shortest slice that Linux grants; others are some milliseconds.
const SHORTEST: Duration = Duration::from_micros(100);

/// The calling thread gets short slices from now on. Nothing changes where the system knows none (Linux before 6.12), or where the thread is none of those that share processors by deadlines.
pub(super) fn shorten() {
    let Some(mut attributes) = attributes() else { return };
    if matches!(attributes.sched_policy as i32, libc::SCHED_OTHER | libc::SCHED_BATCH) {
        attributes.sched_runtime = SHORTEST.as_nanos() as u64;
        // SAFETY: a plain system call about the calling thread, with a structure that says how long it is.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw mut attributes, 0) };
    }
}

/// How the calling thread is scheduled.
fn attributes() -> Option<libc::sched_attr> {
    // SAFETY: zero is a value of each of its fields.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of::<libc::sched_attr>() as u32;
    let size = attributes.size;
    // SAFETY: a plain system call that fills in as many bytes as there are.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    (got == 0).then_some(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_the_shortest_slices_where_there_are_any() {
        let shortened = std::thread::spawn(|| {
            let before = attributes().expect("a thread");
            shorten();
            (before, attributes().expect("a thread"))
        });
        let (before, after) = shortened.join().unwrap();
        // Linux before 6.12 tells of none.
        if before.sched_policy as i32 == libc::SCHED_OTHER && before.sched_runtime != 0 {
            assert_eq!(after.sched_runtime, SHORTEST.as_nanos() as u64);
        }
        assert_eq!(
            (after.sched_policy, after.sched_nice, after.sched_flags),
            (before.sched_policy, before.sched_nice, before.sched_flags)
        );
    }
}
