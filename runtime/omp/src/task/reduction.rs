//! Task reductions: each thread of the process accumulates into a copy of its own, made at its first use; the end of the group combines them.
//!
//! Tasks of a group with items stay in their process.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use super::node::{self, Group};
use super::{current, pool};
use crate::frame::{self, Frame};
use crate::heap;
use crate::{Loc, fork, get};

/// The compiler's description of a task reduction item.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Item {
    shared: usize,
    original: usize,
    bytes: usize,
    init: usize,
    fini: usize,
    combine: usize,
    flags: u32,
}

/// As [`Item`], in the form without `original`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OldItem {
    shared: usize,
    bytes: usize,
    init: usize,
    fini: usize,
    combine: usize,
    flags: u32,
}

/// An item of a group.
pub struct Reduction {
    item: Item,
    /// Whether `init` takes the original along.
    init_with_original: bool,
    /// Whether the copies lie on the shared heap: a task may start a region of several processes.
    wide: bool,
    /// Copies by thread of the process; 0 where there is none.
    copies: Vec<usize>,
}

type One = unsafe extern "C" fn(*mut c_void);
type Two = unsafe extern "C" fn(*mut c_void, *mut c_void);

impl Reduction {
    fn has(&self, address: usize) -> bool {
        let copy = |c: &usize| *c != 0 && (*c..*c + self.item.bytes.max(1)).contains(&address);
        self.item.shared == address || self.item.original == address || self.copies.iter().any(copy)
    }

    fn copy_of(&mut self, thread: usize) -> usize {
        if self.copies[thread] == 0 {
            self.copies[thread] = self.make_copy();
        }
        self.copies[thread]
    }

    fn make_copy(&self) -> usize {
        let copy = node::zeroed(self.item.bytes, self.wide);
        // SAFETY: a new object; the compiler's initialiser is for objects of this size.
        unsafe {
            match (self.item.init, self.init_with_original) {
                (0, _) => {}
                (init, true) => {
                    std::mem::transmute::<usize, Two>(init)(copy.cast(), self.item.original as *mut c_void)
                }
                (init, false) => std::mem::transmute::<usize, One>(init)(copy.cast()),
            }
            copy as usize
        }
    }

    fn combine(&mut self) {
        for copy in std::mem::take(&mut self.copies).into_iter().filter(|c| *c != 0) {
            // SAFETY: the compiler's functions for this item; all tasks that used the copies have ended.
            unsafe {
                std::mem::transmute::<usize, Two>(self.item.combine)(
                    self.item.shared as *mut c_void,
                    copy as *mut c_void,
                );
                if self.item.fini != 0 {
                    std::mem::transmute::<usize, One>(self.item.fini)(copy as *mut c_void);
                }
            }
            heap::free(copy);
        }
    }
}

/// Combines the items of a group whose tasks have ended.
pub fn finish(group: &Group) {
    // Where there are items, its tasks stay in the process.
    if group.local.load(Ordering::Relaxed) {
        group.reductions.lock().iter_mut().for_each(Reduction::combine);
    }
}

fn register(items: impl Iterator<Item = Item>, init_with_original: bool) -> *mut c_void {
    let frame = frame::current();
    let node = current(frame);
    let group = node.group().unwrap_or_else(|| Group::new(None, None));
    node.set_group(Some(group.clone()));
    group.local.store(true, Ordering::Relaxed);
    let threads = frame.team().local as usize;
    let wide = fork::may_spread(frame);
    group.reductions.lock().extend(items.map(|item| Reduction {
        item: Item { original: if item.original == 0 { item.shared } else { item.original }, ..item },
        init_with_original,
        wide,
        copies: vec![0; threads],
    }));
    std::ptr::null_mut()
}

/// Registers reduction items with the innermost group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskred_init(_gtid: i32, count: i32, items: *const Item) -> *mut c_void {
    // SAFETY: the compiler passes `count` items.
    register((0..count as usize).map(|i| unsafe { get(items.add(i)) }), true)
}

/// As [`__kmpc_taskred_init`], in its older form.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_reduction_init(
    _gtid: i32,
    count: i32,
    items: *const OldItem,
) -> *mut c_void {
    // SAFETY: the compiler passes `count` items.
    let old = (0..count as usize).map(|i| unsafe { get(items.add(i)) });
    let new = old.map(|o| Item {
        shared: o.shared,
        original: 0,
        bytes: o.bytes,
        init: o.init,
        fini: o.fini,
        combine: o.combine,
        flags: o.flags,
    });
    register(new, false)
}

/// Registers the items of a `reduction(task, ...)` clause: each implicit task has a group and combines into its own private copies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskred_modifier_init(
    loc: Loc,
    gtid: i32,
    _worksharing: i32,
    count: i32,
    items: *const Item,
) -> *mut c_void {
    super::__kmpc_taskgroup(loc, gtid);
    // SAFETY: as for the function called.
    unsafe { __kmpc_taskred_init(gtid, count, items) }
}

/// See [`__kmpc_taskred_modifier_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_reduction_modifier_init(
    loc: Loc,
    gtid: i32,
    _worksharing: i32,
    count: i32,
    items: *const OldItem,
) -> *mut c_void {
    super::__kmpc_taskgroup(loc, gtid);
    // SAFETY: as for the function called.
    unsafe { __kmpc_task_reduction_init(gtid, count, items) }
}

/// End of the construct with such a clause.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_task_reduction_modifier_fini(loc: Loc, gtid: i32, _worksharing: i32) {
    super::__kmpc_end_taskgroup(loc, gtid);
}

/// Where a task accumulates: the thread's copy of the item.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_task_reduction_get_th_data(
    _gtid: i32,
    _group: *mut c_void,
    data: *mut c_void,
) -> *mut c_void {
    let frame: &Frame = frame::current();
    let thread = pool::index(frame);
    let mut group = current(frame).group();
    while let Some(at) = group {
        let mut items = at.reductions.lock();
        if let Some(item) = items.iter_mut().rev().find(|r| r.has(data as usize)) {
            return item.copy_of(thread) as *mut c_void;
        }
        group = at.parent.clone();
    }
    data
}
