//! A deque of ready tasks. It is locked, not lock-free, because whoever takes a task looks first whether it may; that it is empty shows without the lock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::node_ref::NodeRef;

/// Which end of a deque is looked at first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// What was pushed last.
    Newest,
    /// What was pushed first.
    Oldest,
}

/// A task in a deque.
struct Entry {
    node: NodeRef,
    /// Whether it excludes others: who takes it holds its mutexes. Known without a look at the task, which is in the cache of the thread that made it.
    excludes: bool,
}

impl Entry {
    fn new(node: NodeRef) -> Entry {
        let excludes = node.is_exclusive();
        Entry { node, excludes }
    }

    fn take_mutexes(&self) -> bool {
        !self.excludes || self.node.take_mutexes()
    }
}

/// See the module.
#[derive(Default)]
pub struct Deque {
    tasks: Mutex<VecDeque<Entry>>,
    length: AtomicUsize,
}

impl Deque {
    /// Number of tasks.
    pub fn length(&self) -> usize {
        self.length.load(Ordering::SeqCst)
    }

    fn change<R>(&self, change: impl FnOnce(&mut VecDeque<Entry>) -> R) -> R {
        let mut tasks = self.tasks.lock();
        let result = change(&mut tasks);
        self.length.store(tasks.len(), Ordering::SeqCst);
        result
    }

    /// Adds a task as the newest.
    pub fn push(&self, node: NodeRef) {
        let entry = Entry::new(node);
        self.change(|tasks| tasks.push_back(entry));
    }

    /// Adds a task behind those of smaller priority.
    pub fn insert(&self, node: NodeRef, priority: u32) {
        let entry = Entry::new(node);
        self.change(|tasks| {
            let at = tasks.partition_point(|e| e.node.priority.load(Ordering::Relaxed) < priority);
            tasks.insert(at, entry);
        });
    }

    /// Adds tasks that exclude none, the newest last.
    pub fn append(&self, nodes: impl Iterator<Item = NodeRef>) {
        self.change(|tasks| tasks.extend(nodes.map(|node| Entry { node, excludes: false })));
    }

    /// Whether there is a task that `may` be taken.
    pub fn any(&self, may: &impl Fn(&NodeRef) -> bool) -> bool {
        self.length() > 0 && self.change(|tasks| tasks.iter().any(|entry| may(&entry.node)))
    }

    /// The first task from that end that may be taken, with its mutexes.
    pub fn pick(&self, end: End, may: &impl Fn(&NodeRef) -> bool) -> Option<NodeRef> {
        if self.length() == 0 {
            return None;
        }
        self.change(|tasks| {
            let may = |entry: &Entry| may(&entry.node) && entry.take_mutexes();
            let at = match end {
                End::Newest => tasks.iter().rposition(may),
                End::Oldest => tasks.iter().position(may),
            };
            Some(tasks.remove(at?)?.node)
        })
    }

    /// The oldest task that may be taken, with its mutexes; puts those behind it that may be, too, into `others`, if it is the oldest of all: half of the deque with it, at most `most`. Others
    /// that exclude tasks stay.
    pub fn steal(
        &self,
        most: usize,
        may: &impl Fn(&NodeRef) -> bool,
        others: &mut Vec<NodeRef>,
    ) -> Option<NodeRef> {
        if self.length() == 0 {
            return None;
        }
        self.change(|tasks| {
            let at = tasks.iter().position(|entry| may(&entry.node) && entry.take_mutexes())?;
            let most = if at == 0 { tasks.len().div_ceil(2).min(most) } else { 1 };
            let first = tasks.remove(at)?;
            while others.len() + 1 < most
                && tasks.front().is_some_and(|next| !next.excludes && may(&next.node))
                && let Some(next) = tasks.pop_front()
            {
                others.push(next.node);
            }
            Some(first.node)
        })
    }

    /// Half of the tasks that are of one generation with the oldest one and may be taken with it, but at most `most`. Since a batch ends as a whole, a
    /// task that others wait for goes alone.
    pub fn take_half_generation(&self, most: usize, may: &impl Fn(&NodeRef) -> bool) -> Vec<NodeRef> {
        if self.length() == 0 {
            return Vec::new();
        }
        self.change(|tasks| {
            let chosen = half_generation(tasks, most, may);
            let batch = chosen.iter().map(|i| tasks[*i].node.clone()).collect();
            let (mut at, mut chosen) = (0.., chosen.into_iter().peekable());
            tasks.retain(|_| {
                let at = at.next();
                chosen.next_if(|i| Some(*i) == at).is_none()
            });
            batch
        })
    }
}

/// Positions of the tasks, in order.
fn half_generation(tasks: &VecDeque<Entry>, most: usize, may: &impl Fn(&NodeRef) -> bool) -> Vec<usize> {
    let Some(first) = tasks.iter().position(|entry| may(&entry.node)) else { return Vec::new() };
    let oldest = &tasks[first].node;
    if oldest.has_successors() {
        return vec![first];
    }
    let similar = |node: &NodeRef| {
        let same_kind =
            node.depth == oldest.depth && node.lineage == oldest.lineage && node.icv == oldest.icv;
        same_kind && !node.has_successors() && may(node)
    };
    let mut chosen = vec![first];
    chosen.extend((first + 1..tasks.len()).filter(|i| similar(&tasks[*i].node)));
    chosen.truncate(chosen.len().div_ceil(2).min(most));
    chosen
}
