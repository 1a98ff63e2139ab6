//! Parallel regions: who takes part, and how the region reaches the other processes.
//!
//! A region that the program's initial thread starts outside other active regions spreads over all processes:
//! process 0 sends a message {function, arguments, team, control variables}; the others decode it in
//! [`serve`]. All other regions stay inside their process.

use std::cell::Cell;

use smallvec::SmallVec;

use super::floats::FloatControl;
use super::frame::{self, Frame, Icv, League};
use super::league::Teams;
use super::ompt::abi::CodePointer;
use super::ompt::region::{Construct, Invoker};
use super::ompt::{self, Call};
use super::ring::Ring;
use super::schedule::first_thread;
use super::shared_stack;
use super::staging::Staged;
use super::team::{self, Args, CANCEL, CANCELLED, Microtask, SINGLES, Team, Work};
use super::{Loc, affinity, call_site, contention, icv_words, idle, league};
use crate::memory::threads;
use crate::operations::signal;
use crate::profile::{self, Wait};
use crate::{arrays, config, image, process_state, race, reblock, sync, trace};

thread_local! {
    /// Ring of the last in-process team that this thread led, with the number of its next construct.
    static SPARE: Cell<Option<(Ring, u64)>> = const { Cell::new(None) };
    /// Number of the next construct in the control ring.
    static NEXT_CONTROL: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Where the control variables begin in the message of a region; the arguments follow them.
const ICV_WORDS: usize = 15;
/// Words of the message of a usual region, and some more.
const MESSAGE_WORDS: usize = 64;

/// Whether a region that the thread of `frame` starts may have threads of all processes: not in a team of a league beside which others run.
pub fn may_spread(frame: &Frame) -> bool {
    let beside_others = frame.league.get().threads.is_some();
    threads::is_initial() && frame.active_level == 0 && sync::size() > 1 && !beside_others
}

/// Starts a region of the team size that the clause, the control variables and the limits give.
pub fn fork(task: Microtask, args: Args) {
    signal::assert_allowed("a parallel region");
    let frame = frame::current();
    let icv = frame.icv.get();
    let places = affinity::next_region(frame);
    // A library that another compiler made knows the memory of its process only.
    let of_program = image::has_code(task as usize);
    let spread = of_program && may_spread(frame);
    let construct =
        Construct::parallel(frame, Invoker::Runtime, || asked_size(frame, frame.requested_threads.get()));
    let helpers = contention::reserve(&icv, wanted_size(frame, &icv, of_program, spread) - 1);
    let size = helpers + 1;
    if size == 1 {
        return run_serial(frame, construct.as_ref(), task, &args);
    }
    let work = Work {
        task,
        args,
        level: frame.level + 1,
        active_level: frame.active_level + 1,
        parent: frame,
        icv: child_icv(icv, frame.level + 1),
        league: frame.league.get(),
        teams: None,
        places,
        floats: FloatControl::current(),
    };
    start(size, work, spread, construct.as_ref());
    contention::release(&icv, helpers);
}

/// Runs a region of `size` threads; `spread`: of all processes.
pub fn start(size: u32, work: Work, spread: bool, construct: Option<&Construct>) {
    let floats = work.floats;
    sync::user_threads_leave();
    if spread {
        crate::fortran::before_fork();
        fork_processes(size, work, construct);
    } else {
        fork_local(size, work, construct);
    }
    floats.adopt();
    sync::user_threads_enter();
}

/// Threads that a region would have without limits; `clause`: what its clause says, or 0.
fn asked_size(frame: &Frame, clause: u32) -> u32 {
    if clause == 0 { super::default_team(frame) } else { clause }
}

/// Threads that the next region is to have, at least one; the contention group may not have as many. `of_program`: instrumented code starts it.
fn wanted_size(frame: &Frame, icv: &Icv, of_program: bool, spread: bool) -> u32 {
    let clause = frame.requested_threads.replace(0);
    if frame.active_level >= icv.max_active_levels {
        return 1;
    }
    let default = || match super::default_team(frame) {
        size if !of_program && frame.active_level == 0 => (size / sync::size()).max(1),
        size => size,
    };
    let asked = if clause == 0 { default() } else { clause };
    let size = asked.min(icv.thread_limit).min(league::most_threads(frame));
    let most = config::MAX_THREADS * if spread { sync::size() } else { 1 };
    if size > most {
        eprintln!("dsm: warning: a team of {size} threads was asked for; {most} are possible");
    }
    let size = size.clamp(1, most);
    if spread && clause == 0 {
        idle::check_team(size, icv);
    }
    size
}

fn child_icv(mut icv: Icv, level: u32) -> Icv {
    if let Some(&threads) = config::get().num_threads.get(level as usize) {
        icv.threads = threads;
    }
    icv
}

fn fork_local(size: u32, work: Work, construct: Option<&Construct>) {
    let (ring, first) = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_else(|| (team::local_ring(), 0));
    let mut team = Team::new(size, 1, 0, size, ring, first);
    begin_region(construct, &team);
    let next = team.run(work, |_| ());
    end_region(construct, &team);
    // At the end of the program the thread-local values are gone before its handlers run.
    _ = SPARE.try_with(|spare| spare.set(next.map(|next| (team.ring, next))));
}

/// Tells a tool that a region begins; its callbacks may be instrumented code.
fn begin_region(construct: Option<&Construct>, team: &Team) {
    if let Some(construct) = construct {
        sync::user_threads_enter();
        construct.begins(team);
        sync::user_threads_leave();
    }
}

/// Tells a tool that a region has ended.
fn end_region(construct: Option<&Construct>, team: &Team) {
    if let Some(construct) = construct {
        sync::user_threads_enter();
        construct.ends(team);
        sync::user_threads_leave();
    }
}

fn fork_processes(size: u32, work: Work, construct: Option<&Construct>) {
    let participants = size.min(sync::size());
    let first = NEXT_CONTROL.get().unwrap_or_else(|| {
        Ring::Control.reset();
        0
    });
    SINGLES.shared(0).store(0);
    let staged = Staged::for_words(&work.args);
    let mut message: SmallVec<[u64; MESSAGE_WORDS]> = SmallVec::new();
    message.extend_from_slice(&[
        work.task as usize as u64,
        u64::from(size),
        u64::from(participants),
        first,
        u64::from(work.level),
        u64::from(work.active_level),
        u64::from(work.league.team),
        u64::from(work.league.teams),
        work.places.encode(),
        work.floats.encode(),
    ]);
    message.extend_from_slice(&process_state::publish());
    message.push(construct.map_or(0, |construct| construct.code_pointer() as u64));
    message.extend_from_slice(&Teams::encode(work.teams));
    message.extend_from_slice(&icv_words::encode(work.icv));
    message.extend(work.args.iter().map(|&arg| staged.translate(arg) as u64));
    let mut team =
        Team::new(size, participants, 0, first_thread(size, 1, participants), Ring::Control, first);
    begin_region(construct, &team);
    race::watch_stack();
    profile::ends_alone();
    sync::fork(&message, participants);
    sync::fetch_ahead(Some(message[0]));
    let join = |team: &Team| {
        let since = profile::now();
        let traced = trace::join(message[0]);
        team.join();
        sync::fetch_ahead(Some(join_site(message[0])));
        drop(traced);
        profile::waited(Wait::Join, message[0], since);
    };
    let next = shared_stack::apart(|| team.run(work, join));
    end_region(construct, &team);
    profile::begins_alone(message[0]);
    crate::cxx::adopt_exits();
    let cancelled = next.is_none() || CANCELLED.shared(0).load() != 0;
    if cancelled {
        CANCEL.shared(0).store(0);
        CANCELLED.shared(0).store(0);
    }
    NEXT_CONTROL.set(next.filter(|_| !cancelled));
}

/// Names the end of the regions of an outlined function among the places where processes synchronise: not the address of a function, nor one that a call returns to.
fn join_site(function: u64) -> u64 {
    function + 1
}

/// Processes other than 0: takes part in regions until the job ends.
pub fn serve() {
    let mut message = Vec::new();
    loop {
        let since = profile::now();
        let is_over = sync::wait_fork(&mut message).is_none();
        profile::idled(since);
        if is_over {
            break;
        }
        if message[0] == reblock::MESSAGE {
            reblock::follow(&message);
            continue;
        }
        if message[0] == arrays::MESSAGE {
            arrays::follow(&message);
            continue;
        }
        if message[0] == signal::MESSAGE {
            signal::follow(&message);
            continue;
        }
        let word = |i: usize| message[i] as u32;
        let (size, participants) = (word(1), word(2));
        let lower = first_thread(size, sync::rank(), participants);
        let upper = first_thread(size, sync::rank() + 1, participants);
        process_state::follow([message[10], message[11]]);
        let args = ICV_WORDS + icv_words::COUNT;
        let work = Work {
            // SAFETY: the address of an outlined function in process 0; images lie at equal addresses.
            task: unsafe { std::mem::transmute::<usize, Microtask>(message[0] as usize) },
            args: message[args..].iter().map(|&arg| arg as usize).collect(),
            level: word(4),
            active_level: word(5),
            parent: std::ptr::null(),
            icv: icv_words::decode(&message[ICV_WORDS..args]),
            league: League { team: word(6), teams: word(7), threads: None },
            teams: Teams::decode([message[13], message[14]]),
            places: affinity::Region::decode(message[8]),
            floats: FloatControl::decode(message[9]),
        };
        sync::fetch_ahead(Some(message[0]));
        let mut team = Team::new(size, participants, lower, upper - lower, Ring::Control, message[3]);
        call_site::note(message[12] as usize, &raw const team as usize);
        let construct = Construct::parallel(frame::current(), Invoker::Runtime, || size);
        begin_region(construct.as_ref(), &team);
        team.run(work, Team::join);
        end_region(construct.as_ref(), &team);
        drop(construct);
        profile::begins_alone(message[0]);
    }
}

/// Runs a region of one thread.
fn run_serial(frame: &Frame, construct: Option<&Construct>, task: Microtask, args: &[usize]) {
    push_serial(frame, construct);
    // SAFETY: compiler and caller agree on the arguments of the outlined function.
    unsafe { team::call(task, 0, args) };
    pop_serial(construct.map(Construct::code_pointer));
}

/// Enters a region of one thread.
fn push_serial(frame: &Frame, construct: Option<&Construct>) {
    let team: &Team = Box::leak(Box::new(Team::serial()));
    if let Some(construct) = construct {
        construct.begins(team);
    }
    let icv = child_icv(frame.icv.get(), frame.level + 1);
    let inner = Frame::new(team, 0, frame.level + 1, frame.active_level, frame, icv);
    inner.league.set(frame.league.get());
    frame.requested_threads.set(0);
    if let Some(construct) = construct {
        construct.leaves_runtime(&inner);
    }
    frame::push(Box::new(inner));
    ompt::region::enter(frame::current());
}

/// Called by the variadic `__kmpc_fork_call`.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_fork(_loc: Loc, task: Microtask, argc: usize, argv: *const usize) {
    // SAFETY: the caller's array has `argc` words.
    fork(task, unsafe { words(argc, argv) });
}

