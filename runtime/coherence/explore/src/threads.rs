//! What a program's thread does: checks and accesses as compiled code has them, and the runtime's synchronisation around the protocol.

use std::fmt::Display;
use std::rc::Rc;

use dsm_abi::state as abi;
use dsm_coherence::{Coherence, Extent, Fabric, Rank, Told};

use crate::fabric::ModelFabric;
use crate::oracle::Clocks;
use crate::program::{BarrierKind, Closing, Memory, Op, Program};
use crate::world::{Shared, Thing, Wait, World, pause};

/// One thread and what it acts on.
pub struct ThreadCode {
    /// The world.
    pub world: Shared,
    /// The protocol in this process.
    pub protocol: Rc<Coherence<ModelFabric>>,
    /// The program.
    pub program: Rc<Program>,
    /// Number of the thread among all.
    pub thread: usize,
}

impl ThreadCode {
    fn process(&self) -> usize {
        self.thread / self.program.threads
    }

    fn several(&self) -> bool {
        self.program.threads > 1
    }

    /// The whole life of the thread: its operations, then meetings that make everything quiet, with a look at every byte.
    pub async fn run(self) {
        let mut meetings = 0;
        for (number, op) in self.program.ops[self.thread].iter().enumerate() {
            self.begin(number, op);
            match *op {
                Op::Read { addr, len } => self.read(addr, len).await,
                Op::Write { addr, len, value } => self.write(addr, len, value, false).await,
                Op::Overwrite { addr, len, value } => self.write(addr, len, value, true).await,
                Op::Fetch { addr, len } => self.make_readable(addr, len).await,
                Op::Permit { addr, len } => self.make_writable(addr, len, false).await,
                Op::Lock(l) => self.lock(l).await,
                Op::Unlock(l) => self.unlock(l).await,
                Op::Barrier => {
                    self.barrier(meetings).await;
                    meetings += 1;
                }
                Op::Adopt => {
                    self.adopt(meetings).await;
                    meetings += 3;
                }
                Op::Atomic { addr } => self.atomic(addr).await,
                Op::Look { addr } => self.look(addr).await,
                Op::SetFlag { addr, value } => {
                    self.flush(0).await;
                    self.write(addr, 1, value, false).await;
                    self.flush(1 << 32).await;
                    let mut w = self.world.borrow_mut();
                    let flags = w.sync.flags;
                    w.access(Thing::Flags, true, flags);
                    w.visible = true;
                    w.sync.flags += 1;
                }
                Op::Free => self.free_twins().await,
                Op::WaitFlag { addr, value } => self.wait_flag(addr, value).await,
            }
        }
        let number = self.program.ops[self.thread].len();
        if self.program.closing == Closing::InOrder {
            self.begin(number, &"end of operations");
            {
                let mut w = self.world.borrow_mut();
                w.ended += 1;
                w.visible = true;
            }
            pause(&self.world, Wait::Closing).await;
        }
        let extras = if self.program.settle { 3 } else { 1 };
        for extra in 0..extras {
            self.begin(number + 2 * extra, &"final barrier");
            self.barrier(meetings + extra).await;
            if extra == 0 {
                self.begin(number + 1, &"final look");
                self.look_at_everything().await;
            }
        }
        self.begin(number + 7, &"end");
    }

    fn begin(&self, number: usize, what: &dyn Display) {
        let mut w = self.world.borrow_mut();
        let thread = self.thread;
        w.threads[thread].operation = number as u64 + 1;
        w.threads[thread].history = number as u64 + 1;
        w.note(|| format!("---- {what}"));
    }

    /// The thread is at a place inside its operation where its local state follows from the operation, `place` and memory: what it observed on its
    /// way here does not matter any more.
    fn forget(&self, place: u64) {
        let mut w = self.world.borrow_mut();
        let thread = self.thread;
        // Not yet visible stores are memory: part of the state by themselves.
        w.threads[thread].history = crate::hash::mix(w.threads[thread].operation, place);
    }

    fn extents(&self, addr: usize, len: usize) -> Vec<Extent> {
        self.world.borrow().layout.extents(addr, len)
    }

