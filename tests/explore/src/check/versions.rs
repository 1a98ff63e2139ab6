//! When quiet, the home of a block has at least the newest version that was published.

use dsm_coherence::{Link, Rank, Word};

use crate::world::World;

/// Called when all threads have ended.
pub fn check(world: &World) -> Result<(), String> {
    for index in world.layout.division(world.processes[0].division).iter().copied() {
        let block = world.layout.block(index);
        let default_home = Rank(world.default_home(index) as u32);
        let word = |p: usize, word| {
            let loc = world.layout.word(word).expect("words of used blocks");
            world.processes[p].cells[loc as usize]
        };
        let is_home = |p: &usize| {
            Link::decode(word(*p, Word::Link(block)), Rank(*p as u32), || default_home) == Link::Home
        };
        let newest = world.newest.get(&block).copied().unwrap_or_default();
        for home in (0..world.processes.len()).filter(is_home) {
            let version = word(home, Word::Wr(block)).max(word(home, Word::ChunkVersion(block.chunk())));
            if version < newest {
                return Err(format!(
                    "block {index} has version {version} at its home p{home}; version {newest} was published"
                ));
            }
        }
    }
    Ok(())
}
