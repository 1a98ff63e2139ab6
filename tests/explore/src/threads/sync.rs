//! Synchronisation around the protocol: locks, flags and barriers, which call it as [`dsm_sync`] does. Why they are a model: [`crate::model_sync`].

use dsm_abi::atomic::Update;
use dsm_coherence::{Fault, Order, Rank, ReleaseToken};

use super::{ThreadCode, fail_if, load};
use crate::hash::mix;
use crate::model_sync::Signal;
use crate::oracle::{Clocks, Oracle};
use crate::program::{BarrierKind, Memory};
use crate::world::{Thing, Wait, pause};

/// What the oracle says of what a thread has loaded from a byte.
type Judge = fn(&mut Oracle, usize, usize, u8) -> Result<(), String>;

/// Space for a few notices, so that some do not fit.
const PIGGYBACK_BYTES: usize = 80 + 2 * 32;

impl ThreadCode {
    /// The thread enters the runtime for a synchronisation: it is between no check and its access now.
    fn leave_user(&self) {
        let mut w = self.world.borrow_mut();
        if self.several() {
            let current = w.current;
            w.drain(current, true);
        }
        let p = self.process();
        w.processes[p].in_user -= 1;
        w.visible |= self.several();
    }

    async fn enter_user(&self) {
        if self.several() {
            let exclusive = self.world.borrow().layout.exclusive();
            pause(&self.world, Wait::Equals(self.process(), exclusive, 0)).await;
        }
        let mut w = self.world.borrow_mut();
        let p = self.process();
        w.processes[p].in_user += 1;
        w.visible |= self.several();
    }

    async fn release(&self) {
        self.protocol.release().await;
        if self.program.memory == Memory::Buffered {
            pause(&self.world, Wait::Ready).await;
        }
        let mut w = self.world.borrow_mut();
        let w = &mut *w;
        // Whoever is told of the release by a later store or message sees all stores before it.
        w.drain(w.current, true);
        w.take_mutex();
        w.visible = true;
        w.released();
    }

    /// With `state`, only what the peer had published when it told it along with its signal.
    async fn acquire_from(&self, process: usize, state: Option<ReleaseToken>) {
        if process == self.process() {
            // The threads of a process share its memory.
            let known = self.world.borrow().sync.published[process].clone();
            self.world.borrow_mut().visible = true;
            return self.learn(&known);
        }
        self.world.borrow_mut().note(|| format!("acquire from p{process}"));
        // What the process publishes after its signal need not be acquired; what the signal orders comes with it.
        let Some(state) = state else {
            self.world.borrow_mut().threads[self.thread].acquires = vec![process];
            self.protocol.acquire_from(Rank(process as u32)).await;
            return self.learn_signatures();
        };
        pause(&self.world, Wait::Ready).await;
        self.world.borrow_mut().visible = true;
        self.protocol.acquire_with_token(Rank(process as u32), state).await;
    }

    /// From all processes, as a flush does.
    async fn acquire_from_all(&self) {
        self.acquire_from(self.process(), None).await;
        let all = 0..self.program.processes;
        let others = all.clone().filter(|process| *process != self.process()).collect();
        {
            let mut w = self.world.borrow_mut();
            w.note(|| "acquire from all".to_owned());
            w.threads[self.thread].acquires = others;
        }
        self.protocol.acquire_from_all(all.map(|process| Rank(process as u32))).await;
        if self.program.processes > 1 {
            self.learn_signatures();
        }
    }

    /// What the processes that the thread has just acquired from had published.
    fn learn_signatures(&self) {
        let known = {
            let thread = &mut self.world.borrow_mut().threads[self.thread];
            assert!(thread.acquires.is_empty(), "an acquire looks at the peers' signatures");
            thread.learned.take()
        };
        self.learn(&known.expect("of a peer"));
    }

    fn learn(&self, clocks: &Clocks) {
        self.world.borrow_mut().oracle.join(self.thread, clocks);
    }