    fn worst_state(&self, extent: Extent) -> u64 {
        let mut w = self.world.borrow_mut();
        extent
            .blocks()
            .map(|b| {
                let loc = w.layout.state(b);
                w.own_read(loc)
            })
            .max()
            .unwrap_or(0)
    }

    /// Between a passed check and the access, other threads of the process may do anything.
    async fn window(&self) {
        if self.several() {
            pause(&self.world, Wait::Ready).await;
        }
    }

    async fn make_readable(&self, addr: usize, len: usize) {
        for extent in self.extents(addr, len) {
            self.window().await;
            if self.worst_state(extent) >= u64::from(abi::READ_LIMIT) {
                self.protocol.read_miss(extent).await;
            }
        }
    }

    async fn read(&self, addr: usize, len: usize) {
        self.make_readable(addr, len).await;
        self.forget(1 << 16);
        for a in addr..addr + len {
            self.window().await;
            let mut w = self.world.borrow_mut();
            let value = load(&mut w, a);
            w.note(|| format!("read byte {a}: {value:#04x}"));
            let thread = self.thread;
            w.access(Thing::Byte(a), false, 0);
            let judged = w.oracle.read(thread, a, value);
            fail_if(&mut w, judged);
        }
    }

    /// `all`: it is known that every byte will be stored to.
    async fn make_writable(&self, addr: usize, len: usize, all: bool) {
        for extent in self.extents(addr, len) {
            self.window().await;
            if self.worst_state(extent) != u64::from(abi::WRITABLE) {
                let whole = self.world.borrow().layout.whole(extent, addr, len);
                match whole.filter(|_| all) {
                    Some(whole) => self.protocol.overwrite_miss(extent, whole).await,
                    None => self.protocol.write_miss(extent).await,
                }
            }
        }
    }

    async fn write(&self, addr: usize, len: usize, value: u8, all: bool) {
        self.make_writable(addr, len, all).await;
        self.forget(2 << 16);
        for a in addr..addr + len {
            self.window().await;
            let mut w = self.world.borrow_mut();
            w.note(|| format!("write byte {a}: {value:#04x}"));
            let loc = w.layout.data(a);
            w.own_write(loc, u64::from(value));
            let thread = self.thread;
            w.access(Thing::Byte(a), true, 0);
            let judged = w.oracle.write(thread, a, value);
            fail_if(&mut w, judged);
        }
    }

    async fn atomic(&self, addr: usize) {
        let block = self.extents(addr, 1)[0].first;
        self.protocol
            .critical(block, || {
                let mut w = self.world.borrow_mut();
                let old = load(&mut w, addr);
                let loc = w.layout.data(addr);
                w.own_write(loc, u64::from(old.wrapping_add(1)));
                w.note(|| format!("atomic add to byte {addr}: found {old:#04x}"));
                let thread = self.thread;
                w.access(Thing::Byte(addr), true, 0);
                let judged = w.oracle.add(thread, addr, old);
                fail_if(&mut w, judged);
            })
            .await;
    }

    /// What `dsm_set_block` does, without another size: process 0 has everything, tells all others, and becomes the home.
    async fn adopt(&self, meeting: usize) {
        assert!(!self.several(), "the other threads of a process would have to wait");
        let bytes = self.program.bytes();
        self.barrier(meeting).await;
        if self.process() == 0 {
            self.make_readable(0, bytes).await;
            let version = self.protocol.clock() + 1;
            self.world.borrow_mut().adopted = version;
        }
        for process in 0..self.program.processes {
            self.protocol.fabric().flush(Rank(process as u32)).await;
        }
        self.barrier(meeting + 1).await;
        let version = self.world.borrow().adopted;
        self.protocol.adopt(self.extents(0, bytes).into_iter(), Rank(0), version);
        pause(&self.world, Wait::Ready).await;
        self.barrier(meeting + 2).await;
    }

