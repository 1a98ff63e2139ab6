//! Answers whoever looks at the running job: `dsm-top`, which finds the launcher by the name of its socket.
//!
//! The name is an abstract one, which leaves nothing behind: [`PREFIX`], the user's number, the launcher's, and the program's name. Who connects gets the
//! launcher's [`greeting`], then a [`Look`] as postcard writes it, then the end, if it is the same user or root.

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dsm_abi::progress::{self, ALWAYS, RECORD_WORDS, THREADS, THREADS_AT, THREADS_USED, WATCH};
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::{getpid, getuid};
use serde::{Deserialize, Serialize};

use super::control::greeting;
use super::spawn::Job;
use super::watch::Processes;

/// What names of sockets begin with.
pub const PREFIX: &str = "dsm-run";
/// Longest name of a program in the name of a socket, whose length the system limits.
const LONGEST_NAME: usize = 64;
/// How long a look may take to be written to who has asked.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the processes of a job have left of themselves at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The program as typed.
    pub program: Vec<u8>,
    /// Milliseconds since the launcher began.
    pub milliseconds: u64,
    /// The hosts that have answered.
    pub hosts: Vec<HostLook>,
}

/// Those of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLook {
    /// Its name; empty if the job has no others.
    pub name: String,
    /// When that was.
    pub time: Time,
    /// The processes.
    pub processes: Vec<ProcessLook>,
}

/// The same moment by two clocks of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// The processor's time stamp counter, which processes use.
    pub ticks: u64,
    /// Nanoseconds since any moment that stays the same.
    pub nanoseconds: u64,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessLook {
    /// Its number.
    pub rank: u32,
    /// Its number in its host's system.
    pub pid: i32,
    /// Its record, as [`dsm_abi::progress`] describes it, up to its last thread.
    pub words: Vec<u64>,
}

impl ProcessLook {
    /// Whether the record is as long as it says.
    pub fn is_whole(&self) -> bool {
        let used = self.words.get(THREADS_USED).copied().unwrap_or(u64::MAX);
        used <= THREADS as u64 && self.words.len() == words(used as usize)
    }
}

/// Length of a record with so many threads.
fn words(threads: usize) -> usize {
    THREADS_AT + threads.min(THREADS) * progress::thread::WORDS
}

/// The time.
pub fn time() -> Time {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let nanoseconds = START.get_or_init(Instant::now).elapsed().as_nanos() as u64;
    // SAFETY: every x86-64 processor has the instruction.
    Time { ticks: unsafe { std::arch::x86_64::_rdtsc() }, nanoseconds }
}

/// The processes of a job on this host, which measure from now on for a while.
pub fn processes(job: &Job) -> Vec<ProcessLook> {
    let ranks = (job.first..).zip(&job.pids);
    ranks.filter_map(|(rank, pid)| process(job, rank, pid.as_raw())).collect()
}

/// A process of this host, which measures from now on for a while.
pub fn process(job: &Job, rank: u32, pid: i32) -> Option<ProcessLook> {
    let at = progress::record_offset(rank) as u64;
    let read = |count: usize| {
        let mut bytes = vec![0; 8 * count];
        job.page.read_exact_at(&mut bytes, at).ok()?;
        let words = bytes.chunks_exact(8).map(|b| u64::from_ne_bytes(b.try_into().expect("eight bytes")));
        Some(words.collect::<Vec<_>>())
    };
    let head = read(THREADS_AT)?;
    if head[WATCH] != ALWAYS {
        let next = head[WATCH] % u64::from(u32::MAX) + 1;
        job.page.write_all_at(&next.to_ne_bytes(), at + 8 * WATCH as u64).ok()?;
    }
    let mut all = read(words(head[THREADS_USED] as usize).min(RECORD_WORDS))?;
    // It may have grown in between.
    all[THREADS_USED] = head[THREADS_USED];
    Some(ProcessLook { rank, pid, words: all })
}

