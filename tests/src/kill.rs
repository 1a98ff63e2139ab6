//! Ending jobs from outside and inside, and looking at what they leave behind.

use crate::compile::{self, Target};
use crate::execute::{self, Scratch};
use crate::program::Program;
use crate::toolchain::Dsm;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A job that has not ended this long after the cause will not: it takes milliseconds, but on a machine that has much else to do.
pub const END_LIMIT: Duration = Duration::from_secs(30);

/// A running job of the victim program.
#[derive(Debug)]
pub struct Job {
    launcher: Child,
    executable: PathBuf,
    /// Where it runs.
    directory: Scratch,
    stdout: Scratch,
    stderr: Scratch,
    /// Process ids, indexed by rank.
    pub processes: Vec<u32>,
}

/// How a job ended.
#[derive(Debug)]
pub struct End {
    /// The launcher's exit status as a shell shows it.
    pub status: i32,
    /// Its standard error.
    pub message: String,
    /// From the cause to the launcher's end.
    pub elapsed: Duration,
}

/// The victim program with its arguments.
pub fn victim(arguments: &[&str]) -> Program {
    let mut program = Program::from_source("victim", &crate::toolchain::package().join("kill/victim.c"));
    program.arguments = arguments.iter().map(|a| (*a).to_string()).collect();
    program
}

impl Job {
    /// Starts the victim with `processes` x `threads` and waits until it is in the middle of its work.
    ///
    /// # Errors
    /// If it does not compile or does not get going.
    pub fn start(
        dsm: &Dsm,
        target: Target,
        processes: u32,
        threads: u32,
        arguments: &[&str],
    ) -> Result<Self, String> {
        let program = victim(arguments);
        let built = compile::compile(&program, target)?;
        let (stdout, stderr, directory) =
            (Scratch::new("out"), Scratch::new("err"), Scratch::directory("cwd"));
        // A copy of its own: what is left of this job can be told from other jobs by the executable.
        let executable = directory.path().with_extension("victim");
        std::fs::copy(&built.path, &executable).map_err(|e| e.to_string())?;
        let mut command = Command::new(&dsm.run);
        command.args(["-n", &processes.to_string(), "-t", &threads.to_string()]).arg(&executable);
        execute::hide_own_variables(&mut command);
        command.args(arguments).current_dir(directory.path()).stdin(Stdio::null());
        command.stdout(File::create(stdout.path()).map_err(|e| e.to_string())?);
        command.stderr(File::create(stderr.path()).map_err(|e| e.to_string())?);
        let launcher = execute::start(&mut command);
        let mut job = Self { launcher, executable, directory, stdout, stderr, processes: Vec::new() };
        job.wait_until_running(processes)?;
        Ok(job)
    }

    fn wait_until_running(&mut self, processes: u32) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !std::fs::read_to_string(self.stdout.path()).is_ok_and(|t| t.contains("running")) {
            if Instant::now() > deadline || self.launcher.try_wait().is_ok_and(|s| s.is_some()) {
                let message = std::fs::read_to_string(self.stderr.path()).unwrap_or_default();
                self.kill();
                return Err(format!("the job did not get going: {message}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut found: Vec<(u32, u32)> =
            processes_of(&self.executable).into_iter().filter_map(rank_of).collect();
        found.sort_unstable();
        if found.iter().map(|f| f.0).ne(0..processes) {
            self.kill();
            return Err(format!("expected ranks 0..{processes}, found (rank, pid) {found:?}"));
        }
        self.processes = found.into_iter().map(|f| f.1).collect();
        Ok(())
    }

    /// Lets a victim end that ends itself.
    ///
    /// # Errors
    /// The file that tells it cannot be made.
    pub fn end(&self) -> Result<(), String> {
        std::fs::write(self.directory.path().join("last"), "").map_err(|e| e.to_string())
    }

    /// Process id of the launcher.
    pub fn launcher(&self) -> u32 {
        self.launcher.id()
    }

    /// Waits for the launcher's end after a cause at `since`.
    ///
    /// # Errors
    /// If it takes longer than [`END_LIMIT`], or something is left behind.
    pub fn finish(mut self, since: Instant) -> Result<End, String> {
        let limit = since + END_LIMIT;
        let status = loop {
            if let Some(status) = self.launcher.try_wait().map_err(|e| e.to_string())? {
                break execute::shell_status(status);
            }
            if Instant::now() > limit {
                let alive = processes_of(&self.executable);
                self.kill();
                return Err(format!("the job had not ended after {END_LIMIT:?}; alive {alive:?}"));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let elapsed = since.elapsed();
        self.nothing_left(limit)?;
        let message = std::fs::read_to_string(self.stderr.path()).unwrap_or_default();
        Ok(End { status, message, elapsed })
    }

    /// After the launcher was killed itself: everything else must go too.
    ///
    /// # Errors
    /// What is left.
    pub fn gone(mut self, since: Instant) -> Result<(), String> {
        let _ = self.launcher.wait();
        self.nothing_left(since + END_LIMIT)
    }

    /// No process of the job (memory files die with the last process that has them), no file.
    fn nothing_left(&mut self, limit: Instant) -> Result<(), String> {
        // A killed process is listed until it has been torn down: that may take until the limit.
        while !processes_of(&self.executable).is_empty() {
            if Instant::now() > limit {
                let left = processes_of(&self.executable);
                self.kill();
                return Err(format!("processes {left:?} are left"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let names = |path: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
        };
        let pids: Vec<String> = self.processes.iter().map(u32::to_string).collect();
        let ours = |name: &String| {
            name.contains("dsm")
                && name.split(|c: char| !c.is_ascii_digit()).any(|d| pids.iter().any(|p| p == d))
        };
        let mut files = names(self.directory.path());
        for place in ["/dev/shm", "/tmp", "/run"] {
            files.extend(names(Path::new(place)).into_iter().filter(ours));
        }
        if files.is_empty() { Ok(()) } else { Err(format!("files {files:?} are left")) }
    }

    fn kill(&mut self) {
        execute::kill_group(self.launcher.id());
        for pid in processes_of(&self.executable) {
            send(pid, libc::SIGKILL);
        }
        let _ = self.launcher.wait();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.executable);
    }
}

/// Sends a signal to one process.
pub fn send(pid: u32, signal: i32) {
    // SAFETY: kill(2) takes no pointers; a positive pid names a single process.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Processes that run `executable`, zombies excluded (they have no executable any more).
pub fn processes_of(executable: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_string_lossy().parse::<u32>().ok());
    pids.filter(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == executable))
        .collect()
}

/// (rank, pid) of a process, from the environment that it was started with.
pub fn rank_of(pid: u32) -> Option<(u32, u32)> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let job = environment.split(|b| *b == 0).find_map(|v| v.strip_prefix(b"DSM_JOB="))?;
    let rank = std::str::from_utf8(job).ok()?.split(':').nth(1)?.parse().ok()?;
    Some((rank, pid))
}
