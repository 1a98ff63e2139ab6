//! The atomics and pauses of lock-free parts: the standard library's, or loom's where `--cfg loom` asks for a search over all
//! interleavings (`make loom`).

#[cfg(not(loom))]
mod chosen {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
    pub use std::thread::{sleep, yield_now};

    /// Nothing: the two operations that it stands between are ordered. Loom needs a fence there.
    #[inline(always)]
    pub fn between_seq_cst() {}

    /// Keeps the compiler from moving accesses over it: what is left of a fence where another thread can put one here.
    #[inline(always)]
    pub fn light_fence() {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

#[cfg(loom)]
mod chosen {
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
    pub use loom::thread::yield_now;
    pub use loom::thread::yield_now as spin_loop;

    /// Stands between two sequentially consistent operations: loom takes those for acquire and release, but it knows the fence.
    pub fn between_seq_cst() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// A fence: loom does not know those that one thread puts into another.
    pub fn light_fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// Time does not pass in a model.
    pub fn sleep(_: std::time::Duration) {
        yield_now();
    }
}

pub use chosen::*;
