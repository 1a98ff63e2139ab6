//! One-dimensional Jacobi iteration over two contiguous arrays. The parts are no multiple of a page, as those of a static schedule seldom are, but of
//! 64 bytes: larger blocks are shared at the edges.

use super::{Sizes, begin, end, expect, regions};
use crate::machine::Machine;
use crate::sync::Participant;

/// Bytes of a process's part of an array: 1000 numbers.
pub(super) const BYTES: u64 = 8000;
/// Bytes of the neighbours' parts that an update needs.
const EDGE: u64 = 64;

pub(super) async fn run<M: Machine + 'static>(m: &M, participant: &Participant<M>, sizes: Sizes) {
    let world = m.world().clone();
    let (me, size) = (m.rank(), world.size());
    let starts = regions(size, &[BYTES, BYTES]).parts;
    for iteration in 0..sizes.warm_up + sizes.iterations {
        begin(m, iteration, sizes);
        let [(old, _), (new, _)] =
            if iteration % 2 == 0 { [starts[0], starts[1]] } else { [starts[1], starts[0]] };
        let part = |rank: u32, array: u64| array + u64::from(rank) * BYTES;
        for (rank, at) in [(me.checked_sub(1), BYTES - EDGE), (Some(me + 1).filter(|r| *r < size), 0)] {
            let Some(rank) = rank else { continue };
            let at = part(rank, old) + at;
            m.read(at, EDGE).await;
            let wanted = if iteration == 0 { 0 } else { value(rank, iteration - 1) };
            for word in [at, at + EDGE - 8] {
                expect(
                    m.load(word).await,
                    wanted,
                    format_args!("edge of {rank} at {me}, iteration {iteration}"),
                );
            }
        }
        m.write(part(me, new), BYTES, value(me, iteration)).await;
        participant.barrier().await;
    }
    end(m).await;
}

/// What a process writes in an iteration.
fn value(rank: u32, iteration: u64) -> u64 {
    (iteration + 1) << 16 | u64::from(rank)
}
