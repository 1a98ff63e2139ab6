//! Waiting for the job's end, and cleaning up behind it.
//!
//! One thread, one `poll` on a signalfd: the signals are blocked before any process starts, so none is lost.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::WaitPidFlag;
use nix::unistd::{Pid, getpid};

use super::Error;
use super::looks::{self, HostLook, Looks};
use super::spawn::Job;
use super::verdict::{self, Ended, Ending, Verdict};
use crate::top;

/// Time that processes get to end by themselves: after the program's orderly end, after a signal.
const ORDERLY_GRACE: Duration = Duration::from_secs(1);
const SIGNAL_GRACE: Duration = Duration::from_millis(500);
/// A signal from the terminal reaches processes and launcher one after the other.
const TERMINAL_LAG: Duration = Duration::from_millis(50);
/// Longest wait for killed processes to disappear (one may sit in an uninterruptible system call).
const REAP_LIMIT: Duration = Duration::from_secs(60);

/// A signal that the program handles ends the job all the same if it comes a second time this soon …
const INSISTENCE: Duration = Duration::from_secs(2);
/// … but not sooner than this: a group of processes may get it from several senders.
const ONE_SIGNAL: Duration = Duration::from_millis(100);

/// Signals that end the job, unless the program handles them. Passed on to the processes first.
pub const ENDING: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];
/// Signals that are passed on; SIGUSR1 only to programs that handle it: else it has the launcher say what the processes do.
const PASSED: [Signal; 2] = [Signal::SIGUSR1, Signal::SIGUSR2];
/// `si_code` of a signal from the kernel, here: the terminal, which sends it to the processes as well.
const FROM_KERNEL: i32 = 0x80;

/// The signals that the launcher answers to, as a file descriptor.
pub struct Signals {
    events: SignalFd,
    /// The signal mask the launcher was started with; the processes get it back.
    pub before: SigSet,
}

impl Signals {
    /// Blocks them. Must come before any thread or process is started.
    pub fn take() -> Result<Signals, Error> {
        let failed = |e: Errno| Error::System { what: "receive signals", source: e.into() };
        let mut set = SigSet::empty();
        set.add(Signal::SIGCHLD);
        // nohup means what it says. A SIGINT that shells ignore on behalf of background commands does not: whoever
        // sends one to the launcher wants the job to end.
        let nohup = ignored_signals() >> (Signal::SIGHUP as u32 - 1) & 1 == 1;
        for signal in ENDING.into_iter().chain(PASSED).filter(|s| *s != Signal::SIGHUP || !nohup) {
            set.add(signal);
        }
        let before = set.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(failed)?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let events = SignalFd::with_flags(&set, flags).map_err(failed)?;
        Ok(Signals { events, before })
    }

    /// The next signal and whether the terminal sent it; `None` after `timeout`, or when `other` is ready.
    fn next(&self, timeout: Option<Duration>, other: Option<BorrowedFd>) -> Option<(Signal, bool)> {
        let timeout = timeout.map_or(PollTimeout::NONE, |t| {
            PollTimeout::try_from(t + Duration::from_micros(999)).unwrap_or(PollTimeout::MAX)
        });
        let fds = [Some(self.events.as_fd()), other];
        let mut ready: Vec<_> =
            fds.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        // An interrupted wait is an early timeout: callers look at the clock again.
        let _ = poll(&mut ready, timeout);
        self.take_one()
    }

    /// What to poll for signals.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// The next signal, if there is one, and whether the terminal sent it.
    pub fn take_one(&self) -> Option<(Signal, bool)> {
        let info = self.events.read_signal().ok().flatten()?;
        let signal = Signal::try_from(info.ssi_signo.cast_signed()).ok()?;
        Some((signal, info.ssi_code == FROM_KERNEL))
    }
}

/// The mask of ignored signals, bit 0 for signal 1.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0)
}

/// The processes of a job, on whatever host they are, and the signals to the launcher.
pub trait Processes {
    /// Waits until a signal comes, something happens to the processes, or the time is over. Gives the signal, and whether the processes got it, too.
    fn next_signal(&mut self, timeout: Option<Duration>) -> Option<(Signal, bool)>;
    /// The processes that have ended since the last call.
    fn ended(&mut self) -> Vec<Ended>;
    /// The job's end for another reason than a process.
    fn failure(&mut self) -> Option<Verdict>;
    /// Whether process 0 has said that the program ended in an orderly way.
    fn finished(&mut self) -> bool;
    /// Whether the program handles the signal in process 0.
    fn handles(&mut self, signal: Signal) -> bool;
    /// Sends a signal to process 0.
    fn signal_first(&mut self, signal: Signal);
    /// Sends a signal to every process.
    fn signal(&mut self, signal: Signal);
    /// Whether no process is left.
    fn is_over(&mut self) -> bool;
    /// Ends what is left, descendants of the processes included.
    fn end(&mut self);
    /// Whether to tell the user of a signal that has ended the job.
    fn tells_of_signals(&self) -> bool {
        true
    }
    /// Where those ask who want to look at the job.
    fn looks(&mut self) -> &mut Looks;
    /// What the processes have left of themselves.
    fn look(&mut self) -> Vec<HostLook>;
}