/// The arguments of an outlined function.
///
/// # Safety
/// The array has `argc` words.
pub unsafe fn words(argc: usize, argv: *const usize) -> Args {
    // SAFETY: as the caller says.
    Args::from_slice(unsafe { std::slice::from_raw_parts(argv, argc) })
}

/// Region with an `if` clause; flang packs the arguments into one structure.
#[unsafe(export_name = "dsm_rt___kmpc_fork_call_if")]
pub unsafe extern "C" fn __kmpc_fork_call_if(
    _loc: Loc,
    argc: i32,
    task: Microtask,
    condition: i32,
    args: *mut u8,
) {
    let args: Args = (argc > 0).then_some(args as usize).into_iter().collect();
    if condition != 0 {
        return fork(task, args);
    }
    let frame = frame::current();
    let construct = Construct::parallel(frame, Invoker::Runtime, || 1);
    run_serial(frame, construct.as_ref(), task, &args);
}

/// Begin of a region whose `if` clause is false.
#[unsafe(export_name = "dsm_rt___kmpc_serialized_parallel")]
pub extern "C" fn __kmpc_serialized_parallel(_loc: Loc, _gtid: i32) {
    let frame = frame::current();
    let construct = Construct::parallel(frame, Invoker::Program, || 1);
    push_serial(frame, construct.as_ref());
    if let Some(construct) = construct {
        construct.stay();
    }
}

/// End of such a region.
#[unsafe(export_name = "dsm_rt___kmpc_end_serialized_parallel")]
pub extern "C" fn __kmpc_end_serialized_parallel(_loc: Loc, _gtid: i32) {
    pop_serial(Call::begin(frame::current()).map(|call| call.at));
    ompt::region::returns(frame::current());
}

/// `num_threads` of the next region.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads(_loc: Loc, _gtid: i32, threads: i32) {
    frame::current().requested_threads.set(threads.max(0) as u32);
}

/// `num_threads(strict: ...)` of the next region; teams always have the size asked for.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads_strict(
    loc: Loc,
    gtid: i32,
    threads: i32,
    _severity: i32,
    _text: Loc,
) {
    __kmpc_push_num_threads(loc, gtid, threads);
}

/// Leaves a region of one thread; `at`: where, if a tool is to be told.
fn pop_serial(at: Option<CodePointer>) {
    super::task::end_implicit(frame::current());
    if at.is_some() {
        ompt::region::end_implicit(frame::current());
    }
    let (frame, team) = frame::pop();
    if let Some(at) = at {
        ompt::region::ends(frame::current(), &team, at);
    }
    frame.floats.adopt();
}
