//! The bias of biased locks (K. Kawachiya, A. Koseki, T. Onodera, "Lock Reservation", OOPSLA 2002), here for all locks of the process at once: its owner takes none of them.
//!
//! The first thread of a process owns the bias: it says with an ordinary store that it is inside, looks whether the bias was revoked, and goes on without
//! locks if not. Any other thread revokes the bias before it takes its first lock, for good: it says so, has the kernel execute a fence in every thread of the process
//! (asymmetric Dekker synchronisation by `membarrier`), and waits until the owner is not inside. The fence is a system call for the other thread, and costs the owner
//! nothing: either the owner's store came before the fence, and the other thread sees it, or the owner looks after the fence, and sees the revocation.

#[cfg(not(loom))]
use rustix::thread::{MembarrierCommand, membarrier};

use crate::backoff::Backoff;
use crate::primitive::{AtomicU32, Ordering, light_fence};

/// Whether the owner is inside, and whether another thread has revoked the bias.
#[derive(Debug)]
#[repr(align(64))]
pub struct Bias {
    inside: AtomicU32,
    revoked: AtomicU32,
}

impl Bias {
    /// Nobody has come.
    #[cfg(not(loom))]
    pub const fn new() -> Bias {
        Bias { inside: AtomicU32::new(0), revoked: AtomicU32::new(0) }
    }

    /// Nobody has come.
    #[cfg(loom)]
    pub fn new() -> Bias {
        Bias { inside: AtomicU32::new(0), revoked: AtomicU32::new(0) }
    }

    /// The owner goes inside; false if it has to take locks from now on. Called by one thread only, and not inside.
    #[inline(always)]
    pub fn enter(&self) -> bool {
        self.inside.store(1, Ordering::Relaxed);
        light_fence();
        if self.revoked.load(Ordering::Acquire) == 0 {
            return true;
        }
        self.leave();
        false
    }

    /// The owner is not inside any more. What it did there is visible to the thread that revokes the bias.
    #[inline(always)]
    pub fn leave(&self) {
        self.inside.store(0, Ordering::Release);
    }

    /// Revokes the bias, for a thread that is not the owner: from now on the owner is not inside. `heavy_fence` executes a fence in every thread of the process.
    #[cold]
    pub fn revoke(&self, heavy_fence: impl FnOnce()) {
        self.revoked.store(1, Ordering::SeqCst);
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
    membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}

/// Puts a fence into every thread of the process. Only after [`can_fence_all_threads`].
#[cfg(not(loom))]
pub fn fence_all_threads() {
    membarrier(MembarrierCommand::PrivateExpedited).expect("the kernel has agreed to this");
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
    fn two_threads(revoke: impl Fn(&Bias) + Send + Sync + 'static) {
        let revoke = std::sync::Arc::new(revoke);
        loom::model(move || {
            let process =
                Arc::new(Process { bias: Bias::new(), lock: Mutex::new(()), data: UnsafeCell::new(0) });
            let (other, revoke) = (process.clone(), revoke.clone());
            let thread = loom::thread::spawn(move || {
                revoke(&other.bias);
                let _locked = other.lock.lock().unwrap();
                other.add();
            });
            let mut is_biased = true;
            for _ in 0..2 {
                is_biased = is_biased && process.bias.enter();
                if is_biased {
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
        two_threads(|bias| bias.revoke(|| fence(Ordering::SeqCst)));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_missing_fence_is_seen() {
        two_threads(|bias| bias.revoke(|| ()));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn who_does_not_wait_for_the_owner_is_seen() {
        two_threads(|bias| {
            bias.revoked.store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        });
    }
}