    /// As a fork message or a signal: the protocol's release and how far its signature is published, not what a lock tells of.
    pub(super) async fn post(&self, signal: usize) {
        self.before_release().await;
        self.leave_user();
        self.release().await;
        let token = ReleaseToken::from(self.protocol.published());
        {
            let mut w = self.world.borrow_mut();
            let w = &mut *w;
            w.sync.hand_over(signal, (self.process(), token), &w.oracle.clocks(self.thread));
            let loc = w.layout.hand_over();
            w.own_write(loc, signal as u64);
        }
        self.tick();
        self.at_place(1);
        pause(&self.world, Wait::Ready).await;
        self.enter_user().await;
    }

    fn tick(&self) {
        self.world.borrow_mut().oracle.tick(self.thread);
    }

    pub(super) async fn lock(&self, lock: usize) {
        self.before_release().await;
        self.leave_user();
        pause(&self.world, Wait::LockFree(lock)).await;
        let (last, clocks) = {
            let mut w = self.world.borrow_mut();
            w.visible = true;
            w.access(Thing::Lock(lock), true, 0);
            let (last, clocks) = w.sync.take_lock(lock);
            w.observe(last.map_or(0, |(process, token)| token.0.into_iter().fold(1 + process as u64, mix)));
            (last, clocks)
        };
        if let Some((last, state)) = last {
            self.acquire_from(last, Some(state)).await;
        }
        // The lock that is held tells of the clocks too.
        self.at_place(1);
        self.learn(&clocks);
        self.enter_user().await;
    }

    pub(super) async fn unlock(&self, lock: usize) {
        self.before_release().await;
        self.leave_user();
        // As in the runtime, the lock goes on with an ordinary store, before the release has ended.
        let hand_over = |token| {
            let mut w = self.world.borrow_mut();
            let w = &mut *w;
            if self.program.fault != Some(Fault::TokenUnlocked) {
                w.take_mutex();
            }
            w.sync.hand_over(lock, (self.process(), token), &w.oracle.clocks(self.thread));
            let loc = w.layout.hand_over();
            w.own_write(loc, lock as u64);
        };
        // Both ways for contended blocks.
        self.protocol.release_then(lock % 2 == 1, hand_over).await;
        self.tick();
        self.at_place(1);
        pause(&self.world, Wait::Ready).await;
        self.enter_user().await;
    }

    /// `place`: where in its operation.
    pub(super) async fn flush(&self, place: u64) {
        self.before_release().await;
        self.leave_user();
        self.release().await;
        self.tick();
        self.at_place(place | 1);
        self.acquire_from_all().await;
        self.at_place(place | 2);
        self.protocol.fetch_ahead(None).await;
        self.enter_user().await;
    }

    /// An operation on a byte that releases and acquires: at once where nothing is to be done for that.
    pub(super) async fn update_ordered(&self, addr: usize, update: Update) {
        self.before_release().await;
        self.leave_user();
        let block = self.extents(addr, 1)[0].first;
        let offset = addr - self.world.borrow().layout.addr(block);
        self.expect_acquires(true);
        self.world.borrow_mut().current_thread().releases = true;
        let done = self.protocol.update_ordered(block, offset, 1, update).await;
        {
            let mut w = self.world.borrow_mut();
            let thread = w.current_thread();
            (thread.acquires, thread.releases) = (Vec::new(), false);
            if !matches!(done, Some((_, false))) {
                thread.learned = None;
            }
        }
        if done.is_none() {
            self.release().await;
            self.tick();
            self.protocol.update(block, offset, 1, update, Order::Ordered).await;
        }
        match done {
            Some((_, false)) => {
                self.learn_signatures();
                self.acquire_from(self.process(), None).await;
            }
            _ => self.acquire_from_all().await,
        }
        self.sets_flag();
        self.enter_user().await;
    }

