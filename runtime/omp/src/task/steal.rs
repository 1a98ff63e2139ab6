//! Which tasks go to another process that asks for them, and how a message tells of them. How processes ask, and how tasks come and their ends are
//! reported, is in [`dsm_sync::Process::help`] and what it calls; where all threads of the victim are in user code, [`super::service`] does its part.
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
use std::sync::atomic::Ordering;
use std::time::Instant;

use dsm_sync::Wish;

use super::counters;
use super::export::{self, Origin};
use super::node::{Group, Import, Node, Task, flags};
use super::node_ref::NodeRef;
use super::pool::{self, Queue, Waiter};
use super::{pace, service};
use crate::frame::{self, Frame};
use crate::sync::TASK_MESSAGE_WORDS;
use crate::{config, control, memory, sync};
use crate::{fork, icv_words, ompt};

/// Most tasks of a batch.
const MOST: usize = 64;
/// Batches that a task is told to come from, the last one first.
const LINEAGE: usize = 16;
/// Words of a message: length of the lineage, and of the batch; control variables; lineage; descriptor and flags of each task.
const HEADER: usize = 1 + icv_words::COUNT;
const _: () = assert!(HEADER + LINEAGE + 2 * MOST < TASK_MESSAGE_WORDS);

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

/// Gives tasks to processes that request some, as long as at least `spare` are queued, and to those on other hosts at their [pace].
pub fn serve(queue: Queue, spare: usize) {
    let is_time = || pace::pause_left().is_zero() && pace::may_look();
    serve_at_pace(queue, spare, is_time);
}

/// As [`serve`], for a process that has called.
pub fn serve_caller(queue: Queue) {
    serve_at_pace(queue, 1, || pace::pause_left().is_zero());
}

/// The calling thread polls a variable: gives tasks to processes that request some, one of which may be to change it.
pub fn serve_while_polling() {
    if super::expected() {
        serve_some(frame::current().into(), |queue, _| has_spare(queue, 1, |_| true));
    }
}

/// `is_time`: to look at requests on other hosts.
fn serve_at_pace(queue: Queue, spare: usize, is_time: impl Fn() -> bool) {
    serve_some(queue, |queue, thief| {
        if control::is_mapped(thief) {
            return has_spare(queue, spare, |_| true);
        }
        let new_since = pace::new_since();
        let is_new = |node: &NodeRef| new_since.is_some_and(|since| node.came_after(since));
        let looks = is_time() && has_spare(queue, spare, |node| !is_new(node));
        if looks {
            pace::note_look();
        }
        looks
    });
}

/// Whether at least `spare` tasks are queued, and one of them may go and is such.
fn has_spare(queue: Queue, spare: usize, is_such: impl Fn(&NodeRef) -> bool) -> bool {
    let pool = &queue.team.pool;
    pool.queued() >= spare && pool.any(&|node| obstacle(node).is_none() && is_such(node))
}

fn serve_some(queue: Queue, has_spare: impl Fn(Queue, u32) -> bool) {
    let has_such = |thief, wish| wish == Wish::Any || queue.team.pool.any(&may_go(thief, wish));
    let give = |thief, wish| serve_one(queue, thief, wish);
    sync::process().serve(queue.team.participants, |thief| has_spare(queue, thief), has_such, give);
}

/// Gives a batch to a thief whose request the caller has claimed; false if there is none for it.
fn serve_one(queue: Queue, thief: u32, wish: Wish) -> bool {
    let Some(slot) = export::take_slot() else { return false };
    let batch = queue.team.pool.take_batch(queue, MOST, &may_go(thief, wish));
    if batch.is_empty() {
        export::give_slot(slot);
        return false;
    }
    hand_over(thief, slot, batch);
    true
}

/// Whether a queued task is what the thief asks for.
fn may_go(thief: u32, wish: Wish) -> impl Fn(&NodeRef) -> bool {
    let last = Cell::new(None);
    move |node| {
        obstacle(node).is_none()
            && (wish == Wish::Any || {
                // Neighbours in a queue mostly have the same lineage.
                let known = last.get().filter(|(lineage, _)| *lineage == node.lineage);
                let (lineage, open) = known.unwrap_or_else(|| (node.lineage, descends_openly(node, thief)));
                last.set(Some((lineage, open)));
                open
            })
    }
}

/// Whether the task descends from a batch of `thief` whose slot is open.
fn descends_openly(node: &Node, thief: u32) -> bool {
    node.origins().iter().any(|origin| origin.rank == thief && origin.is_open())
}

fn hand_over(thief: u32, slot: u32, batch: Vec<NodeRef>) {
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
    export::begin(slot, batch, thief);
    let since = Instant::now();
    sync::process().hand_over(thief, &message);
    if !control::is_mapped(thief) {
        pace::note_cost(since.elapsed());
    }
}

/// What a thread asks for: any task, or descendants of `limit` that run elsewhere, if there are such.
pub fn wish(limit: Option<&NodeRef>) -> Option<Wish> {
    let wish = match limit {
        Some(limit) => export::open_below(limit).then_some(Wish::Descendants)?,
        None => Wish::Any,
    };
    counters::REQUESTS.add(1);
    Some(wish)
}

/// Tasks of a batch that came.
pub type Batch = Vec<NodeRef>;

/// Runs the first of them. The others are queued, and given to who requests some.
pub fn run_batch(waiter: &Waiter, batch: Batch) {
    let frame = waiter.frame;
    counters::RECEIVED.add(batch.len() as u64);
    batch.iter().for_each(|node| ompt::task::adopted(frame, node));
    let mut tasks = batch.into_iter();
    let first = tasks.next().expect("a batch has tasks");
    let has_rest = tasks.len() > 0;
    // Newest first, so that the oldest of the rest is run next by this thread.
    tasks.rev().for_each(|node| frame.team().pool.push(frame.into(), node));
    if has_rest {
        // The barrier at which the thread waited may be over: then it goes on in the program's code, where it may wait for who waits for these tasks.
        service::start(frame.team());
        serve(frame.into(), 1);
    }
    pool::execute(frame, first, waiter.limit);
}

/// The tasks of a message, which descend from the thread's limit.
pub fn adopt(waiter: &Waiter, word: impl Fn(usize) -> u64) -> Batch {
    let frame = waiter.frame;
    let (origins, count) = (word(0) as u32 as usize, (word(0) >> 32) as usize);
    let icv: Vec<u64> = (1..HEADER).map(&word).collect();
    let origins: Vec<Origin> = (HEADER..HEADER + origins).map(|i| Origin::decode(word(i))).collect();
    let (origin, tasks_at) = (origins[0], HEADER + origins.len());
    let group = Group::new(None, Some(origin));
    group.pending.store(count as u32, Ordering::SeqCst);
    // What went away from here before and comes back.
    let returned = origins.iter().find(|origin| origin.rank == sync::rank());
    let ancestor =
        returned.and_then(|origin| export::ancestor(origin.slot)).or_else(|| waiter.limit.cloned());
    let import = Arc::new(Import { came: Instant::now(), origins, ancestor });
    let task = |i| {
        let (task, task_flags) = (word(tasks_at + 2 * i) as *mut Task, word(tasks_at + 2 * i + 1));
        let mut node = Node::imported(frame, group.clone(), task, task_flags as u32, import.clone());
        node.is_final |= task_flags >> 32 != 0;
        node.icv = icv_words::decode(&icv);
        frame.team().pool.begin(frame.into());
        NodeRef::new(node)
    };
    (0..count).map(task).collect()
}
