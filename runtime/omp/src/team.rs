//! Teams and the barrier.
//!
//! A `Team` is this process's part of a team: threads `first..first + local` of `size`, where
//! `participants` processes take part. The process's own thread runs member
//! `first` and waits until every [`Helper`] has ended, so nobody touches a team after its region.
//!
//! Who waits at a barrier runs tasks meanwhile. Behind a region of one process there is a barrier only if a member has made tasks: those that have ended their parts before are called back then.

use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use smallvec::SmallVec;

use super::affinity;
use super::call_site::{self, Reader};
use super::event::{Event, blocked};
use super::floats::FloatControl;
use super::frame::{self, Frame, Icv, League};
use super::helper::Helper;
use super::league::Teams;
use super::ompt::{self, RegionRecord};
use super::reduce::Gather;
use super::ring::{LocalRing, Ring};
use super::static_steal::Exhausted;
use super::task::pool::{self, Pool};
use super::task::{self, service};
use crate::control::Watched;
use crate::operations::signal;
use crate::posted::pending;
use crate::progress::{self, Doing, Now};
use crate::{config, profile, race, sync, trace};

crate::control::declare! {
    /// Cancellation request of the team that spans processes, in process 0.
    pub(super) static CANCEL: Watched;
    /// 1 once a region was left by cancellation, in process 0.
    pub(super) static CANCELLED: Watched;
    /// Single constructs that have begun in the region that spans processes, in process 0.
    pub(super) static SINGLES: Watched;
}

/// An outlined parallel region: `(int *gtid, int *tid, ...)`.
pub type Microtask = unsafe extern "C" fn();

unsafe extern "C" {
    fn dsm_rt_call_microtask(
        task: Microtask,
        gtid: *mut i32,
        tid: *mut i32,
        argc: usize,
        argv: *const usize,
    ) -> i32;
}

/// Arguments of an outlined function.
pub type Args = SmallVec<[usize; 8]>;

/// What all members of a region run.
pub struct Work {
    /// The outlined function.
    pub task: Microtask,
    /// Its arguments.
    pub args: Args,
    /// Nesting level of the region.
    pub level: u32,
    /// Active nesting level of the region.
    pub active_level: u32,
    /// Frame that encountered the construct; null in other processes.
    pub parent: *const Frame,
    /// Control variables the members inherit.
    pub icv: Icv,
    /// The league.
    pub league: League,
    /// The teams of a league that the members run by the outlined function; where there are none, they run it once each.
    pub teams: Option<Teams>,
    /// Where the members run.
    pub places: affinity::Region,
    /// Floating-point environment that the members inherit.
    pub floats: FloatControl,
}

/// See the module.
pub struct Team {
    /// Threads in all processes.
    pub size: u32,
    /// Processes that take part.
    pub participants: u32,
    /// Number of this process's first thread.
    pub first: u32,
    /// Threads in this process.
    pub local: u32,
    /// State of worksharing constructs.
    pub ring: Ring,
    /// Number of the region's first construct.
    pub first_construct: u64,
    /// What is known of dynamic loops in this process.
    pub exhausted: Exhausted,
    /// In-process part of reductions.
    pub gather: Gather,
    /// Copyprivate's address in a team inside one process.
    pub copyprivate: AtomicPtr<u8>,
    /// Explicit tasks.
    pub pool: Pool,
    /// What a tool keeps with the region.
    pub tool: RegionRecord,
    /// Number of the last single construct that has begun, as far as this process knows.
    singles: AtomicU64,
    cancel: AtomicU32,
    cancelled_region: AtomicU32,
    arrived: AtomicU32,
    generation: Event,
    work: Option<Work>,
    helpers: Vec<&'static Helper>,
    /// Its members meet at a barrier behind the region even if there are no tasks: where other processes may have made some, and where a tool sees the barrier.
    always_meets: bool,
    /// It is a team of a league, beside which others run.
    pub has_peers: bool,
}

// SAFETY: everything that changes is atomic or locked; `work` is written before the helpers see the team, and its
// `parent` pointer is only followed while the region runs.
unsafe impl Sync for Team {}

impl Team {
    /// A team of `size` threads, `local` of them here starting with number `first`.
    pub fn new(
        size: u32,
        participants: u32,
        first: u32,
        local: u32,
        ring: Ring,
        first_construct: u64,
    ) -> Team {
        Team {
            size,
            participants,
            first,
            local,
            ring,
            first_construct,
            exhausted: Exhausted::default(),
            gather: Gather::default(),
            copyprivate: AtomicPtr::new(std::ptr::null_mut()),
            pool: Pool::default(),
            tool: RegionRecord::default(),
            singles: AtomicU64::new(0),
            cancel: AtomicU32::new(0),
            cancelled_region: AtomicU32::new(0),
            arrived: AtomicU32::new(0),
            generation: Event::new(),
            work: None,
            helpers: Vec::new(),
            always_meets: false,
            has_peers: false,
        }
    }

