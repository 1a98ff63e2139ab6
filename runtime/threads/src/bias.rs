//! One thread that does without locks for as long as no other thread has come.
//!
//! The first thread of a process owns the bias: it says with an ordinary store that it is inside, looks whether the bias was given up, and goes on without
//! locks if not. Any other thread gives the bias up before it takes its first lock, for good: it says so, has a fence put into every thread of the process, and
//! waits until the owner is not inside. The fence is a system call for who comes later, and nothing for the owner: either its store came
//! before the fence, and is seen, or it looks after the fence, and sees.

use crate::backoff::Backoff;
use crate::primitive::{AtomicU32, Ordering, light_fence};

/// Whether the owner is inside, and whether others have come.
#[derive(Debug)]
#[repr(align(64))]
pub struct Bias {
    inside: AtomicU32,
    shared: AtomicU32,
}

impl Bias {
    /// Nobody has come.
    #[cfg(not(loom))]
    pub const fn new() -> Bias {
        Bias { inside: AtomicU32::new(0), shared: AtomicU32::new(0) }
    }

    /// Nobody has come.
    #[cfg(loom)]
    pub fn new() -> Bias {
        Bias { inside: AtomicU32::new(0), shared: AtomicU32::new(0) }
    }

    /// The owner goes inside; false if it has to take locks from now on. Called by one thread only, and not inside.
    #[inline(always)]
    pub fn enter(&self) -> bool {
        self.inside.store(1, Ordering::Relaxed);
        light_fence();
        if self.shared.load(Ordering::Acquire) == 0 {
            return true;
        }
        self.leave();
        false
    }

    /// The owner is not inside any more. What it did there is visible to whoever comes.
    #[inline(always)]
    pub fn leave(&self) {
        self.inside.store(0, Ordering::Release);
    }

    /// A thread that is not the owner comes: from now on the owner is not inside. `heavy_fence` puts a fence into every thread of the process.
    #[cold]
    pub fn share(&self, heavy_fence: impl FnOnce()) {
        self.shared.store(1, Ordering::SeqCst);
        heavy_fence();
        let mut backoff = Backoff::default();
        while self.inside.load(Ordering::Acquire) != 0 {
            backoff.pause();
        }
    }
}

impl Default for Bias {
    fn default() -> Bias {
        Bias::new()
    }
}

/// Has the kernel prepare for [`fence_all_threads`]; false if it cannot.
#[cfg(not(loom))]
pub fn can_fence_all_threads() -> bool {
    // SAFETY: the call takes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 }
}

/// Puts a fence into every thread of the process. Only after [`can_fence_all_threads`].
#[cfg(not(loom))]
pub fn fence_all_threads() {
    // SAFETY: the call takes no memory.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) };
    assert_eq!(result, 0, "the kernel has agreed to this");
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::atomic::fence;
    use loom::sync::{Arc, Mutex};

    struct Process {
        bias: Bias,
        lock: Mutex<()>,
        data: UnsafeCell<u32>,
    }

    impl Process {
        fn add(&self) {
            // SAFETY: loom looks for races.
            self.data.with_mut(|data| unsafe { *data += 1 });
        }
    }

    /// The owner goes inside twice, another thread comes. Loom has no fence for all threads, and takes full ones on both sides in its place.
    fn two_threads(share: impl Fn(&Bias) + Send + Sync + 'static) {
        let share = std::sync::Arc::new(share);
        loom::model(move || {
            let process =
                Arc::new(Process { bias: Bias::new(), lock: Mutex::new(()), data: UnsafeCell::new(0) });
            let (other, share) = (process.clone(), share.clone());
            let thread = loom::thread::spawn(move || {
                share(&other.bias);
                let _locked = other.lock.lock().unwrap();
                other.add();
            });
            let mut alone = true;
            for _ in 0..2 {
                alone = alone && process.bias.enter();
                if alone {
                    process.add();
                    process.bias.leave();
                } else {
                    let _locked = process.lock.lock().unwrap();
                    process.add();
                }
            }
            thread.join().unwrap();
            // SAFETY: the other thread has ended.
            process.data.with(|data| assert_eq!(unsafe { *data }, 3));
        });
    }

    #[test]
    fn the_owner_and_another_thread_exclude_each_other() {
        two_threads(|bias| bias.share(|| fence(Ordering::SeqCst)));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_missing_fence_is_seen() {
        two_threads(|bias| bias.share(|| ()));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn who_does_not_wait_for_the_owner_is_seen() {
        two_threads(|bias| {
            bias.shared.store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        });
    }
}
