//! When quiet, twins exist only where a process holds a block writable without being its home.

use dsm_coherence::{Link, Rank, Word};

use crate::fabric::needs_twin;
use crate::world::World;

/// Called when all threads have ended.
pub fn check(world: &World) -> Result<(), String> {
    for index in world.layout.division(world.processes[0].division).iter().copied() {
        let block = world.layout.block(index);
        let link_loc = world.layout.word(Word::Link(block)).expect("a used block") as usize;
        let default_home = Rank(world.default_home(index) as u32);
        for (p, process) in world.processes.iter().enumerate() {
            let link = Link::decode(process.cells[link_loc], Rank(p as u32), || default_home);
            let home = matches!(link, Link::Home);
            let state = process.cells[world.layout.state(block) as usize] as u8;
            // Where every interval's first store is seen, homes have twins too, and keep them.
            if process.twin_live[index] && !world.watch && (home || !needs_twin(state)) {
                return Err(format!(
                    "p{p} has a twin of block {index} that nobody needs (state {state}, {link:?})"
                ));
            }
            if !home && needs_twin(state) {
                return Err(format!(
                    "p{p} holds block {index} in state {state} after everything was published"
                ));
            }
        }
    }
    Ok(())
}
