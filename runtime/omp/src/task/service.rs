//! The thread of a process that gives its tasks away while all threads of the team compute, or sleep, in the program's own code.
//!
//! A process that waits requests tasks (see [`super::steal`]) and, when nobody has answered by the time it would fall asleep, *calls* the other
//! processes' service threads. A service thread does what a thread of the team does at a task scheduling point, except running tasks: it completes
//! tasks that have ended elsewhere and serves the processes that request some. Its release publishes what all threads of the process wrote, so also what
//! the creator of a task wrote before it. To the protocol it is one more thread of the process, which never runs user code.

use std::sync::Once;

use parking_lot::Mutex;

use super::pool::Queue;
use super::{export, pace, steal};
use crate::memory::services::spawn_service;
use crate::ompt;
use crate::sync;
use crate::team::Team;

/// This process's part of the running team of several processes.
static TEAM: Mutex<Option<Running>> = Mutex::new(None);

struct Running(*const Team);

// SAFETY: teams may be used by all threads; the pointer is followed only under the lock, which the team's end takes.
unsafe impl Send for Running {}

/// The life of a team as the service thread knows it.
pub struct Served(());

impl Served {
    /// The team begins, if it has threads in several processes: else nobody calls. It outlives the value.
    pub fn begin(team: &Team) -> Option<Served> {
        team.distributed().then(|| {
            *TEAM.lock() = Some(Running(team));
            Served(())
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        *TEAM.lock() = None;
    }
}

/// The team has tasks in this process: starts the thread, once.
pub fn start(team: &Team) {
    static STARTED: Once = Once::new();
    if team.distributed() {
        STARTED.call_once(|| spawn_service("dsm-tasks", "tasks for other processes", serve));
    }
}

fn serve_team() {
    if let Some(Running(team)) = &*TEAM.lock() {
        // SAFETY: the team lives until its `Served` has taken the lock.
        let queue = Queue { team: unsafe { &**team }, index: 0 };
        export::complete_reported(queue);
        steal::serve_caller(queue);
    }
}

/// Serves those on other hosts who called [before their time](pace): nobody need call again.
fn serve_later() {
    let mut is_paused = pace::has_far_peers();
    while is_paused {
        is_paused = !pace::pause_left().is_zero();
        std::thread::sleep(pace::worthwhile());
        serve_team();
    }
}

fn serve() {
    let mut seen = 0;
    ompt::tool::service_thread_begins();
    loop {
        seen = sync::process().next_call(seen);
        serve_team();
        serve_later();
    }
}
