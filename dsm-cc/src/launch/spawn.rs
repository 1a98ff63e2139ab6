//! Starting the processes of a job.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use dsm_abi::job::{BOUNDED_STACK, FINISHED_WORD, HANDLED_WORD, JOB_VARIABLE, JOB_VERSION};
use dsm_abi::progress::JOB_FILE_BYTES;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sched::sched_setaffinity;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::personality::{self, Persona};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::unistd::{Pid, getpid, getppid};

use super::Error;
use super::bind::{self, Binding};
use super::streams::Streams;

/// What is to be started on this host.
pub struct Plan<'a> {
    /// The program's file.
    pub program: &'a Path,
    /// The program as typed.
    pub name: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Number of processes of the job.
    pub processes: u32,
    /// Those of this host; the others have sockets to them.
    pub ranks: Range<u32>,
    /// Files that a process writes for the launcher: the variable that names each, and its descriptor.
    pub files: &'a dyn Fn(u32) -> Vec<(String, RawFd)>,
    /// Threads of each process.
    pub threads: u32,
    /// What they are bound to.
    pub binding: &'a Binding,
    /// Variables that differ from the launcher's; those without a value are taken out.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Whether the launcher reads what the processes write.
    pub has_outputs: bool,
    /// Whether the launcher writes what process 0 reads.
    pub has_input: bool,
    /// Signal mask of the processes.
    pub mask: SigSet,
}

/// The processes of a job on this host. The launcher keeps the job page; only the processes keep the segments.
pub struct Job {
    /// Process ids, the first of process `first`.
    pub pids: Vec<Pid>,
    /// Number of the host's first process.
    pub first: u32,
    /// Children that the launcher had before (a shell's `cmd & exec dsm-run`); not the job's to end.
    pub strangers: Vec<Pid>,
    /// The job's memory file: the page, and the processes' records.
    pub page: File,
    outputs: Option<Vec<(ChildStdout, ChildStderr)>>,
    input: Option<ChildStdin>,
}

/// Descriptors besides the segments that launcher and processes need.
const SPARE_DESCRIPTORS: u64 = 64;

/// Orphans of the job's processes become the launcher's children, so that it can end them.
pub fn adopt_orphans() -> Result<(), Error> {
    let failed = |e: nix::Error| Error::System { what: "adopt the processes of the job", source: e.into() };
    prctl::set_child_subreaper(true).map_err(failed)
}

/// What the processes of a host have in common.
pub struct Memory {
    /// The job's memory file.
    pub page: File,
    first: u32,
    segments: Vec<File>,
}

impl Memory {
    /// Makes the files for the host's processes.
    pub fn create(ranks: &Range<u32>) -> Result<Memory, Error> {
        let page = memory_file(c"dsm-job")?;
        page.set_len(JOB_FILE_BYTES as u64)
            .map_err(|source| Error::System { what: "size the job page", source })?;
        let segments = ranks.clone().map(|_| memory_file(c"dsm-seg")).collect::<Result<_, _>>()?;
        Ok(Memory { page, first: ranks.start, segments })
    }

    /// How a process of the host, which is about to start, reaches the segment of each process: by one descriptor or four.
    pub fn reached(
        &self,
        rank: u32,
        processes: u32,
        streams: &mut Streams,
    ) -> Result<Vec<Vec<RawFd>>, Error> {
        let what = "connect the processes (ulimit -n limits the number of sockets)";
        streams.connect(rank).map_err(|source| Error::System { what, source })?;
        let to = |peer| match streams.between(rank, peer) {
            Some(sockets) => sockets.to_vec(),
            // A process of this host.
            None => vec![self.segments[(peer - self.first) as usize].as_raw_fd()],
        };
        Ok((0..processes).map(to).collect())
    }
}

/// Sets up what processes inherit.
fn prepare() -> Result<(), Error> {
    adopt_orphans()?;
    turn_off_randomisation()?;
    bound_stack().map_err(|e| Error::System { what: "limit the stack", source: e.into() })
}

