//! What the runtime's synchronisation ([`dsm_sync`]) is built on here: words of processes that are reached by messages, and a [`Machine`].
//!
//! Procedures on the words of another process are calls, as where the runtime has no memory of other hosts mapped: the target's processor executes them. Who waits for a
//! word of another process looks at it, and sends a request that is answered when it is changed by somebody who wakes the waiter.

use dsm_coherence::ReleaseToken;
use dsm_explore::coroutine::Blocking;
use dsm_sync::{ALL, Cell, Edge, Layout, Memory, Process, REPLY_BYTES, State, Waiting, Words, serve};

use crate::engine::Key;
use crate::machine::{Machine, during};
use crate::net::{Phase, Shared};
use crate::sync::{atomic, control, load, set_control};

/// Most processes that are simulated.
const PROCESSES: usize = 1 << 14;
/// First of the words: those below have a meaning for other locks.
const FIRST: u32 = 64;

/// Publishes on the account of a release, and measures it.
pub async fn release<M: Machine, T>(m: &M, publishing: impl Future<Output = T>) -> T {
    let (world, me) = (m.world(), m.rank());
    world.wait_until_idle(me).await;
    let begin = world.engine.now();
    let result = during(world, me, Phase::Release, publishing).await;
    world.wait_until_idle(me).await;
    if world.process(me).measuring.get() {
        world.times.borrow_mut().releases.add(world.engine.now() - begin);
    }
    result
}

/// Takes something in on the account of an acquire.
pub async fn acquire<M: Machine>(m: &M, taking: impl Future<Output = ()>) {
    during(m.world(), m.rank(), Phase::Acquire, taking).await;
    m.world().wait_until_idle(m.rank()).await;
}

/// The words as a process sees them.
pub struct SimWords<'a, M> {
    world: Shared,
    me: u32,
    /// The process itself, and what it waits by; whoever executes its procedures has neither, and need not wait.
    running: Option<(&'a M, &'a Blocking<'a>)>,
}

/// Half a word: of which process, and which one.
type Half = (u32, u32);

impl<'a, M: Machine> SimWords<'a, M> {
    /// Of a process.
    pub fn of(machine: &'a M, blocking: &'a Blocking<'a>) -> Self {
        SimWords { world: machine.world().clone(), me: machine.rank(), running: Some((machine, blocking)) }
    }

    fn agent(world: &Shared, at: u32) -> Self {
        SimWords { world: world.clone(), me: at, running: None }
    }

    fn machine(&self) -> &'a M {
        self.running.expect("procedures do not order memory").0
    }

    fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        self.running.expect("procedures do not wait").1.wait(future)
    }

    fn half((at, offset): (u32, usize), byte: usize) -> Half {
        (at, FIRST + ((offset + byte) / 4) as u32)
    }

    fn value(cell: Cell<(u32, usize)>) -> Half {
        Self::half(cell.line, cell.value)
    }

    fn read(&self, (at, word): Half) -> u32 {
        match at == self.me {
            true => {
                self.world.charge_words(at, 1);
                control(&self.world, at, word) as u32
            }
            false => self.wait_for(load(&self.world, self.me, at, word)) as u32,
        }
    }

    fn update(&self, (at, word): Half, change: impl FnOnce(u32) -> u32) -> u32 {
        if at == self.me {
            self.world.charge_words(at, 5);
            let old = control(&self.world, at, word) as u32;
            set_control(&self.world, at, word, change(old).into());
            return old;
        }
        self.wait_for(atomic(&self.world, self.me, at, word, |old| change(old as u32).into())) as u32
    }

    fn wake_some(&self, cell: Cell<(u32, usize)>, mask: u32) {
        let (at, word) = Self::value(cell);
        self.world.wakes.borrow_mut().entry((at, word)).or_default().push(mask);
        self.world.engine.notify(Key::Control(at, word));
    }

    fn update_word(&self, line: (u32, usize), byte: usize, change: impl FnOnce(u64) -> u64) -> u64 {
        assert!(line.0 == self.me, "words of other processes are changed by procedures");
        let (low, high) = (Self::half(line, byte), Self::half(line, byte + 4));
        self.world.charge_words(self.me, 5);
        let read = |(at, word): Half| control(&self.world, at, word) as u32;
        let old = u64::from(read(low)) | u64::from(read(high)) << 32;
        let new = change(old);
        set_control(&self.world, low.0, low.1, u64::from(new as u32));
        set_control(&self.world, high.0, high.1, new >> 32);
        old
    }
}

