//! What the runtime knows of a task: descriptor, bookkeeping, groups.
//!
//! The descriptor is the compiler's; it lies on the shared heap if the task may move to another process, else on the C heap. The bookkeeping, a
//! [`Node`], is private to the process. In front of each descriptor stands the address of its node.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use super::depend::Dependences;
use super::reduction::Reduction;
use super::export::{self, Origin};
use crate::omp::frame::{Frame, Icv};
use crate::omp::team::Team;
use crate::omp::{get, put};
use crate::{check, heap};

/// Flags of `__kmpc_omp_task_alloc`.
pub mod flags {
    /// The task stays with the thread that started it.
    pub const TIED: u32 = 1;
    /// Its descendants are part of it.
    pub const FINAL: u32 = 2;
    /// `data1` of the descriptor destroys what it captured.
    pub const DESTRUCTORS: u32 = 8;
    /// `data2` holds its priority.
    pub const PRIORITY: u32 = 32;
    /// It ends when its event is fulfilled, too.
    pub const DETACHABLE: u32 = 64;
}

/// The compiler's task descriptor; its private data and the shared pointers follow.
#[repr(C)]
pub struct Task {
    /// Pointers to captured variables.
    pub shareds: *mut c_void,
    /// The code.
    pub routine: Routine,
    /// Where an untied task goes on.
    pub part: i32,
    /// Destructors.
    pub data1: usize,
    /// Priority.
    pub data2: usize,
}

/// Code of a task: `(thread number, descriptor)`.
pub type Routine = unsafe extern "C" fn(i32, *mut Task) -> i32;

/// Bytes in front of a descriptor.
const PREFIX: usize = 64;

/// Memory of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes of the descriptor with private data.
    pub bytes: usize,
    /// Bytes of the shared pointers behind it.
    pub shareds: usize,
    /// Whether it lies on the shared heap.
    pub shared: bool,
}

/// What the end of a task does to others.
#[derive(Default)]
pub struct Links {
    /// The task has ended.
    pub done: bool,
    /// Tasks that wait for it.
    pub successors: Vec<Arc<Node>>,
}

/// A task.
pub struct Node {
    /// The task that created it.
    pub parent: Option<Arc<Node>>,
    /// Innermost group of the code it runs now; at its start, the group it belongs to.
    pub group: Mutex<Option<Arc<Group>>>,
    /// The group it belongs to.
    pub member_of: Option<Arc<Group>>,
    /// Descriptor; null for an implicit task.
    pub task: *mut Task,
    /// See [`flags`].
    pub flags: u32,
    /// Its descendants are run at once.
    pub is_final: bool,
    /// Children that have not ended.
    pub children: AtomicU32,
    /// Dependences that are not fulfilled, and one while the task is not submitted.
    pub blockers: AtomicU32,
    /// See [`Links`].
    pub links: Mutex<Links>,
    /// What its children depend on.
    pub dependences: Mutex<Dependences>,
    /// Held while it runs: one for each `mutexinoutset`.
    pub mutexes: Mutex<Vec<Arc<AtomicBool>>>,
    /// The task has begun.
    pub started: AtomicBool,
    /// Compiled code calls its routine, not the runtime.
    pub included: AtomicBool,
    /// A part of it has ended, and another one follows.
    pub has_next_part: AtomicBool,
    /// Its control variables at its creation.
    pub icv: Mutex<Icv>,
    /// Control variables of the code that an `if(0)` task interrupts.
    pub interrupted: Mutex<Option<Icv>>,
    /// The region; outlives all its tasks.
    pub team: *const Team,
    /// Its memory, if it has a descriptor.
    pub memory: Option<Memory>,
    /// Event slot of a detachable task, plus one.
    pub event: AtomicU32,
    /// Number of its ancestors.
    pub depth: u32,
    /// Of an untied task that has begun: the innermost tied task of its thread, if there is one outside of barriers.
    pub tied_ancestor: Mutex<Option<Arc<Node>>>,
    /// Of a task of another process: where it came from.
    pub import: Option<Arc<Import>>,
    /// The import of the ancestor that came from another process, which lives at least as long, or null.
    pub lineage: *const Import,
    /// Of the priority clause.
    pub priority: AtomicU32,
}

/// How a batch of tasks came from another process.
pub struct Import {
    /// The batches that it descends from: its own, the one that its sender's tasks came in, and so on.
    pub origins: Vec<Origin>,
    /// The task of this process that it is known to descend from.
    pub ancestor: Option<Arc<Node>>,
}