/// Where the launcher listens.
pub struct Looks {
    /// `None` also where it cannot listen: the job runs all the same.
    listener: Option<UnixListener>,
    program: Vec<u8>,
    start: Instant,
}

impl Looks {
    /// For a job of this program; nobody can ask yet.
    pub fn new(program: &OsStr) -> Looks {
        Looks { listener: None, program: program.as_bytes().to_vec(), start: Instant::now() }
    }

    /// Whoever asks from now on gets an answer from [`serve`].
    pub fn open(&mut self) {
        let program = OsStr::from_bytes(&self.program);
        let bind = || {
            let address =
                SocketAddr::from_abstract_name(name(getuid().as_raw(), getpid().as_raw(), program))?;
            let listener = UnixListener::bind_addr(&address)?;
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(listener)
        };
        self.listener = bind().ok();
    }

    /// Nobody can ask any more.
    pub fn close(&mut self) {
        self.listener = None;
    }

    /// What to poll for those who want to look.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// The next one who may.
    fn accept(&self) -> Option<UnixStream> {
        loop {
            let (stream, _) = self.listener.as_ref()?.accept().ok()?;
            let peer = getsockopt(&stream, sockopt::PeerCredentials);
            if peer.is_ok_and(|peer| peer.uid() == 0 || peer.uid() == getuid().as_raw()) {
                return Some(stream);
            }
        }
    }

    /// Writes an answer. Whoever does not read it keeps only a thread waiting.
    fn answer(&self, mut stream: UnixStream, hosts: Vec<HostLook>) {
        let milliseconds = self.start.elapsed().as_millis() as u64;
        let look = Look { program: self.program.clone(), milliseconds, hosts };
        let mut bytes = greeting().into_bytes();
        bytes.extend(
            postcard::to_allocvec(&look).expect("a message of plain data can be written to a vector"),
        );
        let write = move || {
            let _ = stream.set_nonblocking(false);
            let _ = stream.set_write_timeout(Some(PATIENCE));
            let _ = stream.write_all(&bytes);
        };
        // Who gets no answer finds the connection closed.
        let _ = thread::Builder::new().name("look".into()).spawn(write);
    }
}

/// Answers all who want to look now.
pub fn serve(job: &mut impl Processes) {
    while let Some(stream) = job.looks().accept() {
        let hosts = job.look();
        job.looks().answer(stream, hosts);
    }
}

/// The name of a launcher's socket.
fn name(user: u32, launcher: i32, program: &OsStr) -> String {
    let program = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    // One line of the system's list, with words between slashes.
    let program = program.chars().map(|c| if c.is_control() || c == '/' { '?' } else { c });
    let mut name = format!("{PREFIX}/{user}/{launcher}/");
    for c in program {
        if name.len() + c.len_utf8() > LONGEST_NAME {
            break;
        }
        name.push(c);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sockets_fit_and_are_one_line() {
        assert_eq!(name(7, 42, "./a b/cg.A".as_ref()), "dsm-run/7/42/cg.A");
        assert_eq!(name(0, 1, "x\ny".as_ref()), "dsm-run/0/1/x?y");
        assert!(name(u32::MAX, i32::MAX, "ü".repeat(100).as_ref()).len() <= LONGEST_NAME);
    }

    #[test]
    fn records_that_are_not_as_long_as_they_say_are_known() {
        let look = |count: u64, length: usize| {
            let mut words = vec![0; length];
            words[THREADS_USED] = count;
            ProcessLook { rank: 0, pid: 1, words }
        };
        assert!(look(2, words(2)).is_whole() && look(THREADS as u64, words(THREADS)).is_whole());
        for wrong in [look(2, words(1)), look(u64::MAX, words(0)), look(0, 2), look(1, RECORD_WORDS)] {
            assert!(!wrong.is_whole());
        }
        assert!(!ProcessLook { rank: 0, pid: 1, words: Vec::new() }.is_whole());
    }
}
