//! How a thread of a pool becomes a member of a team, ends its part, and comes back if the team has tasks by then.
//!
//! A team meets at a barrier behind its region only if one of its members has made a task: the first one to do so calls back all others, and whoever has ended its part before, or ends it later, goes to the
//! barrier. Who waits for the members goes there as well when it finds one that was called. All of that is one word, so of an end and a call one comes first, and the other one sees it.

use crate::primitive::{AtomicU32, Ordering};

const IDLE: u32 = 0;
/// It runs its part.
const RUNS: u32 = 1;
/// That has ended. The team is still there.
const ENDED: u32 = 2;
/// The team has tasks.
const HAS_TASKS: u32 = 4;
/// It leaves the tool.
const DETACHES: u32 = 8;

/// The state of a thread of the pool as a member of a team, in one word that it and others wait on. Whoever changes it wakes those afterwards.
#[derive(Debug, Default)]
pub struct Member(AtomicU32);

impl Member {
    /// The word.
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// The thread, which is idle or has ended its last part, becomes a member of a team. It does not run yet.
    pub fn assign(&self) {
        self.0.store(IDLE, Ordering::Relaxed);
    }

    /// The member runs. Others of the team, which run already, may have made tasks.
    pub fn start(&self) {
        self.0.fetch_or(RUNS, Ordering::SeqCst);
    }

    /// The team has tasks from now on. A member of it says so.
    pub fn call_back(&self) {
        self.0.fetch_or(HAS_TASKS, Ordering::SeqCst);
    }

    /// The member has ended its part, and has not been at the barrier behind it; whether it need not go there, unless it [comes back](Member::comes_back).
    pub fn end_part(&self) -> bool {
        self.0.compare_exchange(RUNS, ENDED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The member has ended its part, and has been at the barrier behind it if there was one.
    pub fn end(&self) {
        self.0.store(ENDED, Ordering::SeqCst);
    }

    /// An idle thread leaves the tool, or has left it.
    pub fn detach(&self, begins: bool) {
        self.0.store(if begins { DETACHES } else { IDLE }, Ordering::SeqCst);
    }

    /// Whether a thread in this state has something to do.
    pub fn is_wanted(state: u32) -> bool {
        state & (RUNS | DETACHES) != 0 || Member::comes_back(state)
    }

    /// Whether it leaves the tool.
    pub fn is_detaching(state: u32) -> bool {
        state == DETACHES
    }

    /// Whether it has ended its part, and goes to the barrier behind it.
    pub fn comes_back(state: u32) -> bool {
        state == ENDED | HAS_TASKS
    }

    /// Whether it has ended, and does not come back unless it is called later.
    pub fn has_ended(state: u32) -> bool {
        state == ENDED
    }

    /// Whether its team has tasks.
    pub fn has_tasks(state: u32) -> bool {
        state & HAS_TASKS != 0
    }

    /// Whether it has nothing to do with a tool any more.
    pub fn is_idle(state: u32) -> bool {
        state == IDLE
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::primitive::AtomicBool;
    use loom::sync::{Condvar, Mutex};

    const HELPERS: usize = 2;

    #[derive(Default)]
    struct Team {
        members: [Member; HELPERS],
        has_tasks: AtomicBool,
        /// Threads that have come to the barrier.
        arrived: AtomicU32,
        /// Whether who waited for the members has gone.
        is_over: AtomicBool,
        asleep: Mutex<()>,
        woken: Condvar,
    }

    impl Team {
        fn wake(&self) {
            let _asleep = self.asleep.lock().unwrap();
            self.woken.notify_all();
        }

        fn sleep_until<T>(&self, look: impl Fn() -> Option<T>) -> T {
            let mut asleep = self.asleep.lock().unwrap();
            loop {
                if let Some(found) = look() {
                    return found;
                }
                asleep = self.woken.wait(asleep).unwrap();
            }
        }

        fn make_task(&self, calls: impl Fn(&Member)) {
            self.has_tasks.store(true, Ordering::SeqCst);
            self.members.iter().for_each(calls);
            self.wake();
        }

        fn barrier(&self) {
            assert!(!self.is_over.load(Ordering::SeqCst), "the team is gone");
            self.arrived.fetch_add(1, Ordering::SeqCst);
            self.wake();
            self.sleep_until(|| (self.arrived.load(Ordering::SeqCst) > HELPERS as u32).then_some(()));
        }

        fn wait(&self, member: usize, until: impl Fn(u32) -> bool) -> u32 {
            let word = self.members[member].word();
            self.sleep_until(|| Some(word.load(Ordering::SeqCst)).filter(|state| until(*state)))
        }

        /// A thread of the pool that has one part to run.
        fn serve(&self, number: usize, part: impl Fn(&Team)) {
            let member = &self.members[number];
            self.wait(number, Member::is_wanted);
            part(self);
            if self.has_tasks.load(Ordering::SeqCst) {
                self.barrier();
            } else if member.end_part() {
                self.wake();
                let ends = |state| Member::comes_back(state) || self.is_over.load(Ordering::SeqCst);
                if !Member::comes_back(self.wait(number, ends)) {
                    return;
                }
                self.barrier();
            } else {
                self.barrier();
            }
            member.end();
            self.wake();
        }

        /// Who starts the region.
        fn lead(&self, part: impl Fn(&Team)) {
            self.members.iter().for_each(Member::assign);
            self.members.iter().for_each(Member::start);
            self.wake();
            part(self);
            let ends = |state| Member::has_ended(state) || Member::has_tasks(state);
            if self.has_tasks.load(Ordering::SeqCst)
                || (0..HELPERS).any(|number| Member::has_tasks(self.wait(number, ends)))
            {
                self.barrier();
            }
            (0..HELPERS).for_each(|number| _ = self.wait(number, Member::has_ended));
            let arrived = self.arrived.load(Ordering::SeqCst);
            let expected = if self.has_tasks.load(Ordering::SeqCst) { HELPERS as u32 + 1 } else { 0 };
            assert_eq!(arrived, expected, "all meet if there are tasks, else nobody does");
            self.is_over.store(true, Ordering::SeqCst);
            self.wake();
        }
    }

    fn region(leader: fn(&Team), first: fn(&Team), second: fn(&Team)) {
        let mut search = loom::model::Builder::new();
        search.preemption_bound = Some(2);
        search.check(move || {
            // Not dropped: loom's values abort the process when they are while it unwinds.
            let team: &Team = Box::leak(Box::default());
            let threads = [first, second].into_iter().enumerate();
            let threads: Vec<_> =
                threads.map(|(number, part)| loom::thread::spawn(move || team.serve(number, part))).collect();
            team.lead(leader);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    fn nothing(_: &Team) {}

    fn task(team: &Team) {
        team.make_task(Member::call_back);
    }

    #[test]
    fn a_region_without_tasks_needs_no_barrier() {
        region(nothing, nothing, nothing);
    }

    #[test]
    fn all_meet_for_the_tasks_of_a_member() {
        region(nothing, task, nothing);
        region(nothing, nothing, task);
    }

    #[test]
    fn all_meet_for_the_tasks_of_the_leader() {
        region(task, nothing, nothing);
    }

    #[test]
    fn all_meet_for_the_tasks_of_several() {
        region(task, task, nothing);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_call_that_only_the_first_hears_is_seen() {
        region(
            nothing,
            |team| {
                team.make_task(|member| {
                    if std::ptr::eq(member, &team.members[0]) {
                        member.call_back();
                    }
                })
            },
            nothing,
        );
    }
}
