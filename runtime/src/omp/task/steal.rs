//! Tasks go from one process to another when a process without tasks asks for them.
//!
//! A process with a thread that waits without tasks, the *thief*, requests some: that thread raises a flag. Whoever has tasks to spare sees in a word of
//! its own that there are thieves, when it makes a task or is about to run one, and serves them (private deques: Acar, Charguéraud, Rainey): it releases, so that
//! what the tasks will read is published, writes a message into the thief's mailbox and keeps the tasks as an export ([`super::export`]). The
//! thief acquires from it, runs the tasks, and when they and all their descendants have ended, releases and reports; the victim acquires
//! and completes the tasks as if they had run there. Where all threads of the victim are in user code, [`super::service`] does its part.
//!
//! A thread at a barrier may run any task. One that waits inside a task may only run descendants of the tasks that are tied to it (the task scheduling
//! constraint): its process opens the slots of the batches that consist of such, and a victim gives it descendants of these
//! (leapfrogging: Wagner, Calder). A message therefore tells through which batches its tasks have come; a process that finds one of its own among them
//! knows which of its tasks they descend from. A waiting thread so runs only what began later than what it waits for, and no circle of waiting threads can come up.
//!
//! A batch is half of the victim's oldest tasks of one generation: where tasks make tasks, these are few and have most of the work below
//! them; where one task makes all, they are many.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::export::{self, Origin};
use super::node::{Group, Import, Node, Task, flags};
use super::pool::{self, Queue};
use super::{counters, termination};
use crate::omp::frame::{self, Frame};
use crate::omp::{fork, icv_words, ompt};
use crate::{config, memory, sync};
use sync::tasks as words;

/// Most tasks of a batch.
const MOST: usize = 64;
/// Batches that a task is told to come from, the last one first.
const LINEAGE: usize = 16;
/// Words of a message: sender's rank plus one; length of the lineage, and of the batch; control variables; lineage; descriptor and flags of each task.
const HEADER: usize = 2 + icv_words::COUNT;
const _: () = assert!(HEADER + LINEAGE + 2 * MOST <= words::MESSAGE_WORDS);

/// What a process's flag says.
mod wish {
    /// Nothing is requested.
    pub const NONE: u64 = 0;
    /// Any task.
    pub const ANY: u64 = 1;
    /// Descendants of batches with open slots.
    pub const DESCENDANTS: u64 = 2;
}

/// Why a task stays in its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Its descriptor is in private memory.
    Private,
    /// It waits for an event.
    Detachable,
    /// It excludes others (`mutexinoutset`).
    Exclusive,
    /// Its group has reductions.
    Reducing,
    /// It may be cancelled.
    Cancellable,
}

/// Whether a thread of this process has a request.
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// What keeps a queued task in its process; `None` if it may run in another one.
pub fn obstacle(node: &Node) -> Option<Obstacle> {
    let reduces = |group: &Arc<Group>| group.local.load(Ordering::Relaxed);
    if !node.memory.map_or(node.import.is_some(), |m| m.shared) {
        Some(Obstacle::Private)
    } else if node.flags & flags::DETACHABLE != 0 {
        Some(Obstacle::Detachable)
    } else if node.is_exclusive() {
        Some(Obstacle::Exclusive)
    } else if node.member_of.as_ref().is_some_and(reduces) {
        Some(Obstacle::Reducing)
    } else if config::get().cancellation {
        Some(Obstacle::Cancellable)
    } else {
        None
    }
}

/// Whether new tasks should lie where other processes can reach them: as tasks of a region of several processes, or because a region that one
/// of them starts may be one, whose threads read what the task has captured.
pub fn is_wide(frame: &Frame) -> bool {
    (frame.team().distributed() || fork::may_spread(frame)) && memory::shared().is_some()
}

/// Gives tasks to processes that request some, as long as at least `spare` are queued.
pub fn serve(queue: Queue, spare: usize) {
    if queue.team.distributed() && words::thieves(sync::rank()).load(Ordering::SeqCst) != 0 {
        serve_all(queue, spare);
    }
}

