//! Ready tasks of a region in this process, and the threads that run them.
//!
//! Each thread has a deque: it takes what it pushed last, others take what was pushed first. A thread that waits inside a tied task may only run
//! descendants of that task (the task scheduling constraint), and `mutexinoutset` tasks exclude each other. What a thread with nothing to run does is in [`dsm_sync::Process::help`].

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use dsm_sync::{Wish, Worker};

use super::deque::{Deque, End};
use super::node::{self, Node, flags};
use super::node_ref::NodeRef;
use super::{counters, export, service, steal};
use crate::contention;
use crate::control::cell;
use crate::event::blocked;
use crate::frame::Frame;
use crate::ompt;
use crate::profile::ticks;
use crate::progress::{Doing, Now};
use crate::team::Team;
use crate::time::{self, Activity};
use crate::trace::{self, Event};
use crate::{config, sync};

/// Tasks in a deque from which on new ones are run at once.
const PLENTY: usize = 256;

/// Most tasks that a thread takes from the deque of another at a time.
const STOLEN: usize = 16;
/// Tasks in the deque of another from which on a thread takes some at once, where the last one that it ran was [short](SHORT_TICKS). It waits for a microsecond or so before it takes fewer: where one
/// thread makes small tasks, to take each as it comes costs both threads more than the task.
const SEVERAL: usize = 8;
/// Most of a microsecond, in ticks of the processor's time stamp counter.
const SHORT_TICKS: u64 = 2048;
/// Pauses between two looks at the deques meanwhile.
const PAUSES: u32 = 10;

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

impl<'a> Queue<'a> {
    /// The queue of the same thread for tasks of `team`, or the first one there if the thread runs another region.
    fn of(self, team: &'a Team) -> Queue<'a> {
        if std::ptr::eq(self.team, team) { self } else { Queue { team, index: 0 } }
    }
}

/// A thread's part of a [`Pool`]: in cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Shard {
    /// Others look at it when they have no task.
    deque: Deque,
    counts: Counts,
}

/// Tasks that a thread began, and those that it saw end.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A region's tasks in this process.
#[derive(Default)]
pub struct Pool {
    shards: OnceLock<Box<[Shard]>>,
    /// Tasks with a priority, smallest first.
    urgent: Deque,
}

impl Pool {
    /// Whether all tasks have ended.
    pub fn is_empty(&self) -> bool {
        let Some(shards) = self.shards.get() else { return true };
        // In this order: what has ended by the first look began before the second, so if both are the same, all had ended between the two.
        let ended: u64 = shards.iter().map(|shard| shard.counts.ended.load(Ordering::SeqCst)).sum();
        ended == shards.iter().map(|shard| shard.counts.begun.load(Ordering::SeqCst)).sum::<u64>()
    }

    /// Tasks waiting in the deques.
    pub fn queued(&self) -> usize {
        let shards = self.shards.get().map_or(&[][..], |shards| &shards[..]);
        self.urgent.length() + shards.iter().map(|shard| shard.deque.length()).sum::<usize>()
    }

