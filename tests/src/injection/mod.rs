//! Fault injection from outside: while a job runs, one of its processes, a daemon or the launcher is killed or stopped, or a host is cut off; by seed.
//!
//! After a kill or a cut the job has to end with one message that names who was lost, with a status that is not zero, and nothing may be left of it on any host: no
//! process, no file. A stop of some seconds has to do no harm. `plan` draws what is done, `network` makes hosts of network namespaces, `job` runs a job and looks for what is left.

mod job;
mod network;
mod plan;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

pub use job::{Installed, Job};
pub use network::Network;
pub use plan::{Fault, Plan, Target};

use crate::kill::send;

/// Where jobs over several hosts run.
#[derive(Debug)]
pub enum Hosts {
    /// Network namespaces, whose links can be cut.
    Namespaces(Network),
    /// Others.
    Named(Named),
}

/// Hosts that somebody else has made.
#[derive(Debug)]
pub struct Named {
    /// Two names.
    pub names: [String; 2],
    /// The command that reaches them.
    pub shell: String,
    /// A command that takes a link down or up, with the host's name and one of these words as its arguments.
    pub cut: Option<String>,
}

impl Hosts {
    fn names(&self) -> [String; 2] {
        match self {
            Hosts::Namespaces(network) => [network.address(0), network.address(1)],
            Hosts::Named(named) => named.names.clone(),
        }
    }

    fn shell(&self) -> String {
        match self {
            Hosts::Namespaces(network) => network.shell().display().to_string(),
            Hosts::Named(named) => named.shell.clone(),
        }
    }

    /// Whether links can be cut.
    pub fn have_links(&self) -> bool {
        !matches!(self, Hosts::Named(Named { cut: None, .. }))
    }

    /// Takes the link of a host down or up.
    fn set_link(&self, host: usize, word: &str) -> Result<(), String> {
        match self {
            Hosts::Namespaces(network) => network.set_link(host, word),
            Hosts::Named(Named { cut: None, .. }) => Err("no link can be cut here".into()),
            Hosts::Named(Named { cut: Some(cut), names, shell }) => {
                network::shell(cut, &[&names[host], word])?;
                let reach = || network::shell(&format!("{shell} \"$1\" true"), &[&names[host]]);
                let is_reached = word == "down" || wait_until(Instant::now() + PATIENCE, || reach().is_ok());
                if is_reached { Ok(()) } else { reach() }
            }
        }
    }
}

/// Bounds of time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long who is stopped stays so.
    pub stop: Duration,
    /// Longest time from a kill to the end of all.
    pub kill: Duration,
    /// Longest time from a cut to the end of all.
    pub cut: Duration,
}

/// Longest time for what happens soon.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the book promises (`user/clusters.md`).
pub const PROMISED: Limits =
    Limits { stop: Duration::from_secs(5), kill: Duration::from_secs(10), cut: Duration::from_secs(20) };

/// Does what the plan says to a job of its own; how long the end took after a kill or a cut.
///
/// # Errors
/// What is wrong with the end, or was left behind.
pub fn run(plan: &Plan, hosts: &Hosts, installed: &Installed, limits: Limits) -> Result<Duration, String> {
    let mut command = Command::new(&installed.launcher);
    if plan.has_two_hosts {
        let [first, second] = hosts.names();
        let count = plan.processes;
        command.args(["--rsh", &hosts.shell(), "-H", &format!("{first}:{count},{second}:{count}")]);
    } else {
        command.args(["-n", &plan.processes.to_string()]);
    }
    command.args(["-t", &plan.threads.to_string()]);
    let job = Job::start(command, installed, plan.total())?;
    std::thread::sleep(plan.delay);
    let names = hosts.names();
    let host_of = |rank: u32| plan.has_two_hosts.then(|| names[plan.host_of(rank)].clone());
    match (plan.fault, plan.target) {
        (Fault::Cut, Target::Host(host)) => {
            hosts.set_link(host, "down")?;
            let ended = job.end(limits.cut);
            hosts.set_link(host, "up")?;
            let (end, elapsed) = ended?;
            end.is_failure(1)?;
            // Each end of a line that is cut takes the other one for lost: the launcher may be on either side, and where the remote shell is a pipe, what the
            // daemon of the host says gets through.
            if !names.iter().any(|name| end.says("dsm-run: ", name, elapsed).is_ok()) {
                return end.says("dsm-run: ", &names[host], elapsed);
            }
            end.says("dsm-run: ", " for 8 s, so it is down or cut off", elapsed)
        }
        (Fault::Kill, Target::Process(rank)) => {
            let pid = job.processes[rank as usize];
            send(pid, libc::SIGKILL);
            let (end, elapsed) = job.end(limits.kill)?;
            end.is_failure(128 + libc::SIGKILL)?;
            let place = host_of(rank).map(|host| format!(" on {host}")).unwrap_or_default();
            let message =
                format!("dsm-run: process {rank} (pid {pid}){place} was killed by signal 9 (SIGKILL);");
            end.says(&message, "; the job was ended", elapsed)
        }
        (Fault::Kill, Target::Daemon(host)) => {
            send(job.parent_of(plan.first_of(host))?, libc::SIGKILL);
            let (end, elapsed) = job.end(limits.kill)?;
            end.is_failure(1)?;
            end.says(
                &format!("dsm-run: {}: its daemon was lost: ", names[host]),
                "; the job was ended",
                elapsed,
            )
        }
        (Fault::Kill, _) => {
            send(job.launcher(), libc::SIGKILL);
            let (end, elapsed) = job.end(limits.kill)?;
            end.is_failure(128 + libc::SIGKILL)?;
            end.says("", "", elapsed)
        }
        (Fault::Stop | Fault::Cut, target) => {
            let pid = match target {
                Target::Process(rank) => job.processes[rank as usize],
                Target::Daemon(host) => job.parent_of(plan.first_of(host))?,
                Target::Launcher | Target::Host(_) => job.launcher(),
            };
            send(pid, libc::SIGSTOP);
            std::thread::sleep(limits.stop);
            send(pid, libc::SIGCONT);
            job.finish()?;
            Ok(Duration::ZERO)
        }
    }
}

/// The plans of these seeds, one after the other; a line for each that fails, with what it takes to run it again. Returns how many failed.
pub fn run_all(
    seeds: std::ops::Range<u64>,
    plan_of: impl Fn(u64) -> Plan,
    hosts: &Hosts,
    installed: &Installed,
    limits: Limits,
    mut tell: impl FnMut(u64, &Plan, &Result<Duration, String>),
) -> u64 {
    let mut failed = 0;
    for seed in seeds {
        let plan = plan_of(seed);
        let result = run(&plan, hosts, installed, limits);
        failed += u64::from(result.is_err());
        tell(seed, &plan, &result);
    }
    failed
}

/// A directory of its own for a job, and what is in it when it has ended.
fn names_in(directory: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Waits until `is_over`, at most until `deadline`; whether it is.
fn wait_until(deadline: Instant, mut is_over: impl FnMut() -> bool) -> bool {
    while !is_over() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}
