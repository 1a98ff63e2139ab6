//! Teams, the threads that serve them, and the barrier.
//!
//! A `Team` is this process's part of a team: threads `first..first + local` of `size`, where
//! `participants` processes take part. Its helpers come from a pool that grows on demand; helper `i` of a region
//! is the same thread in every region (threadprivate data relies on it). The process's own thread runs member
//! `first` and waits until every helper has gone idle, so nobody touches a team after its region.

use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::affinity;
use super::call_site::{self, Reader};
use super::event::{Event, blocked};
use super::floats::FloatControl;
use super::frame::{self, Frame, Icv, League};
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
use crate::{config, crash, memory, pthread, sync, trace};

crate::control::declare! {
    /// Cancellation request of the team that spans processes, in process 0.
    pub(super) static CANCEL: Watched;
    /// 1 once a region was left by cancellation, in process 0.
    pub(super) static CANCELLED: Watched;
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
    fn dsm_rt_set_shared_sp(top: *mut u8);
}

/// What all members of a region run.
pub struct Work {
    /// The outlined function.
    pub task: Microtask,
    /// Its arguments.
    pub args: Vec<usize>,
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
    cancel: AtomicU32,
    cancelled_region: AtomicU32,
    arrived: AtomicU32,
    generation: Event,
    work: Option<Work>,
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
            cancel: AtomicU32::new(0),
            cancelled_region: AtomicU32::new(0),
            arrived: AtomicU32::new(0),
            generation: Event::new(),
            work: None,
        }
    }

    /// A team of one thread. It never looks at its ring.
    pub fn serial() -> Team {
        Team::new(1, 1, 0, 1, Ring::Control, 0)
    }

    /// Whether threads of other processes belong to it.
    pub fn distributed(&self) -> bool {
        self.participants > 1
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
            return pool::help(frame, || self.generation.load() != generation);
        }
        if self.distributed() {
            pool::quiesce(frame);
        } else {
            pool::help(frame, || self.pool.is_empty());
        }
        self.arrived.store(0, Ordering::SeqCst);
        if self.distributed() {
            blocked(|| self.barrier_of_processes());
        }
        self.generation.bump();
        pool::notify();
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
    pub fn run(&mut self, work: Work, join: impl FnOnce()) -> Option<u64> {
        self.work = Some(work);
        let team: &Team = self;
        let helpers = (1..team.local).map(|_| Helper::take()).collect::<Vec<_>>();
        for (i, helper) in helpers.iter().enumerate() {
            helper.start(team, team.first + 1 + i as u32);
        }
        let served = service::Served::begin(team);
        let leader = team.member(team.first);
        team.take_part(&leader);
        drop(served);
        sync::user_threads_leave();
        for helper in helpers {
            helper.wait_idle();
        }
        join();
        leave_region(&leader);
        let next = leader.construct.get();
        drop(leader);
        self.work = None;
        (self.cancelled_region.load(Ordering::SeqCst) == 0).then_some(next)
    }

    fn work(&self) -> &Work {
        self.work.as_ref().expect("a running team has work")
    }

    /// The frame of a member.
    fn member(&self, tid: u32) -> Frame {
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

    /// Runs a member's part.
    fn take_part(&self, frame: &Frame) {
        let work = self.work();
        work.floats.adopt();
        frame::with(frame, || {
            let _traced = trace::region(work.task as usize, frame.tid, self.size);
            sync::user_threads_enter();
            affinity::with(work.places, frame.tid, self.sharers(), || {
                affinity::display_changed(frame);
                ompt::region::enter(frame);
                progress::in_region(work.task as usize as u64, || {
                    // SAFETY: compiler and caller agree on the arguments of the outlined function.
                    unsafe { call(work.task, frame.tid, &work.args) };
                });
                ompt::region::arrive(frame);
                task::end_implicit(frame);
                pending::flush();
            });
            sync::user_threads_leave();
        });
    }
}

/// The member's wait at the end of the region is over.
fn leave_region(frame: &Frame) {
    if ompt::is_active() {
        in_user_code(|| frame::with(frame, || ompt::region::leave(frame)));
    }
}

