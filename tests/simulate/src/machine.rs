//! What a workload sees of a protocol: memory that all processes share, and publishing.

use dsm_coherence::ReleaseToken;

use crate::net::{Phase, Shared};

/// A process under some coherence protocol. Addresses are bytes; words have eight.
#[allow(async_fn_in_trait, reason = "workloads are generic over machines, and tasks need not be Send")]
pub trait Machine {
    /// Where it is.
    fn world(&self) -> &Shared;

    /// Which process it is.
    fn rank(&self) -> u32;

    /// The program checks a range before a loop that reads it.
    async fn read(&self, addr: u64, bytes: u64);

    /// The program checks a range and stores `value` to all of its words.
    async fn write(&self, addr: u64, bytes: u64, value: u64);

    /// The program loads a word.
    async fn load(&self, addr: u64) -> u64;

    /// Publishes own writes.
    async fn release(&self);

    /// The same; calls `then` with what tells others of it, as soon as it is published.
    async fn release_then(&self, then: impl FnOnce(ReleaseToken));

    /// How far it has published.
    fn published(&self) -> u64;

    /// Takes in what a process published and took in.
    async fn acquire_from(&self, rank: u32);

    /// The same, of what it had published when it made the token.
    async fn acquire_with_token(&self, rank: u32, token: ReleaseToken);

    /// All processes have passed a barrier.
    fn after_barrier(&self);

    /// Counters of the protocol.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// Runs `body` on the account of a phase.
pub async fn during<T>(world: &Shared, me: u32, phase: Phase, body: impl Future<Output = T>) -> T {
    let account = &world.process(me).phase;
    let before = account.replace(phase);
    let result = body.await;
    account.set(before);
    result
}
