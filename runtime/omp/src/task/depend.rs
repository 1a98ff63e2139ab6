//! Dependences between the children of a task.
//!
//! For each address there are two sets of tasks: `last`, whose members may run in any order among each other, and `before`, which all of them
//! wait for. A task of the kind of `last` joins it; any other task waits for all of `last` and begins a new set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::node_ref::NodeRef;
use crate::get;
use crate::ompt::abi::{Dependence, dependence};
use crate::ompt::task::depends;

/// The compiler's description of a dependence.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Item {
    address: usize,
    bytes: usize,
    flags: u8,
}

/// How a task uses an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    In,
    Out,
    MutexInOut,
    InOutSet,
}

const ALL_MEMORY: u8 = 0x80;

impl Item {
    /// `omp_all_memory`, for which compilers have a flag or an address that nothing has.
    fn is_all_memory(&self) -> bool {
        self.flags & ALL_MEMORY != 0 || self.address == usize::MAX
    }

    fn kind(&self) -> Kind {
        match self.flags {
            1 => Kind::In,
            4 => Kind::MutexInOut,
            8 => Kind::InOutSet,
            _ => Kind::Out,
        }
    }

    /// As tools are told of it.
    fn describe(&self) -> Dependence {
        const OUT: u8 = 2;
        let kind = match self.kind() {
            _ if self.is_all_memory() => dependence::INOUT_ALL_MEMORY,
            Kind::In => dependence::IN,
            Kind::MutexInOut => dependence::MUTEX_INOUT_SET,
            Kind::InOutSet => dependence::INOUT_SET,
            Kind::Out if self.flags == OUT => dependence::OUT,
            Kind::Out => dependence::INOUT,
        };
        let variable = if self.is_all_memory() { 0 } else { self.address as u64 };
        Dependence { variable, kind }
    }
}

/// The dependences of two lists of the compiler's.
///
/// # Safety
/// The lists have as many items as their counts say.
pub unsafe fn items(lists: [(i32, *const Item); 2]) -> Vec<Item> {
    let of_list = |(count, list): (i32, *const Item)| {
        // SAFETY: the caller's promise.
        (0..count.max(0) as usize).map(move |i| unsafe { get(list.add(i)) })
    };
    lists.into_iter().flat_map(of_list).collect()
}

/// As tools are told of them.
pub fn described(items: &[Item]) -> Vec<Dependence> {
    items.iter().map(Item::describe).collect()
}

#[derive(Default)]
struct Entry {
    before: Vec<NodeRef>,
    last: Vec<NodeRef>,
    kind: Option<Kind>,
    mutex: Option<Arc<AtomicBool>>,
}

impl Entry {
    fn add(&mut self, node: &NodeRef, kind: Kind) {
        let joins = self.kind == Some(kind) && kind != Kind::Out;
        if !joins {
            std::mem::swap(&mut self.before, &mut self.last);
            self.last.clear();
            self.kind = Some(kind);
        }
        self.before.retain(|n| !n.extras().links.lock().done);
        self.before.iter().for_each(|earlier| follow(node, earlier));
        self.last.push(node.clone());
        if kind == Kind::MutexInOut {
            let mutex = self.mutex.get_or_insert_default().clone();
            let mut held = node.extras().mutexes().lock();
            if !held.iter().any(|m| Arc::ptr_eq(m, &mutex)) {
                held.push(mutex);
                // One order for all, though `take_mutexes` never waits.
                held.sort_by_key(|m| Arc::as_ptr(m) as usize);
            }
        }
    }
}

/// Makes `node` wait for `earlier`.
fn follow(node: &NodeRef, earlier: &NodeRef) {
    if NodeRef::ptr_eq(node, earlier) {
        return;
    }
    let mut links = earlier.extras().links.lock();
    if !links.done {
        depends(earlier, node);
        node.blockers.fetch_add(1, Ordering::SeqCst);
        links.successors.push(node.clone());
    }
}

/// See the module.
#[derive(Default)]
pub struct Dependences {
    entries: FxHashMap<usize, Entry>,
    /// The last task that depends on all memory.
    everything: Option<NodeRef>,
}

impl Dependences {
    /// Makes `node`, which is not submitted yet, wait for its siblings as the items say.
    pub fn add(&mut self, node: &NodeRef, items: &[Item]) {
        // Before the task can end: its end is noted there.
        node.extras();
        if items.iter().any(Item::is_all_memory) {
            for entry in self.entries.values_mut() {
                entry.add(node, Kind::Out);
            }
            if let Some(earlier) = self.everything.replace(node.clone()) {
                follow(node, &earlier);
            }
            return;
        }
        for (i, item) in items.iter().enumerate() {
            // An address that is named twice counts as changed.
            if items[..i].iter().any(|earlier| earlier.address == item.address) {
                continue;
            }
            let first = item.kind();
            let mut same = items[i..].iter().filter(|other| other.address == item.address);
            let kind = if same.all(|other| other.kind() == first) { first } else { Kind::Out };
            self.entries.entry(item.address).or_default().add(node, kind);
        }
        if let Some(earlier) = &self.everything {
            follow(node, earlier);
        }
    }

    /// No task is left.
    pub fn clear(&mut self) {
        *self = Dependences::default();
    }
}
