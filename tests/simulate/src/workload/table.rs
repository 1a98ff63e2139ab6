//! A table that is read at random and seldom changed.

use dsm_explore::hash::Random;

use super::{Sizes, begin, end, expect};
use crate::machine::Machine;
use crate::sync::Participant;

/// Number of entries.
const ENTRIES: u64 = 4096;
/// Bytes of an entry.
const BYTES: u64 = 64;
/// Entries that each process reads in an iteration.
const READS: usize = 64;
/// Entries that one process changes in an iteration.
const CHANGES: usize = 4;

/// Bytes of a process's part.
pub(super) fn part(processes: u32) -> u64 {
    (ENTRIES * BYTES).div_ceil(u64::from(processes)).next_multiple_of(BYTES)
}

pub(super) async fn run<M: Machine + 'static>(m: &M, participant: &Participant<M>, sizes: Sizes) {
    let (me, size) = (m.rank(), m.world().size());
    let mut random = Random::new(u64::from(me));
    let mut values = vec![0; ENTRIES as usize];
    for iteration in 0..sizes.warm_up + sizes.iterations {
        begin(m, iteration, sizes);
        for _ in 0..READS {
            let entry = random.below(ENTRIES as usize);
            let at = entry as u64 * BYTES;
            m.read(at, BYTES).await;
            expect(m.load(at + BYTES - 8).await, values[entry], format_args!("entry {entry} at {me}"));
        }
        participant.barrier().await;
        let mut changes = Random::new(!iteration);
        let writer = iteration * 7919 % u64::from(size);
        for change in 0..CHANGES {
            let entry = changes.below(ENTRIES as usize);
            values[entry] = iteration << 8 | change as u64 | 1 << 63;
            if writer == u64::from(me) {
                m.write(entry as u64 * BYTES, BYTES, values[entry]).await;
            }
        }
        participant.barrier().await;
    }
    end(m).await;
}
