//! Locks in words of any process, odd while they are held; and locks of several chunks.

use super::{Fabric, Word};
use crate::open;
use crate::types::{Chunk, Rank};

/// [`Fabric::lock_word`] by the other operations.
#[inline]
pub async fn lock_by_cas<F: Fabric + ?Sized>(fabric: &F, at: Rank, word: Word) -> u64 {
    let seen = fabric.load(at, word).await;
    if seen.is_multiple_of(2) && fabric.cas(at, word, seen, seen + 1).await == seen {
        return seen;
    }
    spin(fabric, at, word).await
}

/// [`Fabric::try_lock_word`] by the other operations.
///
/// # Errors
/// The word, which is odd.
#[inline]
pub async fn try_lock_by_cas<F: Fabric + ?Sized>(fabric: &F, at: Rank, word: Word) -> Result<u64, u64> {
    let mut seen = fabric.load(at, word).await;
    while seen.is_multiple_of(2) {
        let found = fabric.cas(at, word, seen, seen + 1).await;
        if found == seen {
            return Ok(seen);
        }
        seen = found;
    }
    Err(seen)
}

async fn spin<F: Fabric + ?Sized>(fabric: &F, at: Rank, word: Word) -> u64 {
    let mut seen = fabric.load(at, word).await;
    loop {
        if let Word::Records(chunk) = word
            && open::is_open(seen)
        {
            open::close(fabric, at, chunk, seen).await;
            seen = fabric.load(at, word).await;
            continue;
        }
        if seen % 2 == 1 {
            seen = fabric.wait_change(at, word, seen).await;
            continue;
        }
        let found = fabric.cas(at, word, seen, seen + 1).await;
        if found == seen {
            return seen;
        }
        seen = found;
    }
}

/// Locks a chunk among the threads of the process, beside those in `locked`: whoever has locked one waits for no other. Whether it is locked.
pub(crate) async fn lock_beside<'a, F: Fabric>(
    fabric: &'a F,
    locked: &mut Vec<F::Guard<'a>>,
    chunk: Chunk,
) -> bool {
    let guard = match locked.is_empty() {
        true => Some(fabric.lock_chunk(chunk).await),
        false => fabric.try_lock_chunk(chunk).await,
    };
    let is_locked = guard.is_some();
    locked.extend(guard);
    is_locked
}
