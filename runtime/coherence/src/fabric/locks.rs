//! Locks in words of any process: odd while they are held.

use super::{Fabric, Word};
use crate::types::Rank;

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
