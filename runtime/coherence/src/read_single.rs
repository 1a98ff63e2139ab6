//! The fast path of a read miss of a single block. Where peers' memory is mapped, the general path ([`crate::miss`]), which is made for runs of blocks and for agents, takes longer than
//! the cache lines that it moves.
//!
//! It does what [`Segment::copy`](crate::segment::Segment::copy) and [`Segment::lend`](crate::segment::Segment::lend) do, in their order, if the block is where its own link leads, if no
//! lease has to be extended and if nobody locks the records meanwhile. Else the general path does it again: until the state changes, only marks have been set that promise too
//! much, and contents that nobody looks at. Nothing here waits for another process.

use crate::block_word::BlockWord;
use crate::fabric::{Fabric, MarkKind};
use crate::link::Link;
use crate::migration_on_miss::hint;
use crate::types::Block;
use crate::{Coherence, Fault, abi, marks};

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $read_single:ident $fetch_single:ident $set:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// Makes a block readable. Returns false if it takes the general path to do so.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $read_single(&self, block: Block) -> bool {
                let fabric = &self.fabric;
                let checkpoint = fabric.checkpoint();
                let _locked = $wait!(fabric.lock_chunk(block.chunk()));
                let readable = $call!(self.$fetch_single(block));
                fabric.live_since(checkpoint, || readable);
                readable
            }

            /// The chunk is locked.
            #[inline(always)]
            $($asyncness)? fn $fetch_single(&self, block: Block) -> bool {
                let fabric = &self.fabric;
                let (chunk, bit) = (block.chunk(), block.bit());
                let local = fabric.own_handle(block);
                let state = fabric.state_by_handle(local);
                let link = self.decode(fabric.own_by_handle(local, BlockWord::Link), self.me(), block);
                let Link::Link { to: home, pending: false } = link else { return false };
                // The general path takes the home of a migratory block, and has these two faults.
                if !matches!(state, abi::COLD | abi::EXPIRED | abi::NOTICED)
                    || fabric.own(hint(MarkKind::Migratory, chunk)) & bit != 0
                    || fabric.fault(Fault::CachedLate)
                    || fabric.fault(Fault::MarkAfterRead)
                {
                    return false;
                }
                let remote = fabric.handle_elsewhere(local, home);
                fabric.prefetch_block(remote);
                // As in the general path, before the bound is looked at.
                marks::set_own(fabric, MarkKind::Cached, chunk, bit);
                let min = self.signature().min_applied();
                let noticed = state == abi::NOTICED;
                let version = fabric.own_by_handle(local, BlockWord::Wr);
                let unbounded = fabric.fault(Fault::SingleReadUnbounded);
                if noticed && version < min && !unbounded {
                    return false;
                }
                let unmarked = fabric.fault(if noticed { Fault::NoReadMarkAtWriter } else { Fault::NoReadMark })
                    || fabric.fault(Fault::SingleReadUnmarked);
                if !unmarked {
                    $call!(marks::$set(fabric, home, MarkKind::Read, chunk, bit));
                }
                let sequence = $wait!(fabric.load_by_handle(remote, BlockWord::Records));
                let homes = $wait!(fabric.load_by_handle(remote, BlockWord::Homes));
                let away = !self.is_home(remote, bit, homes);
                let anywhere = fabric.fault(Fault::ReadFormerHome) || fabric.fault(Fault::SingleReadAnywhere);
                let unwitnessed = fabric.fault(if noticed { Fault::ReadFormerHome } else { Fault::FetchWhileTaken })
                    || fabric.fault(Fault::SingleReadUnwitnessed);
                if sequence % 2 == 1 && !unwitnessed || away && !anywhere {
                    return false;
                }
                let mut stamps = [version; 2];
                if !noticed {
                    let lease = $wait!(fabric.load_by_handle(remote, BlockWord::Lease));
                    let chunk_version = match fabric.fault(Fault::IgnoreChunkVersion) {
                        true => 0,
                        false => $wait!(fabric.load_by_handle(remote, BlockWord::ChunkVersion)),
                    };
                    stamps = [lease, $wait!(fabric.load_by_handle(remote, BlockWord::Wr)).max(chunk_version)];
                    // See `Segment::leases` on the mark.
                    let marked = unmarked
                        || fabric.fault(Fault::NoMarkRecheck)
                        || fabric.fault(Fault::SingleReadNoRecheck)
                        || $wait!(fabric.load(home, hint(MarkKind::Read, chunk))) & bit != 0;
                    if lease < min && !unbounded || !marked {
                        return false;
                    }
                }
                let renewed = state == abi::EXPIRED && stamps[1] == version;
                if !renewed {
                    $wait!(fabric.fetch_by_handle(remote, local));
                }
                if !unwitnessed && $wait!(fabric.load_by_handle(remote, BlockWord::Records)) != sequence {
                    return false;
                }
                // See `Coherence::begin_pairing`. A notice has set link and version.
                let redirected = !noticed && fabric.size() > 2 && !fabric.fault(Fault::LabelUnlocked);
                let paired = match redirected {
                    true => $wait!(fabric.try_lock_by_handle(local)),
                    false => None,
                };
                if redirected && paired.is_none() {
                    return false;
                }
                fabric.set_own_by_handle(local, BlockWord::Rd, stamps[0]);
                if !noticed {
                    fabric.set_own_by_handle(local, BlockWord::Wr, stamps[1]);
                }
                if let Some(sequence) = paired {
                    self.point_to(home, block);
                    fabric.set_own_by_handle(local, BlockWord::Records, sequence + 2);
                }
                fabric.set_state_by_handle(local, abi::READABLE);
                let stats = self.stats.mine();
                stats.add(|count| &count.calls, 1);
                match renewed {
                    true => stats.add(|count| &count.blocks_renewed, 1),
                    false => {
                        stats.add(|count| &count.blocks_fetched, 1);
                        stats.add(|count| &count.bytes_moved, fabric.block_bytes(block) as u64);
                    }
                }
                true
            }
        }
    };
}

maybe_async!(wait wait (async) read_single fetch_single set);
maybe_async!(poll_once call () read_single_sync fetch_single_sync set_sync);
