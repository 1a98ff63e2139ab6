//! A thread's view of the parallel region it is in.
//!
//! Frames form a stack per thread, linked by `parent`; the current one is a thread-local pointer. The frame of
//! an implicit task lives on the native stack of the function that runs the region; a serialised region's frame
//! is boxed, for its end is another call. A frame is used by its own thread only.

use std::cell::{Cell, RefCell};

use super::allocators;
use super::copyprivate::Copyprivate;
use super::dispatch::Dispatch;
use super::doacross::Doacross;
use super::floats::FloatControl;
use super::ompt::{self, TaskRecord};
use super::reduce::Reduction;
use super::ring::Slot;
use super::task::node_ref::NodeRef;
use super::team::Team;
use crate::config::{self, Schedule};

/// Control variables that a task owns and its children inherit.
#[derive(Clone, Copy, PartialEq)]
pub struct Icv {
    /// `nthreads-var`; 0 stands for the default.
    pub threads: u32,
    /// `dyn-var`.
    pub dynamic: bool,
    /// `max-active-levels-var`.
    pub max_active_levels: u32,
    /// `run-sched-var`.
    pub schedule: Schedule,
    /// `thread-limit-var`.
    pub thread_limit: u32,
    /// Number of the contention group.
    pub group: u32,
    /// `default-device-var`.
    pub device: i32,
    /// `def-allocator-var`.
    pub allocator: usize,
}

impl Icv {
    /// The values of the initial task.
    pub fn initial() -> Icv {
        let config = config::get();
        Icv {
            threads: config.num_threads.first().copied().unwrap_or(0),
            dynamic: config.dynamic,
            max_active_levels: config.max_active_levels(),
            schedule: config.schedule,
            thread_limit: config.thread_limit,
            group: 0,
            device: config.initial_device(),
            allocator: allocators::initial(),
        }
    }
}

/// Place in a league of teams.
#[derive(Clone, Copy, PartialEq)]
pub struct League {
    /// This team's number.
    pub team: u32,
    /// Number of teams; 0 where there is no league.
    pub teams: u32,
    /// Threads that each team may have, where they run at the same time.
    pub threads: Option<u32>,
}

impl League {
    /// Where there is none.
    pub const NONE: League = League { team: 0, teams: 0, threads: None };

    /// Teams that share a loop with a distribute directive: one where there is no league.
    pub fn size(self) -> u32 {
        self.teams.max(1)
    }
}

/// See the module.
pub struct Frame {
    /// The team; outlives the frame.
    pub team: *const Team,
    /// Number of the thread in the team.
    pub tid: u32,
    /// Nesting level; 0 outside all regions.
    pub level: u32,
    /// Enclosing regions with more than one thread.
    pub active_level: u32,
    /// The enclosing frame; null at the bottom.
    pub parent: *const Frame,
    /// The league.
    pub league: Cell<League>,
    /// Control variables.
    pub icv: Cell<Icv>,
    /// Number of the next worksharing construct.
    pub construct: Cell<u64>,
    /// Number of a worksharing construct before which all threads of the team have left all.
    left: Cell<u64>,
    /// Single constructs so far.
    singles: Cell<u64>,
    /// Argument of a `num_threads` clause for the next region; 0 if none.
    pub requested_threads: Cell<u32>,
    /// Arguments of `num_teams` and `thread_limit` clauses for the next league.
    pub requested_teams: Cell<(u32, u32)>,
    /// The loop being handed out to this thread.
    pub dispatch: RefCell<Dispatch>,
    /// The doacross loop this thread is in.
    pub doacross: RefCell<Option<Doacross>>,
    /// The task that the thread runs; none before it had anything to do with tasks.
    pub task: RefCell<Option<NodeRef>>,
    /// The thread's `copyprivate` clauses.
    pub copyprivate: Cell<Copyprivate>,
    /// The thread's reduction.
    pub reduction: Cell<Reduction>,
    /// The thread's floating-point environment when the frame was made.
    pub floats: FloatControl,
    /// What a tool keeps with the implicit task.
    pub tool: TaskRecord,
}

