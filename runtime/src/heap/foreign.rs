//! Memory of other processes' arenas that was freed here, on its way to its owner.
//!
//! Freed addresses collect per owner. Before a global synchronisation a full collection goes into a buffer in
//! this process's arena, and the buffer's address into a control word of the owner's group. The owner notes the
//! address after one global synchronisation and takes the contents in after the next: that one began after the
//! buffer was queued, so the owner has acquired both the buffer and everything the freeing process did before.
//! The buffer then travels back the same way. Word 0 of a group counts arrivals; a buffer is {count, addresses...}.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::omp::ring::control;
use crate::{check, sync};

/// Addresses that make a collection worth sending.
const ENOUGH: usize = 64;
/// Most addresses of one buffer.
const MOST: usize = 8191;

#[derive(Default)]
struct Outgoing {
    freed: Vec<usize>,
    /// Buffers on their way back; they alone never justify a message of their own.
    buffers: Vec<usize>,
}

#[derive(Default)]
struct Incoming {
    arrivals: u64,
    /// Control word and buffer, seen after an earlier synchronisation.
    seen: Vec<(usize, usize)>,
}

static WAITING: AtomicUsize = AtomicUsize::new(0);
static OUTGOING: Mutex<Vec<Outgoing>> = Mutex::new(Vec::new());
static INCOMING: Mutex<Incoming> = Mutex::new(Incoming { arrivals: 0, seen: Vec::new() });

/// Takes the address of an object of `owner`'s arena that the program has freed.
pub fn defer(owner: u32, address: usize) {
    outgoing(owner, |o| o.freed.push(address));
    WAITING.fetch_add(1, Ordering::Relaxed);
}

fn outgoing(owner: u32, change: impl FnOnce(&mut Outgoing)) {
    let mut all = OUTGOING.lock();
    if all.len() <= owner as usize {
        all.resize_with(owner as usize + 1, Outgoing::default);
    }
    change(&mut all[owner as usize]);
}

/// Sends what has collected. Called before the release of a global synchronisation.
pub fn send() {
    if WAITING.load(Ordering::Relaxed) < ENOUGH {
        return;
    }
    let ready: Vec<(usize, Vec<usize>)> = {
        let mut all = OUTGOING.lock();
        WAITING.store(0, Ordering::Relaxed);
        let take = |o: &mut Outgoing| {
            let mut list = std::mem::take(&mut o.freed);
            list.append(&mut o.buffers);
            list
        };
        all.iter_mut().map(take).enumerate().filter(|(_, list)| !list.is_empty()).collect()
    };
    for (owner, list) in ready {
        for part in list.chunks(MOST) {
            if !post(owner as u32, part) {
                outgoing(owner as u32, |o| o.freed.extend(part));
                WAITING.fetch_add(part.len(), Ordering::Relaxed);
            }
        }
    }
}

/// Puts one buffer into a free word of the owner's group; false if there is none.
fn post(owner: u32, list: &[usize]) -> bool {
    let group = control::HEAP + owner as usize * control::HEAP_GROUP;
    let free = |i: &usize| sync::control_load(group + i) == 0;
    if !(1..control::HEAP_GROUP).any(|i| free(&i)) {
        return false;
    }
    let bytes = (list.len() + 1) * size_of::<usize>();
    let Some(buffer) = super::allocate(bytes, 16).map(|(address, _)| address) else { return false };
    check::writable(buffer, bytes);
    // SAFETY: `buffer` is a live, writable object of at least `bytes` bytes, 16-byte aligned, known to no one else.
    unsafe {
        let words = buffer as *mut usize;
        words.write(list.len());
        words.add(1).copy_from_nonoverlapping(list.as_ptr(), list.len());
    }
    for i in (1..control::HEAP_GROUP).filter(free) {
        if sync::control_cas(group + i, 0, buffer as u64).is_ok() {
            sync::control_fetch_add(group, 1);
            return true;
        }
    }
    super::free(buffer);
    false
}

/// Takes in what earlier synchronisations announced. Called after the acquire of a global synchronisation.
pub fn receive() {
    let group = control::HEAP + sync::rank() as usize * control::HEAP_GROUP;
    let arrivals = sync::control_load(group);
    let mut incoming = INCOMING.lock();
    if arrivals == incoming.arrivals && incoming.seen.is_empty() {
        return;
    }
    for (word, buffer) in std::mem::take(&mut incoming.seen) {
        take_in(buffer);
        sync::control_store(word, 0);
    }
    if arrivals != incoming.arrivals {
        incoming.arrivals = arrivals;
        for word in group + 1..group + control::HEAP_GROUP {
            match sync::control_load(word) {
                0 => {}
                buffer => incoming.seen.push((word, buffer as usize)),
            }
        }
    }
}

fn take_in(buffer: usize) {
    check::readable(buffer, size_of::<usize>());
    // SAFETY: the sender wrote a count and as many addresses before a release that this process has acquired.
    let list = unsafe {
        let count = *(buffer as *const usize);
        check::readable(buffer, (count + 1) * size_of::<usize>());
        std::slice::from_raw_parts((buffer as *const usize).add(1), count).to_vec()
    };
    list.into_iter().for_each(super::free);
    if let Some(sender) = super::owner(buffer) {
        outgoing(sender, |o| o.buffers.push(buffer));
    }
}
