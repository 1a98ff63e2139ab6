//! What is done to which part of which job, drawn by seed.

use std::fmt;
use std::time::Duration;

use crate::random::Random;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, and SIGCONT some time later.
    Stop,
    /// The link of a host goes down.
    Cut,
}

/// To whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process of the program, by its rank.
    Process(u32),
    /// The daemon of a host.
    Daemon(usize),
    /// The launcher that the user has started.
    Launcher,
    /// A host.
    Host(usize),
}

/// A job and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Two hosts, or this machine alone.
    pub has_two_hosts: bool,
    /// Processes of each host.
    pub processes: u32,
    /// Threads of each process.
    pub threads: u32,
    /// What is done.
    pub fault: Fault,
    /// To whom.
    pub target: Target,
    /// How long after the program has begun to work.
    pub delay: Duration,
}

impl Plan {
    /// The plan of a seed, which does one of these faults. Cuts are of jobs over two hosts.
    pub fn new(seed: u64, faults: &[Fault]) -> Plan {
        let random = &mut Random::new(seed);
        let fault = faults[random.below(faults.len() as u64) as usize];
        let has_two_hosts = fault == Fault::Cut || random.below(2) == 0;
        let processes = if has_two_hosts { 1 + random.below(2) } else { 2 + random.below(3) } as u32;
        let threads = 1 + random.below(2) as u32;
        let host = random.below(2) as usize;
        let target = match random.below(if has_two_hosts { 4 } else { 3 }) {
            _ if fault == Fault::Cut => Target::Host(host),
            0 => Target::Launcher,
            3 => Target::Daemon(host),
            _ => Target::Process(random.below(u64::from(processes) << u32::from(has_two_hosts)) as u32),
        };
        let delay = Duration::from_micros(random.below(150_000));
        Plan { has_two_hosts, processes, threads, fault, target, delay }
    }

    /// All processes of the job.
    pub fn total(&self) -> u32 {
        self.processes << u32::from(self.has_two_hosts)
    }

    /// The host of a process.
    pub fn host_of(&self, rank: u32) -> usize {
        (rank / self.processes) as usize
    }

    /// The first process of a host.
    pub fn first_of(&self, host: usize) -> u32 {
        host as u32 * self.processes
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = if self.has_two_hosts { "2 hosts of " } else { "" };
        let Plan { processes, threads, fault, target, delay, .. } = self;
        write!(f, "{hosts}{processes}x{threads}: {fault:?} {target:?} after {delay:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_name_who_is_there_and_cover_everything() {
        let all = [Fault::Kill, Fault::Stop, Fault::Cut];
        let plans: Vec<_> = (0..1000).map(|seed| Plan::new(seed, &all)).collect();
        for plan in &plans {
            match plan.target {
                Target::Process(rank) => assert!(rank < plan.total(), "{plan}"),
                Target::Daemon(host) | Target::Host(host) => {
                    assert!(plan.has_two_hosts && host < 2, "{plan}")
                }
                Target::Launcher => {}
            }
            assert_eq!(plan.fault == Fault::Cut, matches!(plan.target, Target::Host(_)), "{plan}");
            assert_eq!(plan.host_of(plan.total() - 1), usize::from(plan.has_two_hosts));
        }
        for fault in all {
            for is in [
                (|t| matches!(t, Target::Process(_))) as fn(Target) -> bool,
                |t| matches!(t, Target::Daemon(_)),
                |t| t == Target::Launcher,
                |t| matches!(t, Target::Host(_)),
            ] {
                let there = plans.iter().any(|plan| plan.fault == fault && is(plan.target));
                assert_eq!(there, (fault == Fault::Cut) == is(Target::Host(0)), "{fault:?}");
            }
        }
    }
}