    /// Whether there has been a task.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.shards.get().is_some()
    }

    fn shard(&self, queue: Queue) -> &Shard {
        let shards = self.shards.get().map_or_else(|| self.begin_use(queue.team), |shards| &shards[..]);
        &shards[queue.index]
    }

    #[cold]
    fn begin_use(&self, team: &Team) -> &[Shard] {
        let shards = self.shards.get_or_init(|| (0..team.local).map(|_| Shard::default()).collect());
        team.call_helpers_back();
        shards
    }

    /// Counts a task that has not ended.
    pub fn begin(&self, queue: Queue) {
        self.shard(queue).counts.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Puts a task into a deque.
    pub fn push(&self, queue: Queue, node: NodeRef) {
        let priority = node.priority.load(Ordering::Relaxed);
        if priority > 0 {
            self.urgent.insert(node, priority);
        } else {
            self.shard(queue).deque.push(node);
        }
        notify();
    }

    /// A task for this thread, one below `first` if there is one; it holds its mutexes. One of another thread only if that one has `least`.
    fn take(
        &self,
        frame: &Frame,
        first: Option<&NodeRef>,
        limit: Option<&NodeRef>,
        least: usize,
    ) -> Option<NodeRef> {
        let search = |within: Option<&NodeRef>| {
            let may = |node: &NodeRef| within.is_none_or(|w| node.descends_from(w));
            self.search(frame.into(), least, &may)
        };
        let is_limit = match (first, limit) {
            (Some(first), Some(limit)) => NodeRef::ptr_eq(first, limit),
            (first, _) => first.is_none(),
        };
        if is_limit { search(limit) } else { search(first).or_else(|| search(limit)) }
    }

    /// Whether there is a queued task that `may` be taken.
    pub fn any(&self, may: &impl Fn(&NodeRef) -> bool) -> bool {
        let shards = self.shards.get().map_or(&[][..], |shards| &shards[..]);
        self.urgent.any(may) || shards.iter().any(|shard| shard.deque.any(may))
    }

    /// Tasks that `may` go to another process, at most `most`: those with the highest priority one by one, of the others about half of the oldest ones.
    pub fn take_batch(&self, queue: Queue, most: usize, may: &impl Fn(&NodeRef) -> bool) -> Vec<NodeRef> {
        if let Some(node) = self.urgent.pick(End::Newest, may) {
            return vec![node];
        }
        let mut batches = self.deques(queue).map(|deque| deque.take_half_generation(most, may));
        batches.find(|batch| !batch.is_empty()).unwrap_or_default()
    }

    fn search(&self, queue: Queue, least: usize, may: &impl Fn(&NodeRef) -> bool) -> Option<NodeRef> {
        if let Some(node) = self.urgent.pick(End::Newest, may) {
            return Some(node);
        }
        let mut deques = self.deques(queue);
        let own = deques.next()?;
        if let Some(node) = own.pick(End::Newest, may) {
            return Some(node);
        }
        let mut others = Vec::new();
        let node = deques
            .filter(|deque| deque.length() >= least)
            .find_map(|deque| deque.steal(STOLEN, may, &mut others))?;
        if !others.is_empty() {
            // The oldest is the next one that this thread runs.
            own.append(others.into_iter().rev());
            notify();
        }
        Some(node)
    }

    /// The deques, the queue's own first; none before there has been a task.
    fn deques(&self, queue: Queue) -> impl Iterator<Item = &Deque> {
        let (own, shards) = (queue.index, self.shards.get().map_or(&[][..], |shards| &shards[..]));
        (0..shards.len()).map(move |i| &shards[(own + i) % shards.len()].deque)
    }

    fn has_plenty(&self, frame: &Frame) -> bool {
        self.deques(frame.into()).next().is_some_and(|own| own.length() >= PLENTY)
    }
}

/// Number of the thread among those of its team in this process.
pub fn index(frame: &Frame) -> usize {
    (frame.tid - frame.team().first) as usize
}

/// Wakes threads that wait for tasks or for the end of some.
pub fn notify() {
    sync::process().notify_workers();
}

/// A task with its dependences known: runs when they are fulfilled.
pub fn submit(frame: &Frame, node: NodeRef) {
    if node.blockers.fetch_sub(1, Ordering::SeqCst) == 1 {
        enqueue(frame, node);
    }
}

/// The end of a task is awaited, see [`Node::await_end`].
pub fn await_end(frame: &Frame, node: &Node) {
    frame.team().pool.begin(frame.into());
    node.await_end();
}

/// The thread is about to run a task that it has made, whose end is only awaited if it may come later than that of its code.
pub fn await_event(frame: &Frame, node: &Node) {
    if node.flags & flags::DETACHABLE != 0 && !node.is_awaited() {
        await_end(frame, node);
    }
}

/// A task without dependences, or with fulfilled ones: queues it, or runs it at once.
pub fn enqueue(frame: &Frame, node: NodeRef) {
    let pool = &frame.team().pool;
    // A task of another team, or of a process that is not part of it any more, has no deque here.
    debug_assert!(std::ptr::eq(node.team, frame.team));
    let alone = frame.team().size == 1 || !super::expected();
    let at_once = alone || pool.has_plenty(frame) || node.parent.as_ref().is_some_and(|p| p.is_final);
    if at_once && node.take_mutexes() {
        counters::RUN_AT_ONCE.add(1);
        await_event(frame, &node);
        execute_below_parent(frame, node);
    } else {
        if !node.is_awaited() {
            await_end(frame, &node);
        }
        counters::queued(&node);
        pool.push(frame.into(), node);
        service::start(frame.team());
    }
    steal::serve(frame.into(), 1);
}

