//! Where the words are.

use crate::lock::ENTRY;
use crate::words::LINE;

/// Where tasks go from process to process: a line each, but for the last two.
#[derive(Clone, Copy, Debug)]
pub struct Tasks {
    /// What threads without tasks wait on: a [`Cell`](crate::Cell).
    pub cell: usize,
    /// Calls of the thread that hands out the process's tasks: a [`Cell`](crate::Cell).
    pub service: usize,
    /// Which tasks the process requests.
    pub wish: usize,
    /// Processes that request tasks, as this one is told.
    pub thieves: usize,
    /// Whether the process runs tasks while it waits for a signal of a barrier.
    pub barrier: usize,
    /// The mailbox: the sender, and its message.
    pub message: usize,
    /// Words of the mailbox.
    pub message_words: usize,
    /// Slots, a word each.
    pub slots: usize,
    /// Number of these.
    pub slot_count: usize,
}

impl Tasks {
    /// The parts one behind the other.
    pub const fn packed(offset: usize, message_words: usize, slot_count: usize) -> Tasks {
        let message = offset + 5 * LINE;
        Tasks {
            cell: offset,
            service: offset + LINE,
            wish: offset + 2 * LINE,
            thieves: offset + 3 * LINE,
            barrier: offset + 4 * LINE,
            message,
            message_words,
            slots: message + (8 * message_words).next_multiple_of(LINE),
            slot_count,
        }
    }

    /// Behind the last word.
    pub const fn end(&self) -> usize {
        self.slots + (8 * self.slot_count).next_multiple_of(LINE)
    }
}

/// Where messages of reductions arrive.
#[derive(Clone, Copy, Debug)]
pub struct Reductions {
    /// What two processes have for this one: for each a [`Cell`](crate::Cell) that counts the messages, then the last two, each where the last but one before was.
    pub arrivals: usize,
    /// Longest message, words.
    pub words: usize,
    /// Messages of this process that were taken: a [`Cell`](crate::Cell).
    pub taken: usize,
}

impl Reductions {
    /// Bytes of a message.
    const fn message(&self) -> usize {
        (8 * self.words).next_multiple_of(LINE)
    }

    /// Distance between what the two have.
    pub const fn stride(&self) -> usize {
        LINE + 2 * self.message()
    }

    /// From the number of messages to the one of a number.
    pub const fn place(&self, number: u32) -> usize {
        LINE + (number as usize % 2) * self.message()
    }

    /// The parts one behind the other.
    pub const fn packed(offset: usize, words: usize) -> Reductions {
        let mut reductions = Reductions { arrivals: offset, words, taken: 0 };
        reductions.taken = offset + 2 * reductions.stride();
        reductions
    }
}

/// Offsets in the words of each process, multiples of [`LINE`]. Fork, join, the table of locks and conditions are used at process 0, barriers, locks that are cached, tasks and reductions at every process.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Arrivals of each barrier round: a [`Cell`](crate::Cell), then how far the signalling process has published. A line each.
    pub barrier: usize,
    /// Number of forks so far, a [`Cell`](crate::Cell), then the message.
    pub fork: usize,
    /// Longest message of a fork, words.
    pub fork_words: usize,
    /// Arrivals at the end of regions: a [`Cell`](crate::Cell), then for each process from 1 on how far it has published.
    pub join: usize,
    /// Slots of the table of locks, a line each.
    pub locks: usize,
    /// Number of these, a power of two.
    pub lock_slots: usize,
    /// Number of neighbouring slots in which a name may live that is not at home.
    pub lock_window: usize,
    /// For each slot a bit: whether a name whose home it is was ever put elsewhere.
    pub lock_spilled: usize,
    /// Locks of parts of the table, a line each.
    pub lock_stripes: usize,
    /// Number of these.
    pub lock_stripe_count: usize,
    /// Number of locks that lost their slots.
    pub lock_evictions: usize,
    /// What each process knows of locks that it caches, as many as there are slots.
    pub lock_cached: usize,
    /// Revocations of locks that the process caches: a [`Cell`](crate::Cell), then the first of a list.
    pub lock_revocations: usize,
    /// Counters of notifications: a [`Cell`](crate::Cell) in a line each.
    pub conditions: usize,
    /// Number of these, a power of two.
    pub condition_slots: usize,
    /// Hand-over of tasks.
    pub tasks: Tasks,
    /// Reductions.
    pub reduction: Reductions,
}

impl Layout {
    /// Words in front of the message of a fork: participants, and how far process 0 has published.
    pub const FORK_HEADER: usize = 2;
    /// From the number of forks to the message: its length, then its header.
    pub const FORK_MESSAGE: usize = 8;

    /// The parts one behind the other from an offset on, for at most so many processes; `fork_words`, the slots, window and stripes of the table of locks,
    /// `condition_slots`, words of the mailbox and number of slots for tasks, and words of reductions as the fields say.
    pub const fn packed(
        offset: usize,
        processes: usize,
        fork_words: usize,
        (lock_slots, lock_window, lock_stripe_count): (usize, usize, usize),
        condition_slots: usize,
        (message_words, task_slots): (usize, usize),
        reduction_words: usize,
    ) -> Layout {
        let mut layout = Layout {
            barrier: offset,
            fork: offset + processes.next_power_of_two().ilog2() as usize * LINE,
            fork_words,
            join: 0,
            locks: 0,
            lock_slots,
            lock_window,
            lock_spilled: 0,
            lock_stripes: 0,
            lock_stripe_count,
            lock_evictions: 0,
            lock_cached: 0,
            lock_revocations: 0,
            conditions: 0,
            condition_slots,
            tasks: Tasks::packed(0, message_words, task_slots),
            reduction: Reductions::packed(0, reduction_words),
        };
        layout.join = layout.fork + layout.fork_bytes().next_multiple_of(LINE);
        layout.locks = layout.join + (8 * processes).next_multiple_of(LINE);
        layout.lock_spilled = layout.locks + lock_slots * LINE;
        layout.lock_stripes = layout.lock_spilled + layout.spilled_bytes();
        layout.lock_evictions = layout.lock_stripes + lock_stripe_count * LINE;
        layout.lock_cached = layout.lock_evictions + LINE;
        layout.lock_revocations = layout.lock_cached + (lock_slots * ENTRY).next_multiple_of(LINE);
        layout.conditions = layout.lock_revocations + LINE;
        layout.tasks = Tasks::packed(layout.conditions + condition_slots * LINE, message_words, task_slots);
        layout.reduction = Reductions::packed(layout.tasks.end(), reduction_words);
        layout
    }

    /// Behind the last part.
    pub const fn end(&self) -> usize {
        self.reduction.taken + LINE
    }

    /// Bytes of what begins at [`Layout::fork`].
    pub const fn fork_bytes(&self) -> usize {
        Layout::FORK_MESSAGE + 8 * (1 + Layout::FORK_HEADER + self.fork_words)
    }

    /// Bytes of what begins at [`Layout::lock_spilled`].
    pub const fn spilled_bytes(&self) -> usize {
        self.lock_slots.div_ceil(8).next_multiple_of(LINE)
    }
}
