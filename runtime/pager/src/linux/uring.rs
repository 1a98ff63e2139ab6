//! Transfers by `io_uring(7)`.

use std::io;
use std::os::fd::RawFd;

use io_uring::{IoUring, opcode, types};

use super::disk::{Transfer, outcome};

/// Transfers that the system has at a time; others wait.
const DEPTH: u32 = 64;

pub(super) struct Uring {
    ring: IoUring,
    file: RawFd,
    /// Transfers that the system has, by the number that goes with them.
    begun: Vec<Option<Transfer>>,
    free: Vec<usize>,
    waiting: std::collections::VecDeque<Transfer>,
}

impl Uring {
    pub(super) fn new(file: RawFd, done: RawFd) -> io::Result<Uring> {
        let ring = IoUring::new(DEPTH)?;
        ring.submitter().register_eventfd(done)?;
        let free = (0..DEPTH as usize).collect();
        let begun = (0..DEPTH).map(|_| None).collect();
        Ok(Uring { ring, file, begun, free, waiting: Default::default() })
    }

    pub(super) fn begin(&mut self, transfer: Transfer) {
        let Some(number) = self.free.pop() else { return self.waiting.push_back(transfer) };
        let (parts, offset) = transfer.rest();
        let (file, count) = (types::Fd(self.file), parts.len() as u32);
        let entry = match transfer.writes() {
            true => opcode::Writev::new(file, parts.as_ptr(), count).offset(offset).build(),
            false => opcode::Readv::new(file, parts.as_ptr(), count).offset(offset).build(),
        };
        self.begun[number] = Some(transfer);
        // SAFETY: the memory stays: that of reads belongs to the transfer, that of writes is mapped for good; the list of it is the transfer's. There are as many entries as numbers.
        unsafe { self.ring.submission().push(&entry.user_data(number as u64)) }
            .expect("there is an entry for each number");
    }

    pub(super) fn submit(&mut self) {
        if !self.ring.submission().is_empty() {
            // What the system cannot take now it takes the next time.
            _ = self.ring.submit();
        }
    }

    pub(super) fn next(&mut self) -> Option<(Transfer, io::Result<usize>)> {
        let entry = self.ring.completion().next()?;
        let number = entry.user_data() as usize;
        let transfer = self.begun[number].take().expect("it was begun");
        self.free.push(number);
        if let Some(waiting) = self.waiting.pop_front() {
            self.begin(waiting);
        }
        Some((transfer, outcome(entry.result().into())))
    }
}
