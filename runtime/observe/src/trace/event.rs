//! Events that are written as one record when they have ended: those of the protocol, most of which take less than a microsecond.

use dsm_abi::trace::{CALLS, Kind, Phase, Record};
use dsm_coherence::stats::Shard;
use dsm_coherence::{Extent, Rank, calls};

use crate::memory;
use dsm_abi::state::Access;

use super::{now, with};

/// What an event is about, as far as it is known when it begins.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    kind: Kind,
    peer: Option<u32>,
    about: [u64; 2],
    /// What a release makes known: see [`Kind::Precedes`].
    precedes: Option<u64>,
}

/// Two numbers in one word, the second in the upper half.
fn pair(low: u64, high: u64) -> u64 {
    low.min(u32::MAX.into()) | high << 32
}

impl Event {
    fn of(kind: Kind, peer: Option<u32>, about: [u64; 2]) -> Event {
        Event { kind, peer, about, precedes: None }
    }

    /// Waiting for others.
    pub fn wait() -> Event {
        Event::of(Kind::Wait, None, [0; 2])
    }

    /// A miss of blocks at `address`, whose state refused the access.
    pub fn miss(access: Access, extent: Extent, address: usize, state: u8) -> Event {
        let kind = match access {
            Access::Read => Kind::ReadMiss,
            Access::Write | Access::Overwrite => Kind::WriteMiss,
        };
        Event::of(kind, None, [address as u64, extent.count | u64::from(state) << 56])
    }

    /// Contents of blocks come from a peer.
    pub fn fetch(from: Rank, address: usize, bytes: usize) -> Event {
        Event::of(Kind::Fetch, Some(from.0), [address as u64, bytes as u64])
    }

    /// A peer's agent executes a call.
    pub fn request(at: u32, message: &[u8]) -> Event {
        let (name, block) = calls::subject(message).unwrap_or((CALLS[0], None));
        let call = CALLS.iter().position(|known| *known == name).unwrap_or(0);
        let address = block.zip(memory::get()).map_or(0, |(block, memory)| memory.geometry.address(block));
        Event::of(Kind::Request, Some(at), [address as u64, call as u64])
    }

    /// The process publishes what it wrote. `precedes`: a flow to whoever is to have it.
    pub fn release(precedes: Option<u64>) -> Event {
        Event { precedes, ..Event::of(Kind::Release, None, [0; 2]) }
    }

    /// The process acquires what a peer has published. `follows`: the flow from there, or 0.
    pub fn acquire(from: u32, follows: u64) -> Event {
        Event::of(Kind::Acquire, Some(from), [follows, 0])
    }

    /// An acquire from all processes.
    pub fn acquire_from_all() -> Event {
        Event::of(Kind::Acquire, None, [0, 0])
    }
}

/// An event that has begun.
#[derive(Debug)]
pub struct Open {
    event: Event,
    time: u64,
    /// The thread's counters then, for what they say of the event.
    before: [u64; 4],
}

/// What a release or acquire counts.
fn counts(kind: Kind) -> [u64; 4] {
    let Some(memory) = memory::get() else { return [0; 4] };
    let own: &Shard = (memory.counters)();
    match kind {
        Kind::Release => [
            own.notices_out.get(),
            own.blocks_compared.get(),
            own.homes_taken.get(),
            own.blocks_merged_at_home.get(),
        ],
        Kind::Acquire => [0, 0, own.notices_in.get(), own.blocks_invalidated.get()],
        _ => [0; 4],
    }
}

impl Open {
    /// The event begins now.
    pub fn new(event: Event) -> Open {
        let before = counts(event.kind);
        let time = with(|writer| writer.tick(now())).unwrap_or_else(now);
        Open { event, time, before }
    }

    /// It ends now.
    pub fn end(self) {
        let Open { event: Event { kind, peer, about: [a, b], precedes }, time, before } = self;
        let after = counts(kind);
        let count = |i: usize| after[i].saturating_sub(before[i]);
        let [a, b] = match kind {
            Kind::Release => [pair(count(0), count(1)), pair(count(2), count(3))],
            Kind::Acquire => [a, pair(count(2), count(3))],
            _ => [a, b],
        };
        with(|writer| {
            let duration = writer.tick(now()).saturating_sub(time);
            let phase = Phase::Whole;
            writer.whole(&Record { time, kind, phase, peer, duration, a, b });
            if let Some(flow) = precedes {
                let phase = Phase::Instant;
                let (kind, peer, duration, a, b) = (Kind::Precedes, None, 0, flow, 0);
                writer.whole(&Record { time: time + 1, kind, phase, peer, duration, a, b });
            }
        });
    }
}