impl<M: Machine + 'static> Words for SimWords<'_, M> {
    type Line = (u32, usize);

    const LAYOUT: Layout = Layout::packed(0, PROCESSES, 16, (16, 4, 2), 2, (8, 8), 4);

    fn rank(&self) -> u32 {
        self.me
    }

    fn size(&self) -> u32 {
        self.world.size()
    }

    fn line(&self, at: u32, offset: usize) -> (u32, usize) {
        (at, offset)
    }

    fn load(&self, line: (u32, usize), at: usize) -> u64 {
        let mut word = [0];
        self.read_words(line.0, line.1 + at, &mut word);
        word[0]
    }

    fn store(&self, line: (u32, usize), at: usize, value: u64) {
        self.update_word(line, at, |_| value);
    }

    fn fetch_add(&self, line: (u32, usize), at: usize, value: u64) -> u64 {
        self.update_word(line, at, |old| old.wrapping_add(value))
    }

    fn fetch_or(&self, line: (u32, usize), at: usize, bits: u64) -> u64 {
        self.update_word(line, at, |old| old | bits)
    }

    fn compare_exchange(&self, line: (u32, usize), at: usize, expected: u64, new: u64) -> u64 {
        self.update_word(line, at, |old| if old == expected { new } else { old })
    }

    fn load_half(&self, line: (u32, usize), at: usize) -> u32 {
        self.read(Self::half(line, at))
    }

    fn store_half(&self, line: (u32, usize), at: usize, value: u32) {
        self.update(Self::half(line, at), |_| value);
    }

    fn fetch_add_half(&self, line: (u32, usize), at: usize, value: u32) -> u32 {
        self.update(Self::half(line, at), |old| old.wrapping_add(value))
    }

    fn read_words(&self, at: u32, offset: usize, into: &mut [u64]) {
        let first = Self::half((at, offset), 0);
        if at != self.me {
            return self.wait_for(fetch(&self.world, self.me, first, into));
        }
        self.world.charge_words(at, into.len() as u64);
        for (i, word) in into.iter_mut().enumerate() {
            *word = word_at(&self.world, (at, first.1 + 2 * i as u32));
        }
    }

    fn write_words(&self, at: u32, offset: usize, words: &[u64]) {
        words.iter().enumerate().for_each(|(i, word)| self.store((at, offset), 8 * i, *word));
    }

    fn post(&self, line: (u32, usize), at: usize, value: u64) {
        self.store(line, at, value);
    }

    fn post_half(&self, line: (u32, usize), at: usize, value: u32) {
        self.store_half(line, at, value);
    }

    fn post_and_wake(&self, cell: Cell<(u32, usize)>, value: u32, mask: u32) {
        self.store_and_wake(cell, value, mask);
    }

    fn wait(
        &self,
        cell: Cell<(u32, usize)>,
        mask: u32,
        _waiting: Waiting,
        until: impl Fn(u32) -> bool,
    ) -> u32 {
        let (at, word) = Self::value(cell);
        let world = &self.world;
        if at == self.me {
            let there = || Some(control(world, at, word) as u32).filter(|value| until(*value));
            return self.wait_for(world.engine.wait(Key::Control(at, word), there));
        }
        let mut value = self.read((at, word));
        while !until(value) {
            value = self.wait_for(wait_change(world, self.me, (at, word), value, mask));
        }
        value
    }

    fn spin(&self, _cell: Cell<(u32, usize)>, _until: impl Fn(u32) -> bool) -> Option<u32> {
        None
    }

    fn sleep(&self, cell: Cell<(u32, usize)>, until: impl Fn(u32) -> bool) -> u32 {
        self.wait(cell, ALL, Waiting::Table, until)
    }

    fn add_and_wake(&self, cell: Cell<(u32, usize)>, value: u32) -> u32 {
        let old = self.fetch_add_half(cell.line, cell.value, value);
        self.wake(cell);
        old
    }

    fn store_and_wake(&self, cell: Cell<(u32, usize)>, value: u32, mask: u32) {
        self.store_half(cell.line, cell.value, value);
        self.wake_some(cell, mask);
    }

    fn wake(&self, cell: Cell<(u32, usize)>) {
        self.wake_some(cell, ALL);
    }