    /// Something that others wait for has happened.
    pub(super) fn sets_flag(&self) {
        let mut w = self.world.borrow_mut();
        let flags = w.sync.flags;
        w.access(Thing::Flags, true, flags);
        w.visible = true;
        w.sync.flags += 1;
    }

    /// The thread is about to look at the signatures of all other processes, or has done that.
    fn expect_acquires(&self, are_expected: bool) {
        let others = (0..self.program.processes).filter(|process| *process != self.process());
        let expected = if are_expected { others.collect() } else { Vec::new() };
        self.world.borrow_mut().threads[self.thread].acquires = expected;
    }

    pub(super) async fn wait_flag(&self, addr: usize, value: u8) {
        // Both ways to wait where processes are reached by messages.
        if self.program.by_agents && addr.is_multiple_of(2) {
            return self.wait_at_home(addr, Oracle::read, value).await;
        }
        loop {
            let flags = self.flags();
            let place = flags << 32;
            self.flush(place).await;
            self.make_readable(addr, 1).await;
            self.at_place(place | 1 << 16);
            self.window().await;
            let found = {
                let mut w = self.world.borrow_mut();
                let found = load(&mut w, addr);
                w.note(|| format!("poll flag {addr}: {found:#04x}"));
                // No access that the judge's order of things depends on: a flag that is not known to be set may look either way.
                let judged = w.oracle.read(self.thread, addr, found);
                fail_if(&mut w, judged);
                found
            };
            if found == value {
                break;
            }
            // Polls again once another flag is set.
            self.at_place(place | 2 << 16);
            self.leave_user();
            pause(&self.world, Wait::Flagged(flags)).await;
            self.flags();
            self.world.borrow_mut().visible = true;
            self.enter_user().await;
        }
        self.flush(1 << 63).await;
    }

    /// As a load of an atomic variable in acquire order, again and again, until it gives at least `value`. What was published before that was stored is known behind that. `judge`: what the oracle says of a load.
    pub(super) async fn wait_at_home(&self, addr: usize, judge: Judge, value: u8) {
        loop {
            let place = self.flags() << 32;
            self.at_place(place);
            self.leave_user();
            let block = self.extents(addr, 1)[0].first;
            let offset = addr - self.world.borrow().layout.addr(block);
            let others = (0..self.program.processes).filter(|process| *process != self.process());
            self.expect_acquires(true);
            // Where the home has moved meanwhile, there is another read, and an acquire behind it, of a process that is reached by messages.
            self.world.borrow_mut().threads[self.thread].looks_again = self.program.by_agents;
            let (found, asked) = self.protocol.read_atomic_acquiring(block, offset, 1).await;
            {
                // What it acquires comes behind it: that may tell that the flag is set.
                let mut w = self.world.borrow_mut();
                w.note(|| format!("read flag {addr} at its home: {found:#04x}"));
                let judged = judge(&mut w.oracle, self.thread, addr, found as u8);
                fail_if(&mut w, judged);
            }
            let others = others.map(|process| Rank(process as u32)).filter(|rank| Some(*rank) != asked);
            self.protocol.acquire_from_all(others).await;
            self.expect_acquires(false);
            self.world.borrow_mut().threads[self.thread].looks_again = false;
            self.learn_signatures();
            self.acquire_from(self.process(), None).await;
            self.enter_user().await;
            if found as u8 >= value {
                return;
            }
            self.at_place(place | 2 << 16);
            self.leave_user();
            pause(&self.world, Wait::Flagged(place >> 32)).await;
            self.flags();
            self.world.borrow_mut().visible = true;
            self.enter_user().await;
        }
    }

    /// Flags set so far.
    fn flags(&self) -> u64 {
        let mut w = self.world.borrow_mut();
        w.access(Thing::Flags, false, 0);
        let flags = w.sync.flags;
        w.observe(flags);
        flags
    }

