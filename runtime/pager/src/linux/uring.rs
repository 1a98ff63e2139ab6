//! Transfers by `io_uring(7)`, which waits for other descriptors, too: one system call hands over what was begun and sleeps until something happens.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use dsm_threads::yielding::Yielding;
use io_uring::{IoUring, cqueue, opcode, types};

use super::disk::{Transfer, outcome};

/// Transfers that the system has at a time; others wait.
const DEPTH: u32 = 64;
/// Descriptors that are watched at most. Their numbers come behind those of transfers.
const WATCHED: usize = 8;

/// How long a read is waited for awake: somebody waits for it, whose core is free meanwhile. A thread that sleeps, on a core that sleeps then, takes as long to wake as its work takes.
const AWAKE: Duration = Duration::from_micros(100);
/// Looks between two yields.
const LOOKS: usize = 50;

type Done = (Transfer, io::Result<usize>);

pub(super) struct Uring {
    ring: IoUring,
    file: RawFd,
    /// Transfers that the system has, by the number that goes with them.
    begun: Vec<Option<Transfer>>,
    free: Vec<usize>,
    waiting: VecDeque<Transfer>,
    /// Reads among them and among those that the system has.
    reads: usize,
    /// Whether others want the core.
    yielding: Yielding,
    done: VecDeque<Done>,
    /// Descriptors that end a wait when they are readable.
    watched: Vec<RawFd>,
    /// Those that the system does not watch yet, and those that have become readable: one bit each.
    unarmed: u32,
    ready: u32,
}

impl Uring {
    /// Queues for a file. Only the thread that calls [`Uring::start`] hands over transfers.
    pub(super) fn new(file: RawFd) -> io::Result<Uring> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_r_disabled()
            .build(DEPTH + WATCHED as u32)?;
        Ok(Uring {
            ring,
            file,
            begun: (0..DEPTH).map(|_| None).collect(),
            free: (0..DEPTH as usize).collect(),
            waiting: VecDeque::new(),
            reads: 0,
            yielding: Yielding::new(),
            done: VecDeque::new(),
            watched: Vec::new(),
            unarmed: 0,
            ready: 0,
        })
    }

    /// The calling thread is the one that hands over transfers, and [`Uring::wait`] ends when one of these descriptors becomes readable.
    pub(super) fn start(&mut self, watched: &[RawFd]) -> io::Result<()> {
        assert!(watched.len() <= WATCHED);
        self.watched = watched.to_vec();
        self.unarmed = (1 << watched.len()) - 1;
        self.ring.submitter().register_enable_rings()
    }

    pub(super) fn begin(&mut self, transfer: Transfer) {
        self.reads += usize::from(!transfer.writes());
        self.enqueue(transfer);
    }

    fn enqueue(&mut self, transfer: Transfer) {
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

    /// Hands over what was begun, and waits until a transfer is done or a watched descriptor is readable, so long at most. Returns the descriptors that are, one bit each.
    pub(super) fn wait(&mut self, longest: Option<Duration>) -> u32 {
        self.arm();
        let sleeps = self.done.is_empty() && self.ready == 0 && longest != Some(Duration::ZERO);
        let sleeps = sleeps && !(self.reads > 0 && self.happens_soon());
        let time = longest.map(types::Timespec::from);
        let arguments = types::SubmitArgs::new();
        let arguments = time.as_ref().filter(|_| sleeps).map_or(arguments, |time| arguments.timespec(time));
        // It may end early: the caller looks what has happened.
        _ = self.ring.submitter().submit_with_args(usize::from(sleeps), &arguments);
        self.take();
        std::mem::take(&mut self.ready)
    }

    /// Hands over what was begun.
    pub(super) fn submit(&mut self) {
        if !self.ring.submission().is_empty() {
            // What it does not take stays in the queue until the next wait.
            _ = self.ring.submit();
        }
    }

    /// Waits some time, awake, unless others want the core. Returns whether something has happened.
    fn happens_soon(&mut self) -> bool {
        if !self.yielding.begin() {
            return false;
        }
        self.submit();
        let begin = Instant::now();
        while begin.elapsed() < AWAKE {
            for _ in 0..LOOKS {
                if self.ring.submission().taskrun() || !self.ring.completion().is_empty() {
                    self.yielding.note_success();
                    return true;
                }
                std::hint::spin_loop();
            }
            if !self.yielding.yield_core() {
                return false;
            }
        }
        false
    }

    /// Has the system watch descriptors that it does not.
    fn arm(&mut self) {
        for (at, descriptor) in self.watched.iter().enumerate().filter(|(at, _)| self.unarmed & 1 << at != 0)
        {
            let poll = opcode::PollAdd::new(types::Fd(*descriptor), libc::POLLIN as u32).multi(true).build();
            // SAFETY: nothing but a descriptor, open for good; there are entries for all of them.
            unsafe { self.ring.submission().push(&poll.user_data((DEPTH as usize + at) as u64)) }
                .expect("there is an entry for each descriptor");
        }
        self.unarmed = 0;
    }

    /// Takes what has happened from the system.
    fn take(&mut self) {
        while let Some(entry) = { self.ring.completion().next() } {
            let number = entry.user_data() as usize;
            if let Some(at) = number.checked_sub(DEPTH as usize) {
                self.ready |= 1 << at;
                if !cqueue::more(entry.flags()) {
                    self.unarmed |= 1 << at;
                }
                continue;
            }
            let transfer = self.begun[number].take().expect("it was begun");
            self.free.push(number);
            self.reads -= usize::from(!transfer.writes());
            if let Some(waiting) = self.waiting.pop_front() {
                self.enqueue(waiting);
            }
            self.done.push_back((transfer, outcome(entry.result().into())));
        }
    }

    pub(super) fn next(&mut self) -> Option<Done> {
        if self.done.is_empty() {
            self.take();
        }
        self.done.pop_front()
    }
}
