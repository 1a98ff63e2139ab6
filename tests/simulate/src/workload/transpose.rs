//! All to all: each process has a row of a matrix of words, and reads eight columns, 64 bytes of everybody's row.

use super::{Sizes, begin, end, expect};
use crate::machine::Machine;
use crate::sync::Participant;

/// Bytes of the columns that a process reads, in each row.
const PIECE: u64 = 64;

/// Bytes of a row.
pub(super) fn row(processes: u32) -> u64 {
    u64::from(processes) * PIECE
}

pub(super) async fn run<M: Machine + 'static>(m: &M, participant: &Participant<M>, sizes: Sizes) {
    let (me, size) = (m.rank(), m.world().size());
    let row = row(size);
    for iteration in 0..sizes.warm_up + sizes.iterations {
        begin(m, iteration, sizes);
        m.write(u64::from(me) * row, row, iteration << 16 | u64::from(me)).await;
        participant.barrier().await;
        // Everybody begins elsewhere.
        for rank in (me..size).chain(0..me) {
            let at = u64::from(rank) * row + u64::from(me) * PIECE;
            m.read(at, PIECE).await;
            let wanted = iteration << 16 | u64::from(rank);
            expect(m.load(at).await, wanted, format_args!("row {rank} at {me}, iteration {iteration}"));
        }
        participant.barrier().await;
    }
    end(m).await;
}
