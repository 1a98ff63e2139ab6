//! Memory of the protocol stays bounded by the signature's capacity.

use std::rc::Rc;

use dsm_coherence::Coherence;

use crate::fabric::ModelFabric;
use crate::world::World;

/// Called when all threads have ended.
pub fn check(world: &World, protocols: &[Rc<Coherence<ModelFabric>>]) -> Result<(), String> {
    let capacity = world.layout.notices;
    for (p, protocol) in protocols.iter().enumerate() {
        let (listed, remembered) = protocol.signature_sizes();
        if listed > capacity || remembered > protocol.remembered_bound() {
            return Err(format!(
                "p{p} lists {listed} and remembers {remembered} notices, capacity {capacity}"
            ));
        }
    }
    Ok(())
}
