//! Counted references to tasks. Count and task are one block of memory, which the thread that made the task gets back ([`super::blocks`]); where the descriptor is private, it
//! lies there, too, so that a task is one block.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::blocks::{self, Header};
use super::node::{Node, Task};

/// A block: the count and what the threads that run its children change come first, in a cache line of their own.
#[repr(C)]
struct Counted {
    header: Header,
    count: AtomicUsize,
    node: Node,
}

/// What stands in the count for the references of children as long as such may be made: more than there can be.
const MAKING: usize = 1 << 48;
/// Alignment of a descriptor.
const ALIGN: usize = 64;
/// Where the descriptor lies in the block, behind the word that names its node.
const DESCRIPTOR: usize = (size_of::<Counted>() + size_of::<usize>()).next_multiple_of(ALIGN);

/// A block for a task and, if wanted, its descriptor.
pub struct Allocation(NonNull<Counted>);

impl Allocation {
    /// With a place for a descriptor of `bytes`, unless that is 0.
    #[inline(always)]
    pub fn new(bytes: usize) -> Allocation {
        let block = blocks::take_own(if bytes == 0 { size_of::<Counted>() } else { DESCRIPTOR + bytes });
        Allocation(NonNull::new(block.cast()).expect("there is memory for tasks"))
    }

    /// The place of the descriptor.
    pub fn descriptor(&self) -> *mut Task {
        self.0.as_ptr().cast::<u8>().wrapping_add(DESCRIPTOR).cast()
    }

    /// The first reference to the task that is in it from now on.
    #[inline(always)]
    pub fn fill(self, node: Node) -> NodeRef {
        let counted = self.0.as_ptr();
        // SAFETY: a block of that size that nobody else knows, aligned for all that is in it.
        unsafe {
            (&raw mut (*counted).count).write(AtomicUsize::new(1));
            (&raw mut (*counted).node).write(node);
        }
        NodeRef(self.0)
    }
}

/// A reference to a task, which lives as long as there is one.
pub struct NodeRef(NonNull<Counted>);

// SAFETY: as an `Arc<Node>`, which nodes are made for.
unsafe impl Send for NodeRef {}
// SAFETY: as above.
unsafe impl Sync for NodeRef {}

impl NodeRef {
    /// The first reference to a task.
    #[inline(always)]
    pub fn new(node: Node) -> NodeRef {
        Allocation::new(0).fill(node)
    }

    /// A reference for a child that the thread which runs the task makes. It is counted apart from the others, in a word of that thread, as long as children may be made: the threads
    /// that run them give the references back, and would take the cache line of the count away for each.
    pub fn for_child(&self) -> NodeRef {
        let mut given = self.given.load(Ordering::Relaxed);
        if given == 0 {
            self.count().fetch_add(MAKING, Ordering::Relaxed);
            given = 1;
        }
        self.given.store(given + 1, Ordering::Relaxed);
        NodeRef(self.0)
    }

    /// Drops it. Cheap where this is the last reference to a task that the calling thread made and ran at once: the parent's code is what it runs, so the child's reference can be
    /// taken back as it was given.
    pub fn drop_by_maker(self) {
        if self.is_awaited() || self.count().load(Ordering::Acquire) != 1 {
            return;
        }
        // SAFETY: nobody else has the node.
        let parent = unsafe { &mut (*self.0.as_ptr()).node.parent };
        let given = parent.as_ref().map_or(0, |parent| parent.given.load(Ordering::Relaxed));
        if given > 1
            && let Some(parent) = parent.take().map(ManuallyDrop::new)
        {
            parent.given.store(given - 1, Ordering::Relaxed);
        }
    }

    /// No more children will be made: counts the references that they got.
    pub fn has_all_children(&self) {
        let given = self.given.load(Ordering::Relaxed);
        if given != 0 {
            self.given.store(0, Ordering::Relaxed);
            self.count().fetch_sub(MAKING - (given - 1), Ordering::AcqRel);
        }
    }

    fn count(&self) -> &AtomicUsize {
        // SAFETY: the block lives as long as the reference.
        unsafe { &(*self.0.as_ptr()).count }
    }

    /// Whether both are of one task.
    pub fn ptr_eq(&self, other: &NodeRef) -> bool {
        self.0 == other.0
    }

    /// The task.
    pub fn as_ptr(&self) -> *const Node {
        &raw const **self
    }

    /// A reference that is not counted.
    ///
    /// # Safety
    /// Another one was forgotten.
    pub unsafe fn duplicate(&self) -> NodeRef {
        NodeRef(self.0)
    }

    /// As a word, which does not count as a reference.
    pub fn as_word(&self) -> usize {
        self.0.as_ptr() as usize
    }

    /// As a word, which counts as a reference.
    pub fn into_word(self) -> usize {
        ManuallyDrop::new(self).0.as_ptr() as usize
    }

    /// The reference that a word is.
    ///
    /// # Safety
    /// The word comes from [`NodeRef::into_word`], in this process, and was not made a reference again; or from [`NodeRef::as_word`], and the reference is forgotten before the last one is dropped.
    pub unsafe fn from_word(word: usize) -> NodeRef {
        // SAFETY: the caller's promise: it is not null.
        NodeRef(unsafe { NonNull::new_unchecked(word as *mut Counted) })
    }
}

impl Deref for NodeRef {
    type Target = Node;

    #[inline(always)]
    fn deref(&self) -> &Node {
        // SAFETY: the block lives as long as the reference.
        unsafe { &(*self.0.as_ptr()).node }
    }
}

impl Clone for NodeRef {
    #[inline(always)]
    fn clone(&self) -> NodeRef {
        self.count().fetch_add(1, Ordering::Relaxed);
        NodeRef(self.0)
    }
}

impl Drop for NodeRef {
    #[inline(always)]
    fn drop(&mut self) {
        // Who has the only reference need not tell others.
        if self.count().load(Ordering::Acquire) == 1 {
            return self.free();
        }
        if self.count().fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            self.free();
        }
    }
}

impl NodeRef {
    fn free(&self) {
        let counted = self.0.as_ptr();
        // SAFETY: this was the last reference.
        unsafe {
            std::ptr::drop_in_place(&raw mut (*counted).node);
            blocks::give_own(counted.cast());
        }
    }
}

impl fmt::Debug for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, f)
    }
}
