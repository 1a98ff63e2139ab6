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
use super::{counters, export, service, steal};
use crate::omp::contention;
use crate::omp::event::blocked;
use crate::omp::frame::Frame;
use crate::omp::team::Team;
use crate::stats::time::{self, Activity};
use crate::{config, sync};
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

    /// Puts a task into a deque.
    pub fn push(&self, queue: Queue, node: Arc<Node>) {
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

    /// A task for this thread, one below `first` if there is one; it holds its mutexes.
    fn take(&self, frame: &Frame, first: Option<&Arc<Node>>, limit: Option<&Arc<Node>>) -> Option<Arc<Node>> {
        if self.queued() == 0 {
            return None;
        }
        let search = |within: Option<&Arc<Node>>| {
            let may = |node: &Arc<Node>| within.is_none_or(|w| node.descends_from(w)) && node.take_mutexes();
            self.search(frame.into(), &may)
        };
        let is_limit = match (first, limit) {
            (Some(first), Some(limit)) => Arc::ptr_eq(first, limit),
            (first, _) => first.is_none(),
        };
        if is_limit { search(limit) } else { search(first).or_else(|| search(limit)) }
    }

    /// Tasks that `may` go to another process, at most `most`: those with the highest priority one by one, of the others about half of the oldest ones.
    pub fn take_batch(&self, queue: Queue, most: usize, may: &impl Fn(&Arc<Node>) -> bool) -> Vec<Arc<Node>> {
        if let Some(node) = self.pick(&self.urgent, true, may) {
            return vec![node];
        }
        let count = queue.team.local as usize;
        let indices = (0..count).map(|i| (queue.index + i) % count);
        let batches = indices.map(|index| {
            let mut deque = self.deque(Queue { index, ..queue }).lock();
            let batch = half_generation(&mut deque, most, may);
            self.queued.fetch_sub(batch.len() as u32, Ordering::SeqCst);
            batch
        });
        batches.into_iter().find(|batch| !batch.is_empty()).unwrap_or_default()
    }

    fn search(&self, queue: Queue, may: &impl Fn(&Arc<Node>) -> bool) -> Option<Arc<Node>> {
        if let Some(node) = self.pick(&self.urgent, true, may) {
            return Some(node);
        }
        let (own, count) = (queue.index, queue.team.local as usize);
        (0..count).find_map(|i| {
            let index = (own + i) % count;
            self.pick(self.deque(Queue { index, ..queue }), i == 0, may)
        })
    }

    fn has_plenty(&self, frame: &Frame) -> bool {
        self.deque(frame.into()).lock().len() >= PLENTY
    }
}

/// Takes half of the tasks that are of one generation with the oldest one and may be taken with it, but at most `most`. Since a batch ends as a whole, a task that
/// others wait for goes alone.
fn half_generation(deque: &mut VecDeque<Arc<Node>>, most: usize, may: impl Fn(&Arc<Node>) -> bool) -> Vec<Arc<Node>> {
    let Some(first) = deque.iter().position(&may) else { return Vec::new() };
    let oldest = deque[first].clone();
    let similar = |node: &Arc<Node>| {
        let same_kind = node.depth == oldest.depth && node.lineage == oldest.lineage;
        same_kind && !node.has_successors() && *node.icv.lock() == *oldest.icv.lock() && may(node)
    };
    let mut chosen = vec![first];
    if !oldest.has_successors() {
        chosen.extend((first + 1..deque.len()).filter(|i| similar(&deque[*i])));
        chosen.truncate(chosen.len().div_ceil(2).min(most));
    }
    let batch = chosen.iter().map(|i| deque[*i].clone()).collect();
    let mut index = 0..;
    let mut chosen = chosen.into_iter().peekable();
    deque.retain(|_| {
        let at = index.next();
        chosen.next_if(|i| Some(*i) == at).is_none()
    });
    batch
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
        counters::RUN_AT_ONCE.add(1);
        execute_below_parent(frame, &node);
    } else {
        counters::queued(&node);
        pool.push(frame.into(), node);
        service::start(frame.team());
    }
    steal::serve(frame.into(), 1);
}

/// A part of an untied task has ended, which the thread runs. clang splits such tasks behind their scheduling points: each part but the last one submits the task again.
/// The parts are run one after the other by the same thread, as those of a tied task.
pub fn resubmit(frame: &Frame, node: &Node) {
    node.has_next_part.store(true, Ordering::Relaxed);
    // The compiler's code calls the routine of a task that is not deferred once only.
    if node.included.swap(false, Ordering::Relaxed) {
        run_parts(frame, node);
    }
}

