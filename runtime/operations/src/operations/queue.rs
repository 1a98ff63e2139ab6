//! Bounded queues in shared memory: `dsm_fifo_create` and its relatives of `dsm.h`.
//!
//! A queue lies in blocks of its own in the heap of the process that made it, which is their home and stays it: nobody checks accesses to them, so the copy there is the queue, and the protocol never
//! looks at it. Who has that memory at hand pushes and pops there; else a call is executed by the agent of its process. The algorithm is D. Vyukov's for bounded queues of several
//! producers and consumers: a turn at the tail or head is taken by compare-and-swap, and a number in each slot says which turn may use it. Nobody waits for anybody.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use dsm_coherence::Extent;
use dsm_comm::copy::copy;
use dsm_comm::{Bytes, CALL_REPLY_BYTES, Word};

use super::{bundle, refuse};
use crate::job::child;
use crate::memory::blocks::MAX_BLOCK_SHIFT;
use crate::memory::fabric::run;
use crate::posted::{deferred, pending};
use crate::refusal::Refusal;
use crate::{atomics, check, heap, job, memory, sync};
use dsm_threads::handler::Deferred;

/// First byte of a request. Those of the protocol begin with small numbers.
pub const TAG: u8 = 0xfe;
/// What a queue begins with, mixed with its address; 0 once it is destroyed.
const MAGIC: u64 = 0x6f66_6966_6d73_6421;
/// Offsets of the words of a queue; what different threads change lies in different cache lines.
const CAPACITY: usize = 8;
const ELEMENT_BYTES: usize = 16;
const TAIL: usize = 64;
const HEAD: usize = 128;
const SLOTS: usize = 192;
/// Greatest elements.
const MOST_ELEMENT_BYTES: usize = 1 << 16;

/// What a request asks for, its second byte, and what is replied.
const PUSH: u8 = 0;
const POP: u8 = 1;
const DESTROY: u8 = 2;
/// There is no such queue.
const NONE: u8 = u8::MAX;
/// Bytes in front of an element in a request: tag, what it asks for, address.
const REQUEST_HEAD: usize = 10;

thread_local! {
    /// Request and reply.
    static MESSAGE: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
    /// What is popped, before the program gets it.
    static ELEMENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory of a queue that is at hand.
#[derive(Clone, Copy)]
enum Place {
    /// Of this process, at an address.
    Own(usize),
    /// Of a peer of this host.
    Peer(Bytes),
}

impl Place {
    /// The memory at an address of the heap of a process; `None` if that is not at hand.
    fn of(owner: u32, address: usize) -> Option<Place> {
        match memory::shared() {
            Some(shared) if owner != sync::rank() => {
                let geometry = memory::get().geometry();
                let offset = geometry.region_offset() + (address - geometry.region().start);
                shared.segments.is_mapped(owner).then(|| Place::Peer(shared.segments.bytes(owner, offset)))
            }
            _ => Some(Place::Own(address)),
        }
    }

    /// The word at an offset, a multiple of 8 inside the arena that the queue is in.
    fn word(self, offset: usize) -> Word {
        match self {
            // SAFETY: inside the arena, aligned, mapped for good; words of queues are only accessed atomically.
            Place::Own(address) => Word::of(unsafe { AtomicU64::from_ptr((address + offset) as *mut u64) }),
            // SAFETY: as above, in the segment of a peer.
            Place::Peer(bytes) => unsafe { bytes.word(offset) },
        }
    }

    /// # Safety
    /// The bytes are those of a slot whose turn this is.
    unsafe fn write(self, offset: usize, element: &[u8]) {
        let (from, length) = (element.as_ptr(), element.len());
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Place::Own(address) => copy(from, (address + offset) as *mut u8, length),
                Place::Peer(bytes) => bytes.skip(offset).write(from, length),
            }
        }
    }

    /// # Safety
    /// As for [`Place::write`].
    unsafe fn read(self, offset: usize, into: &mut [u8]) {
        let (to, length) = (into.as_mut_ptr(), into.len());
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Place::Own(address) => copy((address + offset) as *const u8, to, length),
                Place::Peer(bytes) => bytes.skip(offset).read(to, length),
            }
        }
    }
}

