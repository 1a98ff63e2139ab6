//! What synchronisation is built on: words that never migrate, and release and acquire of the coherent memory.

use dsm_coherence::ReleaseToken;

use crate::Fault;
use crate::layout::Layout;

/// Bytes of a line.
pub const LINE: usize = 64;
/// Wakes everybody who waits.
pub const ALL: u32 = u32::MAX;

/// A word of 32 bits to wait on: a line, and bytes in it.
#[derive(Clone, Copy, Debug)]
pub struct Cell<L> {
    /// The line.
    pub line: L,
    /// Byte of the value.
    pub value: usize,
    /// Byte of the number of those who may be asleep.
    pub sleepers: usize,
}

impl<L> Cell<L> {
    /// The value is what a line begins with, the number of sleepers follows.
    pub fn first(line: L) -> Cell<L> {
        Cell { line, value: 0, sleepers: 4 }
    }
}

/// Why a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// For the lock of a name.
    Lock(u64),
    /// For the lock of a part of the table of locks, which is held for a moment.
    Table,
    /// For the other processes at a barrier of so many.
    Barrier(u32),
    /// For the processes of a region of so many.
    Join(u32),
    /// For the next region.
    Fork,
    /// For a notification of the condition of a name.
    Condition(u64),
    /// For a message of a reduction, or until the last one was taken.
    Reduction,
}

/// What orders an acquire behind a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// A lock's turn.
    Lock {
        /// Slot of the table.
        slot: usize,
        /// The ticket whose turn it is.
        ticket: u32,
    },
    /// A signal of a barrier.
    Barrier {
        /// Who is signalled.
        to: u32,
        /// Round.
        round: usize,
        /// Number of the signal among those of this round at this process.
        count: u32,
    },
    /// The begin of a region in a process.
    Fork {
        /// The process.
        to: u32,
        /// Number of the fork message.
        count: u32,
    },
    /// The end of a region in a process.
    Join {
        /// The process.
        from: u32,
        /// Number of the fork message that began it.
        count: u32,
    },
}

/// The words of all processes. A place is a line of a process, by its offset there, and a byte in it: a multiple of 8 for words, of 4 for half words.
///
/// Operations on words are sequentially consistent. What is *posted* is only ordered behind what the thread did before, and comes some time later: on a processor it
/// is an ordinary store, over a network a message that is not answered.
pub trait Words {
    /// Handle of a line, looked up once.
    type Line: Copy;
    /// Where things are.
    const LAYOUT: Layout;

    /// This process.
    fn rank(&self) -> u32;
    /// Number of processes.
    fn size(&self) -> u32;
    /// The line at an offset, a multiple of [`LINE`].
    fn line(&self, at: u32, offset: usize) -> Self::Line;

    /// Reads a word.
    fn load(&self, line: Self::Line, at: usize) -> u64;
    /// Writes a word.
    fn store(&self, line: Self::Line, at: usize, value: u64);
    /// Adds to a word; returns what it was.
    fn fetch_add(&self, line: Self::Line, at: usize, value: u64) -> u64;
    /// Sets bits of a word; returns what it was.
    fn fetch_or(&self, line: Self::Line, at: usize, bits: u64) -> u64;
    /// Puts `new` in the place of `expected`; returns what the word was.
    fn compare_exchange(&self, line: Self::Line, at: usize, expected: u64, new: u64) -> u64;
    /// Reads half a word.
    fn load_half(&self, line: Self::Line, at: usize) -> u32;
    /// Writes half a word.
    fn store_half(&self, line: Self::Line, at: usize, value: u32);
    /// Adds to half a word; returns what it was.
    fn fetch_add_half(&self, line: Self::Line, at: usize, value: u32) -> u32;
    /// Reads words one after the other.
    fn read_words(&self, at: u32, offset: usize, into: &mut [u64]);
    /// Writes words one after the other.
    fn write_words(&self, at: u32, offset: usize, words: &[u64]);

    /// Posts a word.
    fn post(&self, line: Self::Line, at: usize, value: u64);
    /// Posts half a word.
    fn post_half(&self, line: Self::Line, at: usize, value: u32);
    /// Posts the value of a cell, and wakes those who wait for it with a mask that shares a bit, behind that.
    fn post_and_wake(&self, cell: Cell<Self::Line>, value: u32, mask: u32);

    /// Waits until a condition holds for the value of a cell; returns it. Changes are noticed that come with a wake of a mask that shares a bit.
    fn wait(&self, cell: Cell<Self::Line>, mask: u32, waiting: Waiting, until: impl Fn(u32) -> bool) -> u32;
    /// As [`Words::wait`], of a cell whose value was `seen`, which the condition does not hold for.
    fn wait_change(
        &self,
        cell: Cell<Self::Line>,
        mask: u32,
        _seen: u32,
        waiting: Waiting,
        until: impl Fn(u32) -> bool,
    ) -> u32 {
        self.wait(cell, mask, waiting, until)
    }
    /// Looks for as long as threads of the job do before they fall asleep; `None` if the condition did not hold meanwhile.
    fn spin(&self, cell: Cell<Self::Line>, until: impl Fn(u32) -> bool) -> Option<u32>;
    /// Looks for a moment; whether the condition held meanwhile.
    fn look(&self, cell: Cell<Self::Line>, until: impl Fn(u32) -> bool) -> bool {
        until(self.load_half(cell.line, cell.value))
    }
    /// As [`Words::wait`] with all masks, without looking for long before.
    fn sleep(&self, cell: Cell<Self::Line>, until: impl Fn(u32) -> bool) -> u32;
    /// Adds to the value of a cell and wakes all who wait for it; returns what it was.
    fn add_and_wake(&self, cell: Cell<Self::Line>, value: u32) -> u32;
    /// Writes the value of a cell and wakes those who wait for it with a mask that shares a bit.
    fn store_and_wake(&self, cell: Cell<Self::Line>, value: u32, mask: u32);
    /// Wakes all who wait for a cell.
    fn wake(&self, cell: Cell<Self::Line>);

