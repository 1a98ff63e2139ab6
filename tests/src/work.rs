//! Spreading independent jobs over a few threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `job` on every item with `threads` threads; results in the order of the items.
pub fn spread<T: Sync, R: Send>(items: &[T], threads: usize, job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = job(item);
                    results.lock().expect("jobs run outside the lock")[index] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("all threads have ended");
    results.into_iter().map(|r| r.expect("every index was taken once")).collect()
}

/// How many jobs run at a time: the machine's cores.
pub fn width() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_keep_their_order() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(super::spread(&items, 3, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
        assert!(super::spread(&[] as &[u32], 3, |n| *n).is_empty());
    }
}
