//! Locks among the threads of a process: words of its control memory, as in the runtime.

use dsm_coherence::Gate;

use super::SimFabric;
use crate::engine::Key;
use crate::net::Shared;

/// Unlocks when dropped.
#[derive(Debug)]
pub struct Guard<'a> {
    world: &'a Shared,
    key: Key,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let (me, lock) = lock_word(self.key);
        self.world.process(me).memory.borrow_mut().control.remove(&lock);
        self.world.engine.notify(self.key);
    }
}

/// The control word in which a lock among the threads of a process is kept.
fn lock_word(key: Key) -> (u32, u32) {
    match key {
        Key::Gate(me, gate) => (me, LOCKS + gate as u32),
        // Chunks may share a lock, as they do in the runtime.
        Key::Chunk(me, chunk) => (me, LOCKS + 8 + (chunk.0 % (1 << 20)) as u32),
        _ => unreachable!("gates and chunks are locked"),
    }
}

/// First control word that is a lock.
const LOCKS: u32 = 1 << 24;

impl SimFabric {
    pub(super) async fn lock(&self, key: Key) -> Guard<'_> {
        let (me, lock) = lock_word(key);
        let process = self.world.process(me);
        self.world.charge_words(me, 2);
        let free = || process.memory.borrow_mut().control.insert(lock, 1).is_none().then_some(());
        self.world.engine.wait(key, free).await;
        Guard { world: &self.world, key }
    }

    /// As [`SimFabric::lock`], if nobody holds it.
    pub(super) fn try_lock(&self, key: Key) -> Option<Guard<'_>> {
        let (me, lock) = lock_word(key);
        self.world.charge_words(me, 2);
        let mut memory = self.world.process(me).memory.borrow_mut();
        memory.control.insert(lock, 1).is_none().then(|| Guard { world: &self.world, key })
    }

    /// Whether nobody holds a gate of the process.
    pub(super) fn is_free(&self, gate: Gate) -> bool {
        let (me, lock) = lock_word(Key::Gate(self.me, gate));
        self.world.charge_words(me, 1);
        !self.world.process(me).memory.borrow().control.contains_key(&lock)
    }
}