/// The calling thread polls a variable: gives tasks to processes that request some, one of which may be to change it.
pub fn serve_while_polling() {
    if super::expected() {
        serve(frame::current().into(), 1);
    }
}

#[cold]
fn serve_all(queue: Queue, spare: usize) {
    let (me, participants) = (sync::rank(), queue.team.participants);
    for thief in (1..participants).map(|i| (me + i) % participants) {
        if queue.team.pool.queued() < spare {
            return;
        }
        let wish = words::wish(thief).load(Ordering::SeqCst);
        if wish != wish::NONE && claim(thief, wish, participants) && !serve_one(queue, thief, wish) {
            announce(thief, wish, participants);
        }
    }
}

/// Gives a batch to a thief whose request the caller has claimed; false if there is none for it.
fn serve_one(queue: Queue, thief: u32, wish: u64) -> bool {
    let Some(slot) = export::take_slot() else { return false };
    let last = Cell::new(None);
    let may = |node: &Arc<Node>| {
        obstacle(node).is_none()
            && (wish == wish::ANY || {
                // Neighbours in a queue mostly have the same lineage.
                let known = last.get().filter(|(lineage, _)| *lineage == node.lineage);
                let (lineage, open) = known.unwrap_or_else(|| (node.lineage, descends_openly(node, thief)));
                last.set(Some((lineage, open)));
                open
            })
    };
    let batch = queue.team.pool.take_batch(queue, MOST, &may);
    if batch.is_empty() {
        export::give_slot(slot);
        return false;
    }
    hand_over(thief, slot, batch);
    true
}

/// Whether the task descends from a batch of `thief` whose slot is open.
fn descends_openly(node: &Node, thief: u32) -> bool {
    node.origins().iter().any(|origin| origin.rank == thief && origin.is_open())
}

fn hand_over(thief: u32, slot: u32, batch: Vec<Arc<Node>>) {
    counters::HANDED_OVER.add(batch.len() as u64);
    counters::BATCHES.add(1);
    let me = sync::rank();
    let origin = Origin { rank: me, slot };
    let lineage: Vec<u64> = std::iter::once(origin)
        .chain(batch[0].origins().iter().copied())
        .take(LINEAGE)
        .map(Origin::encode)
        .collect();
    let mut message = vec![lineage.len() as u64 | (batch.len() as u64) << 32];
    message.extend(icv_words::encode(batch[0].icv));
    message.extend(lineage);
    for node in &batch {
        message.extend([node.task as u64, u64::from(node.flags) | u64::from(node.is_final) << 32]);
    }
    export::begin(slot, batch);
    sync::release();
    words::write_message(thief, 1, &message);
    words::message(thief, 0).store(u64::from(me) + 1, Ordering::SeqCst);
    words::cell(thief).increment();
    // Threads of this process that wait for these tasks may now request their descendants.
    pool::notify();
}

/// Makes a request known, which nobody else changes meanwhile.
fn announce(thief: u32, wish: u64, participants: u32) {
    for rank in (0..participants).filter(|rank| *rank != thief) {
        words::thieves(rank).fetch_add(1, Ordering::SeqCst);
    }
    words::wish(thief).store(wish, Ordering::SeqCst);
}

