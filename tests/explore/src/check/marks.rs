//! When quiet, what has to be looked at later is marked: summaries lead to every mark, a bound finds every copy, and the next release of a home that stores without
//! asking finds what somebody has a current copy of.

use std::rc::Rc;

use dsm_abi::state as abi;
use dsm_coherence::{Coherence, Link, MarkKind, Rank, Word};

use crate::fabric::ModelFabric;
use crate::world::World;

const LEVELS: u8 = 3;

/// Called when all threads have ended.
pub fn check(world: &World, protocols: &[Rc<Coherence<ModelFabric>>]) -> Result<(), String> {
    let word = |p: usize, word| {
        let loc = world.layout.word(word).expect("words of used blocks");
        world.processes[p].cells[loc as usize]
    };
    let mark = |p, kind, level, index| word(p, Word::Mark { kind, level, index });
    for index in world.layout.division(world.processes[0].division).iter().copied() {
        let block = world.layout.block(index);
        let (chunk, bit) = (block.chunk(), block.bit());
        for p in 0..world.processes.len() {
            for kind in &MarkKind::ALL[..MarkKind::SUMMARISED] {
                let mut at = chunk.0;
                for level in 1..LEVELS {
                    if mark(p, *kind, level - 1, at) != 0
                        && mark(p, *kind, level, at / 64) & 1 << (at % 64) == 0
                    {
                        return Err(format!(
                            "p{p}: no summary of level {level} leads to the {kind:?} marks of block {index}"
                        ));
                    }
                    at /= 64;
                }
            }
        }
        let default_home = Rank(world.default_home(index) as u32);
        let link = |p: usize| Link::decode(word(p, Word::Link(block)), Rank(p as u32), || default_home);
        let state = |p: usize| world.processes[p].cells[world.layout.state(block) as usize] as u8;
        let Some(home) = (0..world.processes.len()).find(|p| link(*p) == Link::Home) else { continue };
        let version = word(home, Word::Wr(block)).max(word(home, Word::ChunkVersion(chunk)));
        let noted =
            |p: usize, kinds: &[MarkKind]| kinds.iter().any(|kind| mark(p, *kind, 0, chunk.0) & bit != 0);
        let asks = word(home, Word::WriteProtected(chunk)) & bit != 0;
        for (p, protocol) in protocols.iter().enumerate() {
            if state(p) != abi::READABLE {
                continue;
            }
            // A home that asks becomes a copy with the lease that it gives now when it is taken.
            let label = if p == home { word(p, Word::Lease(chunk)) } else { word(p, Word::Rd(block)) };
            let (listed, least) = protocol.listed_copies(chunk);
            let found = listed & bit != 0 && least <= label.max(protocol.applied_bound());
            if !found && !noted(p, &[MarkKind::Cached, MarkKind::Dirty, MarkKind::Taken]) {
                return Err(format!(
                    "p{p} has a copy of block {index} with label {label} that a bound would not look at"
                ));
            }
            if p == home {
                continue;
            }
            let in_ring = (0..world.layout.ring_entries()).any(|slot| {
                let reader = Rank(p as u32);
                let is_left = |number: &u64| number % world.layout.ring_entries() == slot;
                let mut left = word(home, Word::RingConsumed(reader))..word(home, Word::RingTail(reader));
                left.any(|number| is_left(&number)) && word(home, Word::RingEntry { reader, slot }) == block.0
            });
            if label >= version && !asks && !in_ring && !noted(home, &[MarkKind::Read, MarkKind::Dirty]) {
                return Err(format!(
                    "p{p} has a current copy of block {index}, and a store at the home p{home} would not be published"
                ));
            }
        }
    }
    Ok(())
}
