//! What it means for the job that a process has ended. Pure.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// `exit` or `_exit` with this status.
    Exited(u8),
    /// By a signal; real-time signals included.
    Killed(i32),
}

impl Ending {
    /// What waitpid(2) reported of a process that has ended.
    pub fn of(status: ExitStatus) -> Ending {
        match status.signal() {
            Some(signal) => Ending::Killed(signal),
            // Exit statuses have eight bits.
            None => Ending::Exited((status.code().unwrap_or(1) & 0xff) as u8),
        }
    }
}

/// How the job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The launcher's exit status.
    pub status: u8,
    /// What to tell the user.
    pub message: Option<String>,
    /// The other processes end by themselves and get time for it.
    pub orderly: bool,
}

/// A process of the job that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its number.
    pub rank: u32,
    /// Its process id.
    pub pid: i32,
    /// Its host, if the job has several.
    pub host: Option<String>,
    /// How.
    pub ending: Ending,
}

/// The exit status that stands for a signal.
pub fn status_of(signal: i32) -> u8 {
    128 + (signal & 0x7f) as u8
}

/// The job's end, if these processes (seen at the same time) ended it. The cause is the one killed by a signal, if
/// any: others may have ended because of it.
pub fn judge(ended: &[Ended], finished: bool) -> Option<Verdict> {
    let mut by_weight: Vec<_> = ended.iter().collect();
    by_weight.sort_by_key(|e| match e.ending {
        Ending::Killed(_) => 0,
        Ending::Exited(_) if e.rank == 0 => 1,
        Ending::Exited(0) => 3,
        Ending::Exited(_) => 2,
    });
    by_weight.into_iter().find_map(|e| judge_one(e, finished))
}

fn judge_one(ended: &Ended, finished: bool) -> Option<Verdict> {
    let rank = ended.rank;
    match ended.ending {
        Ending::Exited(status) if rank == 0 => Some(Verdict { status, message: None, orderly: finished }),
        // The result is complete: what happens to helpers afterwards does not matter.
        _ if finished && rank != 0 => None,
        Ending::Exited(status) => {
            let cause = format!("exited with status {status} before the program ended");
            Some(Verdict { status: status.max(1), message: Some(message(ended, &cause)), orderly: false })
        }
        Ending::Killed(signal) => {
            let name = Signal::try_from(signal).map(|s| format!(" ({s})")).unwrap_or_default();
            let cause = format!("was killed by signal {signal}{name}");
            Some(Verdict { status: status_of(signal), message: Some(message(ended, &cause)), orderly: false })
        }
    }
}

fn message(ended: &Ended, cause: &str) -> String {
    let Ended { rank, pid, .. } = ended;
    let place = ended.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    format!("dsm-run: process {rank} (pid {pid}){place} {cause}; the job was ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(rank: u32, ending: Ending) -> Ended {
        Ended { rank, pid: 100 + rank.cast_signed(), host: None, ending }
    }

    fn outcome(all: &[(u32, Ending)], finished: bool) -> Option<(u8, bool, bool)> {
        let all: Vec<_> = all.iter().map(|(r, e)| ended(*r, *e)).collect();
        judge(&all, finished).map(|v| (v.status, v.message.is_some(), v.orderly))
    }

    #[test]
    fn table() {
        use Ending::{Exited, Killed};
        let segv = Killed(Signal::SIGSEGV as i32);
        for (all, finished, expected) in [
            (vec![], false, None),
            (vec![(0, Exited(0))], true, Some((0, false, true))),
            (vec![(0, Exited(7))], true, Some((7, false, true))),
            (vec![(0, Exited(7))], false, Some((7, false, false))),
            (vec![(0, segv)], false, Some((139, true, false))),
            (vec![(0, segv)], true, Some((139, true, false))),
            (vec![(2, Killed(Signal::SIGKILL as i32))], false, Some((137, true, false))),
            (vec![(2, Killed(40))], false, Some((168, true, false))),
            (vec![(2, Exited(0))], false, Some((1, true, false))),
            (vec![(2, Exited(9))], false, Some((9, true, false))),
            (vec![(2, Exited(0)), (1, segv)], true, None),
            (vec![(2, Exited(0)), (0, Exited(3))], true, Some((3, false, true))),
            // The signal is the cause, whatever order they were seen in.
            (vec![(0, Exited(1)), (1, segv)], false, Some((139, true, false))),
            (vec![(1, Exited(0)), (2, Exited(5))], false, Some((5, true, false))),
        ] {
            assert_eq!(outcome(&all, finished), expected, "{all:?} finished={finished}");
        }
    }

    #[test]
    fn the_message_names_rank_pid_host_and_cause() {
        let killed = ended(3, Ending::Killed(9));
        let message = |ended| judge(&[ended], false).unwrap().message.unwrap();
        let expected = "dsm-run: process 3 (pid 103) was killed by signal 9 (SIGKILL); the job was ended";
        assert_eq!(message(killed.clone()), expected);
        let expected =
            "dsm-run: process 3 (pid 103) on b was killed by signal 9 (SIGKILL); the job was ended";
        assert_eq!(message(Ended { host: Some("b".into()), ..killed }), expected);
    }
}
