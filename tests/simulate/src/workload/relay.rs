//! What goes through processes that never had it before: one half of the processes hands a record on under a lock, then the other half reads it. Each iteration
//! has a record of its own.

use super::{Sizes, begin, end, expect};
use crate::machine::Machine;
use crate::sync::Participant;

/// Bytes of a record: all records are in process 0's part.
const BYTES: u64 = 4096;
/// Bytes of a process's part.
pub(super) const PART: u64 = 2048 * BYTES;

pub(super) async fn run<M: Machine + 'static>(m: &M, participant: &Participant<M>, sizes: Sizes) {
    let (me, holders) = (m.rank(), m.world().size() / 2);
    for iteration in 0..sizes.warm_up + sizes.iterations {
        begin(m, iteration, sizes);
        let record = iteration * BYTES;
        if me < holders {
            participant.lock().await;
            let count = timed_load(m, record, 0).await;
            m.write(record, 64, count + 1).await;
            participant.unlock().await;
        }
        participant.barrier().await;
        if me >= holders {
            let count = timed_load(m, record, 1).await;
            expect(count, u64::from(holders), format_args!("record {iteration} at {me}"));
        }
        participant.barrier().await;
    }
    end(m).await;
}

/// Loads a word; while measuring, the time goes to a series of [`crate::net::Times::reads`].
async fn timed_load<M: Machine>(m: &M, addr: u64, series: usize) -> u64 {
    let (world, me) = (m.world(), m.rank());
    world.wait_until_idle(me).await;
    let begin = world.engine.now();
    let value = m.load(addr).await;
    world.wait_until_idle(me).await;
    if world.process(me).measuring.get() {
        world.times.borrow_mut().reads[series].add(world.engine.now() - begin);
    }
    value
}
