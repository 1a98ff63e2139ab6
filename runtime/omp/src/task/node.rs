//! What the runtime knows of a task: descriptor, bookkeeping, groups.
//!
//! The descriptor is the compiler's; it lies on the shared heap if the task may move to another process, else in the block of the bookkeeping. That, a
//! [`Node`], is private to the process. In front of each descriptor stands the address of its node.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use super::blocks;
use super::depend::Dependences;
use super::export::{self, Origin};
use super::node_ref::NodeRef;
use super::reduction::Reduction;
use crate::frame::{Frame, Icv};
use crate::ompt::{self, TaskRecord};
use crate::team::Team;
use crate::{get, put};

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

/// Bytes in front of a descriptor on the shared heap.
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
    pub successors: Vec<NodeRef>,
}

/// What only few tasks have: such that have dependences, or children with dependences, or exclude others, or wait for events.
#[derive(Default)]
pub struct Extras {
    /// See [`Links`].
    pub links: Mutex<Links>,
    /// What its children depend on, if any does on anything.
    dependences: OnceLock<Mutex<Dependences>>,
    /// Held while it runs: one for each `mutexinoutset`, if it has any.
    mutexes: OnceLock<Mutex<Vec<Arc<AtomicBool>>>>,
    /// Control variables of the code that an `if(0)` task interrupts, where they are not the task's.
    pub interrupted: Mutex<Option<Icv>>,
    /// Event slot of a detachable task, plus one.
    pub event: AtomicU32,
}

impl Extras {
    /// What the task's children depend on.
    pub fn dependences(&self) -> &Mutex<Dependences> {
        self.dependences.get_or_init(Mutex::default)
    }

    /// Held while the task runs: one for each `mutexinoutset`. None is added once it may run.
    pub fn mutexes(&self) -> &Mutex<Vec<Arc<AtomicBool>>> {
        self.mutexes.get_or_init(Mutex::default)
    }
}

/// A task. Threads that run its children change what comes first; who makes children reads what is behind it, in other cache lines.
#[repr(C)]
pub struct Node {
    /// Children that have ended, of those that [`Node::begun_children`] counts.
    ended_children: AtomicU32,
    /// Dependences that are not fulfilled, and one while the task is not submitted.
    pub blockers: AtomicU32,
    /// Compiled code calls its routine, not the runtime.
    pub included: AtomicBool,
    /// A part of it has ended, and another one follows.
    pub has_next_part: AtomicBool,
    /// Its parent, its group and the pool wait for its end. Not where the thread that makes it runs it at once: then they wait for the task that this thread is in.
    is_awaited: AtomicBool,
    /// Of the priority clause.
    pub priority: AtomicU32,
    extras: OnceLock<Box<Extras>>,
    /// The task that created it.
    pub parent: Option<NodeRef>,
    /// The group it belongs to.
    pub member_of: Option<Arc<Group>>,
    /// Descriptor; null for an implicit task.
    pub task: *mut Task,
    /// The region; outlives all its tasks.
    pub team: *const Team,
    /// See [`flags`].
    pub flags: u32,
    /// Number of its ancestors.
    pub depth: u32,
    /// Children that others run, or may run. Only the thread that runs the task makes such.
    begun_children: AtomicU32,
    /// Its descendants are run at once.
    pub is_final: bool,
    /// One more than the references of its children, or 0 before the first: see [`NodeRef::for_child`].
    pub given: AtomicUsize,
    /// Only the thread that runs the task looks at it.
    innermost: UnsafeCell<Innermost>,
    /// Of an untied task that has begun: the innermost tied task of its thread, if there is one outside of barriers. That one goes on when this one has ended.
    tied_ancestor: AtomicUsize,
    /// Its memory, if it has a descriptor.
    pub memory: Option<Memory>,
    /// Its control variables at its creation.
    pub icv: Icv,
    /// What a tool keeps with it; none without a tool.
    pub tool: Option<Box<TaskRecord>>,
    /// Of a task of another process: where it came from.
    pub import: Option<Arc<Import>>,
    /// The import of the ancestor that came from another process, which lives at least as long, or null.
    pub lineage: *const Import,
}

/// The innermost group of the code that a task runs.
enum Innermost {
    /// The code has entered no group, and left none: the group that the task belongs to.
    AtStart,
    /// That of the last group that it has entered or left.
    Since(Option<Arc<Group>>),
}

