//! Parallel regions, leagues, and the implicit tasks of their threads.

use super::abi::{CodePointer, Data, Endpoint, State, SyncKind, parallel_flag, task_flag};
use super::{Call, callbacks, is_active, task_data, thread, with_current};
use crate::frame::Frame;
use crate::team::Team;

/// Who calls the code of a region.
#[derive(Clone, Copy)]
pub enum Invoker {
    /// The program, which tells the runtime only of begin and end.
    Program,
    /// The runtime.
    Runtime,
}

/// A construct that begins a region, as the thread that encounters it sees it.
pub struct Construct<'a> {
    call: Call<'a>,
    requested: u32,
    flags: u32,
}

impl<'a> Construct<'a> {
    /// A parallel construct that asks for `requested` threads; none if no tool is attached.
    #[inline]
    pub fn parallel(
        frame: &'a Frame,
        invoker: Invoker,
        requested: impl FnOnce() -> u32,
    ) -> Option<Construct<'a>> {
        let call = Call::begin(frame)?;
        let invoker = match invoker {
            Invoker::Program => parallel_flag::INVOKER_PROGRAM,
            Invoker::Runtime => parallel_flag::INVOKER_RUNTIME,
        };
        Some(Construct { call, requested: requested(), flags: parallel_flag::TEAM | invoker })
    }

    /// A teams construct.
    #[inline]
    pub fn league(frame: &'a Frame, teams: impl FnOnce() -> u32) -> Option<Construct<'a>> {
        let call = Call::begin(frame)?;
        let flags = parallel_flag::LEAGUE | parallel_flag::INVOKER_RUNTIME;
        Some(Construct { call, requested: teams(), flags })
    }

    /// Its place in the program.
    pub fn code_pointer(&self) -> CodePointer {
        self.call.at
    }

    /// The program calls the code of the region itself: the task stays inside the runtime until [`returns`].
    pub fn stay(self) {
        self.call.stay();
    }

    /// The code of a region of one thread, whose frame is `inner`, is about to run.
    pub fn leaves_runtime(&self, inner: &Frame) {
        inner.tool.leave_runtime(self.call.stack);
    }

    /// The region begins.
    pub fn begins(&self, team: &Team) {
        let record = &team.tool;
        record.flags.store(self.flags, std::sync::atomic::Ordering::Relaxed);
        record.at.store(self.call.at as usize, std::sync::atomic::Ordering::Relaxed);
        let frames = with_current(self.call.frame, |task| task.frames.get());
        let task = task_data(self.call.frame);
        callbacks::parallel_begin(task, &frames, record.data(), self.requested, self.flags, self.call.at);
    }

    /// The region has ended.
    pub fn ends(&self, team: &Team) {
        ends(self.call.frame, team, self.call.at);
    }
}

/// The region of `team`, which the thread of `frame` began, has ended.
pub fn ends(frame: &Frame, team: &Team, at: CodePointer) {
    let flags = team.tool.flags.load(std::sync::atomic::Ordering::Relaxed);
    callbacks::parallel_end(team.tool.data(), task_data(frame), flags, at);
}

/// The task of `frame` goes on behind a region whose code the program called.
#[inline]
pub fn returns(frame: &Frame) {
    if is_active() {
        Call::leave(frame);
    }
}

/// A thread begins its part of a region.
#[inline]
pub fn enter(frame: &Frame) {
    if is_active() {
        thread::set_state(State::WorkParallel);
        let (region, task) = (frame.team().tool.data(), frame.tool.data());
        callbacks::implicit_task(
            Endpoint::Begin,
            region,
            task,
            frame.team().size,
            frame.tid,
            task_flag::IMPLICIT,
        );
    }
}

/// The place that the barrier at the end of a region is told to have: helpers never see the construct.
fn end_of_region(frame: &Frame) -> CodePointer {
    let team = frame.team();
    if frame.tid == team.first { team.tool.code_pointer() } else { std::ptr::null() }
}

/// A thread has run its part of a region and waits for the others.
#[inline]
pub fn arrive(frame: &Frame) {
    if is_active() {
        let (region, task, at) = (frame.team().tool.data(), frame.tool.data(), end_of_region(frame));
        callbacks::sync_region(SyncKind::Parallel, Endpoint::Begin, region, task, at);
        callbacks::sync_region_wait(SyncKind::Parallel, Endpoint::Begin, region, task, at);
        thread::set_state(State::WaitBarrierParallel);
    }
}

/// What stands for the region in events behind its last barrier.
const ENDED: Data = std::ptr::null_mut();

/// The others have arrived as well.
pub fn leave(frame: &Frame) {
    let (region, task, at) = (ENDED, frame.tool.data(), end_of_region(frame));
    callbacks::sync_region_wait(SyncKind::Parallel, Endpoint::End, region, task, at);
    callbacks::sync_region(SyncKind::Parallel, Endpoint::End, region, task, at);
    end_implicit(frame);
    let is_helper = frame.tid != frame.team().first;
    thread::set_state(match frame.active_level {
        _ if is_helper => State::Idle,
        0 | 1 => State::WorkSerial,
        _ => State::WorkParallel,
    });
}

/// A thread ends its part of a region: at once in one of one thread.
pub fn end_implicit(frame: &Frame) {
    callbacks::implicit_task(Endpoint::End, ENDED, frame.tool.data(), 0, frame.tid, task_flag::IMPLICIT);
}

/// A thread begins its initial task.
pub fn initial_task_begins(frame: &Frame) {
    initial_task(frame, Endpoint::Begin, 1, 1);
}

/// It ends it.
pub fn initial_task_ends(frame: &Frame) {
    initial_task(frame, Endpoint::End, 0, 1);
}

/// The initial task of a team of a league.
pub fn team_of_league(frame: &Frame, endpoint: Endpoint) {
    let league = frame.league.get();
    let teams = if endpoint == Endpoint::Begin { league.teams } else { 0 };
    initial_task(frame, endpoint, teams, league.team);
}

fn initial_task(frame: &Frame, endpoint: Endpoint, teams: u32, team: u32) {
    let region = if endpoint == Endpoint::Begin { frame.team().tool.data() } else { ENDED };
    callbacks::implicit_task(endpoint, region, frame.tool.data(), teams, team, task_flag::INITIAL);
}
