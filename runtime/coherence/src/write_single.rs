//! The fast path of a write miss of a single block whose home is here and write-protected: the process stored to it before, and others have copies. A program that hands the same data over
//! in each of its iterations has one such miss for each block and interval.
//!
//! It does what the general path does ([`crate::miss`]). Before it locks anything it looks whether the home is here, as most misses for stores of many programs are of copies. Nothing here
//! waits for another process.

use crate::block_word::BlockWord;
use crate::fabric::{Fabric, MarkKind};
use crate::types::Block;
use crate::{Coherence, Fault, abi, marks};

impl<F: Fabric> Coherence<F> {
    /// Whether the home of a block is here and write-protected. Says nothing for later unless the records are locked.
    #[inline(always)]
    fn is_protected_home(&self, local: F::Handle, bit: u64) -> bool {
        self.is_own_home(local, bit) && self.fabric.own_by_handle(local, BlockWord::WriteProtected) & bit != 0
    }
}

/// See the module `maybe_async`.
macro_rules! maybe_async {
    ($wait:ident $call:ident ($($asyncness:tt)?) $upgrade_single:ident $upgrade_home:ident) => {
        impl<F: Fabric> Coherence<F> {
            /// Allows stores to a block. Returns false if it takes the general path to do so; nothing was done then.
            #[inline(always)]
            pub(crate) $($asyncness)? fn $upgrade_single(&self, block: Block) -> bool {
                let fabric = &self.fabric;
                // The general path makes twins at homes, too, has other processes' permissions revoked, and has this fault.
                if fabric.watches_writes() || self.has_one_writer() || fabric.fault(Fault::UpgradeMarkedLate) {
                    return false;
                }
                let local = fabric.own_handle(block);
                let checkpoint = fabric.checkpoint();
                if !self.is_protected_home(local, block.bit()) {
                    fabric.live_since(checkpoint, || ());
                    return false;
                }
                let _locked = $wait!(fabric.lock_chunk(block.chunk()));
                let writable = $call!(self.$upgrade_home(block, local));
                fabric.live_since(checkpoint, || writable);
                writable
            }

            /// The chunk is locked.
            #[inline(always)]
            $($asyncness)? fn $upgrade_home(&self, block: Block, local: F::Handle) -> bool {
                let fabric = &self.fabric;
                let (chunk, bit) = (block.chunk(), block.bit());
                // Another thread of the process may have been here meanwhile.
                if fabric.state_by_handle(local) != abi::READABLE {
                    return false;
                }
                let locked = !fabric.fault(Fault::SingleUpgradeUnlocked);
                let sequence = match locked {
                    true => $wait!(fabric.try_lock_by_handle(local)),
                    false => Some(0),
                };
                let Some(sequence) = sequence else { return false };
                let here = self.is_protected_home(local, bit) || fabric.fault(Fault::SingleUpgradeAnywhere);
                if here {
                    let write_protected = fabric.own_by_handle(local, BlockWord::WriteProtected);
                    if !fabric.fault(Fault::SingleUpgradeUnseen) {
                        fabric.set_own_by_handle(local, BlockWord::WriteProtected, write_protected & !bit);
                    }
                    // Behind the writable bit, since a release that finds a shared home drops its read marks, and before the state. Who executes an operation at a home sees one or the other.
                    if !fabric.fault(Fault::SingleUpgradeUnmarked) {
                        marks::set_own(fabric, MarkKind::Dirty, chunk, bit);
                    }
                    // With the records locked: a peer that takes the home finds it writable, or as it was.
                    fabric.set_state_by_handle(local, abi::WRITABLE);
                }
                if locked {
                    fabric.set_own_by_handle(local, BlockWord::Records, sequence + 2);
                }
                here
            }
        }
    };
}

maybe_async!(wait wait (async) upgrade_single upgrade_home);
maybe_async!(poll_once call () upgrade_single_sync upgrade_home_sync);
