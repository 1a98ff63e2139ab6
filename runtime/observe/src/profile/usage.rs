//! What happened to each variable and allocation, in counts alone: for programs that choose block sizes by them.

use dsm_abi::state;
use serde::Serialize;

use super::collect::{Collected, Misses};
use super::findings::sharing::{self, Shares, Sharing};
use super::findings::{by_object, is_coherence};
use super::names::Objects;
use dsm_abi::state::Access;
use dsm_geometry::Geometry;

/// Counts of an object, over all processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// As a reader knows it.
    pub subject: String,
    /// What a rule of a block file calls it; `None` where no rule can name it.
    pub rule: Option<String>,
    /// First address of a variable.
    pub address: Option<usize>,
    /// Bytes; of allocations, of the largest.
    pub bytes: usize,
    /// How many allocations.
    pub allocations: usize,
    /// Size of its blocks.
    pub block: usize,
    /// Misses.
    pub misses: u64,
    /// Of these, the ones for one block alone.
    pub single: u64,
    /// Misses at the distance from the access's miss before that most of its misses have.
    pub strided: u64,
    /// Blocks that the misses were for.
    pub blocks: u64,
    /// Bytes that the accesses that missed asked for.
    pub bytes_asked: u64,
    /// Bytes of the blocks that came with their contents.
    pub bytes_fetched: u64,
    /// Blocks that were missed although they had been there: somebody else's write or reading had ended that.
    pub refetched: u64,
    /// Of these, the ones of which several processes wrote different bytes. Where a miss is for many blocks, the last one and some of the first are looked at.
    pub falsely_shared: u64,
    /// Times that a release found a block changed in which others write too, or read.
    pub changes: u64,
    /// Of these, the ones of falsely shared blocks.
    pub falsely_shared_changes: u64,
}

/// All objects, those with the most misses first.
pub fn all(collected: &Collected, geometry: &Geometry, objects: &mut Objects) -> Vec<Usage> {
    let shares = sharing::shares(&collected.blocks, objects);
    let none = Shares::default();
    let block_bytes = |address: usize| match geometry.is_shared(address) {
        true => geometry.block_bytes(geometry.block(address)),
        false => 0,
    };
    let mut all: Vec<Usage> = by_object(&collected.misses, objects)
        .into_iter()
        .map(|(key, misses)| {
            let object = objects.get(key);
            let identity = Usage {
                subject: object.name.clone(),
                rule: object.rule.clone(),
                // The key of a variable is its address.
                address: object.is_variable().then_some(object.key),
                bytes: object.bytes,
                allocations: object.count,
                ..Usage::default()
            };
            identity.counted(&misses, shares.get(&key).unwrap_or(&none), block_bytes)
        })
        .collect();
    all.sort_by(|a, b| b.misses.cmp(&a.misses).then_with(|| a.subject.cmp(&b.subject)));
    all
}

impl Usage {
    fn counted(self, misses: &[&Misses], shares: &Shares, block_bytes: impl Fn(usize) -> usize) -> Usage {
        let sum = |of: &dyn Fn(&Misses) -> u64| misses.iter().map(|m| of(m)).sum::<u64>();
        let ways = [Sharing::False, Sharing::Written, Sharing::HandedOver];
        Usage {
            block: misses.first().map_or(0, |m| block_bytes(m.range.0)),
            misses: sum(&|m| m.misses),
            single: sum(&|m| m.single),
            strided: sum(&|m| m.strided),
            blocks: sum(&|m| m.blocks),
            bytes_asked: sum(&|m| m.bytes),
            bytes_fetched: sum(&|m| {
                if has_contents(m) { m.blocks * block_bytes(m.range.0) as u64 } else { 0 }
            }),
            refetched: sum(&|m| if is_coherence(m) { m.blocks } else { 0 }),
            falsely_shared: shares.misses(Sharing::False),
            changes: ways.iter().map(|way| shares.changes(*way)).sum(),
            falsely_shared_changes: shares.changes(Sharing::False),
            ..self
        }
    }
}

/// Whether the blocks of such misses are fetched: neither there already nor overwritten as a whole.
fn has_contents(misses: &Misses) -> bool {
    misses.state != state::READABLE && misses.access != Access::Overwrite
}
