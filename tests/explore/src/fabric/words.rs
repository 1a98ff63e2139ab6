//! Single words of any process.

use dsm_coherence::fabric::{close, is_open};
use dsm_coherence::{Rank, Word};

use super::ModelFabric;
use crate::world::{Wait, pause};

/// See [`dsm_coherence::Fabric::load`].
pub(super) async fn load(fabric: &ModelFabric, at: Rank, word: Word) -> u64 {
    let Some(loc) = fabric.loc(word) else { return 0 };
    fabric.point().await;
    let value = {
        let mut w = fabric.world.borrow_mut();
        let value = w.remote_read(at.0 as usize, loc);
        match word {
            Word::Link(_) => w.count_hop(loc),
            Word::Records(_) => {}
            Word::LogState => w.learn(at.0 as usize),
            _ => w.end_lookup(),
        }
        w.note_loc(loc, |name| format!("load {name} at p{}: {value:#x}", at.0));
        value
    };
    fabric.point().await;
    value
}

/// See [`dsm_coherence::Fabric::wait_change`].
pub(super) async fn wait_change(fabric: &ModelFabric, at: Rank, word: Word, seen: u64) -> u64 {
    let loc = fabric.loc(word).expect("words of used blocks");
    pause(&fabric.world, Wait::Differs(at.0 as usize, loc, seen)).await;
    let value = {
        let mut w = fabric.world.borrow_mut();
        let value = w.remote_read(at.0 as usize, loc);
        if matches!(word, Word::Records(_)) {
            // A call that found the records locked looks at the link again.
            w.end_lookup();
        }
        w.note_loc(loc, |name| {
            format!("waited for {name} at p{} to differ from {seen:#x}: {value:#x}", at.0)
        });
        value
    };
    fabric.point().await;
    value
}

/// See [`dsm_coherence::Fabric::lock_word`].
pub(super) async fn lock_word(fabric: &ModelFabric, at: Rank, word: Word) -> u64 {
    if !fabric.prompt {
        return dsm_coherence::fabric::lock_by_cas(fabric, at, word).await;
    }
    // Attempts that fail change nothing: one step is enough where all schedules are searched.
    let loc = fabric.loc(word).expect("words of used blocks");
    loop {
        pause(&fabric.world, Wait::EvenOrOpen(at.0 as usize, loc)).await;
        let seen = fabric.world.borrow().processes[at.0 as usize].cells[loc as usize];
        let Word::Records(chunk) = word else { break };
        if !is_open(seen) {
            break;
        }
        close(fabric, at, chunk, seen).await;
    }
    let old = {
        let mut w = fabric.world.borrow_mut();
        let old = w.atomic(at.0 as usize, loc, |old| Some(old + 1));
        w.note_loc(loc, |name| format!("lock {name} at p{}: {old:#x}", at.0));
        old
    };
    fabric.point().await;
    old
}

/// See [`dsm_coherence::Fabric::try_lock_word`].
pub(super) async fn try_lock_word(fabric: &ModelFabric, at: Rank, word: Word) -> Result<u64, u64> {
    if fabric.prompt {
        // Attempts that fail only lead to others.
        return Ok(lock_word(fabric, at, word).await);
    }
    dsm_coherence::fabric::try_lock_by_cas(fabric, at, word).await
}

/// See [`dsm_coherence::Fabric::post_store`].
pub(super) async fn post_store(fabric: &ModelFabric, at: Rank, word: Word, value: u64) {
    let Some(loc) = fabric.loc(word) else { return };
    fabric.point().await;
    let mut w = fabric.world.borrow_mut();
    w.note_loc(loc, |name| format!("post {name} at p{}: {value:#x}", at.0));
    w.post(at.0 as usize, loc, value);
}

/// See [`dsm_coherence::Fabric::flush`].
pub(super) async fn flush(fabric: &ModelFabric, at: Rank) {
    pause(&fabric.world, Wait::Placed(fabric.process, at.0 as usize)).await;
    let mut w = fabric.world.borrow_mut();
    w.flushed(at.0 as usize);
    let current = w.current;
    w.drain(current, true);
}

/// See [`dsm_coherence::Fabric::or_own`].
pub(super) fn or_own(fabric: &ModelFabric, word: Word, bits: u64) -> u64 {
    let mut w = fabric.world.borrow_mut();
    let loc = w.layout.word(word).expect("words of used blocks");
    // No stronger than an implementation that spares the atomic operation where the bits are set already.
    let now = w.own_read(loc);
    if now & bits == bits {
        return now;
    }
    if w.processes[fabric.process].threads > 1 {
        return w.atomic(fabric.process, loc, |old| Some(old | bits));
    }
    w.own_write(loc, now | bits);
    now
}

/// See [`dsm_coherence::Fabric::take_own`].
pub(super) fn take_own(fabric: &ModelFabric, word: Word) -> u64 {
    let mut w = fabric.world.borrow_mut();
    let Some(loc) = w.layout.word(word) else { return 0 };
    if w.processes[fabric.process].threads > 1 {
        return w.atomic(fabric.process, loc, |_| Some(0));
    }
    let now = w.own_read(loc);
    w.own_write(loc, 0);
    now
}
