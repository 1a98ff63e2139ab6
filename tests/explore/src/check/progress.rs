//! Every thread ends: nothing waits for a lock, a hand-off or a meeting that does not come.

use crate::world::{Wait, World};

/// Called when nothing can happen any more.
pub fn check(world: &World) -> Result<(), String> {
    let stuck: Vec<String> = world
        .threads
        .iter()
        .enumerate()
        .filter(|(_, t)| t.wait != Wait::Done)
        .map(|(i, t)| format!("thread {i} waits for {}", describe(world, t.wait)))
        .collect();
    if stuck.is_empty() { Ok(()) } else { Err(format!("deadlock: {}", stuck.join("; "))) }
}

fn describe(world: &World, wait: Wait) -> String {
    match wait {
        Wait::Differs(p, loc, seen) => format!("{} of p{p} to differ from {seen:#x}", world.layout.name(loc)),
        Wait::Equals(p, loc, value) => format!("{} of p{p} to be {value:#x}", world.layout.name(loc)),
        other => format!("{other:?}"),
    }
}
