//! Loads at homes that are mapped: the program's atomic reads, and those of what is operated on atomically all the time. A copy of such a block would be invalid again with the next operation, which has to publish a version because of it; a load at the home leaves
//! no copy, so that operations there change nothing but the contents.
//!
//! The word of the records is read before and behind the load, as by who reads under a sequence lock: a home that leaves changes it, and the memory of a former home may be given back. Whoever has the records locked, or operates where they are open ([`crate::open`]), changes
//! contents that are read as one, and takes no home away without changing the word. What this process has stored to the block itself is at the home: the state says that nothing of it is here, and no release of the process is under way. Nothing here waits for another process.

use crate::block_word::BlockWord;
use crate::fabric::{Fabric, Gate};
use crate::link::Link;
use crate::types::Block;
use crate::{Coherence, Fault, abi};

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $load_mapped:ident $read_mapped:ident $value_at:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// Value of 1, 2, 4 or 8 aligned bytes at `offset` in a block that is invalid here, as they are at its home. `None` if the home is not mapped, or not to be found where the own link leads, or if it may be behind what this process has stored.
            #[inline(always)]
            pub $($asyncness)? fn $load_mapped(&self, block: Block, offset: usize, bytes: usize) -> Option<u64> {
                let fabric = &self.fabric;
                if !self.has_mapped_homes {
                    return None;
                }
                let here = fabric.own_handle(block);
                let checkpoint = fabric.checkpoint();
                let _locked = $wait!(fabric.lock_chunk(block.chunk()));
                let state = fabric.state_by_handle(here);
                let is_invalid = matches!(state, abi::NOTICED | abi::COLD | abi::EXPIRED)
                    || state == abi::INVALID_DIRTY && fabric.fault(Fault::LoadBesideStores);
                // Behind the state: a release that was under way then, and has what was stored here, is over.
                let is_published = fabric.gate_free(Gate::Publish);
                let link = self.decode(fabric.own_by_handle(here, BlockWord::Link), self.me(), block);
                let mut loaded = None;
                if let Link::Link { to, pending: false } = link
                    && is_invalid
                    && is_published
                {
                    let home = fabric.handle_elsewhere(here, to);
                    loaded = $call!(self.$value_at(home, (offset, bytes), fabric.fault(Fault::LoadAnywhere)));
                }
                fabric.live_since(checkpoint, || loaded);
                self.stats.mine().add(|count| &count.loads_at_home, loaded.is_some().into());
                loaded
            }

            /// Value of an atomic variable of 1, 2, 4 or 8 aligned bytes at `offset` in its block, as it is at its home, as by [`Coherence::read_atomic`]. `None` if the home is not mapped, or not to be found where the own link leads, if this process may have
            /// stored to the block what the home lacks, or if its copy has another value, which the thread might load next.
            #[inline(always)]
            pub $($asyncness)? fn $read_mapped(&self, block: Block, offset: usize, bytes: usize) -> Option<u64> {
                let fabric = &self.fabric;
                if !self.has_mapped_homes {
                    return None;
                }
                let here = fabric.own_handle(block);
                let checkpoint = fabric.checkpoint();
                let _locked = $wait!(fabric.lock_chunk(block.chunk()));
                let state = fabric.state_by_handle(here);
                // As above.
                let is_published = fabric.gate_free(Gate::Publish);
                let link = self.decode(fabric.own_by_handle(here, BlockWord::Link), self.me(), block);
                let (home, has_copy) = match link {
                    Link::Home => (Some(here), false),
                    Link::Link { to, pending: false } if is_published => match state {
                        abi::NOTICED | abi::COLD => (Some(fabric.handle_elsewhere(here, to)), false),
                        abi::READABLE => (Some(fabric.handle_elsewhere(here, to)), true),
                        _ => (None, false),
                    },
                    _ => (None, false),
                };
                let mut read = None;
                if let Some(home) = home {
                    let value = $call!(self.$value_at(home, (offset, bytes), fabric.fault(Fault::ReadAnywhere)));
                    let is_same = match value {
                        Some(value) if has_copy && !fabric.fault(Fault::ReadBesideOlderCopy) => {
                            $wait!(fabric.value_by_handle(here, offset, bytes)) == value
                        }
                        _ => true,
                    };
                    read = value.filter(|_| is_same);
                }
                fabric.live_since(checkpoint, || read);
                read
            }

            /// Value of aligned bytes at a place, if that is the block's home all the while. `anywhere`: also if it is not.
            #[inline(always)]
            $($asyncness)? fn $value_at(&self, place: F::Handle, (offset, bytes): (usize, usize), anywhere: bool) -> Option<u64> {
                let fabric = &self.fabric;
                let (_, block) = fabric.target_of(place);
                let checkpoint = fabric.checkpoint();
                let sequence = $wait!(fabric.load_by_handle(place, BlockWord::Records));
                let homes = $wait!(fabric.load_by_handle(place, BlockWord::Homes));
                let mut found = None;
                if self.is_home(place, block.bit(), homes) || anywhere {
                    let value = $wait!(fabric.value_by_handle(place, offset, bytes));
                    let seen = $wait!(fabric.load_by_handle(place, BlockWord::Records));
                    found = (seen == sequence).then_some(value);
                }
                fabric.live_since(checkpoint, || found);
                found
            }
        }
    };
}

maybe_async!(wait wait (async) load_mapped read_mapped value_at);
maybe_async!(poll_once call () load_mapped_sync read_mapped_sync value_at_sync);