impl Frame {
    /// A frame of thread `tid` of `team`, which outlives it, below `parent`.
    pub fn new(
        team: &Team,
        tid: u32,
        level: u32,
        active_level: u32,
        parent: *const Frame,
        icv: Icv,
    ) -> Frame {
        Frame {
            team,
            tid,
            level,
            active_level,
            parent,
            league: Cell::new(League::NONE),
            icv: Cell::new(icv),
            construct: Cell::new(team.first_construct),
            left: Cell::new(team.first_construct),
            singles: Cell::new(0),
            requested_threads: Cell::new(0),
            requested_teams: Cell::new((0, 0)),
            dispatch: RefCell::default(),
            doacross: RefCell::new(None),
            task: RefCell::default(),
            copyprivate: Cell::default(),
            reduction: Cell::default(),
            floats: FloatControl::current(),
            tool: TaskRecord::default(),
        }
    }

    /// The team.
    pub fn team(&self) -> &Team {
        // SAFETY: whoever makes a frame keeps the team until the frame is gone.
        unsafe { &*self.team }
    }

    /// Takes the number of the next single construct, counted from 1.
    pub fn next_single(&self) -> u64 {
        self.singles.set(self.singles.get() + 1);
        self.singles.get()
    }

    /// Takes the number of the next worksharing construct.
    pub fn next_construct(&self) -> u64 {
        self.construct.replace(self.construct.get() + 1)
    }

    /// The slot of the worksharing construct `number`; waits for its turn.
    pub fn enter_construct(&self, number: u64) -> Slot<'_> {
        self.team().ring.enter(number, self.left.get())
    }

    /// All threads of the team have come to a barrier: they have left the worksharing constructs before it.
    pub fn has_met(&self) {
        self.left.set(self.construct.get());
    }

    /// The frame at nesting level `level` of this thread's stack.
    pub fn ancestor(&self, level: u32) -> Option<&Frame> {
        let mut frame = self;
        while frame.level > level {
            // SAFETY: a parent frame lives as long as the region below it runs; null is handled.
            frame = unsafe { frame.parent.as_ref() }?;
        }
        Some(frame)
    }
}

thread_local! {
    static CURRENT: Cell<*const Frame> = const { Cell::new(std::ptr::null()) };
}

/// The calling thread's frame. A thread the runtime has not started gets one of its own, as an initial thread.
#[inline]
pub fn current() -> &'static Frame {
    let frame = CURRENT.get();
    if frame.is_null() {
        return first();
    }
    // SAFETY: CURRENT points to a live frame of this thread: `with` and `pop` restore the parent before a frame
    // goes. The reference is not kept beyond the runtime call, during which the frame cannot go.
    unsafe { &*frame }
}

/// Makes the frame of a thread that the runtime has not started.
#[cold]
fn first() -> &'static Frame {
    let team = Box::leak(Box::new(Team::serial()));
    let frame = Box::leak(Box::new(Frame::new(team, 0, 0, 0, std::ptr::null(), Icv::initial())));
    CURRENT.set(frame);
    if ompt::is_active() {
        ompt::thread::attach_foreign(frame);
    }
    frame
}

/// The calling thread's frame, if it has one.
pub fn existing() -> Option<&'static Frame> {
    // SAFETY: as in `current`.
    unsafe { CURRENT.get().as_ref() }
}

/// Number of the calling thread in its team, if it has one by now. For signal handlers.
pub fn number() -> Option<u32> {
    existing().map(|frame| frame.tid)
}

/// Runs `body` with `frame` as the current one.
pub fn with<T>(frame: &Frame, body: impl FnOnce() -> T) -> T {
    let outer = CURRENT.replace(frame);
    let result = body();
    CURRENT.set(outer);
    result
}

/// Makes a boxed frame current until [`pop`].
pub fn push(frame: Box<Frame>) {
    CURRENT.set(Box::into_raw(frame));
}

/// Takes the current frame away, which [`push`] made current, with its team of one.
pub fn pop() -> (Box<Frame>, Box<Team>) {
    let frame = CURRENT.get().cast_mut();
    // SAFETY: `push` leaked this frame and `push_serial` its team; calls are paired by the compiler.
    unsafe {
        let frame = Box::from_raw(frame);
        CURRENT.set(frame.parent);
        let team = Box::from_raw(frame.team.cast_mut());
        (frame, team)
    }
}
