//! When quiet, the next version of a block is above everything that a copy is labelled with, and no copy has been left out by a bound.

use std::rc::Rc;

use dsm_abi::state as abi;
use dsm_coherence::{Coherence, Link, Rank, Word};

use crate::fabric::ModelFabric;
use crate::world::World;

/// Called when all threads have ended.
pub fn check(world: &World, protocols: &[Rc<Coherence<ModelFabric>>]) -> Result<(), String> {
    for index in world.layout.division(world.processes[0].division).iter().copied() {
        let block = world.layout.block(index);
        let chunk = block.chunk();
        let default_home = Rank(world.default_home(index) as u32);
        let word = |p: usize, word| {
            let loc = world.layout.word(word).expect("words of used blocks");
            world.processes[p].cells[loc as usize]
        };
        let state = |p: usize| world.processes[p].cells[world.layout.state(block) as usize] as u8;
        let is_home = |p: &usize| {
            Link::decode(word(*p, Word::Link(block)), Rank(*p as u32), || default_home) == Link::Home
        };
        // That there is one is another property.
        let Some(home) = (0..world.processes.len()).find(is_home) else { continue };
        let lease = word(home, Word::Lease(chunk));
        let version = word(home, Word::Wr(block)).max(word(home, Word::ChunkVersion(chunk)));
        if version > lease {
            return Err(format!(
                "block {index} has version {version} at its home p{home}, which gives leases up to {lease}"
            ));
        }
        if word(home, Word::WriteProtected(chunk)) & block.bit() != 0 && state(home) == abi::WRITABLE {
            return Err(format!(
                "block {index} is noted as write-protected at its home p{home}, where stores pass their check"
            ));
        }
        for (p, protocol) in protocols.iter().enumerate().filter(|(p, _)| *p != home) {
            let (label, bound) = (word(p, Word::Rd(block)), protocol.applied_bound());
            if state(p) == abi::READABLE && !(bound..=lease).contains(&label) {
                return Err(format!(
                    "p{p} has a copy of block {index} with label {label}, not between its bound {bound} and the lease {lease} of the home p{home}"
                ));
            }
        }
    }
    Ok(())
}
