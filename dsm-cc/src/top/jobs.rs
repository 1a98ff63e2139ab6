//! Which jobs run, and what their launchers answer.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::{Uid, User, getuid};

use crate::launch::control::greeting;
use crate::launch::looks::{Look, PREFIX};

/// Why a job cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no job of this user is called {name}; {hint}")]
    Unknown { name: String, hint: String },
    #[error("process {pid} is {what}, not dsm-run; {hint}")]
    NoLauncher { pid: i32, what: String, hint: String },
    #[error(
        "dsm-run with process id {pid} has no job: it has not started it yet, or ends, or is the daemon of a job that was started on another host"
    )]
    NoJob { pid: i32 },
    #[error("there is no process {pid}: the job has ended, or never was; {hint}")]
    NoProcess { pid: i32, hint: String },
    #[error("several jobs are called {name}; name one by its process id: {all}")]
    Several { name: String, all: String },
    #[error("job {launcher} is of user {owner}: only that user and root can look at it")]
    Foreign { launcher: i32, owner: String },
    #[error("{job} has ended")]
    Ended { job: String },
    #[error("{job} was started by another version of dsm-run; use the dsm-top that was installed with it")]
    Version { job: String },
    #[error("{job} does not answer: {source}")]
    Silent { job: String, source: io::Error },
    #[error("the job cannot be looked at: its launcher could not make a socket when it began")]
    Deaf,
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

/// How long a launcher may take to answer: it waits a second for daemons that do not.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest answer.
const LONGEST: u64 = 64 << 20;

/// A running job of this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Process id of its `dsm-run`.
    pub launcher: i32,
    /// The program's file name, the beginning of a long one.
    pub program: String,
    /// Number of its user.
    user: u32,
    /// The name of the launcher's socket.
    socket: String,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {} ({})", self.launcher, self.program)
    }
}

/// The jobs in the system's list of sockets, of all users.
fn listed(sockets: &str) -> Vec<Job> {
    let mut jobs: Vec<Job> = sockets.lines().filter_map(parse).collect();
    // A connection has a line of its own.
    jobs.sort_by_key(|job| job.launcher);
    jobs.dedup();
    jobs
}

/// A line of the list; it ends with the socket's name, which has an @ in the place of the zero byte of abstract ones.
fn parse(line: &str) -> Option<Job> {
    let at = line.find(&format!(" @{PREFIX}/"))? + 2;
    let socket = line[at..].to_owned();
    let mut words = socket.splitn(4, '/').skip(1);
    let user = words.next()?.parse().ok()?;
    let launcher = words.next()?.parse().ok()?;
    Some(Job { launcher, program: words.next()?.to_owned(), user, socket })
}

fn all() -> Vec<Job> {
    listed(&fs::read("/proc/net/unix").map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default())
}

/// The running jobs of this user.
pub fn running() -> Vec<Job> {
    let own = getuid().as_raw();
    all().into_iter().filter(|job| job.user == own).collect()
}

/// The job that a word names.
pub fn find<'a>(own: &'a [Job], word: &str) -> Result<&'a Job, Error> {
    let pid = word.parse::<i32>().ok();
    if let Some(job) = own.iter().find(|job| Some(job.launcher) == pid) {
        return Ok(job);
    }
    let named: Vec<&Job> = own.iter().filter(|job| job.program == word).collect();
    match (named.as_slice(), pid) {
        ([job], _) => Ok(job),
        ([], Some(pid)) => Err(explain(pid, &all())),
        ([], None) => Err(Error::Unknown { name: word.into(), hint: hint() }),
        (several, _) => {
            let all: Vec<_> = several.iter().map(|job| job.launcher.to_string()).collect();
            Err(Error::Several { name: word.into(), all: all.join(", ") })
        }
    }
}

fn hint() -> String {
    "dsm-top without an argument lists the jobs".into()
}

/// Why a process is no job of this user.
fn explain(pid: i32, all: &[Job]) -> Error {
    if let Some(job) = all.iter().find(|job| job.launcher == pid) {
        // It has begun to listen since this user's jobs were listed.
        if job.user == getuid().as_raw() {
            return Error::NoJob { pid };
        }
        let owner = User::from_uid(Uid::from_raw(job.user)).ok().flatten();
        let owner = owner.map_or_else(|| job.user.to_string(), |user| user.name);
        return Error::Foreign { launcher: pid, owner };
    }
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) if name == "dsm-run\n" => Error::NoJob { pid },
        Ok(name) => Error::NoLauncher { pid, what: name.trim().into(), hint: hint() },
        Err(_) => Error::NoProcess { pid, hint: hint() },
    }
}

impl Job {
    /// What the job's processes have left of themselves.
    pub fn look(&self) -> Result<Look, Error> {
        let ended = || Error::Ended { job: self.to_string() };
        let silent = |source| Error::Silent { job: self.to_string(), source };
        let address = SocketAddr::from_abstract_name(&self.socket).map_err(silent)?;
        let mut stream = UnixStream::connect_addr(&address).map_err(|_| ended())?;
        // Anybody can make a socket of any name.
        let peer = getsockopt(&stream, sockopt::PeerCredentials).map_err(|e| silent(e.into()))?;
        if peer.uid() != self.user || peer.pid() != self.launcher {
            return Err(Error::Foreign { launcher: peer.pid(), owner: peer.uid().to_string() });
        }
        stream.set_read_timeout(Some(PATIENCE)).map_err(silent)?;
        let mut bytes = Vec::new();
        match (&mut stream).take(LONGEST).read_to_end(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(ended()),
            result => result.map_err(silent)?,
        };
        self.read(&bytes)
    }

