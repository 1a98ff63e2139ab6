//! All to all: each process has eight rows of a matrix of words, and reads eight columns, 64 bytes of every row of everybody.

use super::{Sizes, begin, end, expect};
use crate::machine::Machine;
use crate::sync::Meetings;

/// Rows of a process, and columns it reads.
const ROWS: u64 = 8;

/// Bytes of a row.
fn row(processes: u32) -> u64 {
    u64::from(processes) * ROWS * 8
}

/// Bytes of a process's rows.
pub(super) fn part(processes: u32) -> u64 {
    ROWS * row(processes)
}

pub(super) async fn run<M: Machine>(m: &M, meetings: &Meetings, sizes: Sizes) {
    let (me, size) = (m.rank(), m.world().size());
    let (row, part) = (row(size), part(size));
    for iteration in 0..sizes.warm_up + sizes.iterations {
        begin(m, iteration, sizes);
        m.write(u64::from(me) * part, part, iteration << 16 | u64::from(me)).await;
        meetings.barrier(m).await;
        // Everybody begins elsewhere.
        for rank in (me..size).chain(0..me) {
            for line in 0..ROWS {
                let at = u64::from(rank) * part + line * row + u64::from(me) * ROWS * 8;
                m.read(at, ROWS * 8).await;
                let wanted = iteration << 16 | u64::from(rank);
                expect(
                    m.load(at).await,
                    wanted,
                    format_args!("row {line} of {rank} at {me}, iteration {iteration}"),
                );
            }
        }
        meetings.barrier(m).await;
    }
    end(m).await;
}