/// A part of an untied task has ended, which the thread runs. clang splits such tasks behind their scheduling points: each part but the last
/// one submits the task again. The parts are run one after the other by the same thread, as those of a tied task.
pub fn resubmit(frame: &Frame, node: &Node) {
    node.has_next_part.store(true, Ordering::Relaxed);
    // The compiler's code calls the routine of a task that is not deferred once only.
    if node.included.swap(false, Ordering::Relaxed) {
        run_parts(frame, node);
    }
}

fn run_parts(frame: &Frame, node: &Node) {
    // SAFETY: the descriptor was filled by the compiler's code and is run by one thread at a time.
    let routine = unsafe { crate::get(&raw const (*node.task).routine) };
    let _traced = trace::task(routine as usize);
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
pub fn execute_below_parent(frame: &Frame, node: NodeRef) {
    with_limit_above(&node, |limit| node.begin_below(limit));
    run(frame, node);
}

/// Calls `act` with the innermost tied task of the thread that makes the task `node`, unless it is at a barrier.
pub fn with_limit_above<R>(node: &Node, act: impl FnOnce(Option<&NodeRef>) -> R) -> R {
    match &node.parent {
        Some(parent) => parent.with_limit(act),
        None => act(None),
    }
}

/// Runs a task. `limit`: the innermost tied task of the thread, unless it is at a barrier.
pub fn execute(frame: &Frame, node: NodeRef, limit: Option<&NodeRef>) {
    node.begin_below(limit);
    run(frame, node);
}

fn run(frame: &Frame, node: NodeRef) {
    let icv = frame.icv.replace(node.icv);
    let cancelled = config::get().cancellation && (node.is_cancelled() || frame.team().cancel_request() == 1);
    ompt::task::begins(frame, &node);
    let running = NodeRef::as_ptr(&node);
    let outer = frame.task.replace(Some(node));
    if !cancelled {
        if ompt::is_active() {
            // SAFETY: as below.
            unsafe { &*running }.record().leave_runtime(&raw const cancelled as usize);
        }
        // SAFETY: tasks that the thread runs meanwhile put the node back, so the frame or one of their callers holds it.
        run_parts(frame, unsafe { &*running });
    }
    if let Some(node) = frame.task.replace(outer) {
        contention::end(&frame.icv.replace(icv), &node.icv);
        ompt::task::ends(frame, &node, cancelled);
        finish(frame, &node);
        node.drop_by_maker();
    }
}

/// The code of a task has run.
pub fn finish(frame: &Frame, node: &NodeRef) {
    if node.flags & flags::DESTRUCTORS != 0 {
        // SAFETY: `data1` is the destructors' thunk if the flag says so.
        unsafe {
            let destructors = crate::get(&raw const (*node.task).data1);
            if destructors != 0 {
                let destructors = std::mem::transmute::<usize, node::Routine>(destructors);
                destructors(frame.tid as i32, node.task);
            }
        }
    }
    if export::waits_for_event(node) {
        return;
    }
    complete(frame.into(), node);
}

/// A task has ended: whoever waited for it may go on.
pub fn complete(queue: Queue, node: &NodeRef) {
    let successors = node.end();
    if let Some(memory) = node.memory {
        // SAFETY: the task has ended.
        unsafe { node::release(node.task, memory) };
    }
    for successor in successors {
        if successor.blockers.fetch_sub(1, Ordering::SeqCst) == 1 && successor.is_explicit() {
            // Never at once: this may be deep in another wait, whose constraint the successor may break.
            let own = queue.of(successor.team());
            own.team.pool.push(own, successor.clone());
        }
    }
    if !node.is_awaited() {
        return;
    }
    node.tell_end();
    // Last: when nothing is pending, the region may end.
    let own = queue.of(node.team());
    own.team.pool.shard(own).counts.ended.fetch_add(1, Ordering::SeqCst);
    notify();
}

/// Which tasks a waiting thread runs.
pub struct Waiter<'a> {
    /// The thread.
    pub frame: &'a Frame,
    /// Descendants of this one first.
    first: Option<&'a NodeRef>,
    /// Only descendants of this one; of any at a barrier.
    pub limit: Option<&'a NodeRef>,
    /// Whether it leaves a few tasks to other threads that made them for now, see [`SEVERAL`].
    is_patient: Cell<bool>,
}

