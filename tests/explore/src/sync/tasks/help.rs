//! Threads that make, run, and wait for tasks.

use dsm_sync::{Process, Wish, Worker};

use super::super::model::Model;
use super::super::world::{Wait, World};
use super::pool::{Group, Node, Origin, Shape};

/// Most tasks of a batch.
const MOST: usize = 2;
/// Batches that a task is told to come from.
const LINEAGE: usize = 3;

/// A thread that waits.
pub struct Helper<'a> {
    process: Process<'a, Model<'a>>,
    /// The task that it waits in; any task may run at a barrier.
    limit: Option<usize>,
}

type Local<'a> = Process<'a, Model<'a>>;

fn participants(process: Local<'_>) -> u32 {
    process.words.world.borrow().processes
}

/// Looks at, or changes, the tasks of the process: in a step.
fn step<T>(process: Local<'_>, act: impl FnOnce(&mut World, usize) -> T) -> T {
    process.words.pause();
    act(&mut process.words.world.borrow_mut(), process.words.rank as usize)
}

fn encode((rank, slot): Origin) -> u64 {
    u64::from(rank) << 32 | u64::from(slot)
}

fn decode(word: u64) -> Origin {
    ((word >> 32) as u32, word as u32)
}

/// A task makes one.
pub fn make(process: Local<'_>, maker: &Node, shape: Shape) {
    step(process, |world, rank| {
        let made = world.write_data(rank as u32);
        let phase = world.tasks.phase_of(rank, maker.id);
        let id = world.tasks.add(Some(maker.id), shape, made, phase);
        let pool = &mut world.tasks.pools[rank];
        pool.pending += 1;
        if let Some(group) = maker.group {
            pool.groups[group].pending += 1;
        }
        pool.queue.push_back(Node { id, is_home: true, ..maker.clone() });
        world.note(|| format!("makes task {id}"));
    });
    process.notify_workers();
    serve(process, 1);
}

fn serve(process: Local<'_>, spare: usize) {
    let has_spare = |_| step(process, |world, rank| world.tasks.pools[rank].queue.len() >= spare);
    let has_such = |thief, wish| !fitting(process, thief, wish).is_empty();
    process.serve(participants(process), has_spare, has_such, |thief, wish| serve_one(process, thief, wish));
}

/// The queued tasks that are what a thief asks for.
fn fitting(process: Local<'_>, thief: u32, wish: Wish) -> Vec<Node> {
    let queued: Vec<Node> =
        step(process, |world, rank| world.tasks.pools[rank].queue.iter().cloned().collect());
    let may = |node: &Node| {
        let is_open = |origin: &Origin| origin.0 == thief && process.is_open(origin.0, origin.1);
        wish == Wish::Any || node.origins.iter().any(is_open)
    };
    queued.into_iter().filter(may).collect()
}

/// The oldest tasks of one lineage that may go: half of them.
fn take_batch(process: Local<'_>, thief: u32, wish: Wish) -> Vec<Node> {
    let fit = fitting(process, thief, wish);
    let Some(first) = fit.first() else { return Vec::new() };
    let fit: Vec<usize> =
        fit.iter().filter(|node| node.origins == first.origins).map(|node| node.id).collect();
    let fit = &fit[..fit.len().div_ceil(2).min(MOST)];
    step(process, |world, rank| {
        let queue = &mut world.tasks.pools[rank].queue;
        let (batch, rest) = queue.drain(..).partition::<Vec<_>, _>(|node| fit.contains(&node.id));
        queue.extend(rest);
        batch
    })
}

fn serve_one(process: Local<'_>, thief: u32, wish: Wish) -> bool {
    let batch = take_batch(process, thief, wish);
    let Some(first) = batch.first() else { return false };
    let slot = step(process, |world, rank| {
        let slots = &mut world.tasks.pools[rank].slots;
        slots.0.pop().unwrap_or_else(|| {
            slots.1 += 1;
            slots.1 - 1
        })
    });
    process.clear_slot(slot);
    let origin = (process.words.rank, slot);
    let lineage = std::iter::once(origin).chain(first.origins.iter().copied()).take(LINEAGE);
    let lineage: Vec<u64> = lineage.map(encode).collect();
    let mut message = vec![lineage.len() as u64 | (batch.len() as u64) << 32];
    message.extend(lineage);
    message.extend(batch.iter().map(|node| node.id as u64));
    let exports = process.words.guard("exports");
    step(process, |world, rank| world.tasks.pools[rank].exports.push((slot, batch)));
    drop(exports);
    process.hand_over(thief, &message);
    true
}

