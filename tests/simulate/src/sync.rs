//! Barriers and locks: the runtime's ([`dsm_sync`], on the words of [`crate::words`]), and a queue lock that could stand in the place of its ticket lock.

use std::rc::Rc;

use clap::ValueEnum;
use dsm_explore::coroutine;
use dsm_sync::{Process, State, Words};
use serde::Serialize;

use crate::engine::Key;
use crate::machine::{Machine, during};
use crate::net::{Phase, Shared};
use crate::words::{SimWords, acquire, release};

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
    /// The runtime's: tickets in a table at process 0, which answers who waits when its turn comes
    Ticket,
    /// A model of another one: a queue, in which each waits for a word of its own that its predecessor writes
    #[default]
    Queue,
}

/// Words of the queue lock.
const TAIL: u32 = 6;
const NEXT: u32 = 7;
const GRANTED: u32 = 8;
/// Name of the runtime's lock.
const NAME: u64 = 8;

/// A process's part in barriers and locks.
pub struct Participant<M> {
    machine: Rc<M>,
    state: Rc<State>,
    barrier: Barrier,
    lock: Lock,
}

impl<M: Machine + 'static> Participant<M> {
    /// A process that has passed no barrier.
    pub fn new(machine: &Rc<M>, barrier: Barrier, lock: Lock) -> Self {
        Participant { machine: machine.clone(), state: Rc::default(), barrier, lock }
    }

    /// The runtime's code synchronises.
    async fn synchronise(&self, act: impl FnOnce(Process<'_, SimWords<'_, M>>) + 'static) {
        let (machine, state) = (self.machine.clone(), self.state.clone());
        let code = coroutine::run(move |blocking| {
            act(Process::new(&state, &SimWords::of(&*machine, blocking)));
        });
        during(self.machine.world(), self.machine.rank(), Phase::Synchronise, code).await;
    }

    /// A barrier of all processes; afterwards each sees what all wrote before.
    pub async fn barrier(&self) {
        let (world, me) = (self.machine.world(), self.machine.rank());
        let (process, size) = (world.process(me), world.size());
        world.wait_until_idle(me).await;
        let entered = world.engine.now();
        match self.barrier {
            Barrier::Dissemination => self.synchronise(move |process| process.barrier(size)).await,
            Barrier::ForkJoin => self.synchronise(move |process| fork_join(process, size)).await,
        }
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

    /// Waits for the lock and acquires what its last holder published.
    pub async fn lock(&self) {
        match self.lock {
            Lock::Ticket => self.synchronise(|process| process.lock(NAME)).await,
            Lock::Queue => self.lock_in_queue().await,
        }
    }

    /// Publishes and passes the lock on.
    pub async fn unlock(&self) {
        match self.lock {
            Lock::Ticket => self.synchronise(|process| _ = process.unlock(NAME)).await,
            Lock::Queue => self.unlock_in_queue().await,
        }
    }

    async fn lock_in_queue(&self) {
        let (world, me) = (self.machine.world(), self.machine.rank());
        let last = during(world, me, Phase::Synchronise, async {
            set_control(world, me, NEXT, 0);
            let before = swap(world, me, 0, TAIL, held(me)).await;
            if before & 1 == 1 {
                let previous = (before >> 1) as u32 - 1;
                post(world, me, previous, NEXT, u64::from(me) + 1).await;
                reached(world, me, GRANTED, 1).await;
                set_control(world, me, GRANTED, 0);
            }
            before >> 1
        })
        .await;
        if last != 0 && last as u32 - 1 != me {
            acquire(&*self.machine, self.machine.acquire_from(last as u32 - 1)).await;
        }
    }

    async fn unlock_in_queue(&self) {
        release(&*self.machine, self.machine.release()).await;
        let (world, me) = (self.machine.world(), self.machine.rank());
        during(world, me, Phase::Synchronise, async {
            if control(world, me, NEXT) == 0 {
                let free = held(me) & !1;
                if compare_and_swap(world, me, 0, TAIL, held(me), free).await == held(me) {
                    return;
                }
            }
            reached(world, me, NEXT, 1).await;
            let next = control(world, me, NEXT) as u32 - 1;
            post(world, me, next, GRANTED, 1).await;
        })
        .await;
    }
}

/// The end of a region and the begin of the next one.
fn fork_join<M: Machine + 'static>(process: Process<'_, SimWords<'_, M>>, size: u32) {
    process.join(size);
    match process.words.rank() {
        0 => process.fork(&[], size),
        _ => process.wait_fork(&mut Vec::new()).expect("the job goes on"),
    }
}

/// The queue lock's tail while `me` has it or waits for it.
fn held(me: u32) -> u64 {
    (u64::from(me) + 1) << 1 | 1
}

pub(crate) fn control(world: &Shared, at: u32, word: u32) -> u64 {
    world.process(at).memory.borrow().control.get(&word).copied().unwrap_or(0)
}

pub(crate) fn set_control(world: &Shared, at: u32, word: u32, value: u64) {
    world.process(at).memory.borrow_mut().control.insert(word, value);
    world.engine.notify(Key::Control(at, word));
}

/// Waits until an own word is at least `count`.
async fn reached(world: &Shared, me: u32, word: u32, count: u64) {
    let there = || (control(world, me, word) >= count).then_some(());
    world.engine.wait(Key::Control(me, word), there).await;
}

/// An atomic operation on a word of a process.
pub(crate) async fn atomic(
    world: &Shared,
    me: u32,
    at: u32,
    word: u32,
    update: impl FnOnce(u64) -> u64,
) -> u64 {
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

async fn swap(world: &Shared, me: u32, at: u32, word: u32, new: u64) -> u64 {
    atomic(world, me, at, word, |_| new).await
}

async fn compare_and_swap(world: &Shared, me: u32, at: u32, word: u32, expected: u64, new: u64) -> u64 {
    atomic(world, me, at, word, |old| if old == expected { new } else { old }).await
}

pub(crate) async fn load(world: &Shared, me: u32, at: u32, word: u32) -> u64 {
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