// SAFETY: the raw pointers name a descriptor, which one thread at a time uses, an import that an ancestor holds, and a team, whose fields are made for sharing.
unsafe impl Send for Node {}
// SAFETY: as above; everything that changes is atomic or locked.
unsafe impl Sync for Node {}

impl Node {
    /// The implicit task of a frame.
    pub fn implicit(frame: &Frame) -> Arc<Node> {
        Arc::new(Node::new(frame, None, None, std::ptr::null_mut(), 0))
    }

    /// A task of `frame`'s region below `parent`.
    pub fn new(
        frame: &Frame,
        parent: Option<Arc<Node>>,
        group: Option<Arc<Group>>,
        task: *mut Task,
        task_flags: u32,
    ) -> Node {
        Node {
            depth: parent.as_ref().map_or(0, |p| p.depth + 1),
            tied_ancestor: Mutex::default(),
            import: None,
            lineage: parent.as_ref().map_or(std::ptr::null(), |p| p.lineage),
            is_final: task_flags & flags::FINAL != 0 || parent.as_ref().is_some_and(|p| p.is_final),
            parent,
            group: Mutex::new(group.clone()),
            member_of: group,
            task,
            flags: task_flags,
            children: AtomicU32::new(0),
            blockers: AtomicU32::new(1),
            links: Mutex::default(),
            dependences: Mutex::default(),
            mutexes: Mutex::default(),
            started: AtomicBool::new(false),
            included: AtomicBool::new(false),
            has_next_part: AtomicBool::new(false),
            icv: Mutex::new(frame.icv.get()),
            interrupted: Mutex::default(),
            team: frame.team,
            memory: None,
            event: AtomicU32::new(0),
            priority: AtomicU32::new(0),
        }
    }

    /// True of tasks that the program made.
    pub fn is_explicit(&self) -> bool {
        !self.task.is_null()
    }

    /// The region.
    pub fn team(&self) -> &Team {
        // SAFETY: a region ends after all its tasks.
        unsafe { &*self.team }
    }

    /// A task of another process, which came in this way.
    pub fn imported(frame: &Frame, group: Arc<Group>, task: *mut Task, task_flags: u32, import: Arc<Import>) -> Node {
        let node = Node::new(frame, None, Some(group), task, task_flags);
        let depth = import.ancestor.as_ref().map_or(0, |a| a.depth + 1);
        Node { depth, blockers: AtomicU32::new(0), lineage: Arc::as_ptr(&import), import: Some(import), ..node }
    }

    /// The task above it in this process.
    fn above(&self) -> Option<&Arc<Node>> {
        self.parent.as_ref().or_else(|| self.import.as_ref()?.ancestor.as_ref())
    }

    /// Whether `ancestor` created it, directly or not.
    pub fn descends_from(&self, ancestor: &Arc<Node>) -> bool {
        let mut at = self.above();
        while let Some(node) = at.filter(|node| node.depth > ancestor.depth) {
            at = node.above();
        }
        at.is_some_and(|node| Arc::ptr_eq(node, ancestor))
    }

    /// Whether it stays with the thread that began it, as implicit tasks do. In fact all tasks stay, but only these restrict what their thread runs
    /// while they wait.
    pub fn is_tied(&self) -> bool {
        !self.is_explicit() || self.flags & flags::TIED != 0
    }

    /// The task whose descendants its thread may run, and no others, while it waits.
    pub fn limit(self: &Arc<Node>) -> Option<Arc<Node>> {
        if self.is_tied() { Some(self.clone()) } else { self.tied_ancestor.lock().clone() }
    }

    /// It begins on a thread whose innermost tied task, if it is not at a barrier, is `limit`.
    pub fn begin_below(&self, limit: Option<&Arc<Node>>) {
        if !self.is_tied() {
            *self.tied_ancestor.lock() = limit.cloned();
        }
    }

    /// Whether tasks wait for its end because of dependences.
    pub fn has_successors(&self) -> bool {
        !self.links.lock().successors.is_empty()
    }

    /// The batches of other processes that it descends from.
    pub fn origins(&self) -> &[Origin] {
        // SAFETY: the node or an ancestor, which it holds, holds the import.
        unsafe { self.lineage.as_ref() }.map_or(&[], |import| &import.origins)
    }

    /// Takes the mutexes of its `mutexinoutset` dependences, all or none.
    pub fn take_mutexes(&self) -> bool {
        let mutexes = self.mutexes.lock();
        for (i, mutex) in mutexes.iter().enumerate() {
            if mutex.swap(true, Ordering::SeqCst) {
                mutexes[..i].iter().for_each(|m| m.store(false, Ordering::SeqCst));
                return false;
            }
        }
        true
    }

