//! Counters of what the protocol did. Relaxed: they order nothing.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Threads that have counters of their own; those that come later share.
const OWN_SHARDS: usize = 15;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one thread of a process, or of several.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct Shard { $($(#[$doc])* pub $name: Counter,)* }

        impl Stats {
            /// Hands on names and values over all threads, in order. Allocates nothing.
            pub fn each(&self, mut with: impl FnMut(&'static str, u64)) {
                $(with(stringify!($name), self.shards.iter().map(|shard| shard.$name.get()).sum());)*
            }

            /// Names and values over all threads, in order.
            pub fn values(&self) -> Vec<(&'static str, u64)> {
                let mut values = Vec::new();
                self.each(|name, value| values.push((name, value)));
                values
            }
        }
    };
}

/// Counters of one process. Stands for those of the calling thread: adding to them costs no atomic operation.
#[derive(Debug)]
pub struct Stats {
    shards: [Shard; OWN_SHARDS + 1],
}

impl Default for Stats {
    fn default() -> Self {
        Stats { shards: std::array::from_fn(|_| Shard::default()) }
    }
}

/// Number of the calling thread among those of the process that ever counted, at most [`OWN_SHARDS`].
#[inline(always)]
fn slot() -> usize {
    thread_local! {
        static SLOT: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    SLOT.with(|slot| {
        if slot.get() == usize::MAX {
            set_slot(slot);
        }
        slot.get()
    })
}

#[cold]
fn set_slot(slot: &Cell<usize>) {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    slot.set(THREADS.fetch_add(1, Ordering::Relaxed).min(OWN_SHARDS));
}

impl Deref for Stats {
    type Target = Shard;

    #[inline]
    fn deref(&self) -> &Shard {
        &self.shards[slot()]
    }
}

counters! {
    /// Calls of the read miss path.
    read_misses,
    /// Of these, the ones that were one-sided: no processor of the home took part.
    reads_one_sided,
    /// Those that should have been one-sided, and were made by a call: the ring was full or in use, the lease too short, or the records changed meanwhile.
    reads_not_one_sided,
    /// Calls of the write miss path.
    write_misses,
    /// Blocks whose contents were read from a peer.
    blocks_fetched,
    /// Of these, the ones that were read before anybody missed them.
    blocks_fetched_ahead,
    /// Misses that found such blocks.
    misses_ahead,
    /// Blocks found unchanged at their home after a timestamp invalidation.
    blocks_renewed,
    /// Copies made of blocks before writing to them.
    twins_made,
    /// Blocks compared with their twins by releases.
    blocks_compared,
    /// Releases that waited for the other threads of the process and took permissions to store away.
    threads_held,
    /// Blocks merged with a peer's contents.
    blocks_merged,
    /// Blocks whose changes were merged into the contents at their home, which stayed there.
    blocks_merged_at_home,
    /// Homes taken from another process.
    homes_taken,
    /// Of these, the ones taken on a miss, before anything was stored.
    homes_taken_on_miss,
    /// Blocks that were not fetched, since all of their bytes are overwritten.
    blocks_overwritten,
    /// Bytes of these.
    bytes_not_fetched,
    /// Blocks that were not fetched, since they were zero and took no memory at their home.
    blocks_of_holes,
    /// Blocks published at their home.
    published_in_place,
    /// Homes that went from writable to shared because somebody had read them.
    homes_shared,
    /// Permissions to store taken back because another process wanted to store, with one writer at a time.
    permissions_revoked,
    /// Write notices published.
    notices_out,
    /// Write notices applied.
    notices_in,
    /// Blocks invalidated by notices.
    blocks_invalidated,
    /// Blocks invalidated by timestamp.
    blocks_expired,
    /// Chunks of 64 blocks that were looked at for that.
    chunks_checked,
    /// Releases.
    releases,
    /// Acquires.
    acquires,
    /// Links followed while looking for homes.
    link_hops,
    /// Links of others that were made to lead to the home at once.
    links_shortened,
    /// Times a process had to queue for a block's lock.
    lock_waits,
    /// Procedures run on the segments of other processes: a round trip each, where those are reached by messages.
    calls,
    /// Bytes moved between processes.
    bytes_moved,
    /// Atomic operations of the program, and stores, executed at homes whose records were open.
    atomics_open,
    /// Loads that were executed at homes elsewhere.
    loads_at_home,
}

/// The counters of the calling thread, looked up once for several of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mine<'a> {
    shard: &'a Shard,
    shared: bool,
}

impl Stats {
    #[inline(always)]
    pub(crate) fn mine(&self) -> Mine<'_> {
        let slot = slot();
        Mine { shard: &self.shards[slot], shared: slot >= OWN_SHARDS }
    }
}

impl Mine<'_> {
    /// Adds to a counter.
    #[inline(always)]
    pub(crate) fn add(self, counter: impl Fn(&Shard) -> &Counter, n: u64) {
        counter(self.shard).add_as(self.shared, n);
    }
}

/// A relaxed counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds.
    #[inline]
    pub fn add(&self, n: u64) {
        self.add_as(slot() >= OWN_SHARDS, n);
    }

    #[inline(always)]
    fn add_as(&self, shared: bool, n: u64) {
        if shared {
            self.0.fetch_add(n, Ordering::Relaxed);
        } else {
            self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
        }
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_share_lose_nothing() {
        let stats = Stats::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * OWN_SHARDS {
                scope.spawn(|| (0..1000).for_each(|_| stats.releases.add(2)));
            }
        });
        let releases = stats.values().iter().find(|(name, _)| *name == "releases").map(|v| v.1);
        assert_eq!(releases, Some(2 * 2 * OWN_SHARDS as u64 * 1000));
    }
}
