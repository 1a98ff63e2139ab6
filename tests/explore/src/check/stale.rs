//! When quiet, every copy that a read check would let through holds the last written bytes.

use dsm_abi::state::READ_LIMIT;

use crate::world::World;

/// Called when all threads have ended.
pub fn check(world: &World) -> Result<(), String> {
    for addr in 0..world.layout.bytes() {
        let block = world.layout.block(world.layout.index_at(addr, world.processes[0].division));
        let last = u64::from(world.oracle.last(addr));
        for (p, process) in world.processes.iter().enumerate() {
            let state = process.cells[world.layout.state(block) as usize];
            let value = process.cells[world.layout.data(addr) as usize];
            if state < u64::from(READ_LIMIT) && value != last {
                return Err(format!(
                    "p{p} has a readable stale byte {addr}: {value:#04x}, last was {last:#04x}"
                ));
            }
        }
    }
    Ok(())
}