/// Runs a task.
fn execute(process: Local<'_>, node: &Node, limit: Option<usize>) {
    let shape = step(process, |world, rank| world.task_begins(rank as u32, node.id, limit));
    if let Some(depth) = shape.depth.checked_sub(1) {
        (0..2).for_each(|_| make(process, node, Shape { depth, ..shape }));
        if shape.waits {
            wait_for_children(process, node.id);
        }
    }
    step(process, |world, rank| world.task_ends(rank as u32, node.id));
    complete(process, node);
}

/// A task, or a batch that it belongs to, has ended.
fn complete(process: Local<'_>, node: &Node) {
    let ended = step(process, |world, rank| {
        if let Some(parent) = world.tasks.infos[node.id].parent.filter(|_| node.is_home) {
            world.tasks.infos[parent].children -= 1;
        }
        let group = &mut world.tasks.pools[rank].groups[node.group?];
        group.pending -= 1;
        (group.pending == 0).then_some(group.origin)
    });
    if let Some((rank, slot)) = ended {
        process.report(rank, slot);
    }
    step(process, |world, rank| world.tasks.pools[rank].pending -= 1);
    process.notify_workers();
}

fn complete_reported(process: Local<'_>) -> bool {
    let exports = process.words.guard("exports");
    let slots = step(process, |world, rank| {
        world.tasks.pools[rank].exports.iter().map(|(slot, _)| *slot).collect::<Vec<_>>()
    });
    let mut reported = Vec::new();
    for slot in slots {
        let Some(by) = process.reported(slot) else { continue };
        reported.push(step(process, |world, rank| {
            let exports = &mut world.tasks.pools[rank].exports;
            let at = exports.iter().position(|(used, _)| *used == slot).expect("nobody else completes it");
            (exports.remove(at), by)
        }));
    }
    drop(exports);
    for ((slot, nodes), by) in &reported {
        step(process, |world, rank| world.tasks.pools[rank].slots.0.push(*slot));
        process.acquire_reported(*by);
        for node in nodes {
            let rank = process.words.rank;
            let below = |tasks: &super::Tasks, id| tasks.descends(id, node.id);
            process.words.world.borrow_mut().expect_ended(rank, "which is reported", below);
            complete(process, node);
        }
    }
    !reported.is_empty()
}