fn run_parts(frame: &Frame, node: &Node) {
    // SAFETY: the descriptor was filled by the compiler's code and is run by one thread at a time.
    let routine = unsafe { crate::omp::get(&raw const (*node.task).routine) };
    loop {
        node.has_next_part.store(false, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { routine(frame.tid as i32, node.task) };
        if !node.has_next_part.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Runs a task in the code that makes it.
pub fn execute_below_parent(frame: &Frame, node: &Arc<Node>) {
    let limit = node.parent.as_ref().and_then(Node::limit);
    execute(frame, node, limit.as_ref());
}

/// Runs a task. `limit`: the innermost tied task of the thread, unless it is at a barrier.
pub fn execute(frame: &Frame, node: &Arc<Node>, limit: Option<&Arc<Node>>) {
    node.started.store(true, Ordering::SeqCst);
    node.begin_below(limit);
    let outer = frame.task.replace(Some(node.clone()));
    let icv = frame.icv.replace(*node.icv.lock());
    let cancelled = node.is_cancelled() || frame.team().cancel_request() == 1;
    if !cancelled {
        run_parts(frame, node);
    }
    contention::end(&frame.icv.replace(icv), &node.icv.lock());
    frame.task.replace(outer);
    finish(frame, node);
}

/// The code of a task has run.
pub fn finish(frame: &Frame, node: &Arc<Node>) {
    // SAFETY: `data1` is the destructors' thunk if the flag says so.
    unsafe {
        let destructors = crate::omp::get(&raw const (*node.task).data1);
        if node.flags & flags::DESTRUCTORS != 0 && destructors != 0 {
            let destructors = std::mem::transmute::<usize, node::Routine>(destructors);
            destructors(frame.tid as i32, node.task);
        }
    }
    if export::waits_for_event(node) {
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

/// Which tasks a waiting thread runs.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// Descendants of this one first.
    first: Option<&'a Arc<Node>>,
    /// Only descendants of this one; of any at a barrier.
    limit: Option<&'a Arc<Node>>,
}

/// Runs tasks until `done`, which a thread waits for that has come to a barrier, where any task may run.
pub fn help(frame: &Frame, done: impl Fn() -> bool) {
    help_by(frame, Choice { first: None, limit: None }, done);
}

/// Runs tasks until `done`, which the thread waits for in `node`: descendants of it, or else others that the task scheduling constraint allows.
pub fn help_within(frame: &Frame, node: &Arc<Node>, done: impl Fn() -> bool) {
    if !done() {
        let limit = node.limit();
        help_by(frame, Choice { first: Some(node), limit: limit.as_ref() }, done);
    }
}

fn help_by(frame: &Frame, choice: Choice, done: impl Fn() -> bool) {
    let may_request = frame.team().distributed();
    let mut requested = false;
    while !done() {
        if step(frame, choice, &mut requested) {
            continue;
        }
        WAITERS.fetch_add(1, Ordering::SeqCst);
        requested = requested || (may_request && steal::request(frame, choice.limit));
        let cell = sync::tasks::cell(sync::rank());
        let seen = cell.get();
        if !done() && !step(frame, choice, &mut requested) {
            let activity = if choice.first.is_some() { Activity::TaskWait } else { Activity::Wait };
            blocked(|| time::spent(activity, || wait(frame, cell, seen, requested)));
        }
        WAITERS.fetch_sub(1, Ordering::SeqCst);
    }
    if requested {
        steal::end_request(frame, choice.limit);
    }
}

/// Waits for another value of the process's task cell than `seen`. `requested`: as for [`step`].
fn wait(frame: &Frame, cell: Cell, seen: u32, requested: bool) {
    let changed = |now| now != seen;
    if cell.spin_until(changed).is_none() {
        if requested {
            service::call_all(frame.team());
        }
        cell.sleep_until(changed);
    }
}

/// Does something about tasks; false if there is nothing to do. `requested`: the thread has requested tasks of other processes.
fn step(frame: &Frame, choice: Choice, requested: &mut bool) -> bool {
    if *requested && steal::receive(frame, choice.limit) {
        *requested = false;
        return true;
    }
    if export::complete_reported(frame.into()) {
        return true;
    }
    let pool = &frame.team().pool;
    steal::serve(frame.into(), 2);
    let Some(node) = pool.take(frame, choice.first, choice.limit) else { return false };
    if std::mem::take(requested) {
        steal::end_request(frame, choice.limit);
    }
    execute(frame, &node, choice.limit);
    true
}

/// Runs a descendant of `within` if one is ready.
pub fn run_one(frame: &Frame, within: &Arc<Node>) -> bool {
    if export::complete_reported(frame.into()) {
        return true;
    }
    let Some(node) = frame.team().pool.take(frame, Some(within), Some(within)) else { return false };
    execute(frame, &node, within.limit().as_ref());
    true
}

/// Priority that is told apart.
pub fn priority(wanted: usize) -> u32 {
    (wanted as u32 as i32).clamp(0, config::get().max_task_priority.min(i32::MAX as u32) as i32) as u32
}
