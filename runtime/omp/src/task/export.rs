//! Tasks that run in other processes, and events.
//!
//! A *slot* is a word in this process's control area that somebody else writes when something has ended: a batch of tasks that was handed over
//! with all its descendants, or the event of a detachable task. While a batch runs, its slot tells whether the process that made it is waiting and
//! may run descendants of the batch itself: then the slot is *open*, see [`super::steal`]. The word is [`dsm_sync`]'s; what it stands for is here.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::node_ref::NodeRef;
use super::pace;
use super::pool::{self, Queue};
use crate::sync::TASK_SLOT_COUNT;
use crate::{control, ompt, sync};

/// Where the end of tasks is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Process.
    pub rank: u32,
    /// Number of its slot.
    pub slot: u32,
}

impl Origin {
    /// As a word of a message.
    pub fn encode(self) -> u64 {
        u64::from(self.rank) << 32 | u64::from(self.slot)
    }

    /// From such a word.
    pub fn decode(word: u64) -> Origin {
        Origin { rank: (word >> 32) as u32, slot: word as u32 }
    }

    /// Whether its process may run descendants of the batch while it waits.
    pub fn is_open(self) -> bool {
        sync::process().is_open(self.rank, self.slot)
    }
}

/// What ends when a slot is written.
struct Export {
    slot: u32,
    nodes: Vec<NodeRef>,
    /// Tasks of another process, not an event.
    away: bool,
    /// When the tasks went to another host.
    sent: Option<Instant>,
}

static EXPORTS: Mutex<Vec<Export>> = Mutex::new(Vec::new());
/// Length of that.
static EXPORTED: AtomicU32 = AtomicU32::new(0);
/// Slots that are free, and the number of those ever used.
static SLOTS: Mutex<(Vec<u32>, u32)> = Mutex::new((Vec::new(), 0));

/// A slot that nobody uses.
pub fn take_slot() -> Option<u32> {
    let mut slots = SLOTS.lock();
    let slot = slots.0.pop().or_else(|| {
        let next = slots.1;
        ((next as usize) < TASK_SLOT_COUNT).then(|| {
            slots.1 += 1;
            next
        })
    })?;
    sync::process().clear_slot(slot);
    Some(slot)
}

/// Gives a slot back.
pub fn give_slot(slot: u32) {
    SLOTS.lock().0.push(slot);
}

fn add(export: Export) {
    EXPORTS.lock().push(export);
    EXPORTED.fetch_add(1, Ordering::SeqCst);
}

/// Tasks are about to go to the process `thief`, which reports to the slot.
pub fn begin(slot: u32, nodes: Vec<NodeRef>, thief: u32) {
    let sent = (!control::is_mapped(thief)).then(Instant::now);
    add(Export { slot, nodes, away: true, sent });
}

/// Opens the slots of the batches that consist of descendants of `ancestor`, and closes the others; whether any is open.
pub fn open_below(ancestor: &NodeRef) -> bool {
    let mut any = false;
    for export in EXPORTS.lock().iter().filter(|export| export.away) {
        let opens = export.nodes.iter().all(|node| node.descends_from(ancestor));
        sync::process().set_open(export.slot, opens);
        any |= opens;
    }
    any
}

/// A task that all tasks of the batch with this slot descend from, or are: the nearest one, if there is any.
pub fn ancestor(slot: u32) -> Option<NodeRef> {
    let exports = EXPORTS.lock();
    // All are of one generation.
    let mut line: Vec<&NodeRef> = exports.iter().find(|export| export.slot == slot)?.nodes.iter().collect();
    while line.iter().any(|node| !NodeRef::ptr_eq(node, line[0])) {
        line = line.into_iter().map(|node| node.above()).collect::<Option<_>>()?;
    }
    line.first().map(|node| NodeRef::clone(node))
}

/// What was made at `origin` has ended, all descendants included.
pub fn report(origin: Origin) {
    sync::process().report(origin.rank, origin.slot);
}

/// Completes tasks that were reported, and those whose events were fulfilled; whether there were any.
pub fn complete_reported(queue: Queue) -> bool {
    if EXPORTED.load(Ordering::SeqCst) == 0 {
        return false;
    }
    let mut reported = Vec::new();
    EXPORTS.lock().retain_mut(|export| {
        let by = sync::process().reported(export.slot);
        reported.extend(by.map(|by| (export.slot, std::mem::take(&mut export.nodes), by)));
        if let (Some(_), Some(sent)) = (by, export.sent) {
            pace::note_end(sent.elapsed());
        }
        by.is_none()
    });
    EXPORTED.fetch_sub(reported.len() as u32, Ordering::SeqCst);
    let any = !reported.is_empty();
    for (slot, nodes, by) in reported {
        give_slot(slot);
        sync::process().acquire_reported(by);
        for node in &nodes {
            ompt::task::fulfilled(node);
            pool::complete(queue, node);
        }
    }
    any
}

/// Makes the event of a detachable task.
pub fn make_event(node: &NodeRef) -> usize {
    let Some(slot) = take_slot() else { crate::job::die("too many detached tasks at a time") };
    node.extras().event.store(slot + 1, Ordering::SeqCst);
    (sync::rank() as usize) << 32 | (slot as usize + 1)
}

/// Ends a detached task, in whatever process it was made.
pub fn fulfil(event: usize) {
    report(Origin { rank: (event >> 32) as u32, slot: event as u32 - 1 });
}

/// Whether a task whose code has run still waits for its event; then it is completed later.
pub fn waits_for_event(node: &NodeRef) -> bool {
    let event = node.existing_extras().map_or(0, |extras| extras.event.load(Ordering::SeqCst));
    let Some(slot) = event.checked_sub(1) else { return false };
    add(Export { slot, nodes: vec![node.clone()], away: false, sent: None });
    pool::notify();
    true
}
