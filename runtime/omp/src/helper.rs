//! The threads of the pool, which are helpers of the threads that start regions.
//!
//! The pool grows on demand; helper `i` of a region is the same thread in every region (threadprivate data relies on it).

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use dsm_threads::fork;
use dsm_threads::member::Member;
use parking_lot::Mutex;

use super::team::{Team, in_user_code, leave_region};
use super::{ompt, shared_stack};
use crate::control::cell::{wait_local, wake_local};
use crate::progress::{self, Doing, Now};
use crate::{config, memory, pthread};

/// A thread of the pool.
pub struct Helper {
    assignment: Assignment,
    busy: AtomicU32,
    /// It has no thread: `fork` copied the calling thread only.
    lost: AtomicBool,
}

/// What a helper does for a team; in a cache line of its own, which it looks at all the time while it has nothing to do. See [`Member`].
#[repr(align(128))]
struct Assignment {
    member: Member,
    tid: AtomicU32,
    team: AtomicPtr<Team>,
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
                // Who waits for it goes on.
                helper.assignment.member.end();
                helper.busy.store(0, Ordering::SeqCst);
            }
        }
    }
    // SAFETY: `before_fork` left it locked.
    unsafe { fork::unlock(pool, in_child) };
}

/// Threads of the pool.
pub fn helpers() -> u32 {
    pool().lock().len() as u32
}

impl Helper {
    /// The idle helper with the smallest number; a new one if all are busy.
    pub fn take() -> &'static Helper {
        let mut pool = pool().lock();
        if let Some(found) = pool.iter().position(|h| h.busy.swap(1, Ordering::SeqCst) == 0) {
            if pool[found].lost.swap(false, Ordering::SeqCst) {
                pool[found].assignment.member.assign();
                pool[found].spawn(found as u32 + 1);
            }
            return pool[found];
        }
        let index = pool.len() as u32 + 1;
        if index + pthread::thread::stacks() >= config::MAX_THREADS {
            crate::job::die(&format!("more than {} threads in a process", config::MAX_THREADS));
        }
        let helper: &'static Helper = Box::leak(Box::new(Helper {
            assignment: Assignment {
                member: Member::default(),
                tid: AtomicU32::new(0),
                team: AtomicPtr::new(std::ptr::null_mut()),
            },
            busy: AtomicU32::new(1),
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
        let spawned = memory::services::as_runtime_threads(|| thread.spawn(move || self.serve(index)));
        if let Err(error) = spawned {
            crate::job::die(&format!("cannot start thread {index} of the team: {error}"));
        }
    }

    fn wake(&self) {
        wake_local(self.assignment.member.word());
    }

    fn wait(&self, until: impl Fn(u32) -> bool) -> u32 {
        wait_local(self.assignment.member.word(), until)
    }

    /// Makes it a member of a team, which waits for it ([`Helper::wait_end`]) before it ends. The member does not run yet.
    pub fn assign(&self, team: &Team, tid: u32) {
        self.assignment.team.store(std::ptr::from_ref(team).cast_mut(), Ordering::Relaxed);
        self.assignment.tid.store(tid, Ordering::Relaxed);
        self.assignment.member.assign();
    }

    /// The member runs its part.
    pub fn start(&self) {
        self.assignment.member.start();
        self.wake();
    }

    /// The team has tasks from now on. Nothing where it has no member here any more: `fork` copied the calling thread only, which may have started other regions.
    pub fn call_back(&self, team: &Team) {
        let is_member = std::ptr::eq(self.assignment.team.load(Ordering::Relaxed), team);
        if is_member && !self.lost.load(Ordering::Relaxed) {
            self.assignment.member.call_back();
            self.wake();
        }
    }

    /// Waits until the member has ended its part, or the team has tasks, for which all have to come to a barrier; whether it has.
    pub fn wait_end_or_tasks(&self) -> bool {
        let _now = Now::begin(Doing::Join, 0, 0);
        Member::has_tasks(self.wait(|state| Member::has_ended(state) || Member::has_tasks(state)))
    }

    /// Waits until the member has ended, and does not come back.
    pub fn wait_end(&self) {
        let _now = Now::begin(Doing::Join, 0, 0);
        self.wait(Member::has_ended);
        self.busy.store(0, Ordering::SeqCst);
    }

    fn serve(&'static self, index: u32) {
        OWN.set(Some(self));
        shared_stack::adopt(index);
        progress::begin_thread();
        if ompt::is_active() {
            in_user_code(|| ompt::thread::begin(ompt::abi::ThreadKind::Worker));
        }
        let member = &self.assignment.member;
        loop {
            let idle = Now::begin(Doing::Idle, 0, 0);
            let state = self.wait(Member::is_wanted);
            drop(idle);
            if Member::is_detaching(state) {
                in_user_code(ompt::thread::detach);
                self.detach(false);
                continue;
            }
            // SAFETY: set by `assign`; the team lives until this helper has ended, which is after it has come back if it is to.
            let team = unsafe { &*self.assignment.team.load(Ordering::Relaxed) };
            let frame = team.member(self.assignment.tid.load(Ordering::Relaxed));
            let has_met = !Member::comes_back(state) && team.take_part(&frame);
            leave_region(&frame);
            if !has_met {
                if !Member::comes_back(state) && member.end_part() {
                    self.wake();
                    continue;
                }
                team.come_back(&frame);
            }
            drop(frame);
            member.end();
            self.wake();
        }
    }

    fn detach(&self, begins: bool) {
        self.assignment.member.detach(begins);
        self.wake();
    }
}

/// Idle threads of the pool tell the tool that they end, as far as it is concerned.
pub fn detach_idle() {
    let pool = pool().lock().clone();
    for helper in pool.iter().filter(|h| h.busy.swap(1, Ordering::SeqCst) == 0) {
        if !helper.lost.load(Ordering::SeqCst) {
            helper.detach(true);
            helper.wait(Member::is_idle);
        }
        helper.busy.store(0, Ordering::SeqCst);
    }
}
