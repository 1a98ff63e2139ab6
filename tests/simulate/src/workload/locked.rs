//! Migratory data: a record under a lock.

use super::{Sizes, begin, end, expect};
use crate::costs::ns;
use crate::machine::Machine;
use crate::sync::Participant;

/// Bytes of the record, and of what each process has of the region: the record is in process 0.
pub(super) const BYTES: u64 = 256;
/// What a process computes between two critical sections, ns.
const THINK_NS: u64 = 1000;

pub(super) async fn run<M: Machine + 'static>(m: &M, participant: &Participant<M>, sizes: Sizes) {
    let (world, me) = (m.world().clone(), m.rank());
    let size = u64::from(world.size());
    for iteration in 0..sizes.warm_up + sizes.iterations {
        begin(m, iteration, sizes);
        participant.lock().await;
        let count = m.load(0).await;
        expect(m.load(BYTES - 8).await, count, format_args!("end of the record at {me}"));
        m.write(0, BYTES, count + 1).await;
        participant.unlock().await;
        world.compute(me, ns(THINK_NS)).await;
        if iteration + 1 == sizes.warm_up {
            participant.barrier().await;
        }
    }
    end(m).await;
    participant.barrier().await;
    let all = size * (sizes.warm_up + sizes.iterations);
    expect(m.load(0).await, all, format_args!("the count at {me}"));
}
