//! Leagues of teams: how many teams, how many threads each may have, and who runs them.
//!
//! Teams run at the same time where that leaves few threads of the job without work: threads of all processes, as many as there are teams and at most those of the job, have equal shares of the
//! teams, one after the other, and what is left of the threads is for the teams' regions. This is a message for the league in place of one for each region of a team. Programs for accelerators ask for thousands of teams. The other leagues have their teams one after the other, and a region in one of them may have all threads of the job.

use std::sync::atomic::{AtomicU32, Ordering};

use super::floats::FloatControl;
use super::fork::{self, may_spread};
use super::frame::{self, Frame, Icv, League};
use super::ompt::abi::Endpoint;
use super::ompt::region::Construct;
use super::schedule::first_thread;
use super::team::{self, Args, Microtask, Team, Work};
use super::{Loc, affinity, contention, default_team, ompt, task, threads_in_job};
use crate::operations::signal;
use crate::{config, image, sync};

/// A control variable of the device, which is a process: what the program has set, else what the environment says.
pub struct DeviceVariable {
    set: AtomicU32,
    given: fn(&config::Config) -> u32,
}

/// The nteams-var; 0 if nobody set it.
pub static NUM_TEAMS: DeviceVariable = DeviceVariable { set: AtomicU32::new(0), given: |c| c.num_teams };

/// The teams-thread-limit-var; 0 if nobody set it.
pub static TEAMS_THREAD_LIMIT: DeviceVariable =
    DeviceVariable { set: AtomicU32::new(0), given: |c| c.teams_thread_limit };

impl DeviceVariable {
    /// Its value.
    pub fn get(&self) -> u32 {
        match self.set.load(Ordering::Relaxed) {
            0 => (self.given)(config::get()),
            n => n,
        }
    }

    /// Sets it; numbers that are not positive give it back to the environment.
    pub fn set(&self, value: i32) {
        self.set.store(value.max(0) as u32, Ordering::Relaxed);
    }
}

/// Teams that the members of a region run in equal shares.
#[derive(Clone, Copy)]
pub struct Teams {
    /// Number of teams.
    count: u32,
    /// Threads that each may have.
    threads: u32,
    /// The thread-limit-var of each.
    limit: u32,
}

impl Teams {
    /// As words of a fork message.
    pub fn encode(teams: Option<Teams>) -> [u64; 2] {
        teams.map_or([0; 2], |teams| {
            [u64::from(teams.count) | u64::from(teams.threads) << 32, u64::from(teams.limit)]
        })
    }

    /// From words.
    pub fn decode(words: [u64; 2]) -> Option<Teams> {
        let [counts, limit] = words;
        (counts != 0).then_some(Teams {
            count: counts as u32,
            threads: (counts >> 32) as u32,
            limit: limit as u32,
        })
    }

    /// Runs the share of a member of the region.
    pub fn run_share(&self, member: &Frame, task: Microtask, args: &[usize]) {
        let outer = Icv { threads: self.threads, ..member.icv.get() };
        // A team of one thread takes none of its contention group.
        let icv = match self.threads {
            1 => Icv { thread_limit: self.limit, ..outer },
            _ => contention::begin(outer, self.limit),
        };
        let members = member.team().size;
        for number in
            first_thread(self.count, member.tid, members)..first_thread(self.count, member.tid + 1, members)
        {
            let league = League { team: number, teams: self.count, threads: Some(self.threads) };
            run_team(member, &Team::of_league(), icv, league, task, args);
        }
        contention::end(&icv, &outer);
    }
}

/// Most threads of a region that the thread of `frame` starts: those of the job in a team of a league, as OpenMP leaves a team's limit open, or the team's share of them.
pub fn most_threads(frame: &Frame) -> u32 {
    let league = frame.league.get();
    match league.threads {
        _ if league == League::NONE => u32::MAX,
        Some(threads) => threads,
        None => threads_in_job().max(default_team(frame)),
    }
}

/// The region whose members run `teams` teams at the same time: its threads, and the threads of each team. None if they had better run one after the other.
fn concurrent_teams(frame: &Frame, teams: u32, task: Microtask) -> Option<(u32, u32)> {
    let icv = frame.icv.get();
    let processes = sync::size();
    let is_possible = image::has_code(task as usize)
        && frame.active_level == 0
        && icv.max_active_levels > 0
        && (processes == 1 || may_spread(frame))
        && !ompt::is_active();
    if teams < 2 || !is_possible {
        return None;
    }
    let threads = default_team(frame).min(icv.thread_limit).min(config::MAX_THREADS * processes);
    if threads < 2 {
        return None;
    }
    if teams < threads {
        // All processes have as many teams.
        let is_even = threads.is_multiple_of(teams) && teams.is_multiple_of(processes.min(threads));
        return is_even.then(|| (teams, threads / teams));
    }
    let without_work = teams.next_multiple_of(threads) - teams;
    (without_work <= teams / 4).then_some((threads, 1))
}