/// A job on this host.
pub struct Local<'a> {
    /// The processes.
    pub job: &'a Job,
    /// The launcher's signals.
    pub signals: &'a Signals,
    /// Who wants to look at it.
    pub looks: Looks,
}

impl Processes for Local<'_> {
    fn next_signal(&mut self, timeout: Option<Duration>) -> Option<(Signal, bool)> {
        self.signals.next(timeout, self.looks.as_fd())
    }

    fn ended(&mut self) -> Vec<Ended> {
        reap(self.job)
    }

    fn failure(&mut self) -> Option<Verdict> {
        None
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
        !self.job.pids.iter().any(|p| is_child(*p))
    }

    fn end(&mut self) {
        self.job.abort();
        reap_everything(&self.job.strangers);
    }

    fn looks(&mut self) -> &mut Looks {
        &mut self.looks
    }

    fn look(&mut self) -> Vec<HostLook> {
        let processes = looks::processes(self.job);
        vec![HostLook { name: String::new(), time: looks::time(), processes }]
    }
}

/// Waits until the job has ended, ends what is left of it, and returns the launcher's exit status.
pub fn until_end(job: &mut impl Processes) -> u8 {
    let cause = wait_for_cause(job);
    job.looks().close();
    let status = match cause {
        Cause::Process(verdict) => {
            if let Some(message) = &verdict.message {
                eprintln!("{message}");
            }
            if verdict.orderly {
                let _ = wait_for_all(job, ORDERLY_GRACE);
            }
            verdict.status
        }
        Cause::Signal(signal, from_terminal) => end_by_signal(job, signal, from_terminal),
    };
    job.end();
    status
}

enum Cause {
    Process(Verdict),
    Signal(Signal, bool),
}

fn wait_for_cause(job: &mut impl Processes) -> Cause {
    let mut handled = Handled::default();
    loop {
        match job.next_signal(None) {
            Some((signal, from_terminal)) if ENDING.contains(&signal) => {
                match handled.what_to_do(job.handles(signal), signal, Instant::now()) {
                    ToDo::End => return Cause::Signal(signal, from_terminal),
                    ToDo::PassOn if !from_terminal => job.signal_first(signal),
                    ToDo::PassOn | ToDo::Nothing => {}
                }
            }
            Some((Signal::SIGUSR1, _)) if !job.handles(Signal::SIGUSR1) => top::print_own(),
            Some((signal, _)) if PASSED.contains(&signal) => job.signal(signal),
            _ => {}
        }
        looks::serve(job);
        let ended = job.ended();
        let verdict = if ended.is_empty() { None } else { verdict::judge(&ended, job.finished()) };
        let Some(verdict) = verdict else {
            match job.failure() {
                Some(failure) => return Cause::Process(failure),
                None => continue,
            }
        };
        if let Some(signal) = handled.ended(&ended) {
            return Cause::Signal(signal, true);
        }
        if ended
            .iter()
            .any(|e| matches!(e.ending, Ending::Killed(s) if ENDING.iter().any(|e| *e as i32 == s)))
            && let Some((signal, from_terminal)) = own_signal(job)
        {
            return Cause::Signal(signal, from_terminal);
        }
        return Cause::Process(verdict);
    }
}

/// What to do about a signal that ends jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToDo {
    /// End the job.
    End,
    /// Process 0 is to have it.
    PassOn,
    /// It was passed on a moment ago.
    Nothing,
}

/// The last signal that was left to the program.
#[derive(Default)]
struct Handled(Option<(Signal, Instant)>);

impl Handled {
    fn what_to_do(&mut self, handled: bool, signal: Signal, now: Instant) -> ToDo {
        let since = self.0.map(|(_, at)| now.saturating_duration_since(at));
        match since {
            _ if !handled => ToDo::End,
            Some(since) if since < ONE_SIGNAL && self.0.is_some_and(|(s, _)| s == signal) => ToDo::Nothing,
            Some(since) if (ONE_SIGNAL..INSISTENCE).contains(&since) => ToDo::End,
            _ => {
                self.0 = Some((signal, now));
                ToDo::PassOn
            }
        }
    }

    /// The signal, if process 0 died of it: its handler has set the default action and raised it again.
    fn ended(&self, ended: &[Ended]) -> Option<Signal> {
        let (signal, _) = self.0?;
        let died = |e: &Ended| e.rank == 0 && e.ending == Ending::Killed(signal as i32);
        ended.iter().any(died).then_some(signal)
    }
}

