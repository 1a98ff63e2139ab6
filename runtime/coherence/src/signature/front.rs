//! What is read of a signature without locking it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::types::{Chunk, Timestamp};

/// What is read without locking the signature.
#[derive(Debug, Default)]
pub(crate) struct Front {
    pub(super) clock: AtomicU64,
    pub(super) has_deferred: AtomicBool,
    /// Chunk of the last single block that was published.
    guess: AtomicU64,
}

impl Front {
    /// Greatest version seen or published. Only raised.
    pub(crate) fn clock(&self) -> Timestamp {
        self.clock.load(Ordering::Relaxed)
    }

    /// Chunk of the last single block that was published.
    pub(crate) fn guess(&self) -> Chunk {
        Chunk(self.guess.load(Ordering::Relaxed))
    }

    pub(crate) fn set_guess(&self, chunk: Chunk) {
        self.guess.store(chunk.0, Ordering::Relaxed);
    }

    /// Whether there are deferred notices that a release has to publish.
    #[inline(always)]
    pub(crate) fn has_deferred(&self) -> bool {
        self.has_deferred.load(Ordering::Acquire)
    }
}