    /// Reads a launcher's answer.
    fn read(&self, bytes: &[u8]) -> Result<Look, Error> {
        let ended = || Error::Ended { job: self.to_string() };
        if bytes.is_empty() {
            return Err(ended());
        }
        let look = bytes.strip_prefix(greeting().as_bytes());
        let look = look.ok_or_else(|| Error::Version { job: self.to_string() })?;
        let look: Look = postcard::from_bytes(look).map_err(|_| ended())?;
        let mut processes = look.hosts.iter().flat_map(|host| &host.processes);
        match processes.all(|process| process.is_whole()) {
            true => Ok(look),
            false => Err(Error::Version { job: self.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use dsm_abi::progress::{self, THREADS_AT, THREADS_USED};

    use super::super::{Report, table};
    use super::*;
    use crate::launch::looks::{HostLook, ProcessLook, Time};

    const SOCKETS: &str = "Num       RefCount Protocol Flags    Type St Inode Path\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 21 @dsm-run/7/40/cg.A\n\
        0000000000000000: 00000003 00000000 00000000 0001 03 22 @dsm-run/7/40/cg.A\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 23 @dsm-run/8/41/a b\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 24 @dsm-run/x/41/y\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 25 /run/dsm-run/7/40/cg.A\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 26\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 27 @dsm-run/7/39/cg.A\n";

    #[test]
    fn jobs_are_found_in_the_list_of_sockets() {
        let found: Vec<_> = listed(SOCKETS).into_iter().map(|j| (j.launcher, j.user, j.program)).collect();
        let expected = [(39, 7, "cg.A"), (40, 7, "cg.A"), (41, 8, "a b")];
        assert_eq!(found, expected.map(|(launcher, user, program)| (launcher, user, program.to_owned())));
    }

    /// Two looks of a job with one process of three threads.
    fn answers() -> Vec<Vec<u8>> {
        let look = |moment: u64| {
            let mut words = vec![moment; THREADS_AT + 3 * progress::thread::WORDS];
            words[THREADS_USED] = 3;
            let process = ProcessLook { rank: 0, pid: 1, words };
            let time = Time { ticks: 3000 * moment, nanoseconds: 1000 * moment };
            let hosts = vec![HostLook { name: "node".into(), time, processes: vec![process] }];
            Look { program: b"./x".to_vec(), milliseconds: moment, hosts }
        };
        let answer = |look| [greeting().as_bytes(), &postcard::to_allocvec(&look).unwrap()].concat();
        [1, 2].map(look).map(answer).into()
    }

    /// A job's processes write what is looked at: whatever it is, it is shown or refused.
    #[test]
    fn damaged_answers_are_shown_or_refused() {
        let job = &listed(SOCKETS)[0];
        let answers = answers();
        let before = job.read(&answers[0]).unwrap();
        let mut shown = 0;
        dsm_mutate::each(&answers, 5000, |bytes| {
            if let Ok(look) = job.read(bytes) {
                for (before, after) in [(&before, &look), (&look, &before)] {
                    let report = Report::new(1, before, after);
                    assert!(!table::text(&report).is_empty());
                    serde_json::to_string(&report).unwrap();
                }
                shown += 1;
            }
        });
        assert!((50..4900).contains(&shown), "{shown} of 5000 were shown");
    }

    #[test]
    fn damaged_lists_of_sockets_name_jobs_or_none() {
        dsm_mutate::each(&[SOCKETS], 20_000, |bytes| {
            for job in listed(&String::from_utf8_lossy(bytes)) {
                assert!(job.socket.starts_with(PREFIX) && job.socket.ends_with(&job.program));
            }
        });
    }

    #[test]
    fn a_job_is_named_by_its_process_id_or_its_program() {
        let jobs = listed(SOCKETS);
        assert_eq!(find(&jobs, "40").unwrap().launcher, 40);
        assert_eq!(find(&jobs, "a b").unwrap().launcher, 41);
        let error = find(&jobs, "cg.A").unwrap_err().to_string();
        assert!(error.contains("39, 40"), "{error}");
        assert!(find(&jobs, "mg.A").unwrap_err().to_string().contains("called mg.A"));
        let own = std::process::id().to_string();
        assert!(find(&jobs, &own).unwrap_err().to_string().contains("not dsm-run"));
        let foreign = explain(41, &listed(&SOCKETS.replace("/8/", "/4294967294/"))).to_string();
        assert!(foreign.starts_with("job 41 is of user 4294967294: only that user"), "{foreign}");
        let late = listed(&SOCKETS.replace("/8/", &format!("/{}/", getuid())));
        assert!(explain(41, &late).to_string().contains("has not started it yet"));
        assert!(find(&jobs, "2147483647").unwrap_err().to_string().contains("no process"));
    }
}