    /// A team of one thread. It never looks at its ring.
    pub fn serial() -> Team {
        Team::new(1, 1, 0, 1, Ring::Control, 0)
    }

    /// The initial thread of a team of a league, beside which others run.
    pub fn of_league() -> Team {
        Team { has_peers: true, ..Team::serial() }
    }

    /// Whether threads of other processes belong to it.
    pub fn distributed(&self) -> bool {
        self.participants > 1
    }

    /// Whether a thread that comes to a single construct, whose number in the region is `number`, counted from 1, is the first one there. A thread is at most where all
    /// constructs before have begun.
    pub fn begins_single(&self, number: u64) -> bool {
        if self.singles.load(Ordering::Relaxed) >= number {
            return false;
        }
        if self.distributed() {
            let is_first = SINGLES.shared(0).compare_exchange(number - 1, number).is_ok();
            self.singles.fetch_max(number, Ordering::Relaxed);
            return is_first;
        }
        self.singles.compare_exchange(number - 1, number, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Whether its threads have consecutive chunks of a loop that is shared in chunks of fixed size: what `DSM_STATIC_BLOCKS` asks for. `any_thread`: the program cannot tell which
    /// thread has which chunk.
    pub fn has_consecutive_chunks(&self, any_thread: bool) -> bool {
        if !self.distributed() {
            return false;
        }
        let consecutive = match config::get().static_blocks {
            config::StaticBlocks::Never => false,
            config::StaticBlocks::Always => true,
            config::StaticBlocks::Auto => any_thread,
        };
        if !consecutive && profile::is_on() {
            profile::chunks_are_shared();
        }
        consecutive
    }

    /// Waits for all threads of the team; what any wrote before, all see after it.
    pub fn barrier(&self) {
        signal::assert_allowed("a barrier");
        pending::flush();
        if task::expected() {
            return self.barrier_with_tasks();
        }
        if self.size == 1 {
            return;
        }
        let generation = self.generation.load();
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 < self.local {
            let _now = Now::begin(Doing::Barrier, 0, 0);
            blocked(|| self.generation.wait(|now| now != generation));
            return;
        }
        self.arrived.store(0, Ordering::SeqCst);
        if self.distributed() {
            blocked(|| self.barrier_of_processes());
        }
        self.generation.bump();
    }

    /// The part of a barrier that one thread of each process does.
    fn barrier_of_processes(&self) {
        sync::barrier(self.participants);
        self.fetch_ahead();
    }

    fn fetch_ahead(&self) {
        sync::fetch_ahead(Reader::History.is_there().then(|| call_site::last().0.addr() as u64));
    }

    /// As `barrier`, running tasks until all have ended.
    fn barrier_with_tasks(&self) {
        let frame = frame::current();
        if self.size == 1 {
            return pool::help(frame, || self.pool.is_empty());
        }
        let generation = self.generation.load();
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 < self.local {
            let is_over = |now| now != generation;
            if !self.pool.is_used() {
                blocked(|| self.generation.look(|now| is_over(now) || self.pool.is_used()));
            }
            return pool::help(frame, || is_over(self.generation.load()));
        }
        if self.distributed() {
            pool::meet(frame);
            self.fetch_ahead();
        } else {
            pool::help(frame, || self.pool.is_empty());
        }
        self.arrived.store(0, Ordering::SeqCst);
        self.generation.bump();
        pool::notify();
    }

    /// What is done at the end of a region by one thread of each process. Where all have met at a barrier, nobody waits for anybody, unless races are looked for: what a process knew at a barrier has to stay until all have
    /// read it, and regions count their barriers anew.
    pub fn join(&self) {
        if self.always_meets && self.distributed() && !race::is_on() {
            sync::end_at_barrier(self.participants);
        } else {
            sync::join(self.participants);
        }
    }

    /// Whether its members meet at a barrier behind the region, as far as one knows that has ended its part.
    pub fn meets(&self) -> bool {
        self.always_meets || self.pool.is_used()
    }

    /// The pending cancellation: 0 or the kind of `__kmpc_cancel`.
    pub fn cancel_request(&self) -> u32 {
        if self.distributed() { CANCEL.shared(0).load() as u32 } else { self.cancel.load(Ordering::SeqCst) }
    }

    /// Sets or clears the pending cancellation.
    pub fn set_cancel_request(&self, kind: u32) {
        if kind == 1 {
            self.cancelled_region.store(1, Ordering::SeqCst);
        }
        if self.distributed() {
            if kind == 1 {
                CANCELLED.shared(0).store(1);
            }
            CANCEL.shared(0).store(u64::from(kind));
        } else {
            self.cancel.store(kind, Ordering::SeqCst);
        }
    }

    /// Runs `work` on this process's members; returns when all are through and `join` has met other processes, with the number of the first
    /// construct of the next region that uses the ring; `None` after a cancellation.
    pub fn run(&mut self, work: Work, join: impl FnOnce(&Team)) -> Option<u64> {
        self.work = Some(work);
        self.always_meets = task::expected() && (self.distributed() || ompt::is_active());
        self.helpers.extend((1..self.local).map(|_| Helper::take()));
        let team: &Team = self;
        for (helper, tid) in team.helpers.iter().zip(team.first + 1..) {
            helper.assign(team, tid);
        }
        team.helpers.iter().for_each(|helper| helper.start());
        let served = service::Served::begin(team);
        let leader = team.member(team.first);
        let has_met = team.take_part(&leader);
        drop(served);
        sync::user_threads_leave();
        if !has_met && team.helpers.iter().any(|helper| helper.wait_end_or_tasks()) {
            team.come_back(&leader);
        }
        team.helpers.iter().for_each(|helper| helper.wait_end());
        join(team);
        leave_region(&leader);
        let next = leader.construct.get();
        drop(leader);
        self.work = None;
        (self.cancelled_region.load(Ordering::SeqCst) == 0).then_some(next)
    }

    /// The team has tasks from now on.
    pub fn call_helpers_back(&self) {
        self.helpers.iter().for_each(|helper| helper.call_back(self));
    }

    fn work(&self) -> &Work {
        self.work.as_ref().expect("a running team has work")
    }

    /// The frame of a member.
    pub fn member(&self, tid: u32) -> Frame {
        let work = self.work();
        let frame = Frame::new(self, tid, work.level, work.active_level, work.parent, work.icv);
        frame.league.set(work.league);
        frame
    }

    /// The threads in processes that may use the same processors as this one.
    fn sharers(&self) -> Range<u32> {
        match self.participants {
            1 => 0..self.size,
            processes => super::threads_in(self.size, processes),
        }
    }

    /// Runs a member's part; whether all have met at a barrier behind it.
    pub fn take_part(&self, frame: &Frame) -> bool {
        let work = self.work();
        work.floats.adopt();
        self.as_member(frame, || {
            affinity::display_changed(frame);
            ompt::region::enter(frame);
            progress::in_region(work.task as usize as u64, || {
                match &work.teams {
                    Some(teams) => teams.run_share(frame, work.task, &work.args),
                    // SAFETY: compiler and caller agree on the arguments of the outlined function.
                    None => unsafe { call(work.task, frame.tid, &work.args) },
                }
            });
            ompt::region::arrive(frame);
            let has_met = task::end_implicit(frame);
            pending::flush();
            has_met
        })
    }

    /// A member that has ended its part comes to the barrier behind it, as there are tasks.
    pub fn come_back(&self, frame: &Frame) {
        self.as_member(frame, || {
            progress::in_region(self.work().task as usize as u64, || self.barrier());
            pending::flush();
        });
    }

    /// Runs something as a member: user code, at its place.
    fn as_member<T>(&self, frame: &Frame, body: impl FnOnce() -> T) -> T {
        let work = self.work();
        frame::with(frame, || {
            let _traced = trace::region(work.task as usize, frame.tid, self.size);
            sync::user_threads_enter();
            let result = affinity::with(work.places, frame.tid, self.sharers(), body);
            sync::user_threads_leave();
            result
        })
    }
}

/// The member's wait at the end of the region is over. With a tool, it does not come back.
pub fn leave_region(frame: &Frame) {
    if ompt::is_active() {
        in_user_code(|| frame::with(frame, || ompt::region::leave(frame)));
    }
}

/// Tells a tool something outside of regions; its callbacks may be instrumented code.
pub fn in_user_code(tell: impl FnOnce()) {
    sync::user_threads_enter();
    tell();
    sync::user_threads_leave();
}

/// Calls an outlined function.
///
/// # Safety
/// `args` are what `task` takes after the two thread numbers.
pub unsafe fn call(task: Microtask, tid: u32, args: &[usize]) {
    let (mut gtid, mut bound) = (tid as i32, tid as i32);
    if ompt::is_active() {
        frame::current().tool.leave_runtime(&raw const gtid as usize);
    }
    // SAFETY: as the caller promises; the two numbers live through the call.
    if unsafe { dsm_rt_call_microtask(task, &mut gtid, &mut bound, args.len(), args.as_ptr()) } == 0 {
        crate::job::die(&format!("a parallel region captures {} variables; 256 are supported", args.len()));
    }
}

/// A ring for a team inside one process that starts at construct 0.
pub fn local_ring() -> Ring {
    Ring::Local(LocalRing::default())
}