/// A process died of SIGINT or the like: the launcher's own copy may be under way.
fn own_signal(job: &mut impl Processes) -> Option<(Signal, bool)> {
    let until = Instant::now() + TERMINAL_LAG;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match job.next_signal(Some(left)) {
            Some(found) if ENDING.contains(&found.0) => return Some(found),
            None if left.is_zero() => return None,
            _ => {}
        }
    }
}

fn end_by_signal(job: &mut impl Processes, signal: Signal, from_terminal: bool) -> u8 {
    if !from_terminal {
        job.signal(signal);
    }
    // A second signal means: now.
    let _ = wait_for_all(job, SIGNAL_GRACE);
    if job.tells_of_signals() { say_ended(signal) } else { verdict::status_of(signal as i32) }
}

/// Tells the user which signal ended the job, and gives the exit status for it.
pub fn say_ended(signal: Signal) -> u8 {
    eprintln!("dsm-run: signal {} ({signal}) ended the job", signal as i32);
    verdict::status_of(signal as i32)
}

/// Waits until no process of the job is left; a signal that ends jobs, or `grace`, cuts it short.
fn wait_for_all(job: &mut impl Processes, grace: Duration) -> bool {
    let until = Instant::now() + grace;
    loop {
        // Whatever happens to the processes now changes nothing.
        drop((job.ended(), job.failure()));
        if job.is_over() {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || job.next_signal(Some(left)).is_some_and(|(s, _)| ENDING.contains(&s)) {
            return false;
        }
    }
}

/// Collects every child that has ended, adopted ones included; returns the job's own.
pub fn reap(job: &Job) -> Vec<Ended> {
    let mut ended = Vec::new();
    while let Collected::Ended(pid, ending) = collect() {
        if let Some(index) = job.pids.iter().position(|p| *p == pid) {
            ended.push(Ended { rank: job.first + index as u32, pid: pid.as_raw(), host: None, ending });
        }
    }
    ended
}

/// What a look for an ended child found.
enum Collected {
    Ended(Pid, Ending),
    Nothing,
}

/// waitpid(2) for any child, without waiting. Not nix's: it knows no real-time signals, and would lose the end of a
/// process that one of them killed.
fn collect() -> Collected {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for the result.
        let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
        match pid {
            -1 if Errno::last() == Errno::EINTR => {}
            // All alive, or no child at all.
            0 | -1 => return Collected::Nothing,
            _ => break Collected::Ended(Pid::from_raw(pid), Ending::of(ExitStatus::from_raw(status))),
        }
    }
}

/// Whether `pid` is a child of this process that was not waited for yet.
pub fn is_child(pid: Pid) -> bool {
    use nix::sys::wait::{Id, waitid};
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(pid), flags).is_ok()
}

/// Kills and collects all children but `strangers` until none is left. The launcher adopts orphans, so killing a
/// process can bring new children.
pub fn reap_everything(strangers: &[Pid]) {
    let until = Instant::now() + REAP_LIMIT;
    loop {
        let ours: Vec<Pid> = children().into_iter().filter(|pid| !strangers.contains(pid)).collect();
        for pid in &ours {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        while let Collected::Ended(..) = collect() {}
        if ours.is_empty() {
            return;
        }
        if Instant::now() > until {
            eprintln!("dsm-run: a killed process does not disappear; giving up on it");
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The launcher's children, from the kernel's list or, where it lacks one, from all processes.
pub fn children() -> Vec<Pid> {
    let own = getpid();
    if let Ok(list) = fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        return list.split_whitespace().filter_map(|p| p.parse().ok()).map(Pid::from_raw).collect();
    }
    let parent_of = |pid: i32| -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter(|p| parent_of(*p) == Some(own.as_raw())).map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_the_program_handles() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut handled = Handled::default();
        for (ms, signal, has_handler, expected) in [
            (0, Signal::SIGINT, true, ToDo::PassOn),
            (1, Signal::SIGINT, true, ToDo::Nothing),
            (2, Signal::SIGTERM, true, ToDo::PassOn),
            (2500, Signal::SIGINT, true, ToDo::PassOn),
            (4000, Signal::SIGINT, true, ToDo::End),
            (9000, Signal::SIGTERM, false, ToDo::End),
        ] {
            assert_eq!(handled.what_to_do(has_handler, signal, at(ms)), expected, "{ms} ms");
        }
        let died = |rank, signal| [Ended { rank, pid: 7, host: None, ending: Ending::Killed(signal) }];
        assert_eq!(handled.ended(&died(0, 2)), Some(Signal::SIGINT));
        assert_eq!(handled.ended(&died(1, 2)).or(handled.ended(&died(0, 15))), None);
    }
}
