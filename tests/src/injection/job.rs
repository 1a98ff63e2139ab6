//! A job to which something is done, and what is left of it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{PATIENCE, names_in, wait_until};
use crate::compile::{self, Target};
use crate::execute::{self, Scratch};
use crate::kill::{processes_of, rank_of, send, victim};
use crate::toolchain::Dsm;

/// Copies of launcher and program, by which processes of these jobs can be told from others, the launcher's daemons included.
#[derive(Debug)]
pub struct Installed {
    /// The launcher.
    pub launcher: PathBuf,
    /// The program.
    pub program: PathBuf,
    /// Where they are.
    _directory: Scratch,
}

impl Installed {
    /// Makes them.
    ///
    /// # Errors
    /// The program does not compile, or the system's.
    pub fn new(dsm: &Dsm, target: Target) -> Result<Installed, String> {
        let built = compile::compile(&victim(&[]), target)?;
        let directory = Scratch::directory("installed");
        let (launcher, program) = (directory.path().join("dsm-run"), directory.path().join("victim"));
        fs::copy(&dsm.run, &launcher)
            .and_then(|_| fs::copy(&built.path, &program))
            .map_err(|e| e.to_string())?;
        Ok(Installed { launcher, program, _directory: directory })
    }

    /// All processes that run one of the two.
    fn processes(&self) -> Vec<u32> {
        [&self.launcher, &self.program].into_iter().flat_map(|path| processes_of(path)).collect()
    }
}

/// A running job.
#[derive(Debug)]
pub struct Job<'a> {
    installed: &'a Installed,
    launcher: Child,
    /// Working directory, which is also that of temporary files.
    directory: Scratch,
    stdout: Scratch,
    stderr: Scratch,
    /// Process ids by rank.
    pub processes: Vec<u32>,
    /// What was in places of the system before.
    before: Vec<PathBuf>,
}

/// How a job has ended.
#[derive(Debug)]
pub struct End {
    status: i32,
    errors: String,
}

impl End {
    /// The launcher's exit status is this one.
    ///
    /// # Errors
    /// Another one.
    pub fn is_failure(&self, expected: i32) -> Result<(), String> {
        match self.status {
            status if status == expected => Ok(()),
            status => Err(format!("status {status}, not {expected}: {}", self.errors)),
        }
    }

    /// Standard error is one line with these texts, the first at its begin; or nothing, if they are empty. Hands on `elapsed`.
    ///
    /// # Errors
    /// It is something else.
    pub fn says(&self, begin: &str, part: &str, elapsed: Duration) -> Result<Duration, String> {
        let lines = usize::from(!begin.is_empty());
        let is_right = self.errors.lines().count() == lines
            && self.errors.starts_with(begin)
            && self.errors.contains(part);
        if is_right {
            Ok(elapsed)
        } else {
            Err(format!("messages:\n{}expected: {begin}...{part}", self.errors))
        }
    }
}

impl<'a> Job<'a> {
    /// Starts the program with what `command` begins with, and waits until all of its processes are in the middle of their work.
    ///
    /// # Errors
    /// It does not get going.
    pub fn start(mut command: Command, installed: &'a Installed, processes: u32) -> Result<Job<'a>, String> {
        let (stdout, stderr, directory) =
            (Scratch::new("out"), Scratch::new("err"), Scratch::directory("cwd"));
        let before = places();
        execute::hide_own_variables(&mut command);
        command.arg(&installed.program).args(["until", "end"]);
        command.current_dir(directory.path()).env("TMPDIR", directory.path()).stdin(Stdio::null());
        command.stdout(File::create(stdout.path()).map_err(|e| e.to_string())?);
        command.stderr(File::create(stderr.path()).map_err(|e| e.to_string())?);
        let launcher = execute::start(command.process_group(0));
        let mut job = Job { installed, launcher, directory, stdout, stderr, processes: Vec::new(), before };
        let deadline = Instant::now() + PATIENCE;
        let is_running = wait_until(deadline, || {
            job.output().contains("running") || job.launcher.try_wait().is_ok_and(|status| status.is_some())
        });
        let mut found: Vec<_> = processes_of(&installed.program).into_iter().filter_map(rank_of).collect();
        found.sort_unstable();
        if !is_running || !job.output().contains("running") || found.iter().map(|f| f.0).ne(0..processes) {
            let errors = job.errors();
            job.kill();
            return Err(format!("the job did not get going; (rank, pid) {found:?}: {errors}"));
        }
        job.processes = found.into_iter().map(|f| f.1).collect();
        Ok(job)
    }

    /// The launcher's process id.
    pub fn launcher(&self) -> u32 {
        self.launcher.id()
    }

    /// The process that has started the one of this rank.
    ///
    /// # Errors
    /// There is none.
    pub fn parent_of(&self, rank: u32) -> Result<u32, String> {
        let pid = self.processes[rank as usize];
        let stat =
            fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|e| format!("process {rank}: {e}"))?;
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
        parent.ok_or_else(|| format!("process {rank}: {stat}"))
    }