/// Runs a league.
fn fork_teams(task: Microtask, args: Args) {
    let frame = frame::current();
    let (clause, limit) = frame.requested_teams.replace((0, 0));
    let count = [clause, NUM_TEAMS.get(), 1].into_iter().find(|&n| n > 0).unwrap_or(1);
    let outer = frame.icv.get();
    let limit = [limit, TEAMS_THREAD_LIMIT.get()].into_iter().find(|&n| n > 0).unwrap_or(outer.thread_limit);
    let Some((members, threads)) = concurrent_teams(frame, count, task) else {
        return run_serial_teams(frame, task, &args, count, limit);
    };
    let helpers = contention::reserve(&outer, members - 1);
    if helpers < members - 1 {
        contention::release(&outer, helpers);
        return run_serial_teams(frame, task, &args, count, limit);
    }
    run_concurrent_teams(frame, task, args, members, Teams { count, threads, limit });
    contention::release(&outer, helpers);
}

/// Runs a league by the members of a region.
fn run_concurrent_teams(frame: &Frame, task: Microtask, args: Args, members: u32, teams: Teams) {
    signal::assert_allowed("a league of teams");
    let work = Work {
        task,
        args,
        level: frame.level,
        active_level: frame.active_level,
        parent: frame,
        icv: frame.icv.get(),
        league: League::NONE,
        teams: Some(teams),
        places: affinity::next_region(frame),
        floats: FloatControl::current(),
    };
    fork::start(members, work, may_spread(frame), None);
}

/// Runs a league's teams one after the other.
fn run_serial_teams(frame: &Frame, task: Microtask, args: &[usize], teams: u32, limit: u32) {
    let construct = Construct::league(frame, || teams);
    let region = Team::serial();
    if let Some(construct) = &construct {
        construct.begins(&region);
    }
    for number in 0..teams {
        let outer = frame.icv.get();
        let icv = contention::begin(outer, limit);
        let league = League { team: number, teams, threads: None };
        run_team(frame, &Team::serial(), icv, league, task, args);
        contention::end(&icv, &outer);
    }
    if let Some(construct) = &construct {
        construct.ends(&region);
    }
}

/// Runs a team of a league on the thread of `parent`.
fn run_team(parent: &Frame, team: &Team, icv: Icv, league: League, outlined: Microtask, args: &[usize]) {
    let frame = Frame::new(team, 0, parent.level, parent.active_level, parent, icv);
    frame.league.set(league);
    frame::with(&frame, || {
        tell_team(&frame, Endpoint::Begin);
        // SAFETY: compiler and caller agree on the arguments of the outlined function.
        unsafe { team::call(outlined, 0, args) };
        task::end_implicit(&frame);
        tell_team(&frame, Endpoint::End);
    });
}

/// Tells a tool of a team of a league.
fn tell_team(frame: &Frame, endpoint: Endpoint) {
    if ompt::is_active() {
        ompt::region::team_of_league(frame, endpoint);
    }
}

/// Called by the variadic `__kmpc_fork_teams`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_fork_teams(_loc: Loc, task: Microtask, argc: usize, argv: *const usize) {
    // SAFETY: the caller's array has `argc` words.
    fork_teams(task, unsafe { fork::words(argc, argv) });
}

/// `num_teams` and `thread_limit` of the next league.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams(_loc: Loc, _gtid: i32, teams: i32, threads: i32) {
    frame::current().requested_teams.set((teams.max(0) as u32, threads.max(0) as u32));
}

/// As `__kmpc_push_num_teams`, with a lower bound.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams_51(loc: Loc, gtid: i32, _lower: i32, upper: i32, threads: i32) {
    __kmpc_push_num_teams(loc, gtid, upper, threads);
}

/// `thread_limit` of a target region on the host: its task is a contention group, which ends with it.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_set_thread_limit(_loc: Loc, _gtid: i32, limit: i32) {
    let frame = frame::current();
    if limit > 0 {
        frame.icv.set(contention::begin(frame.icv.get(), limit as u32));
    }
}
