//! Every thread ends: nothing waits for a lock, a hand-off or a barrier that does not come.

use dsm_coherence::Word;

use crate::world::{Wait, World};

/// Called when nothing can happen any more.
pub fn check(world: &World) -> Result<(), String> {
    let stuck: Vec<String> = world
        .threads
        .iter()
        .enumerate()
        .filter(|(i, t)| t.wait != Wait::Done && (*i < world.running || !is_idle(world, t.wait)))
        .map(|(i, t)| format!("thread {i} waits for {}", describe(world, t.wait)))
        .collect();
    if stuck.is_empty() { Ok(()) } else { Err(format!("deadlock: {}", stuck.join("; "))) }
}

/// Whether a thread that serves other processes waits for a request.
fn is_idle(world: &World, wait: Wait) -> bool {
    matches!(wait, Wait::Differs(_, loc, 0) if Some(loc) == world.layout.word(Word::Revoked))
}

fn describe(world: &World, wait: Wait) -> String {
    match wait {
        Wait::Differs(p, loc, seen) => format!("{} of p{p} to differ from {seen:#x}", world.layout.name(loc)),
        Wait::Equals(p, loc, value) => format!("{} of p{p} to be {value:#x}", world.layout.name(loc)),
        other => format!("{other:?}"),
    }
}
