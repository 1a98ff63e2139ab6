//! Locks among the threads of a process, and how a release keeps them inside the runtime.

use dsm_coherence::{Fabric, Fault, Gate};

use super::ModelFabric;
use crate::layout::Loc;
use crate::world::{Shared, Wait, pause};

/// Unlocks when dropped, by an ordinary store.
#[derive(Debug)]
pub struct Guard<'a> {
    world: &'a Shared,
    lock: Loc,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.world.borrow_mut().own_write(self.lock, 0);
    }
}

/// `fence`: also where there are no other threads, and it need not be an atomic operation.
pub(super) async fn lock(fabric: &ModelFabric, loc: Loc, fence: bool) -> Guard<'_> {
    let threads = fabric.world.borrow().processes[fabric.process].threads;
    if threads > 1 {
        pause(&fabric.world, Wait::Equals(fabric.process, loc, 0)).await;
    }
    let old = if threads == 1 && (!fence || fabric.fault(Fault::NoReleaseFence)) {
        std::mem::replace(&mut fabric.world.borrow_mut().processes[fabric.process].cells[loc as usize], 1)
    } else {
        fabric.world.borrow_mut().atomic(fabric.process, loc, |_| Some(1))
    };
    assert_eq!(old, 0, "a thread waits for a lock that it holds");
    if threads > 1 {
        fabric.point().await;
    }
    Guard { world: &fabric.world, lock: loc }
}

/// As [`lock`], if nobody has it.
pub(super) async fn try_lock(fabric: &ModelFabric, loc: Loc) -> Option<Guard<'_>> {
    let threads = fabric.world.borrow().processes[fabric.process].threads;
    if threads > 1 {
        pause(&fabric.world, Wait::Ready).await;
    }
    let old = match threads {
        1 => {
            std::mem::replace(&mut fabric.world.borrow_mut().processes[fabric.process].cells[loc as usize], 1)
        }
        _ => fabric.world.borrow_mut().atomic(fabric.process, loc, |old| (old == 0).then_some(1)),
    };
    if threads > 1 {
        fabric.point().await;
    }
    (old == 0).then(|| Guard { world: &fabric.world, lock: loc })
}

/// See [`dsm_coherence::Fabric::fence`].
pub(super) fn fence(fabric: &ModelFabric) {
    if !fabric.fault(Fault::NoReleaseFence) {
        let mut w = fabric.world.borrow_mut();
        let current = w.current;
        w.drain(current, true);
    }
}

/// See [`dsm_coherence::Fabric::gate_free`].
pub(super) fn gate_free(fabric: &ModelFabric, gate: Gate) -> bool {
    let mut w = fabric.world.borrow_mut();
    let loc = w.layout.gate(gate);
    w.own_read(loc) == 0
}

/// See [`dsm_coherence::Fabric::begin_exclusive`].
pub(super) fn begin_exclusive(fabric: &ModelFabric) -> bool {
    let mut w = fabric.world.borrow_mut();
    let process = &w.processes[fabric.process];
    if process.threads == 1 {
        return true;
    }
    let free = process.in_user == 0;
    w.visible = true;
    let (current, exclusive) = (w.current, w.layout.exclusive());
    w.drain(current, true);
    assert!(w.own_read(exclusive) == 0, "one release at a time");
    if free {
        w.write(fabric.process, exclusive, 1);
    }
    w.observe(u64::from(free));
    w.note(|| format!("begin exclusive: {free}"));
    free
}

/// See [`dsm_coherence::Fabric::end_exclusive`].
pub(super) fn end_exclusive(fabric: &ModelFabric) {
    let mut w = fabric.world.borrow_mut();
    if w.processes[fabric.process].threads > 1 {
        // An ordinary store: who leaves the runtime then sees the states set meanwhile. Until it is visible, others go on with what the release has handed over.
        let exclusive = w.layout.exclusive();
        let held = w.own_value(exclusive) == 1 || fabric.fault(Fault::HeldAfterWait);
        assert!(held, "who lets threads go holds them");
        w.own_write(exclusive, 0);
    }
}
