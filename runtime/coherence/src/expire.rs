//! Bounds: invalidating the copies whose lease ends below `min_wr_ts`.
//!
//! A bound looks at the chunks that may have got copies since the one before, which are in the *cached* set, and takes them out of it. A chunk
//! whose copies stay is listed under the least of their leases, and looked at again by the first bound above that. So copies that stay valid
//! cost a bound nothing, however many they are.

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
    least: FxHashMap<Chunk, Listed>,
}

/// The blocks of a chunk that a bound has left valid, as bits of its mark words. A chunk's other blocks may not be blocks at all: where they
/// would be, others of another size are.
#[derive(Clone, Copy, Debug)]
struct Listed {
    least: Timestamp,
    blocks: u64,
}

impl Leases {
    /// Has blocks of a chunk looked at by the first bound above their least lease, or earlier.
    fn list(&mut self, chunk: Chunk, blocks: u64, least: Timestamp) {
        let listed = self.least.entry(chunk).or_insert(Listed { least: Timestamp::MAX, blocks: 0 });
        listed.blocks |= blocks;
        if least < listed.least {
            listed.least = least;
            self.queue.push(Reverse((least, chunk)));
        }
        if self.queue.len() > 2 * self.least.len() + 64 {
            self.queue = self.least.iter().map(|(chunk, listed)| Reverse((listed.least, *chunk))).collect();
        }
    }

    /// Appends the chunks with leases below a bound to `out`. They have to be taken off the list.
    fn below(&mut self, bound: Timestamp, out: &mut Vec<Chunk>) {
        while let Some(&Reverse((lease, chunk))) = self.queue.peek()
            && lease < bound
        {
            self.queue.pop();
            if self.least.get(&chunk).is_some_and(|listed| listed.least == lease) {
                out.push(chunk);
            }
        }
    }

    /// Takes a chunk off the list; returns the blocks that were listed.
    fn take(&mut self, chunk: Chunk) -> u64 {
        self.least.remove(&chunk).map_or(0, |listed| listed.blocks)
    }

    /// The blocks listed of a chunk, and their least lease.
    pub(crate) fn copies(&self, chunk: Chunk) -> (u64, Timestamp) {
        self.least.get(&chunk).map_or((0, Timestamp::MAX), |listed| (listed.blocks, listed.least))
    }

    /// Number that depends on what is listed, and not on how it came.
    pub(crate) fn digest(&self) -> u64 {
        let mix = |(chunk, listed): (&Chunk, &Listed)| {
            (chunk.0 << 32 ^ listed.least ^ listed.blocks.rotate_left(17))
                .wrapping_add(1)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
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
        self.listed().below(min_wr_ts, &mut chunks);
        chunks.sort_unstable();
        chunks.dedup();
        self.stats.chunks_checked.add(chunks.len() as u64);
        for chunk in chunks {
            let locked = fabric.lock_chunk(chunk).await;
            let cached = marks::take_chunk(fabric, MarkKind::Cached, chunk).await;
            let set = |kind| fabric.own(Word::Mark { kind, level: 0, index: chunk.0 });
            let blocks = cached | set(MarkKind::Dirty) | set(MarkKind::Taken) | self.listed().take(chunk);
            let blocks = match fabric.fault(Fault::ExpireBetween) && blocks != 0 {
                true => chunk.span(blocks).mask(),
                false => blocks,
            };
            if blocks & self.own_homes(chunk).all != 0 && !fabric.fault(Fault::BoundBesideMove) {
                // Who takes a home with the records locked all the time may have looked at the bound before it was raised.
                let sequence = self.lock_records(chunk).await;
                self.unlock_records(chunk, sequence);
            }
            if blocks != 0 {
                self.expire_chunk(chunk, blocks, min_wr_ts, cached, own);
            }
            drop(locked);
        }
        drop(gate);
    }

    /// Looks at `blocks`, and lists the copies that stay. The chunk is locked.
    fn expire_chunk(&self, chunk: Chunk, blocks: u64, min_wr_ts: Timestamp, cached: u64, own: &mut Records) {
        let fabric = &self.fabric;
        let homes = self.own_homes(chunk).all;
        // To be asked after that.
        let replaced = self.replaced(chunk);
        let (mut least, mut stay) = (Timestamp::MAX, 0);
        let mut note = |blocks: u64, lease: Timestamp| {
            stay |= blocks;
            least = least.min(lease);
        };
        let mut left = blocks;
        while let Some(part) = chunk.runs(left).next() {
            let (state, count) = self.run(part.first, part);
            let run = Extent::new(part.first, count);
            left &= !run.mask();
            if !matches!(state, abi::READABLE | abi::WRITABLE | abi::NOTICED) {
                continue;
            }
            if run.mask() & homes != 0 && state == abi::READABLE && !fabric.fault(Fault::SharedHomeNotListed)
            {
                // Who takes these homes leaves copies here. Their lease is that of the chunk, and at least the bound, which has been published.
                note(run.mask() & homes, fabric.own(Word::Lease(chunk)).max(min_wr_ts));
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
                        false => note(block.bit(), lease),
                    }
                }
            }
            self.end_leases(chunk, ended, state, replaced);
        }
        if stay != 0 && !fabric.fault(Fault::LeaseNotListed) {
            self.listed().list(chunk, stay, least);
        }
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

    /// Takes the chunks below a bound off the list, with their blocks.
    fn below(leases: &mut Leases, bound: Timestamp) -> Vec<(u64, u64)> {
        let mut chunks = Vec::new();
        leases.below(bound, &mut chunks);
        chunks.into_iter().map(|chunk| (chunk.0, leases.take(chunk))).collect()
    }

    #[test]
    fn a_chunk_is_listed_once_by_its_least_lease() {
        let mut leases = Leases::default();
        for (chunk, blocks, lease) in [(1, 1, 30), (2, 1, 10), (3, 4, 20), (1, 2, 15), (2, 8, 40), (1, 2, 15)]
        {
            leases.list(Chunk(chunk), blocks, lease);
        }
        assert_eq!(below(&mut leases, 10), []);
        assert_eq!(below(&mut leases, 16), [(2, 9), (1, 3)]);
        let digest = leases.digest();
        leases.list(Chunk(1), 4, 50);
        assert_ne!(leases.digest(), digest);
        assert_eq!(below(&mut leases, 31), [(3, 4)], "the first lease of chunk 1 is superseded");
        assert_eq!(below(&mut leases, 51), [(1, 4)]);
        assert_eq!((leases.queue.len(), leases.least.len()), (0, 0));
    }
}
