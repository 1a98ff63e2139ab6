//! Explicit tasks, run at once by the thread that creates them (undeferred, which the specification allows).
//!
//! Dependences then hold by themselves, and a reduction item of a task group is combined in place. What remains
//! to wait for is a detached task, which ends when its event is fulfilled.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::event::{Event, blocked};
use super::frame;
use super::{Loc, get, put};

const FINAL: u32 = 2;
const DESTRUCTORS: u32 = 8;

/// The compiler's task descriptor; its private data and the shared pointers follow.
#[repr(C)]
pub struct Task {
    shareds: *mut c_void,
    routine: Routine,
    part: i32,
    data1: usize,
    data2: usize,
}

type Routine = unsafe extern "C" fn(i32, *mut Task) -> i32;
type Duplicate = unsafe extern "C" fn(*mut Task, *mut Task, i32);

/// What the runtime keeps in front of a descriptor.
#[repr(C, align(64))]
struct Header {
    flags: u32,
    bytes: usize,
    shareds: usize,
    event: *mut Detached,
}

/// An event that ends a detached task.
pub struct Detached {
    fulfilled: AtomicU32,
    count: Arc<Event>,
}

#[derive(Default)]
struct Group {
    cancelled: bool,
    /// Address of the shared item and of the original.
    items: Vec<(usize, usize)>,
}

/// Explicit tasks of a thread in a region.
#[derive(Default)]
pub struct TaskState {
    depth: u32,
    finals: u32,
    groups: Vec<Group>,
    detached: Option<Arc<Event>>,
}

impl TaskState {
    /// Waits for detached tasks.
    pub fn finish_all(&mut self) {
        if let Some(count) = &self.detached {
            blocked(|| count.wait(|n| n == 0));
        }
    }

    /// Skips the rest of the innermost group's tasks.
    pub fn cancel_group(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            group.cancelled = true;
        }
    }

    /// Whether the innermost group is cancelled.
    pub fn group_cancelled(&self) -> bool {
        self.groups.last().is_some_and(|g| g.cancelled)
    }

    /// Whether the thread runs an explicit task, and a final one.
    pub fn explicit_and_final(&self) -> (bool, bool) {
        (self.depth > 0, self.finals > 0)
    }
}

fn header(task: *mut Task) -> *mut Header {
    task.cast::<Header>().wrapping_sub(1)
}

unsafe fn allocate(flags: u32, bytes: usize, shareds: usize, routine: Routine) -> *mut Task {
    let bytes = bytes.next_multiple_of(16);
    // SAFETY: a fresh C allocation holds header, descriptor and shareds in this order, 64-byte aligned; the descriptor
    // begins right behind the header.
    unsafe {
        let total = (size_of::<Header>() + bytes + shareds).next_multiple_of(64);
        let base = libc::aligned_alloc(64, total).cast::<u8>();
        if base.is_null() {
            crate::start::die("no memory for a task");
        }
        base.write_bytes(0, total);
        base.cast::<Header>().write(Header { flags, bytes, shareds, event: std::ptr::null_mut() });
        let task = base.add(size_of::<Header>()).cast::<Task>();
        let behind = task.cast::<u8>().add(bytes);
        task.write(Task { shareds: behind.cast(), routine, part: 0, data1: 0, data2: 0 });
        task
    }
}

/// Runs a task to its end and frees it.
unsafe fn run(gtid: i32, task: *mut Task) {
    // SAFETY: `task` comes from `allocate` and is run once.
    unsafe {
        enter(task);
        if !frame::current().tasks.borrow().group_cancelled() {
            ((*task).routine)(gtid, task);
        }
        leave(gtid, task);
    }
}

unsafe fn enter(task: *mut Task) {
    // SAFETY: as the caller says.
    let is_final = unsafe { (*header(task)).flags } & FINAL != 0;
    let mut state = frame::current().tasks.borrow_mut();
    state.depth += 1;
    state.finals += u32::from(is_final || state.finals > 0);
}

unsafe fn leave(gtid: i32, task: *mut Task) {
    {
        let mut state = frame::current().tasks.borrow_mut();
        state.depth -= 1;
        state.finals = state.finals.saturating_sub(1);
    }
    // SAFETY: as the caller says; `data1` is the destructors' thunk if the flag says so.
    unsafe {
        if (*header(task)).flags & DESTRUCTORS != 0 && (*task).data1 != 0 {
            let destructors = std::mem::transmute::<usize, Routine>((*task).data1);
            destructors(gtid, task);
        }
        libc::free(header(task).cast());
    }
}

