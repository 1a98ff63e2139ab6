//! The process of this launcher as what is watched until the job's end.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use super::ties::{Loss, Ties};
use crate::launch::looks::{self, HostLook, Looks};
use crate::launch::spawn::Job;
use crate::launch::verdict::{Ended, Ending, Verdict};
use crate::launch::watch::{self, ENDING, Processes, Signals};

/// A signal to all reaches processes and launchers one after the other.
const SIGNAL_LAG: Duration = Duration::from_millis(50);

/// One process of a job, whose others have launchers of their own.
pub struct Member<'a> {
    job: &'a Job,
    signals: &'a Signals,
    ties: Ties,
    looks: Looks,
    /// Whether the process has ended.
    has_ended: bool,
    /// Whether the process manager has sent a signal that ends jobs.
    is_signalled: bool,
}

impl<'a> Member<'a> {
    /// Of a job of the one process.
    pub fn new(job: &'a Job, signals: &'a Signals, ties: Ties, program: &OsStr) -> Member<'a> {
        let mut looks = Looks::new(program);
        if ties.leads() {
            looks.open();
        }
        Member { job, signals, ties, looks, has_ended: false, is_signalled: false }
    }

    fn is_first(&self) -> bool {
        self.job.first == 0
    }

    /// Whether this launcher answers to a signal, which a process manager sends to all. The launcher of process 0 decides what ends the job.
    fn heeds(&self, signal: Signal) -> bool {
        match signal {
            _ if self.is_first() => true,
            Signal::SIGUSR1 => self.job.handles(signal),
            _ => !ENDING.contains(&signal),
        }
    }

    /// Whether the process manager has ended the process. It may send its signal to the process first.
    fn was_ended_by_manager(&mut self, ended: &[Ended]) -> bool {
        let of_job =
            |e: &Ended| matches!(e.ending, Ending::Killed(s) if ENDING.iter().any(|e| *e as i32 == s));
        if self.is_first() || !ended.iter().any(of_job) {
            return false;
        }
        let until = Instant::now() + SIGNAL_LAG;
        while !self.is_signalled && Instant::now() < until {
            self.wait(Some(until.saturating_duration_since(Instant::now())));
            self.take_signal();
        }
        self.is_signalled
    }

    /// The next signal that this launcher answers to.
    fn take_signal(&mut self) -> Option<(Signal, bool)> {
        let (signal, from_terminal) = self.signals.take_one()?;
        self.is_signalled |= ENDING.contains(&signal);
        self.heeds(signal).then_some((signal, from_terminal))
    }

    fn wait(&self, timeout: Option<Duration>) {
        let until = self.ties.until().map(|until| until.saturating_duration_since(Instant::now()));
        let time = until.into_iter().chain(timeout).min();
        let time = time.map(|time| PollTimeout::try_from(time + Duration::from_micros(999)));
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        fds.extend(self.looks.as_fd().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        fds.extend(self.ties.polled());
        // An interrupted wait is an early timeout: callers look at the clock again.
        let _ = poll(&mut fds, time.map_or(PollTimeout::NONE, |time| time.unwrap_or(PollTimeout::MAX)));
    }
}

impl Processes for Member<'_> {
    fn next_signal(&mut self, timeout: Option<Duration>) -> Option<(Signal, bool)> {
        self.wait(timeout);
        self.take_signal()
    }

    fn ended(&mut self) -> Vec<Ended> {
        let ended = watch::reap(self.job);
        self.has_ended |= !ended.is_empty();
        // Whoever has it end the job says why.
        if self.was_ended_by_manager(&ended) { Vec::new() } else { ended }
    }

    fn failure(&mut self) -> Option<Verdict> {
        let quiet = |orderly| Verdict { status: 0, message: None, orderly };
        match self.ties.loss(|| self.job.finished()) {
            Some(Loss::Over) => Some(quiet(false)),
            Some(Loss::Failed(reason)) => {
                let message = Some(format!("dsm-run: {reason}; the job was ended"));
                Some(Verdict { status: 1, message, orderly: false })
            }
            // In an orderly way: other ends have a verdict.
            None => self.has_ended.then(|| quiet(true)),
        }
    }

    fn finished(&mut self) -> bool {
        self.job.finished()
    }

    fn handles(&mut self, signal: Signal) -> bool {
        self.job.handles(signal)
    }

    fn signal_first(&mut self, signal: Signal) {
        self.job.signal_first(signal);
    }

    fn signal(&mut self, signal: Signal) {
        self.job.signal(signal);
    }

    fn is_over(&mut self) -> bool {
        let is_over = !self.job.pids.iter().any(|pid| watch::is_child(*pid));
        // The process manager ends the others once process 0's launcher has left with another status than 0, while they may be writing.
        is_over && (!self.is_first() || !self.ties.hold())
    }

    fn end(&mut self) {
        self.job.abort();
        watch::reap_everything(&self.job.strangers);
    }

    fn tells_of_signals(&self) -> bool {
        // The process manager does, if anybody wants to know.
        false
    }

    fn looks(&mut self) -> &mut Looks {
        &mut self.looks
    }

    fn look(&mut self) -> Vec<HostLook> {
        let mut processes = looks::processes(self.job);
        let others = self.ties.neighbours();
        processes.extend(others.filter_map(|(rank, pid)| looks::process(self.job, rank, pid.as_raw())));
        vec![HostLook { name: String::new(), time: looks::time(), processes }]
    }
}
