//! Bounds: invalidating the copies whose lease ends below `min_wr_ts`.
//!
//! A bound looks at the chunks that may have got copies since the one before, which are in the *cached* set, and takes them out of it. A chunk whose copies
//! stay is listed under the least of their leases, and looked at again by the first bound above that. So copies that stay valid cost a bound
//! nothing, however many they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::fabric::{Fabric, Gate, MarkKind, Word};
use crate::records::Records;
use crate::types::{Chunk, Extent, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Chunks with copies that bounds have looked at, by the least lease of these.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// An entry that `least` does not confirm counts for nothing.
    queue: BinaryHeap<Reverse<(Timestamp, Chunk)>>,
    least: FxHashMap<Chunk, Timestamp>,
}

impl Leases {
    /// Has a chunk looked at by the first bound above a lease, or earlier.
    fn list(&mut self, chunk: Chunk, lease: Timestamp) {
        if self.least.get(&chunk).is_none_or(|least| lease < *least) {
            self.least.insert(chunk, lease);
            self.queue.push(Reverse((lease, chunk)));
        }
    }

    /// Takes the chunks with leases below a bound off the list, and appends them to `out`.
    fn take_below(&mut self, bound: Timestamp, out: &mut Vec<Chunk>) {
        while let Some(&Reverse((lease, chunk))) = self.queue.peek()
            && lease < bound
        {
            self.queue.pop();
            if self.least.get(&chunk) == Some(&lease) {
                self.least.remove(&chunk);
                out.push(chunk);
            }
        }
    }

    /// Number that depends on what is listed, and not on how it came.
    pub(crate) fn digest(&self) -> u64 {
        let mix = |(chunk, lease): (&Chunk, &Timestamp)| {
            (chunk.0 << 32 ^ lease).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        };
        self.least.iter().map(mix).fold(0, u64::wrapping_add)
    }
}

impl<F: Fabric> Coherence<F> {
    /// Invalidates every copy whose lease ends before `min_wr_ts`. No release is under way meanwhile, so that blocks taken from here are in
    /// the taken set.
    pub(crate) async fn expire(&self, min_wr_ts: Timestamp, own: &mut Records) {
        let fabric = &self.fabric;
        let gate = fabric.lock_gate(Gate::Publish).await;
        let mut chunks = Vec::new();
        for kind in [MarkKind::Cached, MarkKind::Dirty, MarkKind::Taken] {
            marks::peek(fabric, kind, &mut chunks);
        }
        self.listed().take_below(min_wr_ts, &mut chunks);
        chunks.sort_unstable();
        chunks.dedup();
        self.stats.chunks_checked.add(chunks.len() as u64);
        for chunk in chunks {
            let locked = fabric.lock_chunk(chunk).await;
            let cached = marks::take_chunk(fabric, MarkKind::Cached, chunk).await;
            let least = self.expire_chunk(chunk, min_wr_ts, cached, own);
            if let Some(lease) = least
                && !fabric.fault(Fault::LeaseNotListed)
            {
                self.listed().list(chunk, lease);
            }
            drop(locked);
        }
        drop(gate);
    }

    /// Returns the least lease of the copies that stay. The chunk is locked.
    fn expire_chunk(
        &self,
        chunk: Chunk,
        min_wr_ts: Timestamp,
        cached: u64,
        own: &mut Records,
    ) -> Option<Timestamp> {
        let fabric = &self.fabric;
        let homes = self.own_homes(chunk).all;
        // To be asked after that.
        let replaced = self.replaced(chunk);
        let span = chunk.span(fabric.existing(chunk));
        let mut least = None;
        let mut note = |lease| least = Some(least.map_or(lease, |least: Timestamp| least.min(lease)));
        let mut at = span.first;
        while at < span.end() {
            let (state, count) = self.run(at, span);
            let run = Extent::new(at, count);
            at = run.end();
            if !matches!(state, abi::READABLE | abi::WRITABLE | abi::NOTICED) {
                continue;
            }
            if run.mask() & homes != 0 && state == abi::READABLE && !fabric.fault(Fault::SharedHomeNotListed)
            {
                // Who takes these homes leaves copies here. Their lease is that of the chunk, and at least the bound, which has been published.
                note(fabric.own(Word::Lease(chunk)).max(min_wr_ts));
            }
            let mut copies = run.mask() & !homes;
            if fabric.fault(Fault::ExpireOnlyCached) && state == abi::WRITABLE {
                copies &= cached;
            }
            let mut ended = 0;
            for part in chunk.runs(copies) {
                fabric.own_records(part, own.run_mut(part));
                for (block, record) in part.blocks().zip(own.run(part)) {
                    let lease = if state == abi::NOTICED { record.wr_ts } else { record.rd_ts };
                    match lease < min_wr_ts {
                        true => ended |= block.bit(),
                        false => note(lease),
                    }
                }
            }
            self.end_leases(chunk, ended, state, replaced);
        }
        least
    }

    fn end_leases(&self, chunk: Chunk, blocks: u64, state: u8, replaced: u64) {
        self.stats.blocks_expired.add(blocks.count_ones().into());
        let set = |blocks, state| chunk.runs(blocks).for_each(|run| self.fabric.set_state(run, state));
        match state {
            abi::READABLE => set(blocks, abi::EXPIRED),
            abi::WRITABLE => {
                set(blocks & !replaced, abi::INVALID_DIRTY);
                set(blocks & replaced, abi::COLD);
            }
            _ => set(blocks, abi::COLD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(leases: &mut Leases, bound: Timestamp) -> Vec<u64> {
        let mut chunks = Vec::new();
        leases.take_below(bound, &mut chunks);
        chunks.into_iter().map(|chunk| chunk.0).collect()
    }

    #[test]
    fn a_chunk_is_listed_once_by_its_least_lease() {
        let mut leases = Leases::default();
        for (chunk, lease) in [(1, 30), (2, 10), (3, 20), (1, 15), (2, 40), (1, 15)] {
            leases.list(Chunk(chunk), lease);
        }
        assert_eq!(below(&mut leases, 10), []);
        assert_eq!(below(&mut leases, 16), [2, 1]);
        let digest = leases.digest();
        leases.list(Chunk(1), 50);
        assert_ne!(leases.digest(), digest);
        assert_eq!(below(&mut leases, 31), [3], "the first lease of chunk 1 is superseded");
        assert_eq!(below(&mut leases, 51), [1]);
        assert_eq!((leases.queue.len(), leases.least.len()), (0, 0));
    }
}