impl Worker for Helper<'_> {
    type Batch = Vec<Node>;
    type Task = Node;

    fn wish(&self) -> Option<Wish> {
        let process = self.process;
        let Some(limit) = self.limit else { return Some(Wish::Any) };
        let _exports = process.words.guard("exports");
        let exports = step(process, |world, rank| {
            let below = |nodes: &[Node]| nodes.iter().all(|node| world.tasks.descends(node.id, limit));
            let exports = &world.tasks.pools[rank].exports;
            exports.iter().map(|(slot, nodes)| (*slot, below(nodes))).collect::<Vec<_>>()
        });
        exports.iter().for_each(|(slot, opens)| process.set_open(*slot, *opens));
        exports.iter().any(|(_, opens)| *opens).then_some(Wish::Descendants)
    }

    fn adopt(&self, word: impl Fn(usize) -> u64) -> Vec<Node> {
        let (origins, count) = (word(0) as u32 as usize, (word(0) >> 32) as usize);
        let origins: Vec<Origin> = (1..=origins.min(LINEAGE)).map(|i| decode(word(i))).collect();
        let ids: Vec<u64> = (0..count.min(MOST)).map(|i| word(1 + origins.len() + i)).collect();
        let world = &mut *self.process.words.world.borrow_mut();
        let known = world.tasks.infos.len() as u64;
        let (Some(origin), false) = (origins.first(), ids.is_empty() || ids.iter().any(|id| *id >= known))
        else {
            world.fail("a message of no tasks".into());
            return Vec::new();
        };
        let pool = &mut world.tasks.pools[self.process.words.rank as usize];
        pool.groups.push(Group { origin: *origin, pending: ids.len() as u32 });
        pool.pending += ids.len() as u32;
        let group = Some(pool.groups.len() - 1);
        let node = |id: u64| Node { id: id as usize, is_home: false, group, origins: origins.clone() };
        ids.into_iter().map(node).collect()
    }

    fn run_batch(&self, batch: Vec<Node>) {
        let mut batch = batch.into_iter();
        let first = batch.next();
        for node in batch {
            step(self.process, |world, rank| world.tasks.pools[rank].queue.push_back(node));
            self.process.notify_workers();
        }
        first.iter().for_each(|node| execute(self.process, node, self.limit));
    }

    fn complete_reported(&self) -> bool {
        complete_reported(self.process)
    }

    fn serve(&self) {
        serve(self.process, 2);
    }

    fn take(&self) -> Option<Node> {
        step(self.process, |world, rank| {
            let may = |node: &Node| self.limit.is_none_or(|limit| world.tasks.descends(node.id, limit));
            let at = world.tasks.pools[rank].queue.iter().rposition(may)?;
            world.tasks.pools[rank].queue.remove(at)
        })
    }

    fn run(&self, node: Node) {
        execute(self.process, &node, self.limit);
    }

    fn linger(&self, done: impl Fn() -> bool) -> bool {
        step(self.process, |world, rank| !world.tasks.pools[rank].queue.is_empty()) || done()
    }

    fn rest(&self, wait: impl FnOnce()) {
        wait();
    }

    fn pause(&self) {
        self.process.words.step_aside();
    }
}

/// A task waits for those that it has made.
pub fn wait_for_children(process: Local<'_>, id: usize) {
    let done = || step(process, |world, _| world.tasks.infos[id].children == 0);
    if !done() {
        process.help(&Helper { process, limit: Some(id) }, participants(process), done);
    }
    let rank = process.words.rank;
    let child = |tasks: &super::Tasks, child: usize| tasks.infos[child].parent == Some(id);
    process.words.world.borrow_mut().expect_ended(rank, "whose maker has waited", child);
}

/// A thread comes to a barrier of all threads of all processes, as `Team::barrier_with_tasks` does.
pub fn task_barrier(process: Local<'_>, participants: u32) {
    let helper = Helper { process, limit: None };
    let (arrived, barriers, threads) = step(process, |world, rank| {
        let pool = &mut world.tasks.pools[rank];
        pool.arrived += 1;
        (pool.arrived, pool.phase.barriers, world.tasks.threads[rank])
    });
    if arrived < threads {
        let passed = || step(process, |world, rank| world.tasks.pools[rank].phase.barriers != barriers);
        process.help(&helper, participants, passed);
    } else {
        let is_empty = || step(process, |world, rank| world.tasks.pools[rank].pending == 0);
        process.barrier_with_tasks(&helper, participants, is_empty);
        // Others may be past the barrier, and make more.
        let before = |tasks: &super::Tasks, id: usize| tasks.infos[id].phase.barriers <= barriers;
        step(process, |world, rank| {
            if world.tasks.is_left(rank, barriers + 1) {
                world.fail(format!("a barrier ends with tasks in process {rank}"));
            }
            world.expect_ended(rank as u32, "before the barrier", before);
            let pool = &mut world.tasks.pools[rank];
            pool.arrived = 0;
            pool.phase.barriers += 1;
        });
        process.notify_workers();
    }
}

/// A thread polls in the program's own code until the last task that it made has begun somewhere.
pub fn wait_in_user_code(process: Local<'_>, maker: usize) {
    let last = process.words.world.borrow().tasks.infos.iter().rposition(|task| task.parent == Some(maker));
    if let Some(last) = last {
        process.words.until(Wait::Begun(last));
    }
}

/// The process's service thread.
pub fn serve_calls(process: Local<'_>) {
    let mut seen = 0;
    loop {
        seen = process.next_call(seen);
        complete_reported(process);
        serve(process, 1);
    }
}
