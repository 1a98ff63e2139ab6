//! Requests for tasks, and the mailbox that these come through.

use std::sync::atomic::Ordering;

use super::{Wish, Worker};
use crate::words::{Memory, Words};
use crate::{Fault, Process};

impl<W: Words> Process<'_, W> {
    #[inline(always)]
    fn wish_of(self, rank: u32) -> W::Line {
        self.words.line(rank, W::LAYOUT.tasks.wish)
    }

    /// Number of processes that request tasks, as a process is told.
    #[inline(always)]
    pub(super) fn thieves(self, rank: u32) -> u64 {
        self.words.load(self.words.line(rank, W::LAYOUT.tasks.thieves), 0)
    }

    fn count_thief(self, thief: u32, participants: u32, change: u64) {
        for rank in (0..participants).filter(|rank| *rank != thief) {
            self.words.fetch_add(self.words.line(rank, W::LAYOUT.tasks.thieves), 0, change);
        }
    }

    /// Makes a request known, which nobody else changes meanwhile.
    fn announce(self, thief: u32, wish: u64, participants: u32) {
        self.count_thief(thief, participants, 1);
        self.words.store(self.wish_of(thief), 0, wish);
    }

    /// Ends a request; false if there is none, or somebody else did.
    fn claim(self, thief: u32, wish: u64, participants: u32) -> bool {
        let found = self.words.compare_exchange(self.wish_of(thief), 0, wish, Wish::NONE);
        let claimed = found == wish || self.words.fault(Fault::ClaimUnseen);
        if claimed {
            self.count_thief(thief, participants, 1u64.wrapping_neg());
        }
        claimed
    }

    /// Gives tasks to processes that request some. `has_spare` tells whether a process may have tasks; `has_such` tells whether there seem to be tasks that a process asks for, before its request is claimed;
    /// `give` is to [`hand over`](Process::hand_over) a batch of such to it, and tells whether it did.
    #[inline]
    pub fn serve(
        self,
        participants: u32,
        has_spare: impl Fn(u32) -> bool,
        has_such: impl Fn(u32, Wish) -> bool,
        give: impl Fn(u32, Wish) -> bool,
    ) {
        if participants > 1 && self.thieves(self.words.rank()) != 0 {
            self.serve_all(participants, has_spare, has_such, give);
        }
    }

    #[cold]
    fn serve_all(
        self,
        participants: u32,
        has_spare: impl Fn(u32) -> bool,
        has_such: impl Fn(u32, Wish) -> bool,
        give: impl Fn(u32, Wish) -> bool,
    ) {
        let me = self.words.rank();
        for thief in (1..participants).map(|i| (me + i) % participants) {
            if !has_spare(thief) {
                continue;
            }
            let word = self.words.load(self.wish_of(thief), 0);
            // Who has left the last region, and is about to end its request, gets none of this one.
            let region = match self.words.fault(Fault::RegionUnseen) {
                true => (word >> 32) as u32,
                false => self.last_fork(),
            };
            let Some(wish) = Wish::in_region(word, region) else { continue };
            if !has_such(thief, wish) {
                continue;
            }
            if self.words.fault(Fault::WishClearedLate) {
                if give(thief, wish) {
                    self.words.store(self.wish_of(thief), 0, Wish::NONE);
                    self.count_thief(thief, participants, 1u64.wrapping_neg());
                }
            } else if self.claim(thief, word, participants) && !give(thief, wish) {
                self.announce(thief, word, participants);
            }
        }
    }

    fn mailbox(self, rank: u32) -> W::Line {
        self.words.line(rank, W::LAYOUT.tasks.message)
    }

    /// Word `i` of the own mailbox: 0 is the sender's rank plus one, or 0 if there is no message; the message follows.
    fn mail(self, i: usize) -> u64 {
        let (line, at) = self.word_at(self.words.rank(), W::LAYOUT.tasks.message + 8 * i);
        self.words.load(line, at)
    }

    /// Whether there is a message.
    pub(super) fn has_mail(self) -> bool {
        self.mail(0) != 0
    }

    fn free_mailbox(self) {
        self.words.store(self.mailbox(self.words.rank()), 0, 0);
        self.state.tasks.requested.store(false, Ordering::SeqCst);
    }
}

impl<W: Words + Memory> Process<'_, W> {
    /// Hands tasks over that `message` tells of, to a process that [`Process::serve`] has named. Their slot is [prepared](Process::clear_slot), and
    /// they are kept where [`Worker::complete_reported`] looks.
    pub fn hand_over(self, thief: u32, message: &[u64]) {
        let (words, me) = (self.words, self.words.rank());
        assert!(message.len() < W::LAYOUT.tasks.message_words, "it fits the mailbox");
        if !words.fault(Fault::GrantUnreleased) {
            words.release();
        }
        let sender = u64::from(me) + 1;
        if words.fault(Fault::SenderBeforeMessage) {
            words.store(self.mailbox(thief), 0, sender);
        }
        words.write_words(thief, W::LAYOUT.tasks.message + 8, message);
        if !words.fault(Fault::SenderBeforeMessage) {
            words.store(self.mailbox(thief), 0, sender);
        }
        if !words.fault(Fault::GrantUnheard) {
            words.add_and_wake(self.task_cell(thief), 1);
        }
        if words.fault(Fault::GrantUnreleased) {
            words.release();
        }
        // Threads of this process that wait for these tasks may now request their descendants.
        self.notify_workers();
    }

    /// Requests tasks for a worker. At most one thread of the process has a request; until it has [`receive`](Process::receive)d tasks or withdrawn
    /// ([`Process::end_request`]) it does nothing else: tasks that nobody takes up could be waited for in a circle.
    ///
    /// True if the caller has a request now.
    pub(super) fn request<T: Worker>(self, worker: &T, participants: u32) -> bool {
        if self.state.tasks.requested.swap(true, Ordering::SeqCst) {
            return false;
        }
        let Some(wish) = worker.wish() else {
            self.state.tasks.requested.store(false, Ordering::SeqCst);
            return false;
        };
        self.announce(self.words.rank(), wish.of_region(self.last_fork()), participants);
        true
    }

    /// Ends the calling thread's request, if need be by running the tasks that are on their way.
    pub(super) fn end_request<T: Worker>(self, worker: &T, participants: u32) {
        let me = self.words.rank();
        while !self.receive(worker) {
            let wish = self.words.load(self.wish_of(me), 0);
            if wish != Wish::NONE && self.claim(me, wish, participants) {
                self.state.tasks.requested.store(false, Ordering::SeqCst);
                return;
            }
            worker.pause();
        }
    }

    /// Takes the tasks that came for the calling thread and runs them; false if there are none (yet).
    pub(super) fn receive<T: Worker>(self, worker: &T) -> bool {
        if !self.has_mail() {
            return false;
        }
        let guard = self.words.guard_mailbox();
        let sender = self.mail(0);
        if sender == 0 {
            return false;
        }
        if self.words.fault(Fault::MailboxFreedUnread) {
            self.free_mailbox();
        }
        let batch = worker.adopt(|i| self.mail(1 + i));
        if !self.words.fault(Fault::MailboxFreedUnread) {
            self.free_mailbox();
        }
        drop(guard);
        // Other threads of this process that wait may have requests now.
        self.notify_workers();
        if !self.words.fault(Fault::BatchUnacquired) {
            self.words.acquire_published(sender as u32 - 1);
        }
        worker.run_batch(batch);
        true
    }
}
