//! Tasks of other processes, and events.
//!
//! A process with a thread that waits at a barrier without tasks *asks*: that thread raises a flag. Whoever has tasks to spare sees that
//! somebody asks, when it makes a task or is about to run one, and *feeds* the asker its oldest task: it releases (so that what the task will
//! read is published), writes a grant into the asker's mailbox and keeps the task as an export. The asker acquires from it, runs the task, and
//! when the task and all its descendants have ended, releases and *reports* by a word in the exporter's control area (a slot); the exporter
//! acquires and completes the task as if it had run here. Events of detachable tasks use slots as well. Where all threads of the exporter are in user
//! code, [`super::service`] feeds and completes.
//!
//! A barrier ends when all processes are quiet at the same time. A process is quiet when all its threads have arrived and none of its tasks,
//! exports included, is pending; it then adds itself to a count. A quiet process can get a task only from one that is not counted and
//! stays so until the task is reported, and it takes itself out of the count before it begins. So a full count means that there is no task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::node::{Group, Node, Task, flags};
use super::pool::{self, Queue};
use crate::omp::frame::{self, Frame};
use crate::omp::{fork, icv_words, ompt};
use crate::{config, memory, sync};
use sync::tasks as words;

/// Where the end of a task is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Process.
    pub rank: u32,
    /// Number of its slot.
    pub slot: u32,
}

/// Words of a grant: exporter's rank plus one, slot, descriptor, flags, control variables.
const GRANT_WORDS: usize = 4 + icv_words::COUNT;
const _: () = assert!(GRANT_WORDS <= words::GRANT_WORDS);

/// Tasks that end when their slot is written.
static EXPORTS: Mutex<Vec<(u32, Arc<Node>)>> = Mutex::new(Vec::new());
static EXPORTED: AtomicU32 = AtomicU32::new(0);
/// Slots that are free, and the number of those ever used.
static SLOTS: Mutex<(Vec<u32>, u32)> = Mutex::new((Vec::new(), 0));
/// Guards this process's flag, mailbox and place in the count.
static OWN: Mutex<()> = Mutex::new(());
static ASKING: AtomicBool = AtomicBool::new(false);
static COUNTED: AtomicBool = AtomicBool::new(false);

fn take_slot() -> Option<u32> {
    let mut slots = SLOTS.lock();
    let slot = slots.0.pop().or_else(|| {
        let next = slots.1;
        (next < words::SLOTS).then(|| {
            slots.1 += 1;
            next
        })
    })?;
    words::slot(sync::rank(), slot).store(0, Ordering::SeqCst);
    Some(slot)
}

fn give_slot(slot: u32) {
    SLOTS.lock().0.push(slot);
}

/// Whether a task may run in another process: it does not move between threads, has no event, excludes nobody, and reduces nothing.
pub fn may_leave(node: &Arc<Node>) -> bool {
    node.memory.is_some_and(|m| m.shared)
        && node.flags & flags::TIED != 0
        && node.flags & flags::DETACHABLE == 0
        && !node.started.load(Ordering::SeqCst)
        && node.mutexes.lock().is_empty()
        && node.member_of.as_ref().is_none_or(|g| !g.local.load(Ordering::Relaxed))
        && !config::get().cancellation
}

/// Whether new tasks should lie where other processes can reach them: as tasks of a region of several processes, or because a region that one
/// of them starts may be one, whose threads read what the task has captured.
pub fn is_wide(frame: &Frame) -> bool {
    (frame.team().distributed() || fork::may_spread(frame)) && memory::shared().is_some()
}