/// Makes a task descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_alloc(
    _loc: Loc,
    _gtid: i32,
    flags: i32,
    bytes: usize,
    shareds: usize,
    routine: Routine,
) -> *mut Task {
    // SAFETY: sizes and routine are the compiler's.
    unsafe { allocate(flags as u32, bytes, shareds, routine) }
}

/// As `__kmpc_omp_task_alloc`; there is no device but the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_target_task_alloc(
    loc: Loc,
    gtid: i32,
    flags: i32,
    bytes: usize,
    shareds: usize,
    routine: Routine,
    _device: i64,
) -> *mut Task {
    // SAFETY: as for the function called.
    unsafe { __kmpc_omp_task_alloc(loc, gtid, flags, bytes, shareds, routine) }
}

/// A task is ready.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task(_loc: Loc, gtid: i32, task: *mut Task) -> i32 {
    // SAFETY: the compiler hands over a descriptor it has filled.
    unsafe { run(gtid, task) };
    0
}

/// A task with dependences is ready; what it depends on has run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_with_deps(
    _loc: Loc,
    gtid: i32,
    task: *mut Task,
    _count: i32,
    _list: *const c_void,
    _count2: i32,
    _list2: *const c_void,
) -> i32 {
    frame::current().tasks.borrow_mut().finish_all();
    // SAFETY: the compiler hands over a descriptor it has filled.
    unsafe { run(gtid, task) };
    0
}

/// Begin of a task whose `if` clause is false; the compiler calls the routine itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_begin_if0(_loc: Loc, _gtid: i32, task: *mut Task) {
    // SAFETY: a live descriptor.
    unsafe { enter(task) };
}

/// End of such a task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_task_complete_if0(_loc: Loc, gtid: i32, task: *mut Task) {
    // SAFETY: the descriptor of the matching begin.
    unsafe { leave(gtid, task) };
}

/// Waits for child tasks.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_taskwait(_loc: Loc, _gtid: i32) -> i32 {
    frame::current().tasks.borrow_mut().finish_all();
    0
}

/// Waits for the tasks that the dependences name.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_taskwait_deps_51(
    loc: Loc,
    gtid: i32,
    _n: i32,
    _list: *const c_void,
    _n2: i32,
    _list2: *const c_void,
    _nowait: i32,
) {
    __kmpc_omp_taskwait(loc, gtid);
}

/// See [`__kmpc_omp_taskwait_deps_51`].
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_wait_deps(
    loc: Loc,
    gtid: i32,
    _n: i32,
    _list: *const c_void,
    _n2: i32,
    _list2: *const c_void,
) {
    __kmpc_omp_taskwait(loc, gtid);
}

/// A place where the thread could take another task.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_taskyield(_loc: Loc, _gtid: i32, _end_part: i32) -> i32 {
    0
}

/// Begin of a task group.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_taskgroup(_loc: Loc, _gtid: i32) {
    frame::current().tasks.borrow_mut().groups.push(Group::default());
}

/// End of a task group.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_taskgroup(_loc: Loc, _gtid: i32) {
    let mut state = frame::current().tasks.borrow_mut();
    state.finish_all();
    state.groups.pop();
}

/// Affinity hints.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_reg_task_with_affinity(
    _loc: Loc,
    _gtid: i32,
    _task: *mut Task,
    _count: i32,
    _list: *const c_void,
) -> i32 {
    0
}

/// Makes the event of a detached task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_allow_completion_event(
    _loc: Loc,
    _gtid: i32,
    task: *mut Task,
) -> *mut c_void {
    let mut state = frame::current().tasks.borrow_mut();
    let count = state.detached.get_or_insert_with(Arc::default).clone();
    count.store(count.load() + 1);
    let event = Box::into_raw(Box::new(Detached { fulfilled: AtomicU32::new(0), count }));
    // SAFETY: a live descriptor of `allocate`.
    unsafe { (*header(task)).event = event };
    event.cast()
}

/// Ends a detached task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_fulfill_event(event: *mut Detached) {
    // SAFETY: the program passes an event handle that it fulfils once; the event is kept for good.
    let event = unsafe { &*event };
    if event.fulfilled.swap(1, Ordering::SeqCst) == 0 {
        event.count.store(event.count.load() - 1);
    }
}

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

/// Registers reduction items with the innermost group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskred_init(_gtid: i32, count: i32, items: *const Item) -> *mut c_void {
    // SAFETY: the compiler passes `count` items.
    let items = (0..count as usize).map(|i| unsafe { get(items.add(i)) });
    let mut state = frame::current().tasks.borrow_mut();
    if state.groups.is_empty() {
        state.groups.push(Group::default());
    }
    let group = state.groups.last_mut().expect("pushed above");
    group.items.extend(
        items.map(|item| (item.shared, if item.original == 0 { item.shared } else { item.original })),
    );
    std::ptr::null_mut()
}

