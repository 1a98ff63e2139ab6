//! Counters of what the protocol did. Relaxed: they order nothing.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one process.
        #[derive(Debug, Default)]
        pub struct Stats { $($(#[$doc])* pub $name: Counter,)* }

        impl Stats {
            /// Names and values, in order.
            pub fn values(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }
        }
    };
}

counters! {
    /// Calls of the read miss path.
    read_misses,
    /// Calls of the write miss path.
    write_misses,
    /// Blocks whose contents were read from a peer.
    blocks_fetched,
    /// Blocks found unchanged at their home after a timestamp invalidation.
    blocks_renewed,
    /// Copies made of blocks before writing to them.
    twins_made,
    /// Blocks merged with a peer's contents.
    blocks_merged,
    /// Homes taken from another process.
    homes_taken,
    /// Of these, the ones taken at a miss, before anything was stored.
    homes_taken_early,
    /// Blocks published at their home.
    published_in_place,
    /// Homes that went from writable to shared because somebody had read them.
    homes_shared,
    /// Write notices published.
    notices_out,
    /// Write notices taken in.
    notices_in,
    /// Blocks invalidated by notices.
    blocks_invalidated,
    /// Blocks invalidated by timestamp.
    blocks_expired,
    /// Releases.
    releases,
    /// Acquires.
    acquires,
    /// Links followed while looking for homes.
    link_hops,
    /// Times a process had to queue for a block's lock.
    lock_waits,
    /// Bytes moved between processes.
    bytes_moved,
}

/// A relaxed counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Current value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
