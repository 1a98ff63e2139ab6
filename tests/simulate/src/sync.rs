//! Barriers and locks as the runtime builds them (runtime/src/sync), and what could stand in their place.

use std::cell::Cell;

use clap::ValueEnum;
use serde::Serialize;

use crate::costs::ns;
use crate::engine::Key;
use crate::machine::{Machine, during};
use crate::net::{Phase, Shared};

/// How barriers are built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Barrier {
    /// The runtime's barrier: rounds of partners at doubling distance; each acquires from the one behind it
    #[default]
    Dissemination,
    /// The runtime's end and begin of a parallel region: process 0 waits for all, acquires from everybody, one after the other, and wakes all
    ForkJoin,
}

/// How a lock is passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lock {
    /// A ticket lock whose words are in process 0, as in the runtime; who waits looks at the word with growing pauses
    Ticket,
    /// A queue: each waits for a word of its own that its predecessor writes
    #[default]
    Queue,
}

const JOIN: u32 = 1;
const FORK: u32 = 2;
const TICKETS: u32 = 3;
const SERVING: u32 = 4;
const LAST: u32 = 5;
const TAIL: u32 = 6;
const NEXT: u32 = 7;
const GRANTED: u32 = 8;
const ROUND: u32 = 16;

/// A process's part in barriers and locks.
#[derive(Debug)]
pub struct Participant {
    barrier: Barrier,
    lock: Lock,
    count: Cell<u64>,
    ticket: Cell<u64>,
}

impl Participant {
    /// A process that has passed no barrier.
    pub fn new(barrier: Barrier, lock: Lock) -> Self {
        Participant { barrier, lock, count: Cell::new(0), ticket: Cell::new(0) }
    }

    /// A barrier of all processes; afterwards each sees what all wrote before.
    pub async fn barrier<M: Machine>(&self, m: &M) {
        let (world, me) = (m.world(), m.rank());
        let process = world.process(me);
        world.wait_until_idle(me).await;
        let entered = world.engine.now();
        self.count.set(self.count.get() + 1);
        match self.barrier {
            Barrier::Dissemination => self.disseminate(m).await,
            Barrier::ForkJoin => self.fork_join(m).await,
        }
        m.after_barrier();
        world.wait_until_idle(me).await;
        if process.measuring.get() {
            let index = process.barriers.replace(process.barriers.get() + 1);
            let barriers = &mut world.times.borrow_mut().barriers;
            if barriers.len() <= index {
                barriers.push((0, 0));
            }
            let (last_in, last_out) = &mut barriers[index];
            *last_in = entered.max(*last_in);
            *last_out = world.engine.now().max(*last_out);
        }
    }

    async fn disseminate<M: Machine>(&self, m: &M) {
        release(m).await;
        let (world, me, size) = (m.world(), m.rank(), m.world().size());
        let mut distance = 1;
        let mut round = 0;
        while distance < size {
            signal(world, me, (me + distance) % size, ROUND + round).await;
            reached(world, me, ROUND + round, self.count.get()).await;
            acquire(m, (me + size - distance) % size).await;
            distance *= 2;
            round += 1;
        }
    }

    async fn fork_join<M: Machine>(&self, m: &M) {
        let (world, me, size) = (m.world(), m.rank(), m.world().size());
        let count = self.count.get();
        if me == 0 {
            reached(world, 0, JOIN, count * u64::from(size - 1)).await;
            for rank in 1..size {
                acquire(m, rank).await;
            }
            release(m).await;
            world.wait_until_idle(me).await;
            set_control(world, 0, FORK, count);
        } else {
            release(m).await;
            during(world, me, Phase::Synchronise, fetch_add(world, me, 0, JOIN, 1)).await;
            during(world, me, Phase::Synchronise, poll(world, me, 0, FORK, |v| v >= count)).await;
            acquire(m, 0).await;
        }
    }

    /// Waits for the lock and acquires what its last holder published.
    pub async fn lock<M: Machine>(&self, m: &M) {
        let (world, me) = (m.world(), m.rank());
        let last = during(world, me, Phase::Synchronise, async {
            match self.lock {
                Lock::Ticket => {
                    let ticket = fetch_add(world, me, 0, TICKETS, 1).await;
                    self.ticket.set(ticket);
                    poll(world, me, 0, SERVING, |v| v == ticket).await;
                    load(world, me, 0, LAST).await
                }
                Lock::Queue => {
                    set_control(world, me, NEXT, 0);
                    let before = swap(world, me, 0, TAIL, held(me)).await;
                    if before & 1 == 1 {
                        let previous = (before >> 1) as u32 - 1;
                        post(world, me, previous, NEXT, u64::from(me) + 1).await;
                        reached(world, me, GRANTED, 1).await;
                        set_control(world, me, GRANTED, 0);
                    }
                    before >> 1
                }
            }
        })
        .await;
        if last != 0 && last as u32 - 1 != me {
            acquire(m, last as u32 - 1).await;
        }
    }