/// Registers the items of a `reduction(task, ...)` clause: the implicit task's private copies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskred_modifier_init(
    _loc: Loc,
    gtid: i32,
    _worksharing: i32,
    count: i32,
    items: *const Item,
) -> *mut c_void {
    frame::current().tasks.borrow_mut().groups.push(Group::default());
    // SAFETY: as for the function called.
    unsafe { __kmpc_taskred_init(gtid, count, items) }
}

/// End of the construct with such a clause.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_task_reduction_modifier_fini(_loc: Loc, _gtid: i32, _worksharing: i32) {
    frame::current().tasks.borrow_mut().groups.pop();
}

/// Where a task accumulates: tasks run one after the other in this thread, so the item itself.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_task_reduction_get_th_data(
    _gtid: i32,
    _group: *mut c_void,
    data: *mut c_void,
) -> *mut c_void {
    let state = frame::current().tasks.borrow();
    let mut items = state.groups.iter().rev().flat_map(|g| g.items.iter().rev());
    let found = items.find(|(shared, original)| *shared == data as usize || *original == data as usize);
    found.map_or(data, |(shared, _)| *shared as *mut c_void)
}

/// Iterations per task: `grainsize` (1: at least that many, fewer than twice), `num_tasks` (2) or a strict
/// `grainsize` (3).
fn grain(trip: u64, schedule: i32, argument: u64) -> u64 {
    let argument = argument.max(1);
    match schedule {
        1 => trip.div_ceil((trip / argument).max(1)),
        2 => trip.div_ceil(argument),
        3 => argument,
        _ => trip,
    }
    .max(1)
}

/// A loop of tasks. `lower` and `upper` lie in the descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskloop(
    loc: Loc,
    gtid: i32,
    task: *mut Task,
    _condition: i32,
    lower: *mut u64,
    upper: *mut u64,
    stride: i64,
    nogroup: i32,
    schedule: i32,
    argument: u64,
    duplicate: Option<Duplicate>,
) {
    if nogroup == 0 {
        __kmpc_taskgroup(loc, gtid);
    }
    // SAFETY: descriptor and places are the compiler's; copies have the descriptor's size, so the places' offsets
    // hold in them, and `duplicate` fixes what must not be copied bit by bit.
    unsafe {
        let (first, last) = (get(lower), get(upper));
        let span = if stride < 0 {
            (first as i64).wrapping_sub(last as i64)
        } else {
            (last as i64).wrapping_sub(first as i64)
        };
        let empty = if stride < 0 { (first as i64) < last as i64 } else { (last as i64) < first as i64 };
        let trip = if empty { 0 } else { span as u64 / stride.unsigned_abs() + 1 };
        let grain = grain(trip, schedule, argument);
        let (lower_at, upper_at) = (lower as usize - task as usize, upper as usize - task as usize);
        let old = &*header(task);
        let mut done = 0;
        while done < trip {
            let count = grain.min(trip - done);
            let copy = allocate(old.flags, old.bytes, old.shareds, (*task).routine);
            let shareds = (*copy).shareds;
            copy.cast::<u8>().copy_from_nonoverlapping(task.cast(), old.bytes + old.shareds);
            (*copy).shareds = shareds;
            let value = |i: u64| first.wrapping_add((stride as u64).wrapping_mul(i));
            put(copy.cast::<u8>().add(lower_at).cast::<u64>(), value(done));
            put(copy.cast::<u8>().add(upper_at).cast::<u64>(), value(done + count - 1));
            done += count;
            if let Some(duplicate) = duplicate {
                duplicate(copy, task, i32::from(done == trip));
            }
            run(gtid, copy);
        }
        enter(task);
        leave(gtid, task);
    }
    if nogroup == 0 {
        __kmpc_end_taskgroup(loc, gtid);
    }
}

/// As `__kmpc_taskloop`, with the `strict` modifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskloop_5(
    loc: Loc,
    gtid: i32,
    task: *mut Task,
    condition: i32,
    lower: *mut u64,
    upper: *mut u64,
    stride: i64,
    nogroup: i32,
    schedule: i32,
    argument: u64,
    modifier: i32,
    duplicate: Option<Duplicate>,
) {
    let strict = modifier != 0 && schedule == 1;
    let kind = if strict { 3 } else { schedule };
    // SAFETY: as for the function called.
    unsafe {
        __kmpc_taskloop(loc, gtid, task, condition, lower, upper, stride, nogroup, kind, argument, duplicate);
    }
}