    /// Whether procedures on the words of a process are executed there ([`crate::serve`]), as its words are not at hand.
    #[inline]
    fn asks(&self, _at: u32) -> bool {
        false
    }
    /// Has a process execute a procedure by [`crate::serve`]; returns the length of the reply, at most [`crate::REPLY_BYTES`].
    fn ask(&self, _at: u32, _request: &[u8], _reply: &mut [u8]) -> usize {
        unreachable!("all words are at hand")
    }
    /// The same without a reply, posted.
    fn post_request(&self, _at: u32, _request: &[u8]) {
        unreachable!("all words are at hand")
    }
    /// As [`Words::ask`], of a request that has the process acquire what this one has published: what that is may go with it.
    #[inline]
    fn ask_to_acquire(&self, at: u32, request: &[u8], reply: &mut [u8]) -> usize {
        self.ask(at, request, reply)
    }
    /// The same without a reply, posted.
    #[inline]
    fn post_to_acquire(&self, at: u32, request: &[u8]) {
        self.post_request(at, request);
    }

    /// Whether somebody wants to know of each [`Edge`].
    #[inline]
    fn is_traced(&self) -> bool {
        false
    }

    /// Keeps the process's other threads out of its mailbox for tasks while the value lives.
    fn guard_mailbox(&self) -> impl Sized;
    /// Keeps handlers of signals, which may synchronise too, from interrupting the thread while the value lives.
    #[inline]
    fn defer_handlers(&self) -> impl Sized {}
    /// Has another thread call [`crate::Process::pass_turn`].
    fn delegate_turn(&self, slot: usize, ticket: u32);
    /// After how many turns in a row a process caches a lock that nobody else takes, see [`crate::Process::unlock`]. `None`: never.
    #[inline]
    fn caches_after(&self) -> Option<u64> {
        None
    }
    /// The process begins to cache a lock: from now on it may be called to give locks up. False: it cannot be now.
    fn begin_caching(&self) -> bool {
        true
    }
    /// Has a thread of a process call [`crate::Process::give_up_revoked`].
    fn call_revoker(&self, _at: u32) {
        unreachable!("no lock is cached")
    }
    /// Ends the job: there are more than `slots` locks that are held and may only be in the same part of the table.
    fn too_many_locks(&self, slots: usize) -> !;
    /// Lets others go on, before the next of several looks at the same words.
    #[inline]
    fn relax(&self) {
        std::hint::spin_loop()
    }

    /// Whether to break a rule. For explorers.
    #[inline]
    fn fault(&self, _fault: Fault) -> bool {
        false
    }
}

/// The coherent memory that synchronisation orders, as one process has it.
pub trait Memory {
    /// Publishes what the process wrote.
    fn release(&self);
    /// The same, for `edge`; calls `then` with what the acquirer is to get, as soon as it is published.
    fn release_then(&self, edge: impl FnOnce() -> Edge, then: impl FnOnce(ReleaseToken));
    /// How far the process has published what it wrote.
    fn published(&self) -> u64;
    /// Acquires what a process had published when it made the token.
    fn acquire(&self, from: u32, token: ReleaseToken, edge: impl FnOnce() -> Edge);
    /// Acquires all that a process has published by now.
    fn acquire_published(&self, from: u32);
    /// A hint that [`Memory::acquire`] with this token comes soon, or with a later one.
    #[inline]
    fn prefetch(&self, _token: ReleaseToken) {}

    /// The process has released and is about to tell others of it by `edges`.
    #[inline]
    fn precedes(&self, _edges: impl Iterator<Item = Edge>) {}
    /// All that a process knew when it released is known here now.
    #[inline]
    fn follows(&self, _from: u32) {}
    /// Process 0 has released and is about to start a region.
    #[inline]
    fn begin_fork(&self) {}
    /// A fork message, with this number, was written here or read.
    #[inline]
    fn begin_region(&self, _count: u32) {}
    /// The process has acquired from process 0 and takes part in the region.
    #[inline]
    fn forked(&self) {}
    /// The process has released and is about to signal that it has come to a barrier. The result is given to [`Memory::depart`].
    #[inline]
    fn arrive(&self) -> u32 {
        0
    }
    /// All of so many processes have come to the barrier.
    #[inline]
    fn depart(&self, _arrival: u32, _participants: u32) {}
    /// So many processes have acquired from each other.
    #[inline]
    fn synchronised(&self, _participants: u32) {}
}
