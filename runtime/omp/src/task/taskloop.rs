//! Loops of tasks: each task runs a part of the iterations.

use super::node::{self, Routine, Task, flags};
use super::{__kmpc_end_taskgroup, __kmpc_taskgroup, begin, make, pool};
use crate::check;
use crate::frame;
use crate::ompt::abi::{Endpoint, WorkKind};
use crate::ompt::{self, work};
use crate::{Loc, get, put};

type Duplicate = unsafe extern "C" fn(*mut Task, *mut Task, i32);

/// How iterations are shared out: the first `extras` tasks get one more than `grain`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shares {
    tasks: u64,
    grain: u64,
    extras: u64,
}

/// Schedules of `__kmpc_taskloop`.
const GRAINSIZE: i32 = 1;
const NUM_TASKS: i32 = 2;

/// Default number of tasks for each thread of the team.
const TASKS_PER_THREAD: u64 = 10;

impl Shares {
    /// For `trip` iterations, at least one. `argument` is that of the clause.
    fn new(trip: u64, schedule: i32, argument: u64, strict: bool, threads: u32) -> Shares {
        let argument = argument.max(1);
        if schedule == GRAINSIZE && strict {
            return Shares { tasks: trip.div_ceil(argument), grain: argument, extras: 0 };
        }
        let tasks = match schedule {
            GRAINSIZE => trip / argument,
            NUM_TASKS => argument,
            _ => TASKS_PER_THREAD * u64::from(threads),
        }
        .clamp(1, trip);
        Shares { tasks, grain: trip / tasks, extras: trip % tasks }
    }

    /// Iterations of task `i` that begins at iteration `first`.
    fn count(&self, i: u64, first: u64, trip: u64) -> u64 {
        (self.grain + u64::from(i < self.extras)).min(trip - first)
    }
}

/// Number of iterations from `first` to `last`, which is one of them.
fn trip_count(first: u64, last: u64, stride: i64) -> u64 {
    let (first, last) = (first as i64, last as i64);
    let (empty, span) = if stride < 0 {
        (first < last, first.wrapping_sub(last))
    } else {
        (last < first, last.wrapping_sub(first))
    };
    if empty { 0 } else { span as u64 / stride.unsigned_abs() + 1 }
}

/// A copy of a task, for other iterations.
///
/// # Safety
/// `task` is a descriptor that was filled and not submitted.
unsafe fn copy_of(task: *mut Task, duplicate: Option<Duplicate>, last: bool) -> *mut Task {
    // SAFETY: both descriptors have the size that the node says; `duplicate` fixes what must not be copied bit by bit.
    unsafe {
        let old = node::of(task);
        let memory = old.memory.expect("descriptors have memory");
        let routine: Routine = get(&raw const (*task).routine);
        let copy = make(frame::current(), old.flags, memory, routine);
        let shareds = get(&raw const (*copy).shareds);
        let total = memory.bytes + memory.shareds;
        check::readable(task as usize, total);
        check::writable(copy as usize, total);
        copy.cast::<u8>().copy_from_nonoverlapping(task.cast(), total);
        put(&raw mut (*copy).shareds, shareds);
        if let Some(duplicate) = duplicate {
            duplicate(copy, task, i32::from(last));
        }
        copy
    }
}

/// Drops a task that was not submitted.
unsafe fn discard(gtid: i32, task: *mut Task) {
    // SAFETY: as for `copy_of`; `data1` is the destructors' thunk if the flag says so.
    unsafe {
        let node = node::take(task);
        let destructors = get(&raw const (*task).data1);
        if node.flags & flags::DESTRUCTORS != 0 && destructors != 0 {
            std::mem::transmute::<usize, Routine>(destructors)(gtid, task);
        }
        node::release(task, node.memory.expect("descriptors have memory"));
    }
}