/// Bytes of a slot: the number of its turn, and an element.
fn slot_bytes(element_bytes: usize) -> usize {
    8 + element_bytes.next_multiple_of(8)
}

/// Bytes of a queue.
fn queue_bytes(capacity: usize, element_bytes: usize) -> Option<usize> {
    slot_bytes(element_bytes).checked_mul(capacity)?.checked_add(SLOTS)
}

/// A queue whose memory is at hand.
#[derive(Clone, Copy)]
struct Queue {
    place: Place,
    address: usize,
    capacity: u64,
    element_bytes: usize,
}

/// Where a turn is.
enum Turn {
    /// At this slot: offset, and number to leave there.
    Mine(usize, u64),
    /// Not come yet: there is no space, or no element.
    None,
}

impl Queue {
    /// The queue at an address in the heap of `owner`, if there is one.
    fn at(place: Place, owner: u32, address: usize) -> Option<Queue> {
        let available =
            memory::arena(owner).end.checked_sub(address).filter(|available| *available >= SLOTS)?;
        if !address.is_multiple_of(8) || place.word(0).load(Ordering::Acquire) != MAGIC ^ address as u64 {
            return None;
        }
        let load = |offset| place.word(offset).load(Ordering::Relaxed);
        let (capacity, element_bytes) = (load(CAPACITY), load(ELEMENT_BYTES) as usize);
        let bytes = queue_bytes(capacity as usize, element_bytes)?;
        (bytes <= available && capacity > 0).then_some(Queue { place, address, capacity, element_bytes })
    }

    /// Takes the next turn at an end of the queue. `full`: its slots have elements.
    fn turn(&self, end: usize, full: bool) -> Turn {
        let counter = self.place.word(end);
        let mut turn = counter.load(Ordering::Relaxed);
        loop {
            let offset = SLOTS + (turn % self.capacity) as usize * slot_bytes(self.element_bytes);
            let ready = 2 * turn + u64::from(full);
            match self.place.word(offset).load(Ordering::Acquire).wrapping_sub(ready).cast_signed() {
                0 => match counter.compare_exchange(turn, turn + 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => {
                        let next = if full { 2 * (turn + self.capacity) } else { ready + 1 };
                        return Turn::Mine(offset, next);
                    }
                    Err(found) => turn = found,
                },
                ..0 => return Turn::None,
                _ => turn = counter.load(Ordering::Relaxed),
            }
        }
    }

    /// Whether there was space.
    fn push(&self, element: &[u8]) -> bool {
        let Turn::Mine(offset, next) = self.turn(TAIL, false) else { return false };
        // SAFETY: this thread's turn at the slot, which has space for an element.
        unsafe { self.place.write(offset + 8, &element[..self.element_bytes]) };
        self.place.word(offset).store(next, Ordering::Release);
        true
    }

    /// Whether there was an element.
    fn pop(&self, into: &mut [u8]) -> bool {
        let Turn::Mine(offset, next) = self.turn(HEAD, true) else { return false };
        // SAFETY: as for `push`.
        unsafe { self.place.read(offset + 8, &mut into[..self.element_bytes]) };
        self.place.word(offset).store(next, Ordering::Release);
        true
    }

    /// Whether it was there.
    fn destroy(&self) -> bool {
        self.place.word(0).swap(0, Ordering::SeqCst) == MAGIC ^ self.address as u64
    }
}