/// Gives tasks to processes that ask, as long as at least `spare` are queued.
pub fn feed(queue: Queue, spare: u32) {
    let team = queue.team;
    if !team.distributed() || words::asking().load(Ordering::SeqCst) == 0 {
        return;
    }
    while team.pool.queued() >= spare {
        let Some(asker) = find_asker(team.participants) else { return };
        let slot = take_slot();
        let node = slot.and_then(|_| team.pool.take_exportable(queue));
        let (Some(slot), Some(node)) = (slot, node) else {
            slot.into_iter().for_each(give_slot);
            words::flag(asker).store(1, Ordering::SeqCst);
            words::asking().fetch_add(1, Ordering::SeqCst);
            return;
        };
        grant(asker, slot, node);
    }
}

/// The calling thread polls a variable: gives tasks to processes that ask, one of which may be to change it.
pub fn feed_while_polling() {
    if super::expected() {
        feed(frame::current().into(), 1);
    }
}

/// A process that asked; it does not any more.
fn find_asker(participants: u32) -> Option<u32> {
    let me = sync::rank();
    let mut others = (1..participants).map(|i| (me + i) % participants);
    let asker = others
        .find(|r| words::flag(*r).compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok())?;
    words::asking().fetch_sub(1, Ordering::SeqCst);
    Some(asker)
}

fn grant(asker: u32, slot: u32, node: Arc<Node>) {
    node.started.store(true, Ordering::SeqCst);
    let message = [u64::from(slot), node.task as u64, u64::from(node.flags) | u64::from(node.is_final) << 32];
    let icv = icv_words::encode(*node.icv.lock());
    EXPORTS.lock().push((slot, node));
    EXPORTED.fetch_add(1, Ordering::SeqCst);
    sync::release();
    for (i, value) in message.iter().chain(&icv).enumerate() {
        words::grant(asker, 1 + i).store(*value, Ordering::SeqCst);
    }
    words::grant(asker, 0).store(u64::from(sync::rank()) + 1, Ordering::SeqCst);
    words::cell(asker).increment();
}

/// Asks for a task. At most one thread of the process asks at a time; it stays at its barrier and does nothing else until it has [`accept`]ed
/// a task or has [`retract`]ed: a grant that nobody takes up could be waited for in a circle.
///
/// True if the caller asks now.
pub fn ask() -> bool {
    if ASKING.swap(true, Ordering::SeqCst) {
        return false;
    }
    words::flag(sync::rank()).store(1, Ordering::SeqCst);
    words::asking().fetch_add(1, Ordering::SeqCst);
    true
}

/// The asking thread does not want a task any more. False: one is on its way (or somebody is about to find that he has none to give).
pub fn retract() -> bool {
    let flag = words::flag(sync::rank());
    let retracted = flag.compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if retracted {
        words::asking().fetch_sub(1, Ordering::SeqCst);
        ASKING.store(false, Ordering::SeqCst);
    }
    retracted
}

/// The asking thread stops asking, if need be by running the task that is on its way.
pub fn settle(frame: &Frame) {
    while !accept(frame) && !retract() {
        crate::omp::event::blocked(sync::cell::pass_core);
    }
}

/// Runs the task that was granted to the asking thread; false if there is none (yet).
pub fn accept(frame: &Frame) -> bool {
    let me = sync::rank();
    let word = |i| words::grant(me, i).load(Ordering::SeqCst);
    if word(0) == 0 {
        return false;
    }
    let node = {
        let _own = OWN.lock();
        let from = word(0);
        if from == 0 {
            return false;
        }
        let origin = Origin { rank: from as u32 - 1, slot: word(1) as u32 };
        let icv: Vec<u64> = (0..icv_words::COUNT).map(|i| word(4 + i)).collect();
        let group = Group::new(None, Some(origin));
        group.pending.store(1, Ordering::SeqCst);
        let task_flags = word(3) as u32;
        let mut node = Node::new(frame, None, Some(group), word(2) as *mut Task, task_flags);
        node.is_final |= word(3) >> 32 != 0;
        node.icv = Mutex::new(icv_words::decode(&icv));
        node.origin = Some(origin);
        words::grant(me, 0).store(0, Ordering::SeqCst);
        ASKING.store(false, Ordering::SeqCst);
        frame.team().pool.begin();
        if COUNTED.swap(false, Ordering::SeqCst) {
            words::quiet().fetch_sub(1, Ordering::SeqCst);
        }
        Arc::new(node)
    };
    let origin = node.origin.expect("set above");
    sync::acquire_from(origin.rank);
    ompt::task::adopted(frame, &node);
    pool::execute(frame, &node);
    true
}