    /// A barrier of all threads of all processes: one thread of each process does the protocol's part while the others wait in the runtime. `ahead`: what is expected to be missed then is
    /// fetched behind it.
    pub(super) async fn barrier(&self, number: usize, ahead: bool) {
        self.before_release().await;
        self.leave_user();
        let (arrived, generation) = {
            let mut w = self.world.borrow_mut();
            let w = &mut *w;
            w.visible = true;
            w.sync.bring(number, &w.oracle.clocks(self.thread));
            w.sync.arrive_local(self.process())
        };
        if arrived == self.program.threads as u32 {
            match self.program.barrier {
                BarrierKind::AllToAll => self.exchange_all_to_all(number).await,
                BarrierKind::Dissemination => self.disseminate(number as u32).await,
            }
            self.protocol.drop_known_notices();
            pause(&self.world, Wait::Ready).await;
            {
                let mut w = self.world.borrow_mut();
                w.visible = true;
                let current = w.current;
                w.drain(current, true);
                w.sync.pass_local(self.process());
            }
            if ahead {
                // To the protocol all barriers are at one place in the program.
                self.protocol.fetch_ahead(Some(0)).await;
            }
        } else {
            pause(&self.world, Wait::LocalBarrier(self.process(), generation)).await;
            self.world.borrow_mut().visible = true;
        }
        let clocks = self.world.borrow_mut().sync.brought(number);
        self.learn(&clocks);
        self.tick();
        self.enter_user().await;
    }

    async fn exchange_all_to_all(&self, number: usize) {
        self.release().await;
        self.at_place(place(number, 1));
        {
            let mut w = self.world.borrow_mut();
            w.visible = true;
            w.access(Thing::Arrival(number, self.process()), true, 0);
            w.sync.arrive(number);
        }
        pause(&self.world, Wait::Arrived(number, self.program.processes as u32)).await;
        {
            let mut w = self.world.borrow_mut();
            w.visible = true;
            (0..self.program.processes).for_each(|p| w.access(Thing::Arrival(number, p), false, 0));
        }
        for process in 0..self.program.processes {
            self.acquire_from(process, None).await;
            self.at_place(place(number, 2 + process as u64));
        }
    }

    async fn disseminate(&self, number: u32) {
        self.release().await;
        self.at_place(place(number as usize, 1));
        let (me, size) = (self.process(), self.program.processes);
        let mut distance = 1;
        let mut round = 0;
        while distance < size {
            {
                let to = (me + distance) % size;
                let mut signal = Signal { state: self.protocol.published(), notices: Vec::new() };
                if self.program.by_agents {
                    self.protocol.add_piggyback(Rank(to as u32), PIGGYBACK_BYTES, &mut signal.notices);
                }
                let mut w = self.world.borrow_mut();
                let current = w.current;
                w.drain(current, true);
                w.visible = true;
                w.access(Thing::Signal(number, round, me), true, 0);
                w.sync.signal(number, round, me, signal);
            }
            let partner = (me + size - distance) % size;
            pause(&self.world, Wait::Signal(number, round, partner)).await;
            let signal = {
                let mut w = self.world.borrow_mut();
                w.access(Thing::Signal(number, round, partner), false, 0);
                let signal = w.sync.signalled(number, round, partner).cloned();
                w.observe(signal.as_ref().map_or(0, Signal::digest));
                signal
            };
            if let Some(signal) = signal.as_ref().filter(|signal| !signal.notices.is_empty()) {
                let received = self.protocol.receive_piggyback(Rank(partner as u32), &signal.notices);
                received.expect("what a process sends");
            }
            self.acquire_from(partner, signal.map(|signal| ReleaseToken::from(signal.state))).await;
            self.at_place(place(number as usize, 2 + u64::from(round)));
            pause(&self.world, Wait::Ready).await;
            distance *= 2;
            round += 1;
        }
        // `arrived` also counts here: the judge wants to know that everybody came.
        self.world.borrow_mut().sync.arrive(number as usize);
    }
}

/// A place inside an operation with several barriers.
fn place(barrier: usize, step: u64) -> u64 {
    (barrier as u64) << 16 | step
}