/// Executes a request on a queue of this process. `None`: it is none.
pub fn serve(request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let (head, element) = request.split_first_chunk::<REQUEST_HEAD>()?;
    let address = usize::from_le_bytes(head[2..].try_into().expect("eight bytes"));
    let own = sync::rank();
    let (result, contents) = reply.split_first_mut()?;
    *result = NONE;
    let there = heap::owner(address) == Some(own);
    let Some(queue) = there.then(|| Queue::at(Place::Own(address), own, address)).flatten() else {
        return Some(1);
    };
    let mut length = 1;
    let done = match head[1] {
        PUSH if element.len() != queue.element_bytes => return Some(1),
        PUSH => queue.push(element),
        POP if contents.len() >= queue.element_bytes => {
            let popped = queue.pop(contents);
            length += if popped { queue.element_bytes } else { 0 };
            popped
        }
        DESTROY => queue.destroy(),
        _ => return None,
    };
    *result = done.into();
    Some(length)
}

#[cold]
fn refuse_queue(function: &str, address: usize) -> ! {
    refuse(
        function,
        address,
        "no queue is there: it was destroyed, or the pointer is none that dsm_fifo_create returned; destroy a queue when nobody uses it any more, behind a barrier",
    )
}

/// What the program knows a queue by: its address, with the length of elements less one in the low bits, so that a push needs no look at the queue before.
fn handle(address: usize, element_bytes: usize) -> *mut u8 {
    (address | (element_bytes - 1)) as *mut u8
}

/// Address of a queue, length of its elements, and the process that has it.
fn parts(function: &str, queue: *mut u8) -> (usize, usize, u32) {
    let low = queue as usize % MOST_ELEMENT_BYTES;
    let address = queue as usize - low;
    let owner = heap::owner(address).unwrap_or_else(|| refuse_queue(function, queue as usize));
    (address, low + 1, owner)
}

/// The queue, if its memory is at hand.
fn at_hand(function: &str, queue: *mut u8) -> Option<Queue> {
    let (address, element_bytes, owner) = parts(function, queue);
    let found = Queue::at(Place::of(owner, address)?, owner, address);
    let found = found.filter(|found| found.element_bytes == element_bytes);
    Some(found.unwrap_or_else(|| refuse_queue(function, address)))
}