/// A task of another process has ended with all its descendants.
pub fn report(origin: Origin) {
    sync::release();
    words::slot(origin.rank, origin.slot).store(u64::from(sync::rank()) + 1, Ordering::SeqCst);
    words::cell(origin.rank).increment();
    // What waited for the task may go to a process that waits, even if its own threads compute.
    if words::asking().load(Ordering::SeqCst) != 0 {
        words::service(origin.rank).increment();
    }
}

/// Completes tasks that were reported, and those whose events were fulfilled; whether there were any.
pub fn collect(queue: Queue) -> bool {
    if EXPORTED.load(Ordering::SeqCst) == 0 {
        return false;
    }
    let mut reported = Vec::new();
    EXPORTS.lock().retain(|(slot, node)| {
        let by = words::slot(sync::rank(), *slot).load(Ordering::SeqCst);
        if by != 0 {
            reported.push((*slot, node.clone(), by as u32 - 1));
        }
        by == 0
    });
    EXPORTED.fetch_sub(reported.len() as u32, Ordering::SeqCst);
    let any = !reported.is_empty();
    for (slot, node, by) in reported {
        give_slot(slot);
        if by != sync::rank() {
            sync::acquire_from(by);
        }
        ompt::task::fulfilled(&node);
        pool::complete(queue, &node);
    }
    any
}

/// The last thread of the process to arrive at a barrier: runs tasks until there is none in any process.
pub fn quiesce(frame: &Frame) {
    let team = frame.team();
    let seen = words::epoch().load(Ordering::SeqCst);
    let ended = || words::epoch().load(Ordering::SeqCst) != seen;
    pool::help(frame, None, || {
        if team.pool.is_empty() && !COUNTED.load(Ordering::SeqCst) {
            count(frame);
        }
        ended()
    });
    COUNTED.store(false, Ordering::SeqCst);
}

fn count(frame: &Frame) {
    let team = frame.team();
    let _own = OWN.lock();
    let mailbox = words::grant(sync::rank(), 0).load(Ordering::SeqCst);
    if !team.pool.is_empty() || mailbox != 0 || COUNTED.load(Ordering::SeqCst) {
        return;
    }
    COUNTED.store(true, Ordering::SeqCst);
    if words::quiet().fetch_add(1, Ordering::SeqCst) + 1 == u64::from(team.participants) {
        words::quiet().store(0, Ordering::SeqCst);
        words::epoch().fetch_add(1, Ordering::SeqCst);
        (0..team.participants).for_each(|rank| {
            words::cell(rank).increment();
        });
    }
}

/// Makes the event of a detachable task.
pub fn make_event(node: &Arc<Node>) -> usize {
    let Some(slot) = take_slot() else { crate::start::die("too many detached tasks at a time") };
    node.event.store(slot + 1, Ordering::SeqCst);
    (sync::rank() as usize) << 32 | (slot as usize + 1)
}

/// Ends a detached task, in whatever process it was made.
pub fn fulfil(event: usize) {
    let origin = Origin { rank: (event >> 32) as u32, slot: event as u32 - 1 };
    report(origin);
}

/// Whether a task whose code has run still waits for its event; then it is completed later.
pub fn waits_for_event(node: &Arc<Node>) -> bool {
    let Some(slot) = node.event.load(Ordering::SeqCst).checked_sub(1) else { return false };
    EXPORTS.lock().push((slot, node.clone()));
    EXPORTED.fetch_add(1, Ordering::SeqCst);
    pool::notify();
    true
}
