//! What threads do, and what the judge says of it.

use dsm_sync::Process;

use super::model::Model;
use super::program::Op;
use super::tasks::{
    Node, Phase, Shape, make, serve_calls, task_barrier, wait_for_children, wait_in_user_code,
};
use super::world::join;

/// A thread performs operations.
pub fn perform(process: Process<'_, Model<'_>>, ops: Vec<Op>) {
    let (mut barriers, mut regions, mut reductions) = (0, 0, 0);
    let own = own_task(process);
    for op in ops {
        process.words.world.borrow_mut().note(|| format!("---- {op:?}"));
        match op {
            Op::Critical(name) => critical(process, name),
            Op::TryCritical(name) => try_critical(process, name),
            Op::Nested(outer, inner) => {
                process.words.world.borrow_mut().begin_use();
                process.lock(outer);
                enter(process, outer);
                critical(process, inner);
                held_again(process, outer);
            }
            Op::End(name) => {
                process.words.world.borrow_mut().ended.insert(name);
                process.words.world.borrow_mut().begin_use();
                process.end_lock(name);
                process.words.world.borrow_mut().end_use();
            }
            Op::Barrier => {
                let all = process.words.world.borrow().processes;
                barrier(process, ("barrier", barriers), all);
                barriers += 1;
            }
            Op::Region(participants, count) => {
                region(process, regions, participants, count);
                regions += 1;
            }
            Op::TaskRegion(participants, tasks) => {
                task_region(process, regions, &own, participants, tasks);
                regions += 1;
            }
            Op::EndJob => process.end_job(),
            Op::Serve => take_part(process, &own),
            Op::Await(name) => await_condition(process, name),
            Op::Make(shape) => make(process, &own, shape),
            Op::TaskWait => wait_for_children(process, own.id),
            Op::Poll => wait_in_user_code(process, own.id),
            Op::TaskBarrier => {
                let all = process.words.world.borrow().processes;
                task_barrier(process, all);
            }
            Op::ServeCalls => serve_calls(process),
            Op::Reduce => {
                let all = process.words.world.borrow().processes;
                reduce(process, reductions, all);
                reductions += 1;
            }
            Op::Notify(name) => {
                process.lock(name + 8);
                enter(process, name + 8);
                process.words.world.borrow_mut().gathered.insert(("condition", name), Default::default());
                leave(process, name + 8);
                process.unlock(name + 8);
                process.condition_notify(name);
            }
        }
    }
}

/// What a thread does is a task, too.
fn own_task(process: Process<'_, Model<'_>>) -> Node {
    let shape = Shape { depth: 0, waits: false };
    let id = process.words.world.borrow_mut().tasks.add(None, shape, Vec::new(), Phase::default());
    Node { id, is_home: true, group: None, origins: Vec::new() }
}

/// What a process has for a reduction.
fn number(round: u64, rank: u32) -> u64 {
    (1 + round) << (8 * rank)
}

fn reduce(process: Process<'_, Model<'_>>, round: u64, participants: u32) {
    let rank = process.words.rank;
    let mut sum = number(round, rank);
    for child in process.reduction_children(participants) {
        let mut message = [0; 3];
        process.receive_reduction(child, &mut message);
        if message[0] != round || message[1] != !message[2] {
            let failure = format!("process {rank} gets {message:x?} of process {child} in round {round}");
            process.words.world.borrow_mut().fail(failure);
        }
        sum += message[1];
    }
    if rank > 0 {
        return process.send_reduction(&[round, sum, !sum]);
    }
    let whole: u64 = (0..participants).map(|rank| number(round, rank)).sum();
    if sum != whole {
        process.words.world.borrow_mut().fail(format!("the sum is {sum:#x}, not {whole:#x}"));
    }
}

/// The thread has the lock: nobody else has, and its process knows all that the last holder knew.
fn enter(process: Process<'_, Model<'_>>, name: u64) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let (is_held, clock) = world.locks.remove(&name).unwrap_or_default();
    if is_held {
        world.fail(format!("two threads hold lock {name}"));
    }
    // A variable in the place of one that has ended knows nothing of that.
    if !world.ended.contains(&name) {
        world.expect(rank, &clock, || format!("of the last holder of lock {name}"));
    }
    world.locks.insert(name, (true, clock));
}

/// The thread is about to give the lock back.
fn leave(process: Process<'_, Model<'_>>, name: u64) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let clock = world.write_data(rank);
    world.locks.insert(name, (false, clock));
}

/// Fails to take the lock only if somebody does something with a lock meanwhile.
fn try_critical(process: Process<'_, Model<'_>>, name: u64) {
    let is_quiet = process.words.world.borrow().is_quiet();
    let (users, begun) = process.words.world.borrow_mut().begin_use();
    if process.try_lock(name) {
        return held(process, name);
    }
    let mut world = process.words.world.borrow_mut();
    world.end_use();
    if is_quiet && users == 0 && world.users.1 == begun + 1 {
        world.fail(format!("lock {name} is free, and is taken for held"));
    }
}