/// Has the agent of a queue's process do something with it. Hands on the reply: whether it was done, and an element.
fn ask<R>(queue: *mut u8, what: (&str, u8), element: &[u8], take: impl FnOnce(bool, &[u8]) -> R) -> R {
    let (address, _, owner) = parts(what.0, queue);
    let segments = &memory::shared().expect("another process has the queue").segments;
    MESSAGE.with_borrow_mut(|(request, reply)| {
        request.clear();
        request.extend([TAG, what.1]);
        request.extend(address.to_le_bytes());
        request.extend(element);
        reply.resize(CALL_REPLY_BYTES, 0);
        let length = segments.ask(owner, request, reply);
        match reply[0] {
            NONE => refuse_queue(what.0, address),
            done => take(done != 0, &reply[1..length]),
        }
    })
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_fifo_create(capacity: usize, element_bytes: usize) -> *mut u8 {
    let is_right = capacity > 0 && (1..=MOST_ELEMENT_BYTES).contains(&element_bytes);
    let Some(bytes) = queue_bytes(capacity, element_bytes).filter(|_| is_right) else {
        job::die(&format!(
            "process {}: dsm_fifo_create({capacity}, {element_bytes}): a queue has space for one element at least, of 1 to {MOST_ELEMENT_BYTES} bytes",
            sync::rank()
        ));
    };
    create(bytes, capacity, element_bytes).unwrap_or(std::ptr::null_mut())
}

/// Makes a queue of so many bytes. `None`: memory is exhausted.
fn create(bytes: usize, capacity: usize, element_bytes: usize) -> Option<*mut u8> {
    // No block is shared with another object, however large blocks are; and see `handle`.
    const { assert!(MOST_ELEMENT_BYTES == 1 << MAX_BLOCK_SHIFT) };
    let unit = MOST_ELEMENT_BYTES;
    let (address, _) = heap::allocate(bytes.next_multiple_of(unit), unit)?;
    if let Some(shared) = memory::shared() {
        for block in memory::get().geometry().extents(address, address + bytes - 1).flat_map(Extent::blocks) {
            let _drained = deferred::drain(Extent::single(block));
            run(pin!(shared.coherence.critical(block, async {})));
        }
    }
    let place = Place::Own(address);
    for turn in 0..capacity {
        place.word(SLOTS + turn * slot_bytes(element_bytes)).store(2 * turn as u64, Ordering::Relaxed);
    }
    let words = [(TAIL, 0), (HEAD, 0), (CAPACITY, capacity as u64), (ELEMENT_BYTES, element_bytes as u64)];
    words.into_iter().for_each(|(offset, value)| place.word(offset).store(value, Ordering::Relaxed));
    place.word(0).store(MAGIC ^ address as u64, Ordering::Release);
    Some(handle(address, element_bytes))
}

/// Appends an element; whether there was space. `function` asks for it.
pub fn push(function: &str, queue: *mut u8, element: &[u8]) -> bool {
    // Others would find no space, or no element, for as long as a handler interrupts a turn.
    let _deferred = Deferred::begin();
    match at_hand(function, queue) {
        Some(queue) => queue.push(element),
        None => ask(queue, (function, PUSH), element, |done, _| done),
    }
}

/// Takes an element; whether there was one.
pub fn pop(function: &str, queue: *mut u8, into: &mut [u8]) -> bool {
    let _deferred = Deferred::begin();
    match at_hand(function, queue) {
        Some(queue) => queue.pop(into),
        None => ask(queue, (function, POP), &[], |done, popped| {
            into[..popped.len()].copy_from_slice(popped);
            done
        }),
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_fifo_destroy(queue: *mut u8) {
    let function = "dsm_fifo_destroy";
    child::assert_of_job();
    let _deferred = Deferred::begin();
    let destroyed = match at_hand(function, queue) {
        Some(queue) => queue.destroy(),
        None => ask(queue, (function, DESTROY), &[], |done, _| done),
    };
    let (address, ..) = parts(function, queue);
    if !destroyed {
        refuse_queue(function, address);
    }
    heap::free(address);
}

/// What a push or pop returns, which found space or an element if it is `done`. A thread that finds none again and again, in whatever queues, waits for others.
fn result(done: bool, otherwise: Refusal) -> i32 {
    /// Stands for all queues.
    const QUEUES: usize = 1;
    thread_local! {
        static DONE: Cell<u64> = const { Cell::new(0) };
    }
    let count = DONE.get() + u64::from(done);
    DONE.set(count);
    atomics::poll(QUEUES, count);
    if done { 0 } else { otherwise as i32 }
}

/// See `dsm.h`.
///
/// # Safety
/// `element` is the program's, of the length of the queue's elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_fifo_push(queue: *mut u8, element: *const u8) -> i32 {
    let function = "dsm_fifo_push";
    child::assert_of_job();
    bundle::assert_none(function);
    pending::flush();
    let (_, bytes, _) = parts(function, queue);
    check::readable(element as usize, bytes);
    // SAFETY: the caller's promise, readable now.
    let contents = unsafe { std::slice::from_raw_parts(element, bytes) };
    result(push(function, queue, contents), Refusal::Full)
}

/// See `dsm.h`.
///
/// # Safety
/// As for [`dsm_fifo_push`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_fifo_pop(queue: *mut u8, element: *mut u8) -> i32 {
    let function = "dsm_fifo_pop";
    child::assert_of_job();
    bundle::assert_none(function);
    pending::flush();
    let (_, bytes, _) = parts(function, queue);
    let mut contents = ELEMENT.take();
    contents.resize(bytes, 0);
    let done = pop(function, queue, &mut contents);
    if done {
        check::writable(element as usize, bytes);
        // SAFETY: the caller's promise, writable now.
        unsafe { copy(contents.as_ptr(), element, bytes) };
    }
    ELEMENT.set(contents);
    result(done, Refusal::Empty)
}
