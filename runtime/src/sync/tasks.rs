//! Words through which tasks go from one process to another; see `omp::task::steal`.

use dsm_comm::Word;

use super::cell::Cell;
use super::layout;

/// Slots of a process.
pub const SLOTS: u32 = 1 << 16;
/// Words of a mailbox.
pub const MESSAGE_WORDS: usize = 192;

/// What threads of the process wait on when they have no task.
pub fn cell(rank: u32) -> Cell {
    Cell::at(rank, layout::TASK_CELL)
}

/// Counts the calls of the process's service thread, see `omp::task::service`.
pub fn service(rank: u32) -> Cell {
    Cell::at(rank, layout::TASK_SERVICE)
}

/// Which tasks the process requests; 0 for none.
pub fn wish(rank: u32) -> Word {
    super::control::word(rank, layout::TASK_WISH)
}

/// Number of processes that request tasks, as the process `rank` is told.
pub fn thieves(rank: u32) -> Word {
    super::control::word(rank, layout::TASK_THIEVES)
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
pub fn message(rank: u32, i: usize) -> Word {
    super::control::word(rank, layout::TASK_MESSAGE + 8 * i)
}

/// Writes into the process's mailbox from word `i` on.
pub fn write_message(rank: u32, i: usize, words: &[u64]) {
    super::control::write_words(rank, layout::TASK_MESSAGE + 8 * i, words);
}

/// A slot of the process, see `omp::task::export`.
pub fn slot(rank: u32, slot: u32) -> Word {
    super::control::word(rank, layout::TASK_SLOTS + 8 * slot as usize)
}
