//! A deque of ready tasks. It is locked, not lock-free, because whoever takes a task looks first whether it may; that it is empty shows without the lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::node::Node;

/// Which end of a deque is looked at first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// What was pushed last.
    Newest,
    /// What was pushed first.
    Oldest,
}

/// See the module.
#[derive(Default)]
pub struct Deque {
    tasks: Mutex<VecDeque<Arc<Node>>>,
    length: AtomicUsize,
}

impl Deque {
    /// Number of tasks.
    pub fn length(&self) -> usize {
        self.length.load(Ordering::SeqCst)
    }

    fn change<R>(&self, change: impl FnOnce(&mut VecDeque<Arc<Node>>) -> R) -> R {
        let mut tasks = self.tasks.lock();
        let result = change(&mut tasks);
        self.length.store(tasks.len(), Ordering::SeqCst);
        result
    }

    /// Adds a task as the newest.
    pub fn push(&self, node: Arc<Node>) {
        self.change(|tasks| tasks.push_back(node));
    }

    /// Adds a task behind those of smaller priority.
    pub fn insert(&self, node: Arc<Node>, priority: u32) {
        self.change(|tasks| {
            let at = tasks.partition_point(|n| n.priority.load(Ordering::Relaxed) < priority);
            tasks.insert(at, node);
        });
    }

    /// The first task from that end that may be taken.
    pub fn pick(&self, end: End, may: &impl Fn(&Arc<Node>) -> bool) -> Option<Arc<Node>> {
        if self.length() == 0 {
            return None;
        }
        self.change(|tasks| {
            let at = match end {
                End::Newest => tasks.iter().rposition(may),
                End::Oldest => tasks.iter().position(may),
            };
            tasks.remove(at?)
        })
    }

    /// Half of the tasks that are of one generation with the oldest one and may be taken with it, but at most `most`. Since a batch ends as a whole, a
    /// task that others wait for goes alone.
    pub fn take_half_generation(&self, most: usize, may: &impl Fn(&Arc<Node>) -> bool) -> Vec<Arc<Node>> {
        if self.length() == 0 {
            return Vec::new();
        }
        self.change(|tasks| {
            let chosen = half_generation(tasks, most, may);
            let batch = chosen.iter().map(|i| tasks[*i].clone()).collect();
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
fn half_generation(
    tasks: &VecDeque<Arc<Node>>,
    most: usize,
    may: &impl Fn(&Arc<Node>) -> bool,
) -> Vec<usize> {
    let Some(first) = tasks.iter().position(may) else { return Vec::new() };
    let oldest = &tasks[first];
    if oldest.has_successors() {
        return vec![first];
    }
    let similar = |node: &Arc<Node>| {
        let same_kind =
            node.depth == oldest.depth && node.lineage == oldest.lineage && node.icv == oldest.icv;
        same_kind && !node.has_successors() && may(node)
    };
    let mut chosen = vec![first];
    chosen.extend((first + 1..tasks.len()).filter(|i| similar(&tasks[*i])));
    chosen.truncate(chosen.len().div_ceil(2).min(most));
    chosen
}