/// Tells a tool something outside of regions; its callbacks may be instrumented code.
fn in_user_code(tell: impl FnOnce()) {
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

/// Gives the calling thread the shared stack number `index` of this process, and one for signals.
pub fn adopt_stack(index: u32) {
    crash::stack::give();
    // SAFETY: sets a thread-local word of this thread, before it runs user code.
    unsafe { dsm_rt_set_shared_sp(memory::stack_top(index) as *mut u8) };
}

/// A thread of the pool.
struct Helper {
    busy: AtomicU32,
    team: AtomicPtr<Team>,
    tid: AtomicU32,
    go: Event,
    /// It has no thread: `fork` copied the calling thread only.
    lost: AtomicBool,
}

thread_local! {
    /// What the calling thread serves, if it is of the pool.
    static OWN: Cell<Option<&'static Helper>> = const { Cell::new(None) };
}

fn pool() -> &'static Mutex<Vec<&'static Helper>> {
    static POOL: OnceLock<Mutex<Vec<&'static Helper>>> = OnceLock::new();
    POOL.get_or_init(Mutex::default)
}

/// Before `fork`: nobody changes the pool until [`after_fork`].
pub fn before_fork() {
    std::mem::forget(pool().lock());
}

/// Behind `fork`, in both processes. The child has the calling thread only; its next region makes the others anew.
pub fn after_fork(in_child: bool) {
    let pool = pool();
    if in_child {
        // SAFETY: `before_fork` took the lock.
        for helper in unsafe { &*pool.data_ptr() } {
            if !OWN.get().is_some_and(|own| std::ptr::eq(own, *helper)) {
                helper.lost.store(true, Ordering::SeqCst);
                helper.go.store(Helper::IDLE);
                helper.busy.store(0, Ordering::SeqCst);
            }
        }
    }
    // SAFETY: `before_fork` left it locked.
    unsafe { pool.force_unlock() };
}

/// Threads of the pool.
pub fn helpers() -> u32 {
    pool().lock().len() as u32
}

impl Helper {
    /// Values of `go`: it waits, runs its part of a team, or leaves the tool.
    const IDLE: u32 = 0;
    const RUNS: u32 = 1;
    const DETACHES: u32 = 2;

    /// The idle helper with the smallest number; a new one if all are busy.
    fn take() -> &'static Helper {
        let mut pool = pool().lock();
        if let Some(found) = pool.iter().position(|h| h.busy.swap(1, Ordering::SeqCst) == 0) {
            if pool[found].lost.swap(false, Ordering::SeqCst) {
                pool[found].spawn(found as u32 + 1);
            }
            return pool[found];
        }
        let index = pool.len() as u32 + 1;
        if index + pthread::thread::stacks() >= config::MAX_THREADS {
            crate::job::die(&format!("more than {} threads in a process", config::MAX_THREADS));
        }
        let helper: &'static Helper = Box::leak(Box::new(Helper {
            busy: AtomicU32::new(1),
            team: AtomicPtr::new(std::ptr::null_mut()),
            tid: AtomicU32::new(0),
            go: Event::new(),
            lost: AtomicBool::new(false),
        }));
        helper.spawn(index);
        pool.push(helper);
        helper
    }

    fn spawn(&'static self, index: u32) {
        let thread = std::thread::Builder::new()
            .name(format!("omp-{index}"))
            .stack_size(config::get().native_stack_bytes);
        let spawned = memory::services::own(|| thread.spawn(move || self.serve(index)));
        if let Err(error) = spawned {
            crate::job::die(&format!("cannot start thread {index} of the team: {error}"));
        }
    }

    fn start(&self, team: &Team, tid: u32) {
        self.team.store(std::ptr::from_ref(team).cast_mut(), Ordering::SeqCst);
        self.tid.store(tid, Ordering::SeqCst);
        self.go.store(Helper::RUNS);
    }

    fn wait_idle(&self) {
        let _now = Now::begin(Doing::Join, 0, 0);
        self.go.wait(|go| go == Helper::IDLE);
        self.busy.store(0, Ordering::SeqCst);
    }

    fn serve(&'static self, index: u32) {
        OWN.set(Some(self));
        adopt_stack(index);
        progress::begin_thread();
        if ompt::is_active() {
            in_user_code(|| ompt::thread::begin(ompt::abi::ThreadKind::Worker));
        }
        loop {
            let idle = Now::begin(Doing::Idle, 0, 0);
            self.go.wait(|go| go != Helper::IDLE);
            drop(idle);
            if self.go.load() == Helper::DETACHES {
                in_user_code(ompt::thread::detach);
                self.go.store(Helper::IDLE);
                continue;
            }
            // SAFETY: set by `start`; the team lives until this helper has gone idle.
            let team = unsafe { &*self.team.load(Ordering::SeqCst) };
            let frame = team.member(self.tid.load(Ordering::SeqCst));
            team.take_part(&frame);
            leave_region(&frame);
            drop(frame);
            self.go.store(Helper::IDLE);
        }
    }
}

/// Idle threads of the pool tell the tool that they end, as far as it is concerned.
pub fn detach_idle() {
    let pool = pool().lock().clone();
    for helper in pool.iter().filter(|h| h.busy.swap(1, Ordering::SeqCst) == 0) {
        if !helper.lost.load(Ordering::SeqCst) {
            helper.go.store(Helper::DETACHES);
            helper.go.wait(|go| go == Helper::IDLE);
        }
        helper.busy.store(0, Ordering::SeqCst);
    }
}

/// A ring for a team inside one process that starts at construct 0.
pub fn local_ring() -> Ring {
    Ring::Local(LocalRing::default())
}