/// Starts the host's processes.
///
/// # Errors
/// If one cannot be started; those that were started are killed and waited for.
pub fn start(plan: &Plan, mut streams: Streams) -> Result<Job, Error> {
    prepare()?;
    let processes = plan.ranks.len() as u64;
    let outputs = if plan.has_outputs { 2 * processes } else { 0 };
    allow_descriptors(processes + outputs + streams.descriptors())?;
    let memory = Memory::create(&plan.ranks)?;
    let mut job = Job::new(plan, memory.page.try_clone().map_err(copy_failed)?);
    for rank in plan.ranks.clone() {
        let reached = memory.reached(rank, plan.processes, &mut streams);
        let started = reached.and_then(|reached| start_one(plan, rank, &job.page, &reached));
        streams.close(rank);
        match started {
            Ok(child) => job.add(child),
            Err(error) => {
                job.abort();
                super::watch::reap_everything(&job.strangers);
                return Err(error);
            }
        }
    }
    Ok(job)
}

/// Starts the one process of the plan with what its host has been set up with.
pub fn start_member(plan: &Plan, page: &File, reached: &[Vec<RawFd>]) -> Result<Job, Error> {
    prepare()?;
    let mut job = Job::new(plan, page.try_clone().map_err(copy_failed)?);
    job.add(start_one(plan, plan.ranks.start, &job.page, reached)?);
    Ok(job)
}

fn copy_failed(source: io::Error) -> Error {
    Error::System { what: "copy a descriptor", source }
}

fn start_one(plan: &Plan, rank: u32, page: &File, reached: &[Vec<RawFd>]) -> Result<Child, Error> {
    let files = (plan.files)(rank);
    let job = describe(plan, rank, page, reached, &files);
    let files = files.into_iter().map(|(_, fd)| fd);
    let inherited = reached.iter().flatten().copied().chain([page.as_raw_fd()]).chain(files).collect();
    command(plan, rank, &job, inherited).spawn().map_err(|source| {
        let hint = match source.raw_os_error() {
            Some(code) if code == nix::Error::ENOEXEC as i32 => " (a script needs a first line #!...)",
            _ => "",
        };
        Error::Start { rank, program: plan.program.to_owned(), hint, source }
    })
}

/// Without it the processes would not have the program's globals at the same addresses.
fn turn_off_randomisation() -> Result<(), Error> {
    let set = personality::get().and_then(|p| personality::set(p | Persona::ADDR_NO_RANDOMIZE));
    let off_everywhere =
        || std::fs::read_to_string("/proc/sys/kernel/randomize_va_space").is_ok_and(|v| v.trim() == "0");
    match set {
        Err(_) if off_everywhere() => Ok(()),
        Err(e) => Err(Error::System {
            what: "turn off address space randomisation (in a container, allow the personality system call: \
                   --security-opt seccomp=unconfined)",
            source: e.into(),
        }),
        Ok(_) => Ok(()),
    }
}

/// The limit decides where the system places libraries and stacks of threads.
fn bound_stack() -> Result<(), nix::Error> {
    match getrlimit(Resource::RLIMIT_STACK)? {
        (soft, hard) if soft > BOUNDED_STACK => setrlimit(Resource::RLIMIT_STACK, BOUNDED_STACK, hard),
        _ => Ok(()),
    }
}

/// Raises the limit of open files, if that is needed and possible.
pub fn allow_descriptors(count: u64) -> Result<(), Error> {
    let failed = |e: nix::Error| Error::System { what: "open so many files (ulimit -n)", source: e.into() };
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    let needed = count + SPARE_DESCRIPTORS;
    if soft < needed {
        setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard).map_err(failed)?;
    }
    Ok(())
}

/// A file without a name, which is gone with the last of the processes that inherit it.
fn memory_file(name: &std::ffi::CStr) -> Result<File, Error> {
    memfd_create(name, MFdFlags::MFD_CLOEXEC)
        .map(File::from)
        .map_err(|e| Error::System { what: "create a memory file", source: e.into() })
}

/// Value of the variable that `dsm_abi::job` describes. Each segment is reached by one descriptor or four.
fn describe(
    plan: &Plan,
    rank: u32,
    page: &File,
    reached: &[Vec<RawFd>],
    files: &[(String, RawFd)],
) -> String {
    let join = |fds: &Vec<RawFd>| fds.iter().map(RawFd::to_string).collect::<Vec<_>>().join("+");
    let segments: Vec<_> = reached.iter().map(join).collect();
    let (size, threads, page) = (plan.processes, plan.threads, page.as_raw_fd());
    let sharers = plan.binding.sharers(rank);
    let files: String = files.iter().map(|(variable, fd)| format!(":{variable}={fd}")).collect();
    let (first, last) = (sharers.start, sharers.end - 1);
    format!("{JOB_VERSION}:{rank}:{size}:{threads}:{first}-{last}:{page}:{}{files}", segments.join(","))
}