impl<'a> Waiter<'a> {
    /// A thread that has come to a barrier, where any task may run.
    pub fn at_barrier(frame: &'a Frame) -> Waiter<'a> {
        Waiter::new(frame, None, None)
    }

    fn new(frame: &'a Frame, first: Option<&'a NodeRef>, limit: Option<&'a NodeRef>) -> Waiter<'a> {
        Waiter { frame, first, limit, is_patient: Cell::new(false) }
    }
}

impl Waiter<'_> {
    /// Tasks in the deque of another thread from which on this one takes some.
    fn least(&self) -> usize {
        if self.is_patient.get() { SEVERAL } else { 1 }
    }
}

impl Worker for Waiter<'_> {
    type Batch = steal::Batch;
    type Task = NodeRef;

    fn wish(&self) -> Option<Wish> {
        steal::wish(self.limit)
    }

    fn adopt(&self, word: impl Fn(usize) -> u64) -> steal::Batch {
        steal::adopt(self, word)
    }

    fn run_batch(&self, batch: steal::Batch) {
        steal::run_batch(self, batch);
    }

    fn complete_reported(&self) -> bool {
        export::complete_reported(self.frame.into())
    }

    fn serve(&self) {
        steal::serve(self.frame.into(), 2);
    }

    fn take(&self) -> Option<NodeRef> {
        self.frame.team().pool.take(self.frame, self.first, self.limit, self.least())
    }

    fn run(&self, node: NodeRef) {
        let since = ticks();
        execute(self.frame, node, self.limit);
        let team = self.frame.team();
        let is_short = ticks().wrapping_sub(since) < SHORT_TICKS;
        self.is_patient.set(is_short && team.local > 1 && !team.distributed());
    }

    fn rest(&self, wait: impl FnOnce()) {
        let (activity, doing) = match self.first {
            Some(_) => (Activity::TaskWait, Doing::Tasks),
            None => (Activity::Wait, Doing::Barrier),
        };
        let _now = Now::begin(doing, 0, 0);
        blocked(|| time::spent(activity, || Some(Event::wait()), wait));
    }

    fn linger(&self, done: impl Fn() -> bool) -> bool {
        let (team, least) = (self.frame.team(), self.least());
        self.is_patient.set(false);
        let looks = if team.distributed() { 0 } else { cell::short_looks() / PAUSES };
        (0..looks).any(|_| {
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
            done() || team.pool.queued() >= least
        }) || team.pool.queued() > 0
    }

    fn pause(&self) {
        blocked(cell::pass_core);
    }
}

/// Runs tasks until `done`, which a thread waits for that has come to a barrier, where any task may run.
pub fn help(frame: &Frame, done: impl Fn() -> bool) {
    sync::process().help(&Waiter::at_barrier(frame), frame.team().participants, done);
}

/// The last thread of the process to arrive at a barrier of several processes: runs tasks until there is none in any.
pub fn meet(frame: &Frame) {
    let team = frame.team();
    sync::barrier_with_tasks(&Waiter::at_barrier(frame), team.participants, || team.pool.is_empty());
}

/// Runs tasks until `done`, which the thread waits for in `node`: descendants of it, or else others that the task scheduling constraint allows.
pub fn help_within(frame: &Frame, node: &NodeRef, done: impl Fn() -> bool) {
    if !done() {
        let participants = frame.team().participants;
        node.with_limit(|limit| {
            sync::process().help(&Waiter::new(frame, Some(node), limit), participants, done);
        });
    }
}

/// Runs a descendant of `within` if one is ready.
pub fn run_one(frame: &Frame, within: &NodeRef) -> bool {
    if export::complete_reported(frame.into()) {
        return true;
    }
    let Some(node) = frame.team().pool.take(frame, Some(within), Some(within), 1) else { return false };
    within.with_limit(|limit| execute(frame, node, limit));
    true
}

/// Priority that is told apart.
pub fn priority(wanted: usize) -> u32 {
    (wanted as u32 as i32).clamp(0, config::get().max_task_priority.min(i32::MAX as u32) as i32) as u32
}
