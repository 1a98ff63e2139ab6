//! Ready tasks of a region in this process, and the threads that run them.
//!
//! Each thread has a deque: it takes what it pushed last, others take what was pushed first. The deques are locked, not lock-free, because whoever
//! takes a task looks first whether it may: a thread that waits inside a tied task may only run descendants of that task (the task scheduling
//! constraint), and `mutexinoutset` tasks exclude each other. A thread with nothing to run sleeps on the process's task cell.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::node::{self, Node, Task, flags};
use super::{service, share};
use crate::omp::contention;
use crate::omp::event::blocked;
use crate::omp::frame::Frame;
use crate::omp::ompt;
use crate::omp::team::Team;
use crate::progress::{Doing, Now};
use crate::{config, sync, trace};
use sync::cell::Cell;

/// Tasks in a deque from which on new ones are run at once.
const PLENTY: usize = 256;

/// Threads of this process that are about to sleep for want of tasks.
static WAITERS: AtomicU32 = AtomicU32::new(0);

type Deque = Mutex<VecDeque<Arc<Node>>>;

/// A deque of a team in this process: where the tasks go that a thread makes or makes ready, and where it looks first for one.
#[derive(Clone, Copy)]
pub struct Queue<'a> {
    /// The team.
    pub team: &'a Team,
    /// Number of the thread among those of the team in this process.
    pub index: usize,
}

impl<'a> From<&'a Frame> for Queue<'a> {
    fn from(frame: &'a Frame) -> Queue<'a> {
        Queue { team: frame.team(), index: index(frame) }
    }
}

/// A region's tasks in this process.
#[derive(Default)]
pub struct Pool {
    /// Tasks that have not ended.
    pending: AtomicU32,
    /// Tasks in the deques.
    queued: AtomicU32,
    deques: OnceLock<Box<[Deque]>>,
    /// Tasks with a priority, smallest first.
    urgent: Deque,
}

impl Pool {
    /// Whether all tasks have ended.
    pub fn is_empty(&self) -> bool {
        self.pending.load(Ordering::SeqCst) == 0
    }

    /// Tasks waiting in the deques.
    pub fn queued(&self) -> u32 {
        self.queued.load(Ordering::SeqCst)
    }

    /// Counts a task that has not ended.
    pub fn begin(&self) {
        self.pending.fetch_add(1, Ordering::SeqCst);
    }

    fn deque(&self, queue: Queue) -> &Deque {
        let deques = self.deques.get_or_init(|| (0..queue.team.local).map(|_| Deque::default()).collect());
        &deques[queue.index]
    }

    fn push(&self, queue: Queue, node: Arc<Node>) {
        // Counted first: who sees the task in a deque must not count below zero.
        self.queued.fetch_add(1, Ordering::SeqCst);
        let priority = node.priority.load(Ordering::Relaxed);
        if priority > 0 {
            let mut urgent = self.urgent.lock();
            let at = urgent.partition_point(|n| n.priority.load(Ordering::Relaxed) < priority);
            urgent.insert(at, node);
        } else {
            self.deque(queue).lock().push_back(node);
        }
        notify();
    }

    /// The last task of a deque that may be taken; `newest`: else the first.
    fn pick(&self, deque: &Deque, newest: bool, may: &impl Fn(&Arc<Node>) -> bool) -> Option<Arc<Node>> {
        let mut deque = deque.lock();
        let at = if newest { deque.iter().rposition(may) } else { deque.iter().position(may) }?;
        let node = deque.remove(at);
        self.queued.fetch_sub(1, Ordering::SeqCst);
        node
    }

    /// A task for this thread; it holds its mutexes.
    fn take(&self, frame: &Frame, within: Option<&Arc<Node>>) -> Option<Arc<Node>> {
        if self.queued() == 0 {
            return None;
        }
        // A part of an untied task has its mutexes.
        let may = |node: &Arc<Node>| {
            within.is_none_or(|w| node.descends_from(w))
                && (node.started.load(Ordering::SeqCst) || node.take_mutexes())
        };
        self.search(frame.into(), true, &may)
    }

    /// A task that may go to another process: one that was made early.
    pub fn take_exportable(&self, queue: Queue) -> Option<Arc<Node>> {
        self.search(queue, false, &|node: &Arc<Node>| share::may_leave(node))
    }