fn critical(process: Process<'_, Model<'_>>, name: u64) {
    process.words.world.borrow_mut().begin_use();
    process.lock(name);
    held(process, name);
}

fn held(process: Process<'_, Model<'_>>, name: u64) {
    enter(process, name);
    held_again(process, name);
}

fn held_again(process: Process<'_, Model<'_>>, name: u64) {
    process.words.pause();
    leave(process, name);
    process.unlock(name);
    process.words.world.borrow_mut().end_use();
}

/// A process comes to something with others.
fn come(process: Process<'_, Model<'_>>, what: (&'static str, u64)) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let clock = world.write_data(rank);
    let gathered = world.gathered.entry(what).or_default();
    gathered.clock.resize(clock.len(), 0);
    gathered.come.push(rank);
    join(&mut gathered.clock, &clock);
}

/// It goes on: the ranks from `first` on, so many in all, have come, and it knows what these knew.
fn go_on(process: Process<'_, Model<'_>>, what: (&'static str, u64), count: u32) {
    let (rank, world) = (process.words.rank, &mut *process.words.world.borrow_mut());
    let gathered = world.gathered.get(&what).cloned().unwrap_or_default();
    if gathered.come.len() != count as usize {
        world.fail(format!("process {rank} goes on from {what:?}, where {:?} have come", gathered.come));
    }
    world.expect(rank, &gathered.clock, || format!("of those who came to {what:?}"));
}

fn barrier(process: Process<'_, Model<'_>>, what: (&'static str, u64), participants: u32) {
    come(process, what);
    process.barrier(participants);
    go_on(process, what, participants);
}

/// Barriers of a region, and reductions before them.
fn work(process: Process<'_, Model<'_>>, number: u64, participants: u32, barriers: u32) {
    for i in 0..number % 3 {
        reduce(process, number << 2 | i, participants);
    }
    for i in 0..u64::from(barriers) {
        if participants > 1 {
            barrier(process, ("barrier of a region", number << 8 | i), participants);
        }
    }
}

/// In place of the number of barriers in the message of a region: it makes so many tasks less this, and ends at a barrier.
const WITH_TASKS: u32 = 100;

fn task_region(process: Process<'_, Model<'_>>, number: u64, own: &Node, participants: u32, tasks: u32) {
    come(process, ("fork", number));
    process.fork(&message(number, participants, WITH_TASKS + tasks), participants);
    work_with_tasks(process, number, own, participants, tasks);
    process.end_at_barrier(participants);
    go_on(process, ("join", number), participants - 1);
}

fn work_with_tasks(process: Process<'_, Model<'_>>, number: u64, own: &Node, participants: u32, tasks: u32) {
    let rank = process.words.rank as usize;
    process.words.world.borrow_mut().tasks.pools[rank].phase =
        Phase { region: Some(number), barriers: 2 * number as u32 };
    for _ in 0..tasks {
        make(process, own, Shape { depth: 0, waits: false });
    }
    task_barrier(process, participants);
}

/// The message of a region: words that tell of each other.
fn message(number: u64, participants: u32, barriers: u32) -> Vec<u64> {
    let head = [number, participants.into(), barriers.into()];
    head.into_iter().chain((0..number % 4).map(|i| number << 8 | i)).collect()
}

fn region(process: Process<'_, Model<'_>>, number: u64, participants: u32, barriers: u32) {
    come(process, ("fork", number));
    process.fork(&message(number, participants, barriers), participants);
    work(process, number, participants, barriers);
    process.join(participants);
    go_on(process, ("join", number), participants - 1);
}

fn take_part(process: Process<'_, Model<'_>>, own: &Node) {
    let (mut words, mut last) = (Vec::new(), None);
    while process.wait_fork(&mut words).is_some() {
        let number = words[0];
        let [participants, barriers] = [1, 2].map(|i| words.get(i).map_or(0, |word| *word as u32));
        {
            let rank = process.words.rank;
            let mut world = process.words.world.borrow_mut();
            if words != message(number, participants, barriers) || rank >= participants {
                world.fail(format!("process {rank} gets the message {words:x?}"));
            }
            if last.is_some_and(|last| last >= number) {
                world.fail(format!("process {rank} gets region {number} behind {last:?}"));
            }
        }
        last = Some(number);
        go_on(process, ("fork", number), 1);
        if let Some(tasks) = barriers.checked_sub(WITH_TASKS) {
            come(process, ("join", number));
            work_with_tasks(process, number, own, participants, tasks);
            process.end_at_barrier(participants);
            continue;
        }
        work(process, number, participants, barriers);
        come(process, ("join", number));
        process.join(participants);
    }
}

fn await_condition(process: Process<'_, Model<'_>>, name: u64) {
    loop {
        process.lock(name + 8);
        enter(process, name + 8);
        let seen = process.condition_count(name);
        let is_there = process.words.world.borrow().gathered.contains_key(&("condition", name));
        leave(process, name + 8);
        process.unlock(name + 8);
        if is_there {
            return;
        }
        process.condition_wait(name, seen);
    }
}
