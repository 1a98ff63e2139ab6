//! Starting the processes of a job.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use dsm_abi::job::{BOUNDED_STACK, FINISHED_WORD, HANDLED_WORD, JOB_PAGE_BYTES, JOB_VARIABLE, JOB_VERSION};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::personality::{self, Persona};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::unistd::{Pid, getpid, getppid};

use super::options::Options;
use super::streams::Streams;
use super::{Error, environment};

/// A started job. The launcher keeps the job page; the segments belong to the processes alone.
pub struct Job {
    /// Process ids by rank.
    pub pids: Vec<Pid>,
    /// Children that the launcher had before (a shell's `cmd & exec dsm-run`); not the job's to end.
    pub strangers: Vec<Pid>,
    page: File,
    outputs: Option<Vec<(ChildStdout, ChildStderr)>>,
}

/// Descriptors besides the segments that launcher and processes need.
const SPARE_DESCRIPTORS: u64 = 64;

/// Starts all processes.
///
/// # Errors
/// If one cannot be started; those that were started are killed and waited for.
pub fn start(options: &Options, program: &Path, mask: SigSet) -> Result<Job, Error> {
    let system = |what| move |e: nix::Error| Error::System { what, source: e.into() };
    // Orphans of the job's processes become the launcher's children, so that it can end them.
    prctl::set_child_subreaper(true).map_err(system("adopt the processes of the job"))?;
    turn_off_randomisation()?;
    bound_stack().map_err(system("limit the stack"))?;
    let per_process = if options.label { 3 } else { 1 };
    let mut streams =
        (options.processes > 1 && environment::has_streams()).then(|| Streams::new(options.processes));
    let sockets = streams.as_ref().map_or(0, |_| Streams::descriptors(options.processes));
    allow_descriptors(u64::from(options.processes) * per_process + sockets)?;

    let page = memory_file(c"dsm-job")?;
    page.set_len(JOB_PAGE_BYTES as u64)
        .map_err(|source| Error::System { what: "size the job page", source })?;
    let segments = (0..options.processes).map(|_| memory_file(c"dsm-seg")).collect::<Result<Vec<_>, _>>()?;

    let strangers = super::watch::children();
    let mut job = Job { pids: Vec::new(), strangers, page, outputs: options.label.then(Vec::new) };
    for rank in 0..options.processes {
        match start_one(options, program, rank, mask, &job.page, &segments, streams.as_mut()) {
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

fn start_one(
    options: &Options,
    program: &Path,
    rank: u32,
    mask: SigSet,
    page: &File,
    segments: &[File],
    mut streams: Option<&mut Streams>,
) -> Result<Child, Error> {
    let mut value = describe(options, rank, page, segments);
    let mut inherited = Vec::new();
    if let Some(streams) = &mut streams {
        let what = "connect the processes (ulimit -n limits the number of sockets)";
        streams.connect(rank).map_err(|source| Error::System { what, source })?;
        value = format!("{value}:{}", streams.describe(rank));
        inherited = streams.of(rank);
    }
    let started = command(options, program, rank, &value, mask, inherited).spawn();
    if let Some(streams) = streams {
        streams.close(rank);
    }
    started.map_err(|source| {
        let hint = match source.raw_os_error() {
            Some(code) if code == nix::Error::ENOEXEC as i32 => " (a script needs a first line #!...)",
            _ => "",
        };
        Error::Start { rank, program: program.to_owned(), hint, source }
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

fn allow_descriptors(count: u64) -> Result<(), Error> {
    let failed = |e: nix::Error| Error::System { what: "open so many files (ulimit -n)", source: e.into() };
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    let needed = count + SPARE_DESCRIPTORS;
    if soft < needed {
        setrlimit(Resource::RLIMIT_NOFILE, needed.min(hard), hard).map_err(failed)?;
    }
    Ok(())
}

/// A file without a name, inherited by the processes and gone with the last of them.
fn memory_file(name: &std::ffi::CStr) -> Result<File, Error> {
    memfd_create(name, MFdFlags::empty())
        .map(File::from)
        .map_err(|e| Error::System { what: "create a memory file", source: e.into() })
}

/// Value of the variable that `dsm_abi::job` describes, without sockets.
fn describe(options: &Options, rank: u32, page: &File, segments: &[File]) -> String {
    let segments: Vec<_> = segments.iter().map(|s| s.as_raw_fd().to_string()).collect();
    let (size, threads, page) = (options.processes, options.threads, page.as_raw_fd());
    format!("{JOB_VERSION}:{rank}:{size}:{threads}:{page}:{}", segments.join(","))
}

fn command(
    options: &Options,
    program: &Path,
    rank: u32,
    job: &str,
    mask: SigSet,
    inherited: Vec<RawFd>,
) -> Command {
    let mut command = Command::new(program);
    command.arg0(options.program()).args(options.arguments()).env(JOB_VARIABLE, job);
    if options.stats {
        command.env("DSM_STATS", "1");
    }
    if rank > 0 {
        command.stdin(Stdio::null());
    }
    if options.label {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let launcher = getpid();
    let prepare = move || {
        die_with(launcher)?;
        for fd in &inherited {
            // SAFETY: the launcher closes its copy after the process has started.
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
    fn add(&mut self, mut child: Child) {
        self.pids.push(Pid::from_raw(child.id().cast_signed()));
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

    /// Whether process 0 has said that the program ended in an orderly way.
    pub fn finished(&self) -> bool {
        self.word(FINISHED_WORD) != 0
    }

    /// Whether the program handles the signal in process 0.
    pub fn handles(&self, signal: Signal) -> bool {
        self.word(HANDLED_WORD) >> (signal as u32 - 1) & 1 == 1
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
