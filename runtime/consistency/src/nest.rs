//! Locks that a thread may take again while it holds them: their depth is kept with the thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;

use crate::Turn;

/// A nest lock that the thread holds.
struct Nest {
    depth: u32,
    /// What tells this holding from one of another thread after the lock was initialised anew.
    holding: Option<Turn>,
}

thread_local! {
    // Never dropped: the program's handlers at its end run behind the destructors of thread-local values.
    static NESTS: RefCell<ManuallyDrop<HashMap<u64, Nest>>> = RefCell::default();
}

/// Takes a lock that the thread may hold already; returns how often it holds it now.
pub fn set(name: u64) -> u32 {
    if let Some(depth) = again(name) {
        return depth;
    }
    crate::lock(name);
    begin(name)
}

fn begin(name: u64) -> u32 {
    let nest = Nest { depth: 1, holding: crate::lock_holding(name) };
    NESTS.with_borrow_mut(|held| held.insert(name, nest));
    1
}

fn again(name: u64) -> Option<u32> {
    NESTS.with_borrow_mut(|held| {
        let nest = held.get_mut(&name)?;
        if nest.holding != crate::lock_holding(name) {
            held.remove(&name);
            return None;
        }
        nest.depth += 1;
        Some(nest.depth)
    })
}

/// As [`set`], but 0 if another thread holds the lock.
pub fn test(name: u64) -> u32 {
    if let Some(depth) = again(name) {
        return depth;
    }
    if crate::try_lock(name) { begin(name) } else { 0 }
}

/// Undoes one of the two.
///
/// Whether the lock is free now.
pub fn unset(name: u64) -> bool {
    let free = NESTS.with_borrow_mut(|held| match held.get_mut(&name) {
        Some(nest) if nest.depth == 1 => held.remove(&name).is_some(),
        Some(nest) => {
            nest.depth -= 1;
            false
        }
        None => false,
    });
    if free {
        crate::unlock(name);
    }
    free
}
