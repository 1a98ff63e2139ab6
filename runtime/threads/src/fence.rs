//! Ordering stores before loads.

/// A full fence.
#[inline(always)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the word at the top of the stack is mapped, and keeps its value.
    unsafe {
        // Takes less time than `mfence`, 2 instead of 17 ns on an AMD EPYC. The line of a thread's own stack stays with its core; a static one would go to and fro between threads.
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[repr(align(128))]
    struct Line(AtomicU32);

    #[test]
    fn one_of_two_threads_that_store_and_load_sees_the_other() {
        const ROUNDS: u32 = 50_000;
        let [words, seen] = [(); 2].map(|()| [const { Line(AtomicU32::new(0)) }; 2]);
        let arrived = Line(AtomicU32::new(0));
        let meet = |times: u32| {
            arrived.0.fetch_add(1, Ordering::SeqCst);
            for looks in 0u32.. {
                if arrived.0.load(Ordering::SeqCst) >= 2 * times {
                    break;
                }
                if looks % 1000 == 999 { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
        };
        let store_and_load = |own: usize| {
            for round in 1..=ROUNDS {
                meet(2 * round - 1);
                words[own].0.store(round, Ordering::Relaxed);
                fence();
                let other = words[1 - own].0.load(Ordering::Relaxed);
                seen[own].0.store(other, Ordering::Relaxed);
                meet(2 * round);
                let [a, b] = [0, 1].map(|thread: usize| seen[thread].0.load(Ordering::Relaxed));
                assert!(a == round || b == round, "round {round}: {a}, {b}");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| store_and_load(0));
            store_and_load(1);
        });
    }
}