fn command(plan: &Plan, rank: u32, job: &str, inherited: Vec<RawFd>) -> Command {
    let mut command = Command::new(plan.program);
    command.arg0(plan.name).args(plan.arguments);
    for (name, value) in &plan.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env(JOB_VARIABLE, job);
    if rank > 0 {
        command.stdin(Stdio::null());
    } else if plan.has_input {
        command.stdin(Stdio::piped());
    }
    if plan.has_outputs {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let launcher = getpid();
    let mask = plan.mask;
    let processors = plan.binding.of(rank).map(bind::cpu_set);
    let prepare = move || {
        die_with(launcher)?;
        if let Some(set) = &processors {
            sched_setaffinity(Pid::from_raw(0), set)?;
        }
        for fd in &inherited {
            // SAFETY: the launcher keeps its copies open until the process has started.
            let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
            fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        // The launcher blocks signals for its own purposes, and a process inherits that.
        mask.thread_set_mask().map_err(io::Error::from)
    };
    // SAFETY: between fork and exec the closure only makes system calls: it neither allocates nor takes locks
    // (`io::Error` from an errno is a plain value).
    unsafe { command.pre_exec(prepare) };
    command
}

/// In a child that has not started its program yet: it ends when the launcher does.
fn die_with(launcher: Pid) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != launcher {
        // The launcher died before the line above: nobody is left to take an error, and the standard library aborts with a message of its own for one
        // that it cannot hand over.
        raise(Signal::SIGKILL)?;
    }
    Ok(())
}

impl Job {
    fn new(plan: &Plan, page: File) -> Job {
        let strangers = super::watch::children();
        let outputs = plan.has_outputs.then(Vec::new);
        Job { pids: Vec::new(), first: plan.ranks.start, strangers, page, outputs, input: None }
    }

    fn add(&mut self, mut child: Child) {
        self.pids.push(Pid::from_raw(child.id().cast_signed()));
        self.input = self.input.take().or(child.stdin.take());
        if let (Some(outputs), Some(out), Some(err)) =
            (&mut self.outputs, child.stdout.take(), child.stderr.take())
        {
            outputs.push((out, err));
        }
    }

    /// The pipes of the processes by rank, if output is labelled.
    pub fn take_outputs(&mut self) -> Option<Vec<(ChildStdout, ChildStderr)>> {
        self.outputs.take()
    }

    /// The pipe that process 0 reads, if it is the launcher that writes.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.take()
    }

    /// Whether process 0, of this host, has said that the program ended in an orderly way.
    pub fn finished(&self) -> bool {
        self.word(FINISHED_WORD) != 0
    }

    /// Whether the program handles the signal in process 0.
    pub fn handles(&self, signal: Signal) -> bool {
        self.handled() >> (signal as u32 - 1) & 1 == 1
    }

    /// All signals that the program handles in process 0, bit 0 for signal 1.
    pub fn handled(&self) -> u32 {
        self.word(HANDLED_WORD)
    }

    /// A word of the job page, 0 if it cannot be read.
    fn word(&self, index: usize) -> u32 {
        let mut word = [0; 4];
        let read = self.page.read_exact_at(&mut word, 4 * index as u64);
        read.map_or(0, |()| u32::from_ne_bytes(word))
    }

    /// Sends a signal to process 0.
    pub fn signal_first(&self, signal: Signal) {
        if let Some(pid) = self.pids.first().filter(|p| super::watch::is_child(**p)) {
            let _ = kill(*pid, signal);
        }
    }

    /// Kills the processes.
    pub fn abort(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Sends a signal to every process that has not been waited for.
    pub fn signal(&self, signal: Signal) {
        for pid in &self.pids {
            // A process that was reaped is no child any more; ids are not reused while siblings are being reaped
            // only if nobody else forks that much meanwhile, so ask the kernel first.
            if super::watch::is_child(*pid) {
                let _ = kill(*pid, signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn status(launcher: Pid) -> std::process::ExitStatus {
        let mut command = Command::new("true");
        // SAFETY: the closure only makes system calls.
        unsafe { command.pre_exec(move || die_with(launcher)) };
        command.status().expect("`true` can be started")
    }

    #[test]
    fn a_process_whose_launcher_has_died_ends_without_a_word() {
        assert!(status(getpid()).success());
        assert_eq!(status(Pid::from_raw(1)).signal(), Some(Signal::SIGKILL as i32));
    }
}