    fn asks(&self, at: u32) -> bool {
        at != self.me
    }

    fn ask(&self, at: u32, request: &[u8], reply: &mut [u8]) -> usize {
        let (world, me) = (&self.world, self.me);
        let mut space = [0; REPLY_BYTES];
        let length = self.wait_for(async {
            world.pay(me).await;
            world.travel(me, me, at, request.len() as u64).await;
            world.handle(at).await;
            let served = serve(Process::new(&State::new(), &Self::agent(world, at)), request, &mut space);
            let length = served.expect("a request of the protocol");
            world.travel(me, at, me, length as u64).await;
            length
        });
        reply[..length].copy_from_slice(&space[..length]);
        length
    }

    fn post_request(&self, at: u32, request: &[u8]) {
        let (world, me, bytes) = (self.world.clone(), self.me, request.len() as u64);
        self.wait_for(world.pay(me));
        world.count(me, bytes);
        let (arrival, request) = (world.depart(me, me, bytes), request.to_vec());
        let engine = self.world.clone();
        engine.engine.spawn(async move {
            world.arrive(at, bytes, arrival).await;
            world.handle(at).await;
            let agent = SimWords::<M>::agent(&world, at);
            serve(Process::new(&State::new(), &agent), &request, &mut [0; REPLY_BYTES])
                .expect("a request of the protocol");
        });
    }

    fn guard_mailbox(&self) -> impl Sized {
        unreachable!("no tasks are simulated")
    }

    fn delegate_turn(&self, _slot: usize, _ticket: u32) {
        unreachable!("there is one lock")
    }

    fn too_many_locks(&self, _slots: usize) -> ! {
        unreachable!("there is one lock")
    }
}

/// A word, by its lower half.
fn word_at(world: &Shared, (at, half): Half) -> u64 {
    control(world, at, half) | control(world, at, half + 1) << 32
}

/// Words of another process, from one on: a message and its reply.
async fn fetch(world: &Shared, me: u32, first: Half, into: &mut [u64]) {
    world.pay(me).await;
    world.travel(me, me, first.0, 0).await;
    for (i, word) in into.iter_mut().enumerate() {
        *word = word_at(world, (first.0, first.1 + 2 * i as u32));
    }
    world.travel(me, first.0, me, 8 * into.len() as u64).await;
}

/// Has a process answer when one of its half words is not `seen`: at once, or when whoever changes it wakes those with such a mask.
async fn wait_change(world: &Shared, me: u32, (at, word): Half, seen: u32, mask: u32) -> u32 {
    world.pay(me).await;
    world.travel(me, me, at, 16).await;
    let wakes = || world.wakes.borrow().get(&(at, word)).map_or(0, Vec::len);
    let first = wakes();
    let is_woken = || {
        let wakes = world.wakes.borrow();
        wakes.get(&(at, word)).is_some_and(|masks| masks[first..].iter().any(|woken| woken & mask != 0))
    };
    let changed = || Some(control(world, at, word) as u32).filter(|value| *value != seen);
    let value = match changed() {
        Some(value) => value,
        None => world.engine.wait(Key::Control(at, word), || changed().filter(|_| is_woken())).await,
    };
    world.travel(me, at, me, 8).await;
    value
}

impl<M: Machine + 'static> Memory for SimWords<'_, M> {
    fn release(&self) {
        self.wait_for(release(self.machine(), self.machine().release()));
    }

    fn release_then(&self, _edge: impl FnOnce() -> Edge, then: impl FnOnce(ReleaseToken)) {
        // Whom this tells of it is told on the account of the synchronisation.
        let account = &self.world.process(self.me).phase;
        let then = |token| {
            let releasing = account.replace(Phase::Synchronise);
            then(token);
            account.set(releasing);
        };
        self.wait_for(release(self.machine(), self.machine().release_then(then)));
    }

    fn published(&self) -> u64 {
        self.machine().published()
    }

    fn acquire(&self, from: u32, token: ReleaseToken, _edge: impl FnOnce() -> Edge) {
        let m = self.machine();
        self.wait_for(acquire(m, m.acquire_with_token(from, token)));
    }

    fn acquire_published(&self, from: u32) {
        self.wait_for(acquire(self.machine(), self.machine().acquire_from(from)));
    }

    fn synchronised(&self, participants: u32) {
        if participants == self.world.size() {
            self.machine().after_barrier();
        }
    }
}