/// How a batch of tasks came from another process.
pub struct Import {
    /// When they came.
    pub came: Instant,
    /// The batches that it descends from: its own, the one that its sender's tasks came in, and so on.
    pub origins: Vec<Origin>,
    /// The task of this process that it is known to descend from.
    pub ancestor: Option<NodeRef>,
}

// SAFETY: the raw pointers name a descriptor, which one thread at a time uses, an import that an ancestor holds, and a team, whose fields are made for sharing.
unsafe impl Send for Node {}
// SAFETY: as above; everything that changes is atomic or locked, or, as `tool` and `innermost`, used by the thread that runs the task.
unsafe impl Sync for Node {}

impl Node {
    /// The implicit task of a frame.
    pub fn implicit(frame: &Frame) -> NodeRef {
        NodeRef::new(Node::new(frame, None, None, std::ptr::null_mut(), 0, None))
    }

    /// A task of `frame`'s region below `parent`.
    #[inline(always)]
    pub fn new(
        frame: &Frame,
        parent: Option<NodeRef>,
        group: Option<Arc<Group>>,
        task: *mut Task,
        task_flags: u32,
        memory: Option<Memory>,
    ) -> Node {
        Node {
            depth: parent.as_ref().map_or(0, |p| p.depth + 1),
            lineage: parent.as_ref().map_or(std::ptr::null(), |p| p.lineage),
            import: None,
            is_final: task_flags & flags::FINAL != 0 || parent.as_ref().is_some_and(|p| p.is_final),
            parent,
            innermost: UnsafeCell::new(Innermost::AtStart),
            tied_ancestor: AtomicUsize::new(0),
            member_of: group,
            task,
            flags: task_flags,
            begun_children: AtomicU32::new(0),
            ended_children: AtomicU32::new(0),
            given: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
            blockers: AtomicU32::new(1),
            extras: OnceLock::new(),
            included: AtomicBool::new(false),
            has_next_part: AtomicBool::new(false),
            icv: frame.icv.get(),
            team: frame.team,
            memory,
            priority: AtomicU32::new(0),
            tool: ompt::is_active().then(Box::default),
        }
    }

    /// What a tool keeps with it. A tool that is attached was so before any task.
    pub fn record(&self) -> &TaskRecord {
        self.tool.as_ref().expect("a tool is attached")
    }

    /// What few tasks have, made when it is first asked for.
    pub fn extras(&self) -> &Extras {
        self.extras.get_or_init(Box::default)
    }

    /// What few tasks have, if this one has.
    pub fn existing_extras(&self) -> Option<&Extras> {
        self.extras.get().map(Box::as_ref)
    }

    /// Innermost group of the code it runs now; at its start, the group it belongs to. Asked for by its own thread.
    pub fn group(&self) -> Option<Arc<Group>> {
        // SAFETY: the caller runs the task, and nothing in this function changes it.
        match unsafe { &*self.innermost.get() } {
            Innermost::AtStart => self.member_of.clone(),
            Innermost::Since(group) => group.clone(),
        }
    }

    /// The code it runs is in this group now. Called by its own thread, as what follows.
    pub fn set_group(&self, group: Option<Arc<Group>>) {
        self.leave_innermost(group);
    }

    /// The code it runs enters a new group.
    pub fn enter_group(&self) {
        let outer = self.leave_innermost(None);
        self.set_group(Some(Group::inside(outer)));
    }

    /// The code it runs leaves its innermost group, and is in the one around it.
    pub fn leave_group(&self) -> Option<Arc<Group>> {
        let group = self.leave_innermost(None)?;
        self.set_group(group.parent.clone());
        Some(group)
    }

    fn leave_innermost(&self, next: Option<Arc<Group>>) -> Option<Arc<Group>> {
        // SAFETY: the caller runs the task, and no reference to it is left by any of these functions.
        let last = unsafe { &mut *self.innermost.get() };
        match std::mem::replace(last, Innermost::Since(next)) {
            Innermost::AtStart => self.member_of.clone(),
            Innermost::Since(group) => group,
        }
    }