    fn search(&self, queue: Queue, own_newest: bool, may: &impl Fn(&Arc<Node>) -> bool) -> Option<Arc<Node>> {
        if let Some(node) = self.pick(&self.urgent, true, may) {
            return Some(node);
        }
        let (own, count) = (queue.index, queue.team.local as usize);
        (0..count).find_map(|i| {
            let index = (own + i) % count;
            self.pick(self.deque(Queue { index, ..queue }), own_newest && i == 0, may)
        })
    }

    fn has_plenty(&self, frame: &Frame) -> bool {
        self.deque(frame.into()).lock().len() >= PLENTY
    }
}

/// Number of the thread among those of its team in this process.
pub fn index(frame: &Frame) -> usize {
    (frame.tid - frame.team().first) as usize
}

/// Wakes threads that wait for tasks or for the end of some.
pub fn notify() {
    if WAITERS.load(Ordering::SeqCst) > 0 {
        sync::tasks::cell(sync::rank()).increment();
    }
}

/// A task with its dependences known: runs when they are fulfilled.
pub fn submit(frame: &Frame, node: Arc<Node>) {
    if node.blockers.fetch_sub(1, Ordering::SeqCst) == 1 {
        ready(frame, node);
    }
}

fn ready(frame: &Frame, node: Arc<Node>) {
    let pool = &frame.team().pool;
    // A task of another team, or of a process that is not part of it any more, has no deque here.
    debug_assert!(std::ptr::eq(node.team, frame.team));
    let alone = frame.team().size == 1 || !super::expected();
    let at_once = alone || pool.has_plenty(frame) || node.parent.as_ref().is_some_and(|p| p.is_final);
    if at_once && node.take_mutexes() {
        node.undeferred.store(true, Ordering::SeqCst);
        execute(frame, &node);
        return;
    }
    pool.push(frame.into(), node);
    service::start(frame.team());
    share::feed(frame.into(), 1);
}

/// Puts the next part of an untied task back, which the thread runs; it goes on with the control variables of now.
pub fn resubmit(frame: &Frame, node: Arc<Node>) {
    *node.icv.lock() = frame.icv.get();
    if node.undeferred.load(Ordering::SeqCst) {
        execute(frame, &node);
    } else {
        frame.team().pool.push(frame.into(), node);
    }
}

/// Runs a task, or the next part of an untied one.
pub fn execute(frame: &Frame, node: &Arc<Node>) {
    let begins = !node.started.swap(true, Ordering::SeqCst);
    if begins {
        node.parts.store(1, Ordering::SeqCst);
    }
    ompt::task::begins(frame, node);
    let outer = frame.task.replace(Some(node.clone()));
    let icv = frame.icv.replace(*node.icv.lock());
    let cancelled = begins && (node.is_cancelled() || frame.team().cancel_request() == 1);
    if !cancelled {
        if ompt::is_active() {
            node.record().leave_runtime(&raw const begins as usize);
        }
        // SAFETY: the descriptor was filled by the compiler's code and is run by one thread at a time.
        unsafe {
            let routine = crate::omp::get(&raw const (*node.task).routine);
            let _traced = trace::task(routine as usize);
            routine(frame.tid as i32, node.task);
        }
    }
    contention::end(&frame.icv.replace(icv), &node.icv.lock());
    frame.task.replace(outer);
    ompt::task::ends(frame, node, cancelled);
    end_part(frame, node);
}

/// A part of a task has run; the last one ends it.
pub fn end_part(frame: &Frame, node: &Arc<Node>) {
    if node.parts.fetch_sub(1, Ordering::SeqCst) == 1 {
        finish(frame, node);
    }
}

/// The code of a task has run.
fn finish(frame: &Frame, node: &Arc<Node>) {
    // SAFETY: `data1` is the destructors' thunk if the flag says so.
    unsafe {
        let destructors = crate::omp::get(&raw const (*node.task).data1);
        if node.flags & flags::DESTRUCTORS != 0 && destructors != 0 {
            let destructors = std::mem::transmute::<usize, node::Routine>(destructors);
            destructors(frame.tid as i32, node.task);
        }
    }
    if share::waits_for_event(node) {
        return;
    }
    complete(frame.into(), node);
}