    async fn free_twins(&self) {
        if self.program.watch {
            return;
        }
        let bytes = self.program.bytes();
        for block in self.extents(0, bytes).into_iter().flat_map(Extent::blocks) {
            self.protocol.free_twins(Extent::single(block)).await;
        }
    }

    async fn look(&self, addr: usize) {
        let block = self.extents(addr, 1)[0].first;
        let offset = {
            let w = self.world.borrow();
            addr - w.layout.addr(block)
        };
        let value = self.protocol.read_atomic(block, offset, 1).await as u8;
        let mut w = self.world.borrow_mut();
        w.note(|| format!("atomic read of byte {addr}: {value:#04x}"));
        w.access(Thing::Byte(addr), false, 0);
        let judged = w.oracle.look(self.thread, addr, value);
        fail_if(&mut w, judged);
    }

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
        let news = w.sync.published[self.process()].join(&w.oracle.clocks(self.thread));
        w.access(Thing::Published(self.process()), news, 0);
    }

    /// With `state`, only what the peer had published when it told it along with its signal.
    async fn acquire_from(&self, process: usize, state: Option<Told>) {
        if process == self.process() {
            // The threads of a process share its memory.
            let known = self.world.borrow().sync.published[process].clone();
            self.world.borrow_mut().visible = true;
            return self.learn(&known);
        }
        self.world.borrow_mut().note(|| format!("acquire from p{process}"));
        // What the process publishes after its signal need not be taken in; what the signal orders comes with it.
        let Some(state) = state else {
            self.world.borrow_mut().threads[self.thread].acquires = Some(process);
            self.protocol.acquire_from(Rank(process as u32)).await;
            let known = self.world.borrow_mut().threads[self.thread].learned.take();
            return self.learn(&known.expect("an acquire looks at the peer's signature"));
        };
        pause(&self.world, Wait::Ready).await;
        self.world.borrow_mut().visible = true;
        self.protocol.acquire_told(Rank(process as u32), state).await;
    }

    fn learn(&self, clocks: &Clocks) {
        self.world.borrow_mut().oracle.join(self.thread, clocks);
    }

    fn tick(&self) {
        self.world.borrow_mut().oracle.tick(self.thread);
    }

    async fn lock(&self, lock: usize) {
        self.leave_user();
        pause(&self.world, Wait::LockFree(lock)).await;
        let (last, clocks) = {
            let mut w = self.world.borrow_mut();
            w.visible = true;
            w.access(Thing::Lock(lock), true, 0);
            w.sync.take_lock(lock)
        };
        if let Some((last, state)) = last {
            self.acquire_from(last, Some(state)).await;
        }
        // The lock that is held tells of the clocks too.
        self.forget(1);
        self.learn(&clocks);
        self.enter_user().await;
    }

    async fn unlock(&self, lock: usize) {
        self.leave_user();
        // As in the runtime, the lock goes on with an ordinary store, before the release has ended.
        let hand_over = |told| {
            let mut w = self.world.borrow_mut();
            let w = &mut *w;
            w.take_mutex();
            w.sync.hand_over(lock, (self.process(), told), &w.oracle.clocks(self.thread));
            let loc = w.layout.hand_over();
            w.own_write(loc, lock as u64);
        };
        self.protocol.release_then(hand_over).await;
        self.tick();
        self.forget(1);
        pause(&self.world, Wait::Ready).await;
        self.enter_user().await;
    }

    /// `place`: where in its operation.
    async fn flush(&self, place: u64) {
        self.leave_user();
        self.release().await;
        self.tick();
        self.forget(place | 1);
        for process in 0..self.program.processes {
            self.acquire_from(process, None).await;
            self.forget(place | (2 + process as u64));
        }
        self.enter_user().await;
    }

    async fn wait_flag(&self, addr: usize, value: u8) {
        loop {
            let flags = self.flags();
            let place = flags << 32;
            self.flush(place).await;
            self.make_readable(addr, 1).await;
            self.forget(place | 1 << 16);
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
            self.forget(place | 2 << 16);
            self.leave_user();
            pause(&self.world, Wait::Flagged(flags)).await;
            self.flags();
            self.world.borrow_mut().visible = true;
            self.enter_user().await;
        }
        self.flush(1 << 63).await;
    }

    /// Flags set so far.
    fn flags(&self) -> u64 {
        let mut w = self.world.borrow_mut();
        w.access(Thing::Flags, false, 0);
        w.sync.flags
    }

    /// All threads of all processes meet; one thread of each process does the protocol's part while the others wait in the runtime.
    async fn barrier(&self, meeting: usize) {
        self.leave_user();
        let (arrived, generation) = {
            let mut w = self.world.borrow_mut();
            let w = &mut *w;
            w.visible = true;
            w.sync.bring(meeting, &w.oracle.clocks(self.thread));
            w.sync.arrive_local(self.process())
        };
        if arrived == self.program.threads as u32 {
            match self.program.barrier {
                BarrierKind::AllToAll => self.meet_all(meeting).await,
                BarrierKind::Dissemination => self.disseminate(meeting as u32).await,
            }
            self.protocol.settle();
            pause(&self.world, Wait::Ready).await;
            let mut w = self.world.borrow_mut();
            w.visible = true;
            let current = w.current;
            w.drain(current, true);
            w.sync.pass_local(self.process());
        } else {
            pause(&self.world, Wait::LocalBarrier(self.process(), generation)).await;
            self.world.borrow_mut().visible = true;
        }
        let clocks = self.world.borrow_mut().sync.brought(meeting);
        self.learn(&clocks);
        self.tick();
        self.enter_user().await;
    }

    async fn meet_all(&self, meeting: usize) {
        self.release().await;
        self.forget(1);
        {
            let mut w = self.world.borrow_mut();
            w.visible = true;
            w.access(Thing::Arrival(meeting, self.process()), true, 0);
            w.sync.arrive(meeting);
        }
        pause(&self.world, Wait::Arrived(meeting, self.program.processes as u32)).await;
        {
            let mut w = self.world.borrow_mut();
            w.visible = true;
            (0..self.program.processes).for_each(|p| w.access(Thing::Arrival(meeting, p), false, 0));
        }
        for process in 0..self.program.processes {
            self.acquire_from(process, None).await;
            self.forget(2 + process as u64);
        }
    }

    async fn disseminate(&self, meeting: u32) {
        self.release().await;
        self.forget(1);
        let (me, size) = (self.process(), self.program.processes);
        let mut distance = 1;
        let mut round = 0;
        while distance < size {
            {
                let state = self.protocol.published();
                let mut w = self.world.borrow_mut();
                let current = w.current;
                w.drain(current, true);
                w.visible = true;
                w.access(Thing::Signal(meeting, round, me), true, 0);
                w.sync.signal(meeting, round, me, state);
            }
            let partner = (me + size - distance) % size;
            pause(&self.world, Wait::Signal(meeting, round, partner)).await;
            let state = {
                let mut w = self.world.borrow_mut();
                w.access(Thing::Signal(meeting, round, partner), false, 0);
                w.sync.signalled(meeting, round, partner)
            };
            self.acquire_from(partner, state.map(Told::from)).await;
            self.forget(2 + u64::from(round));
            pause(&self.world, Wait::Ready).await;
            distance *= 2;
            round += 1;
        }
        // `arrived` also counts here: the judge wants to know that everybody came.
        self.world.borrow_mut().sync.arrive(meeting as usize);
    }

    async fn look_at_everything(&self) {
        let bytes = self.program.bytes();
        self.make_readable(0, bytes).await;
        let mut w = self.world.borrow_mut();
        for a in 0..bytes {
            let value = load(&mut w, a);
            let last = w.oracle.last(a);
            if value != last {
                let thread = self.thread;
                w.fail(format!("lost byte: at the end thread {thread} reads {value:#04x} from byte {a}, last was {last:#04x}"));
            }
        }
    }
}

fn load(w: &mut World, addr: usize) -> u8 {
    let loc = w.layout.data(addr);
    w.own_read(loc) as u8
}

fn fail_if(w: &mut World, judged: Result<(), String>) {
    if let Err(why) = judged {
        w.fail(why);
    }
}