    /// From now on its parent and its group wait for its end, and so has the pool of its region to do, which the caller tells.
    pub fn await_end(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
        if let Some(parent) = &self.parent {
            let begun = parent.begun_children.load(Ordering::Relaxed);
            parent.begun_children.store(begun.wrapping_add(1), Ordering::Relaxed);
        }
        if let Some(group) = &self.member_of {
            group.pending.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Whether [`Node::await_end`] was called.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited.load(Ordering::Relaxed)
    }

    /// It has ended, and was awaited: tells parent and group.
    pub fn tell_end(&self) {
        if let Some(parent) = &self.parent {
            parent.ended_children.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(group) = &self.member_of {
            group.leave();
        }
    }

    /// Whether children that are awaited have not ended. Asked for by its own thread.
    pub fn has_children(&self) -> bool {
        self.ended_children.load(Ordering::SeqCst) != self.begun_children.load(Ordering::Relaxed)
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
    pub fn imported(
        frame: &Frame,
        group: Arc<Group>,
        task: *mut Task,
        task_flags: u32,
        import: Arc<Import>,
    ) -> Node {
        let node = Node::new(frame, None, Some(group), task, task_flags, None);
        let depth = import.ancestor.as_ref().map_or(0, |a| a.depth + 1);
        Node {
            depth,
            blockers: AtomicU32::new(0),
            is_awaited: AtomicBool::new(true),
            lineage: Arc::as_ptr(&import),
            import: Some(import),
            ..node
        }
    }

    /// The task above it in this process.
    pub fn above(&self) -> Option<&NodeRef> {
        self.parent.as_ref().or_else(|| self.import.as_ref()?.ancestor.as_ref())
    }

    /// Whether `ancestor` created it, directly or not.
    pub fn descends_from(&self, ancestor: &NodeRef) -> bool {
        let mut at = self.above();
        while let Some(node) = at.filter(|node| node.depth > ancestor.depth) {
            at = node.above();
        }
        at.is_some_and(|node| NodeRef::ptr_eq(node, ancestor))
    }

    /// Whether it stays with the thread that began it, as implicit tasks do. In fact all tasks stay, but only these restrict what their thread runs
    /// while they wait.
    pub fn is_tied(&self) -> bool {
        !self.is_explicit() || self.flags & flags::TIED != 0
    }

    /// It begins on a thread whose innermost tied task, if it is not at a barrier, is `limit`.
    pub fn begin_below(&self, limit: Option<&NodeRef>) {
        if !self.is_tied() {
            self.tied_ancestor.store(limit.map_or(0, NodeRef::as_word), Ordering::Relaxed);
        }
    }

    /// Whether tasks wait for its end because of dependences.
    pub fn has_successors(&self) -> bool {
        self.existing_extras().is_some_and(|extras| !extras.links.lock().successors.is_empty())
    }

    /// Whether it excludes others: it has `mutexinoutset` dependences.
    pub fn is_exclusive(&self) -> bool {
        self.existing_extras().is_some_and(|extras| extras.mutexes.get().is_some())
    }

    /// The batches of other processes that it descends from.
    pub fn origins(&self) -> &[Origin] {
        // SAFETY: the node or an ancestor, which it holds, holds the import.
        unsafe { self.lineage.as_ref() }.map_or(&[], |import| &import.origins)
    }

    /// Whether it descends from a batch that came after `since`.
    pub fn came_after(&self, since: Instant) -> bool {
        // SAFETY: as in `origins`.
        unsafe { self.lineage.as_ref() }.is_some_and(|import| import.came > since)
    }

    /// Takes the mutexes of its `mutexinoutset` dependences, all or none.
    pub fn take_mutexes(&self) -> bool {
        let Some(mutexes) = self.existing_extras().and_then(|extras| extras.mutexes.get()) else {
            return true;
        };
        let mutexes = mutexes.lock();
        for (i, mutex) in mutexes.iter().enumerate() {
            if mutex.swap(true, Ordering::SeqCst) {
                mutexes[..i].iter().for_each(|m| m.store(false, Ordering::SeqCst));
                return false;
            }
        }
        true
    }

    /// Whether its group, or one around it, was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.member_of.as_ref().is_some_and(|g| g.is_cancelled())
    }
}

impl NodeRef {
    /// It has ended: gives its mutexes back, and drops what its children depended on, for these point back to it; the tasks that wait for it.
    pub fn end(&self) -> Vec<NodeRef> {
        self.has_all_children();
        let Some(extras) = self.existing_extras() else { return Vec::new() };
        if let Some(mutexes) = extras.mutexes.get() {
            mutexes.lock().iter().for_each(|m| m.store(false, Ordering::SeqCst));
        }
        if let Some(dependences) = extras.dependences.get() {
            dependences.lock().clear();
        }
        let mut links = extras.links.lock();
        links.done = true;
        std::mem::take(&mut links.successors)
    }

    /// Calls `act` with the task whose descendants its thread may run, and no others, while it waits.
    pub fn with_limit<R>(&self, act: impl FnOnce(Option<&NodeRef>) -> R) -> R {
        if self.is_tied() {
            return act(Some(self));
        }
        match self.tied_ancestor.load(Ordering::Relaxed) {
            0 => act(None),
            // SAFETY: the thread, which runs this task, or waits in it, is in the code of that one, too, and keeps it.
            word => act(Some(&*ManuallyDrop::new(unsafe { NodeRef::from_word(word) }))),
        }
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

thread_local! {
    /// The memory of a group that has ended.
    static SPARE: Cell<Option<Arc<Group>>> = const { Cell::new(None) };
}

impl Group {
    /// A group inside another.
    pub fn new(parent: Option<Arc<Group>>, origin: Option<Origin>) -> Arc<Group> {
        let local = Group::is_local_inside(parent.as_ref());
        Arc::new(Group {
            parent,
            pending: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            reductions: Mutex::default(),
            local: AtomicBool::new(local),
            origin,
        })
    }

    fn is_local_inside(parent: Option<&Arc<Group>>) -> bool {
        parent.is_some_and(|parent| parent.local.load(Ordering::Relaxed))
    }

    /// A group of the calling thread's task inside another.
    pub fn inside(parent: Option<Arc<Group>>) -> Arc<Group> {
        let mut spare = SPARE.try_with(Cell::take).ok().flatten();
        match spare.as_mut().and_then(Arc::get_mut) {
            Some(group) => {
                *group.local.get_mut() = Group::is_local_inside(parent.as_ref());
                *group.cancelled.get_mut() = false;
                group.parent = parent;
                spare.expect("it is there")
            }
            None => Group::new(parent, None),
        }
    }

    /// The group has ended: its memory is used again, if nobody else knows it any more.
    pub fn end(mut self: Arc<Group>) {
        if let Some(group) = Arc::get_mut(&mut self)
            && group.origin.is_none()
        {
            group.parent = None;
            group.reductions.get_mut().clear();
            // At the end of the thread its thread-local values are gone before its handlers run.
            _ = SPARE.try_with(|spare| spare.set(Some(self)));
        }
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
    let base = blocks::allocate(bytes, shared);
    // SAFETY: a new object of that size, writable now.
    unsafe { base.write_bytes(0, bytes) };
    base
}

/// Memory of a descriptor on the shared heap.
pub fn allocate(memory: Memory) -> *mut Task {
    blocks::take_shared(PREFIX + memory.bytes + memory.shareds).wrapping_add(PREFIX).cast()
}

/// Fills a new descriptor, with shared pointers behind it.
///
/// # Safety
/// Sizes and routine are the compiler's; the descriptor has that much memory, aligned to 64 bytes and writable.
pub unsafe fn fill(task: *mut Task, memory: Memory, routine: Routine) {
    // SAFETY: as the caller says.
    unsafe {
        let behind = task.cast::<u8>().add(memory.bytes);
        task.write(Task { shareds: behind.cast(), routine, part: 0, data1: 0, data2: 0 });
    }
}

/// Frees the memory of a descriptor; a private one goes with its node.
///
/// # Safety
/// It comes from [`allocate`] with the same `memory` if that is shared, and nobody uses it any more.
pub unsafe fn release(task: *mut Task, memory: Memory) {
    if memory.shared {
        let base = task.cast::<u8>().wrapping_sub(PREFIX);
        // SAFETY: as the caller says.
        unsafe { blocks::give_shared(base, PREFIX + memory.bytes + memory.shareds) };
    }
}

/// Makes the descriptor name its node, and keeps the node alive until [`take`].
///
/// # Safety
/// `task` was [`fill`]ed in this process.
pub unsafe fn name(task: *mut Task, node: NodeRef) {
    // SAFETY: the prefix belongs to the descriptor.
    unsafe { put(task.cast::<usize>().sub(1), node.into_word()) };
}

/// The node of a descriptor, which names it no longer.
///
/// # Safety
/// [`name`] was called for it in this process, and its node was not taken since.
pub unsafe fn take(task: *mut Task) -> NodeRef {
    // SAFETY: as the caller says.
    unsafe { NodeRef::from_word(get(task.cast::<usize>().sub(1))) }
}

/// The node that a descriptor names.
///
/// # Safety
/// As for [`take`].
pub unsafe fn of(task: *mut Task) -> NodeRef {
    // SAFETY: as for `take`, whose result is not dropped.
    unsafe { NodeRef::clone(&*ManuallyDrop::new(take(task))) }
}