/// Ends a request; false if there is none, or somebody else did.
fn claim(thief: u32, wish: u64, participants: u32) -> bool {
    let claimed =
        words::wish(thief).compare_exchange(wish, wish::NONE, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if claimed {
        for rank in (0..participants).filter(|rank| *rank != thief) {
            words::thieves(rank).fetch_sub(1, Ordering::SeqCst);
        }
    }
    claimed
}

/// Requests tasks: any, or descendants of `limit` that run elsewhere, if there are such. At most one thread of the process has a request; until
/// it has [`receive`]d tasks or withdrawn ([`end_request`]) it does nothing else: tasks that nobody takes up could be waited for in a circle.
///
/// True if the caller has a request now.
pub fn request(frame: &Frame, limit: Option<&Arc<Node>>) -> bool {
    if REQUESTED.swap(true, Ordering::SeqCst) {
        return false;
    }
    if limit.is_some_and(|limit| !export::open_below(limit)) {
        REQUESTED.store(false, Ordering::SeqCst);
        return false;
    }
    let wish = if limit.is_some() { wish::DESCENDANTS } else { wish::ANY };
    counters::REQUESTS.add(1);
    announce(sync::rank(), wish, frame.team().participants);
    true
}

/// Ends the calling thread's request, if need be by running the tasks that are on their way.
pub fn end_request(frame: &Frame, limit: Option<&Arc<Node>>) {
    let me = sync::rank();
    while !receive(frame, limit) {
        let wish = words::wish(me).load(Ordering::SeqCst);
        if wish != wish::NONE && claim(me, wish, frame.team().participants) {
            REQUESTED.store(false, Ordering::SeqCst);
            return;
        }
        crate::omp::event::blocked(sync::cell::pass_core);
    }
}

/// Takes the tasks that came for the calling thread and runs the first; false if there are none (yet).
pub fn receive(frame: &Frame, limit: Option<&Arc<Node>>) -> bool {
    let me = sync::rank();
    if words::message(me, 0).load(Ordering::SeqCst) == 0 {
        return false;
    }
    let mailbox = termination::lock_mailbox();
    let sender = words::message(me, 0).load(Ordering::SeqCst);
    if sender == 0 {
        return false;
    }
    let tasks = read_message(frame, limit);
    words::message(me, 0).store(0, Ordering::SeqCst);
    REQUESTED.store(false, Ordering::SeqCst);
    tasks.iter().for_each(|_| frame.team().pool.begin(frame.into()));
    termination::leave_count();
    drop(mailbox);
    // Other threads of this process that wait may have requests now.
    pool::notify();
    counters::RECEIVED.add(tasks.len() as u64);
    sync::acquire_from(sender as u32 - 1);
    tasks.iter().for_each(|node| ompt::task::adopted(frame, node));
    let mut tasks = tasks.into_iter();
    let first = tasks.next().expect("a batch has tasks");
    // Newest first, so that the oldest of the rest is run next by this thread.
    tasks.rev().for_each(|node| frame.team().pool.push(frame.into(), node));
    pool::execute(frame, first, limit);
    true
}

/// The tasks of the message in the mailbox, which descend from `limit`.
fn read_message(frame: &Frame, limit: Option<&Arc<Node>>) -> Vec<Arc<Node>> {
    let word = |i| words::message(sync::rank(), i).load(Ordering::SeqCst);
    let (origins, count) = (word(1) as u32 as usize, (word(1) >> 32) as usize);
    let icv: Vec<u64> = (2..HEADER).map(word).collect();
    let origins: Vec<Origin> = (HEADER..HEADER + origins).map(|i| Origin::decode(word(i))).collect();
    let (origin, tasks_at) = (origins[0], HEADER + origins.len());
    let group = Group::new(None, Some(origin));
    group.pending.store(count as u32, Ordering::SeqCst);
    // What went away from here before and comes back.
    let returned = origins.iter().find(|origin| origin.rank == sync::rank());
    let ancestor = returned.and_then(|origin| export::ancestor(origin.slot)).or_else(|| limit.cloned());
    let import = Arc::new(Import { origins, ancestor });
    let task = |i| {
        let (task, task_flags) = (word(tasks_at + 2 * i) as *mut Task, word(tasks_at + 2 * i + 1));
        let mut node = Node::imported(frame, group.clone(), task, task_flags as u32, import.clone());
        node.is_final |= task_flags >> 32 != 0;
        node.icv = icv_words::decode(&icv);
        Arc::new(node)
    };
    (0..count).map(task).collect()
}