/// A task has ended: whoever waited for it may go on.
pub fn complete(queue: Queue, node: &Arc<Node>) {
    node.give_mutexes();
    node.dependences.lock().clear();
    let successors = {
        let mut links = node.links.lock();
        links.done = true;
        std::mem::take(&mut links.successors)
    };
    if let Some(memory) = node.memory {
        let task: *mut Task = node.task;
        // SAFETY: the task has ended and the caller holds the node.
        unsafe {
            node::forget(task);
            node::release(task, memory);
        }
    }
    for successor in successors {
        if successor.blockers.fetch_sub(1, Ordering::SeqCst) == 1 && successor.is_explicit() {
            // Never at once: this may be deep in another wait, whose constraint the successor may break.
            if std::ptr::eq(successor.team, queue.team) {
                queue.team.pool.push(queue, successor);
            } else {
                successor.clone().team().pool.push_foreign(successor);
            }
        }
    }
    if let Some(parent) = &node.parent {
        parent.children.fetch_sub(1, Ordering::SeqCst);
    }
    if let Some(group) = &node.member_of {
        group.leave();
    }
    // Last: when nothing is pending, the region may end.
    node.team().pool.pending.fetch_sub(1, Ordering::SeqCst);
    notify();
}

impl Pool {
    /// As `push`, from a thread that runs another region.
    fn push_foreign(&self, node: Arc<Node>) {
        self.queued.fetch_add(1, Ordering::SeqCst);
        let deques = self.deques.get_or_init(|| (0..node.team().local).map(|_| Deque::default()).collect());
        deques[0].lock().push_back(node);
        notify();
    }
}

/// Runs tasks until `done`. `within`: only its descendants. `None` stands for a barrier, where any task may run, also of other processes.
pub fn help(frame: &Frame, within: Option<&Arc<Node>>, done: impl Fn() -> bool) {
    let at_barrier = within.is_none() && frame.team().distributed();
    let mut asks = false;
    while !done() {
        if step(frame, within, &mut asks) {
            continue;
        }
        WAITERS.fetch_add(1, Ordering::SeqCst);
        asks = asks || (at_barrier && share::ask());
        let cell = sync::tasks::cell(sync::rank());
        let seen = cell.get();
        if !done() && !step(frame, within, &mut asks) {
            let doing = if within.is_none() { Doing::Barrier } else { Doing::Tasks };
            let _now = Now::begin(doing, 0, 0);
            blocked(|| wait(frame, cell, seen, asks));
        }
        WAITERS.fetch_sub(1, Ordering::SeqCst);
    }
    if asks {
        share::settle(frame);
    }
}

/// Waits for another value of the process's task cell than `seen`. `asks`: as for [`step`].
fn wait(frame: &Frame, cell: Cell, seen: u32, asks: bool) {
    let changed = |now| now != seen;
    if cell.spin_until(changed).is_none() {
        if asks {
            service::call_all(frame.team());
        }
        cell.sleep_until(changed);
    }
}

/// Does something about tasks; false if there is nothing to do. `asks`: the thread has asked for a task of another process.
fn step(frame: &Frame, within: Option<&Arc<Node>>, asks: &mut bool) -> bool {
    if *asks && share::accept(frame) {
        *asks = false;
        return true;
    }
    if share::collect(frame.into()) {
        return true;
    }
    let pool = &frame.team().pool;
    share::feed(frame.into(), 2);
    if *asks && pool.queued() > 0 {
        share::settle(frame);
        *asks = false;
    }
    let Some(node) = pool.take(frame, within) else { return false };
    execute(frame, &node);
    true
}

/// Runs a descendant of `within` if one is ready.
pub fn run_one(frame: &Frame, within: &Arc<Node>) -> bool {
    if share::collect(frame.into()) {
        return true;
    }
    let Some(node) = frame.team().pool.take(frame, Some(within)) else { return false };
    execute(frame, &node);
    true
}

/// Priority that is told apart.
pub fn priority(wanted: usize) -> u32 {
    (wanted as u32 as i32).clamp(0, config::get().max_task_priority.min(i32::MAX as u32) as i32) as u32
}