    /// Gives them back.
    pub fn give_mutexes(&self) {
        self.mutexes.lock().iter().for_each(|m| m.store(false, Ordering::SeqCst));
    }

    /// Whether its group, or one around it, was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.member_of.as_ref().is_some_and(|g| g.is_cancelled())
    }
}

/// A task group.
pub struct Group {
    /// The group around it.
    pub parent: Option<Arc<Group>>,
    /// Tasks in it that have not ended, descendants included.
    pub pending: AtomicU32,
    cancelled: AtomicBool,
    /// Items of `task_reduction`.
    pub reductions: Mutex<Vec<Reduction>>,
    /// Its tasks stay in the process.
    pub local: AtomicBool,
    /// Told when the last task ends.
    pub origin: Option<Origin>,
}

impl Group {
    /// A group inside another.
    pub fn new(parent: Option<Arc<Group>>, origin: Option<Origin>) -> Arc<Group> {
        let local = parent.as_ref().is_some_and(|p| p.local.load(Ordering::Relaxed));
        Arc::new(Group {
            parent,
            pending: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            reductions: Mutex::default(),
            local: AtomicBool::new(local),
            origin,
        })
    }

    /// Its tasks that have not begun will not run.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }

    /// See [`Group::cancel`].
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// A task of it has ended.
    pub fn leave(&self) {
        if self.pending.fetch_sub(1, Ordering::SeqCst) == 1
            && let Some(origin) = self.origin
        {
            export::report(origin);
        }
    }
}

/// Zeroed memory in units of 64 bytes, on the shared heap or on the C library's; `heap::free` takes both.
pub fn zeroed(bytes: usize, shared: bool) -> *mut u8 {
    let bytes = bytes.next_multiple_of(64).max(64);
    let base = if shared {
        heap::allocate(bytes, 64).map_or(std::ptr::null_mut(), |(address, _)| address as *mut u8)
    } else {
        // SAFETY: the size is a multiple of the alignment.
        unsafe { libc::aligned_alloc(64, bytes).cast::<u8>() }
    };
    if base.is_null() {
        crate::start::die("no memory for a task");
    }
    if shared {
        check::writable(base as usize, bytes);
    }
    // SAFETY: a new object of that size, writable now.
    unsafe { base.write_bytes(0, bytes) };
    base
}

/// Makes a zeroed descriptor with shared pointers behind it.
///
/// # Safety
/// Sizes and routine are the compiler's.
pub unsafe fn allocate(memory: Memory, routine: Routine) -> *mut Task {
    let base = zeroed(PREFIX + memory.bytes + memory.shareds, memory.shared);
    // SAFETY: the object holds prefix, descriptor and shareds in this order, 64-byte aligned, writable.
    unsafe {
        let task = base.add(PREFIX).cast::<Task>();
        let behind = task.cast::<u8>().add(memory.bytes);
        task.write(Task { shareds: behind.cast(), routine, part: 0, data1: 0, data2: 0 });
        task
    }
}

/// Frees a descriptor.
///
/// # Safety
/// It comes from [`allocate`] with the same `memory`, and nobody uses it any more.
pub unsafe fn release(task: *mut Task, memory: Memory) {
    let base = task.cast::<u8>().wrapping_sub(PREFIX);
    if memory.shared {
        heap::free(base as usize);
    } else {
        // SAFETY: as the caller says.
        unsafe { libc::free(base.cast()) };
    }
}

/// Makes the descriptor name its node, and keeps the node alive until [`forget`].
///
/// # Safety
/// `task` comes from [`allocate`].
pub unsafe fn name(task: *mut Task, node: &Arc<Node>) {
    // SAFETY: the prefix belongs to the descriptor.
    unsafe { put(task.cast::<usize>().sub(1), Arc::into_raw(node.clone()) as usize) };
}

/// The node of a descriptor.
///
/// # Safety
/// [`name`] was called for it in this process, and [`forget`] was not.
pub unsafe fn of(task: *mut Task) -> Arc<Node> {
    // SAFETY: as the caller says: the word holds a pointer from `Arc::into_raw` that still owns a count.
    unsafe {
        let raw = get(task.cast::<usize>().sub(1)) as *const Node;
        Arc::increment_strong_count(raw);
        Arc::from_raw(raw)
    }
}

/// Ends what [`name`] began.
///
/// # Safety
/// As for [`of`].
pub unsafe fn forget(task: *mut Task) {
    // SAFETY: as the caller says.
    unsafe { drop(Arc::from_raw(get(task.cast::<usize>().sub(1)) as *const Node)) };
}
