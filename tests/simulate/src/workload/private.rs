//! Own data only: what must cost nothing.

use super::{Sizes, begin, end, expect};
use crate::machine::Machine;
use crate::sync::Participant;

/// Bytes of each process: whole blocks of any size.
pub(super) const BYTES: u64 = 64 << 10;

pub(super) async fn run<M: Machine + 'static>(m: &M, participant: &Participant<M>, sizes: Sizes) {
    let first = u64::from(m.rank()) * BYTES;
    for iteration in 0..sizes.warm_up + sizes.iterations {
        begin(m, iteration, sizes);
        m.write(first, BYTES, iteration).await;
        participant.barrier().await;
        let found = m.load(first + BYTES - 8).await;
        expect(found, iteration, format_args!("own word of process {}", m.rank()));
    }
    end(m).await;
}