    fn output(&self) -> String {
        fs::read_to_string(self.stdout.path()).unwrap_or_default()
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.stderr.path()).unwrap_or_default()
    }

    /// Waits for the end of launcher and processes, and how long that takes.
    ///
    /// # Errors
    /// It takes longer than `limit`, or something is left behind.
    pub fn end(mut self, limit: Duration) -> Result<(End, Duration), String> {
        let since = Instant::now();
        let status = self.wait(since + limit)?;
        let elapsed = since.elapsed();
        let left: Vec<_> = names_in(self.directory.path())
            .into_iter()
            .chain(
                places()
                    .into_iter()
                    .filter(|path| !self.before.contains(path) && is_of_job(path, &self.processes)),
            )
            .collect();
        if left.is_empty() {
            Ok((End { status, errors: self.errors() }, elapsed))
        } else {
            Err(format!("{left:?} is left"))
        }
    }

    /// Has the program end in an orderly way.
    ///
    /// # Errors
    /// It does not, or its data are wrong, or there is a message, or something is left behind.
    pub fn finish(self) -> Result<(), String> {
        let file = self.directory.path().join("end");
        File::create(&file).map_err(|e| e.to_string())?;
        let mut job = self;
        let status = job.wait(Instant::now() + PATIENCE)?;
        let (output, errors) = (job.output(), job.errors());
        if (status, &*output, &*errors) != (0, "running\n0 wrong\n", "") {
            return Err(format!("status {status}, output {output:?}, messages {errors:?}"));
        }
        match names_in(job.directory.path()).as_slice() {
            [only] if *only == file => Ok(()),
            left => Err(format!("{left:?} is left")),
        }
    }

    /// The launcher's exit status as a shell has it, when no process is left.
    fn wait(&mut self, deadline: Instant) -> Result<i32, String> {
        let mut status = None;
        let is_over = wait_until(deadline, || {
            status = status.or(self.launcher.try_wait().ok().flatten());
            status.is_some() && self.installed.processes().is_empty()
        });
        match status {
            Some(status) if is_over => Ok(execute::shell_status(status)),
            _ => {
                let left = self.installed.processes();
                let (ended, errors) = (status.is_some(), self.errors());
                self.kill();
                Err(format!("processes {left:?} are left at the limit; launcher ended: {ended}; {errors}"))
            }
        }
    }

    fn kill(&mut self) {
        execute::kill_group(self.launcher.id());
        self.installed.processes().into_iter().for_each(|pid| send(pid, libc::SIGKILL));
        let _ = self.launcher.wait();
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What is in places that all programs of a machine share.
fn places() -> Vec<PathBuf> {
    ["/dev/shm", "/tmp", "/run"].into_iter().flat_map(|place| names_in(Path::new(place))).collect()
}

/// Whether a file of such a place has a name that a job may have given to it.
fn is_of_job(path: &Path, processes: &[u32]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbers = name.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u32>().ok());
    let is_named = path.starts_with("/dev/shm") || name.contains("dsm");
    is_named && numbers.into_iter().any(|n| processes.contains(&n))
}