    /// Publishes and passes the lock on.
    pub async fn unlock<M: Machine>(&self, m: &M) {
        release(m).await;
        let (world, me) = (m.world(), m.rank());
        during(world, me, Phase::Synchronise, async {
            match self.lock {
                Lock::Ticket => {
                    // Both go the same way, so the second cannot overtake the first.
                    post(world, me, 0, LAST, u64::from(me) + 1).await;
                    fetch_add(world, me, 0, SERVING, 1).await;
                }
                Lock::Queue => {
                    if control(world, me, NEXT) == 0 {
                        let free = held(me) & !1;
                        if compare_and_swap(world, me, 0, TAIL, held(me), free).await == held(me) {
                            return;
                        }
                    }
                    reached(world, me, NEXT, 1).await;
                    let next = control(world, me, NEXT) as u32 - 1;
                    post(world, me, next, GRANTED, 1).await;
                }
            }
        })
        .await;
    }
}

/// The queue lock's tail while `me` has it or waits for it.
fn held(me: u32) -> u64 {
    (u64::from(me) + 1) << 1 | 1
}

async fn release<M: Machine>(m: &M) {
    let (world, me) = (m.world(), m.rank());
    world.wait_until_idle(me).await;
    let begin = world.engine.now();
    during(world, me, Phase::Release, m.release()).await;
    world.wait_until_idle(me).await;
    if world.process(me).measuring.get() {
        world.times.borrow_mut().releases.add(world.engine.now() - begin);
    }
}

async fn acquire<M: Machine>(m: &M, from: u32) {
    during(m.world(), m.rank(), Phase::Acquire, m.acquire_from(from)).await;
    m.world().wait_until_idle(m.rank()).await;
}

fn control(world: &Shared, at: u32, word: u32) -> u64 {
    world.process(at).memory.borrow().control.get(&word).copied().unwrap_or(0)
}

fn set_control(world: &Shared, at: u32, word: u32, value: u64) {
    world.process(at).memory.borrow_mut().control.insert(word, value);
    world.engine.notify(Key::Control(at, word));
}

/// Waits until an own word is at least `count`.
async fn reached(world: &Shared, me: u32, word: u32, count: u64) {
    let there = || (control(world, me, word) >= count).then_some(());
    world.engine.wait(Key::Control(me, word), there).await;
}

/// An atomic operation on a word of a process.
async fn atomic(world: &Shared, me: u32, at: u32, word: u32, update: impl FnOnce(u64) -> u64) -> u64 {
    if at == me {
        world.charge_words(me, 5);
    } else {
        world.pay(me).await;
        world.travel(me, me, at, 16).await;
        world.atomic(at, u64::from(word)).await;
    }
    let old = control(world, at, word);
    let new = update(old);
    if new != old {
        set_control(world, at, word, new);
    }
    if at != me {
        world.travel(me, at, me, 8).await;
    }
    old
}

async fn fetch_add(world: &Shared, me: u32, at: u32, word: u32, n: u64) -> u64 {
    atomic(world, me, at, word, |old| old + n).await
}

async fn swap(world: &Shared, me: u32, at: u32, word: u32, new: u64) -> u64 {
    atomic(world, me, at, word, |_| new).await
}

async fn compare_and_swap(world: &Shared, me: u32, at: u32, word: u32, expected: u64, new: u64) -> u64 {
    atomic(world, me, at, word, |old| if old == expected { new } else { old }).await
}

async fn load(world: &Shared, me: u32, at: u32, word: u32) -> u64 {
    if at == me {
        world.charge_words(me, 1);
        return control(world, at, word);
    }
    world.pay(me).await;
    world.travel(me, me, at, 0).await;
    let value = control(world, at, word);
    world.travel(me, at, me, 8).await;
    value
}

/// Looks at a word until it is as wanted.
async fn poll(world: &Shared, me: u32, at: u32, word: u32, wanted: impl Fn(u64) -> bool) {
    if at == me {
        let there = || wanted(control(world, at, word)).then_some(());
        return world.engine.wait(Key::Control(at, word), there).await;
    }
    let mut pause = world.costs.poll_ns;
    while !wanted(load(world, me, at, word).await) {
        world.compute(me, ns(pause)).await;
        pause = (2 * pause).min(world.costs.poll_most_ns);
    }
}

/// Writes a word of a process some time later.
async fn post(world: &Shared, me: u32, at: u32, word: u32, value: u64) {
    world.pay(me).await;
    if at == me {
        return set_control(world, at, word, value);
    }
    world.count(me, 8);
    let arrival = world.depart(me, me, 8);
    let shared = world.clone();
    world.engine.spawn(async move {
        shared.arrive(at, 8, arrival).await;
        set_control(&shared, at, word, value);
    });
}

/// Tells a process that this one has come so far in a barrier: an atomic increment whose answer nobody waits for.
async fn signal(world: &Shared, me: u32, at: u32, word: u32) {
    world.pay(me).await;
    during(world, me, Phase::Synchronise, async {
        world.count(me, 16);
        world.count(me, 8);
    })
    .await;
    let arrival = world.depart(me, me, 16);
    let shared = world.clone();
    world.engine.spawn(async move {
        shared.arrive(at, 16, arrival).await;
        shared.atomic(at, u64::from(word)).await;
        set_control(&shared, at, word, control(&shared, at, word) + 1);
        let arrival = shared.depart(me, at, 8);
        shared.arrive(me, 8, arrival).await;
    });
}
