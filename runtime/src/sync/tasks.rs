//! Words through which tasks go from one process to another; see `omp::task::share`.

use dsm_comm::Word;

use super::cell::Cell;
use super::layout;

/// Slots of a process.
pub const SLOTS: u32 = 1 << 16;
/// Words of a mailbox.
pub const GRANT_WORDS: usize = 16;

/// What threads of the process wait on when they have no task.
pub fn cell(rank: u32) -> Cell {
    Cell::at(rank, layout::TASK_CELL)
}

/// Counts the calls of the process's service thread, see `omp::task::service`.
pub fn service(rank: u32) -> Cell {
    Cell::at(rank, layout::TASK_SERVICE)
}

/// 1 while the process asks for a task.
pub fn flag(rank: u32) -> Word {
    super::control::word(rank, layout::TASK_FLAG)
}

/// Number of processes that ask.
pub fn asking() -> Word {
    super::control::word(0, layout::TASK_ASKING)
}

/// Number of processes without tasks at the current barrier.
pub fn quiet() -> Word {
    super::control::word(0, layout::TASK_QUIET)
}

/// Number of barriers that ended so far.
pub fn epoch() -> Word {
    super::control::word(0, layout::TASK_EPOCH)
}

/// Word `i` of the process's mailbox.
pub fn grant(rank: u32, i: usize) -> Word {
    super::control::word(rank, layout::TASK_GRANT + 8 * i)
}

/// A slot of the process: 0, or the rank that wrote it plus one.
pub fn slot(rank: u32, slot: u32) -> Word {
    super::control::word(rank, layout::TASK_SLOTS + 8 * slot as usize)
}
