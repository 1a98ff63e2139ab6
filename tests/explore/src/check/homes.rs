//! When quiet, every block has exactly one home, unlocked and noted as such, and from everywhere the links lead there in fewer hops than there are processes.

use dsm_coherence::{Link, Rank, Word};

use crate::world::World;

/// Called when all threads have ended.
pub fn check(world: &World) -> Result<(), String> {
    for index in world.layout.division(world.processes[0].division).iter().copied() {
        let block = world.layout.block(index);
        let loc = world.layout.word(Word::Link(block)).expect("a used block") as usize;
        let default_home = Rank(world.default_home(index) as u32);
        let link = |p: usize| Link::decode(world.processes[p].cells[loc], Rank(p as u32), || default_home);
        let size = world.processes.len();
        let homes = (0..size).filter(|p| matches!(link(*p), Link::Home)).count();
        if homes != 1 {
            return Err(format!("block {index} has {homes} homes"));
        }
        for p in 0..size {
            let chunk = block.chunk();
            let noted = world.layout.word(Word::Homes(chunk)).expect("a chunk with used blocks") as usize;
            let noted = (world.processes[p].cells[noted] & block.bit() != 0) != (p as u32 == default_home.0);
            if noted != (link(p) == Link::Home) {
                return Err(format!(
                    "p{p} is noted as home of block {index}: {noted}, but its link says {:?}",
                    link(p)
                ));
            }
            match link(p) {
                Link::Wait | Link::Taking | Link::Link { pending: true, .. } => {
                    return Err(format!("block {index} is still {:?} at p{p}", link(p)));
                }
                _ => {}
            }
            let mut at = p;
            let mut hops = 0;
            while let Link::Link { to, .. } = link(at) {
                at = to.0 as usize;
                hops += 1;
                if hops >= size {
                    return Err(format!("block {index}: the links from p{p} do not lead to the home"));
                }
            }
        }
    }
    Ok(())
}
