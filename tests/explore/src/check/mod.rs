//! What must hold when a run has ended and nothing is under way. One property a file.

mod bounds;
mod homes;
mod leases;
mod marks;
mod progress;
mod stale;
mod twins;
mod versions;

use std::rc::Rc;

use dsm_coherence::Coherence;

use crate::fabric::ModelFabric;
use crate::world::World;

/// All properties; returns what is violated. Twins are looked at only if there were barriers enough to drop them (`quiesced`).
pub fn all(world: &World, protocols: &[Rc<Coherence<ModelFabric>>], quiesced: bool) -> Vec<String> {
    if let Err(stuck) = progress::check(world) {
        return vec![stuck];
    }
    let twins = if quiesced { twins::check(world) } else { Ok(()) };
    [
        homes::check(world),
        twins,
        stale::check(world),
        leases::check(world, protocols),
        marks::check(world, protocols),
        bounds::check(world, protocols),
        versions::check(world),
    ]
    .into_iter()
    .filter_map(Result::err)
    .collect()
}