#[allow(clippy::too_many_arguments, reason = "the ABI's")]
unsafe fn run(
    gtid: i32,
    task: *mut Task,
    condition: i32,
    lower: *mut u64,
    upper: *mut u64,
    stride: i64,
    (schedule, argument, strict): (i32, u64, bool),
    duplicate: Option<Duplicate>,
) {
    let frame = frame::current();
    // SAFETY: descriptor and places are the compiler's; copies have the descriptor's layout, so the places' offsets hold in them.
    unsafe {
        let (first, last) = (get(lower), get(upper));
        let trip = trip_count(first, last, stride);
        let (lower_at, upper_at) = (lower as usize - task as usize, upper as usize - task as usize);
        let shares = Shares::new(trip.max(1), schedule, argument, strict, frame.team().size);
        let (mut done, mut number) = (0, 0);
        work::tell(frame, WorkKind::Taskloop, Endpoint::Begin, trip);
        while done < trip {
            let count = shares.count(number, done, trip);
            let copy = copy_of(task, duplicate, done + count == trip);
            let value = |i: u64| first.wrapping_add((stride as u64).wrapping_mul(i));
            put(copy.cast::<u8>().add(lower_at).cast::<u64>(), value(done));
            put(copy.cast::<u8>().add(upper_at).cast::<u64>(), value(done + count - 1));
            (done, number) = (done + count, number + 1);
            let node = node::take(copy);
            begin(&node);
            if condition == 0 {
                let _call = ompt::task::created_undeferred(frame, &node);
                pool::execute_below_parent(frame, node);
            } else {
                let _call = ompt::task::created(frame, &node);
                pool::enqueue(frame, node);
            }
        }
        discard(gtid, task);
        work::tell(frame, WorkKind::Taskloop, Endpoint::End, trip);
    }
}

/// A loop of tasks. `lower` and `upper` lie in the descriptor.
#[unsafe(export_name = "dsm_rt___kmpc_taskloop")]
pub unsafe extern "C" fn __kmpc_taskloop(
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
    duplicate: Option<Duplicate>,
) {
    // SAFETY: as for the function called.
    unsafe {
        __kmpc_taskloop_5(
            loc, gtid, task, condition, lower, upper, stride, nogroup, schedule, argument, 0, duplicate,
        );
    }
}

/// As `__kmpc_taskloop`, with the `strict` modifier.
#[unsafe(export_name = "dsm_rt___kmpc_taskloop_5")]
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
    if nogroup == 0 {
        __kmpc_taskgroup(loc, gtid);
    }
    // SAFETY: the arguments are the compiler's.
    unsafe {
        run(gtid, task, condition, lower, upper, stride, (schedule, argument, modifier != 0), duplicate);
    }
    if nogroup == 0 {
        __kmpc_end_taskgroup(loc, gtid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(trip: u64, schedule: i32, argument: u64, strict: bool) -> Vec<u64> {
        let shares = Shares::new(trip, schedule, argument, strict, 2);
        let mut first = 0;
        let counts = (0..shares.tasks).map(|i| {
            let count = shares.count(i, first, trip);
            first += count;
            count
        });
        counts.collect()
    }

    #[test]
    fn clauses_mean_what_the_specification_says() {
        assert_eq!(sizes(9, NUM_TASKS, 6, false), [2, 2, 2, 1, 1, 1]);
        assert_eq!(sizes(9, NUM_TASKS, 20, false), [1; 9]);
        assert_eq!(sizes(11, GRAINSIZE, 4, false), [6, 5]);
        assert_eq!(sizes(11, GRAINSIZE, 4, true), [4, 4, 3]);
        assert_eq!(sizes(3, GRAINSIZE, 4, false), [3]);
        assert_eq!(sizes(100, 0, 0, false), [5; 20]);
    }

    #[test]
    fn trips_count_the_last_iteration() {
        assert_eq!(trip_count(0, 9, 1), 10);
        assert_eq!(trip_count(9, 0, -3), 4);
        assert_eq!(trip_count(5, 4, 1), 0);
    }
}
