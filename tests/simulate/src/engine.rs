//! The executor: tasks, a clock, and a queue of wake-ups in order of time and then of their creation.
//!
//! A task may be polled without reason (its parts share its wake-ups), so every future here looks at the clock or its condition again.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::future::{Future, poll_fn};
use std::hash::BuildHasherDefault;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use dsm_coherence::{Chunk, Gate, Word};
use dsm_explore::hash::Digest;

use crate::costs::Time;

/// A map with a fast hash that is the same in every run.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Digest>>;

/// Something that tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A word of a process.
    Word(u32, Word),
    /// A control word of a process.
    Control(u32, u32),
    /// What the first process posted to the second one.
    Posts(u32, u32),
    /// A chunk of a process is locked.
    Chunk(u32, Chunk),
    /// A gate of a process is locked.
    Gate(u32, Gate),
    /// A directory entry is busy.
    Entry(u64),
    /// A number that [`Engine::number`] gave.
    Number(u64),
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// See the module documentation.
#[derive(Default)]
pub struct Engine {
    now: Cell<Time>,
    queue: RefCell<BinaryHeap<Reverse<(Time, u64, u32)>>>,
    serial: Cell<u64>,
    tasks: RefCell<Vec<Option<Task>>>,
    free: RefCell<Vec<u32>>,
    current: Cell<u32>,
    waiting: RefCell<Map<Key, Vec<u32>>>,
    /// Wake-ups so far.
    pub events: Cell<u64>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("now", &self.now).field("events", &self.events).finish_non_exhaustive()
    }
}

impl Engine {
    /// Virtual time.
    pub fn now(&self) -> Time {
        self.now.get()
    }

    /// A number that no other call gives.
    pub fn number(&self) -> u64 {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    /// Adds a task that begins now.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let slot = self.free.borrow_mut().pop().unwrap_or_else(|| {
            let mut tasks = self.tasks.borrow_mut();
            tasks.push(None);
            tasks.len() as u32 - 1
        });
        self.tasks.borrow_mut()[slot as usize] = Some(Box::pin(task));
        self.wake(self.now(), slot);
    }

    fn wake(&self, at: Time, task: u32) {
        let number = self.number();
        self.queue.borrow_mut().push(Reverse((at, number, task)));
    }

    /// Runs until nothing is left to do. Returns the number of tasks that have not ended: they wait for what never comes.
    pub fn run(&self) -> usize {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let Some(Reverse((at, _, slot))) = self.queue.borrow_mut().pop() else { break };
            self.now.set(at);
            self.events.set(self.events.get() + 1);
            let Some(mut task) = self.tasks.borrow_mut()[slot as usize].take() else { continue };
            self.current.set(slot);
            if task.as_mut().poll(&mut context).is_pending() {
                self.tasks.borrow_mut()[slot as usize] = Some(task);
            } else {
                self.free.borrow_mut().push(slot);
            }
        }
        self.tasks.borrow().iter().flatten().count()
    }

    /// Drops all tasks, and with them what they hold of the world.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut *self.tasks.borrow_mut());
        drop(tasks);
    }

    /// Waits until a time.
    pub fn sleep_until(&self, until: Time) -> Sleep<'_> {
        Sleep { engine: self, until, queued: false }
    }

    /// Waits until `ready` gives a value; it is asked again whenever the key is notified.
    pub fn wait<'a, T, F: FnMut() -> Option<T> + Unpin + 'a>(&'a self, key: Key, ready: F) -> Waiting<'a, F> {
        Waiting { engine: self, key, ready }
    }

    /// What waits for the key looks again.
    pub fn notify(&self, key: Key) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            return;
        }
        if let Some(tasks) = waiting.remove(&key) {
            for task in tasks {
                self.wake(self.now(), task);
            }
        }
    }
}

/// Runs futures as parts of one task, until all have ended.
pub async fn join_all(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut parts: Vec<_> = futures.map(Box::pin).collect();
    poll_fn(|context| {
        parts.retain_mut(|part| part.as_mut().poll(context).is_pending());
        if parts.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// See [`Engine::sleep_until`].
#[derive(Debug)]
pub struct Sleep<'a> {
    engine: &'a Engine,
    until: Time,
    queued: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.engine.now() >= self.until {
            return Poll::Ready(());
        }
        if !self.queued {
            self.queued = true;
            self.engine.wake(self.until, self.engine.current.get());
        }
        Poll::Pending
    }
}

/// See [`Engine::wait`].
pub struct Waiting<'a, F> {
    engine: &'a Engine,
    key: Key,
    ready: F,
}

impl<F> std::fmt::Debug for Waiting<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<T, F: FnMut() -> Option<T> + Unpin> Future for Waiting<'_, F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        if let Some(value) = (self.ready)() {
            return Poll::Ready(value);
        }
        let task = self.engine.current.get();
        let mut waiting = self.engine.waiting.borrow_mut();
        let tasks = waiting.entry(self.key).or_default();
        if !tasks.contains(&task) {
            tasks.push(task);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn time_moves_in_order() {
        let engine = Rc::new(Engine::default());
        let log = Rc::new(RefCell::new(Vec::new()));
        for delay in [30, 10, 20] {
            let (e, log) = (engine.clone(), log.clone());
            engine.spawn(async move {
                e.sleep_until(delay).await;
                log.borrow_mut().push((delay, e.now()));
            });
        }
        assert_eq!(engine.run(), 0);
        assert_eq!(*log.borrow(), [(10, 10), (20, 20), (30, 30)]);
    }

    #[test]
    fn who_waits_is_woken_and_who_is_forgotten_is_counted() {
        let engine = Rc::new(Engine::default());
        let flag = Rc::new(Cell::new(false));
        let (e, f) = (engine.clone(), flag.clone());
        engine.spawn(async move { e.wait(Key::Number(1), move || f.get().then_some(())).await });
        let e = engine.clone();
        engine.spawn(async move { e.wait(Key::Number(2), || None::<()>).await });
        let (e, f) = (engine.clone(), flag);
        engine.spawn(async move {
            e.sleep_until(5).await;
            f.set(true);
            e.notify(Key::Number(1));
        });
        assert_eq!(engine.run(), 1);
    }
}
