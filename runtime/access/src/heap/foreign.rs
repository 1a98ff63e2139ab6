//! Memory of other processes' arenas that was freed here, on its way to its owner.
//!
//! Freed addresses collect per owner. A release of this process writes what has collected into a buffer in its arena, and, once it is
//! published, puts the buffer's address into a free word of the owner's control area. The owner looks for such buffers whenever it acquires:
//! it acquires what the freeing process has published, and so everything that was done to the objects before, and frees them. The buffer
//! then travels back the same way. So memory that one process allocates and another frees is used again as soon as both synchronise with
//! anybody, as in a pipeline inside of one parallel region.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use dsm_comm::Word;
use dsm_threads::handler;
use parking_lot::Mutex;
use std::sync::OnceLock;

use crate::memory::geometry::PAGE;
use crate::{check, sync};

/// Buffers that wait for a process.
const FREED_BUFFERS: usize = 63;

crate::control::declare! {
    /// Memory of the process that others have freed: number of buffers that came, then their addresses.
    static FREED: u64, 1 + FREED_BUFFERS;
}

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

/// How much waits to be sent, in small objects.
static WAITING: AtomicUsize = AtomicUsize::new(0);
static OUTGOING: Mutex<Vec<Outgoing>> = Mutex::new(Vec::new());
/// Buffers that were written, with their owners-to-be: they are announced when a release has published them. Each has a number, in the order in which
/// they were written.
static WRITTEN: Mutex<Vec<(u64, u32, usize)>> = Mutex::new(Vec::new());
/// Whether there are any.
static ANY_WRITTEN: AtomicBool = AtomicBool::new(false);
/// The next buffer's number.
static NEXT: AtomicU64 = AtomicU64::new(1);
/// Announcements that this process has looked for.
static SEEN: AtomicU64 = AtomicU64::new(0);
static RECEIVING: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether the thread is inside `before_release`, `after_release` or `after_acquire`, which themselves may release and acquire.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` unless the thread is in here already.
fn without_reentry(body: impl FnOnce()) {
    // A handler may have interrupted the heap.
    if !handler::is_over_user_code() && !BUSY.replace(true) {
        body();
        BUSY.set(false);
    }
}

/// Takes the address of an object of `owner`'s arena that the program has freed.
pub fn defer(owner: u32, address: usize) {
    outgoing(owner, |o| o.freed.push(address));
    // Only the owner knows the size. What begins with a page is large, mostly, and goes back at once.
    let weight = if address.is_multiple_of(PAGE) { ENOUGH } else { 1 };
    WAITING.fetch_add(weight, Ordering::Relaxed);
}

fn outgoing(owner: u32, change: impl FnOnce(&mut Outgoing)) {
    let mut all = OUTGOING.lock();
    if all.len() <= owner as usize {
        all.resize_with(owner as usize + 1, Outgoing::default);
    }
    change(&mut all[owner as usize]);
}

/// Before every release: writes what has collected into buffers, which the release publishes.
#[inline]
pub fn before_release() {
    if WAITING.load(Ordering::Relaxed) >= ENOUGH {
        without_reentry(write_buffers);
    }
}

#[cold]
fn write_buffers() {
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
            match write_buffer(part) {
                Some(buffer) => {
                    let mut written = WRITTEN.lock();
                    written.push((NEXT.load(Ordering::Relaxed), owner as u32, buffer));
                    ANY_WRITTEN.store(true, Ordering::Relaxed);
                    NEXT.fetch_add(1, Ordering::Release);
                }
                None => outgoing(owner as u32, |o| o.freed.extend(part)),
            }
        }
    }
}

/// A buffer with the list: a count, then addresses. `None`: there is no memory for it now.
fn write_buffer(list: &[usize]) -> Option<usize> {
    let bytes = (list.len() + 1) * size_of::<usize>();
    let (buffer, _) = super::allocate(bytes, 16)?;
    check::writable(buffer, bytes);
    // SAFETY: `buffer` is a live, writable object of at least `bytes` bytes, 16-byte aligned, known to no one else.
    unsafe {
        let words = buffer as *mut usize;
        words.write(list.len());
        words.add(1).copy_from_nonoverlapping(list.as_ptr(), list.len());
    }
    Some(buffer)
}

/// After every release: tells the owners of the buffers that it has published, which are those with numbers below `end`.
#[inline]
pub fn after_release(end: u64) {
    if end > 0 {
        without_reentry(|| announce(end));
    }
}

/// The number behind those of the buffers that a release which begins now publishes; 0 if there are none.
#[inline]
pub fn written() -> u64 {
    if ANY_WRITTEN.load(Ordering::Relaxed) { NEXT.load(Ordering::Acquire) } else { 0 }
}

#[cold]
fn announce(end: u64) {
    let mut written = WRITTEN.lock();
    // Others wait for a word to become free, and for the next release.
    written.retain(|&(number, owner, buffer)| number >= end || !post(owner, buffer));
    ANY_WRITTEN.store(!written.is_empty(), Ordering::Relaxed);
}

/// Puts a buffer into a free word of the owner's control area; false if there is none.
fn post(owner: u32, buffer: usize) -> bool {
    let word = |i: usize| FREED.of(owner, i);
    let put = |i: &usize| {
        word(*i).load(Ordering::Relaxed) == 0
            && word(*i).compare_exchange(0, buffer as u64, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    };
    let posted = (1..=FREED_BUFFERS).find(put).is_some();
    if posted {
        word(0).fetch_add(1, Ordering::SeqCst);
    }
    posted
}

/// After every acquire: drains the buffers that have come.
#[inline]
pub fn after_acquire() {
    if has_arrivals() {
        without_reentry(receive);
    }
}

#[inline(always)]
fn has_arrivals() -> bool {
    /// The own control area's word, looked up once.
    static ARRIVALS: OnceLock<Word> = OnceLock::new();
    let arrivals = ARRIVALS.get_or_init(|| FREED.of(sync::rank(), 0)).load(Ordering::Relaxed);
    arrivals != SEEN.load(Ordering::Relaxed)
}

/// Whether [`before_release`], [`after_release`] and [`after_acquire`] have nothing to do.
#[inline(always)]
pub fn is_quiet() -> bool {
    WAITING.load(Ordering::Relaxed) < ENOUGH && !ANY_WRITTEN.load(Ordering::Relaxed) && !has_arrivals()
}

#[cold]
fn receive() {
    let Some(_receiving) = RECEIVING.try_lock() else { return };
    let word = |i: usize| FREED.of(sync::rank(), i);
    SEEN.store(word(0).load(Ordering::SeqCst), Ordering::Relaxed);
    for i in 1..=FREED_BUFFERS {
        let buffer = word(i).load(Ordering::SeqCst) as usize;
        if let Some(sender) = Some(buffer).filter(|b| *b != 0).and_then(super::owner) {
            // The sender announced the buffer behind the release that published it.
            sync::acquire_unordered(sender);
            word(i).store(0, Ordering::SeqCst);
            free_all(buffer);
            outgoing(sender, |o| o.buffers.push(buffer));
        }
    }
}

fn free_all(buffer: usize) {
    check::readable(buffer, size_of::<usize>());
    // SAFETY: the sender wrote a count and as many addresses before a release that this process has acquired.
    let list = unsafe {
        let count = *(buffer as *const usize);
        check::readable(buffer, (count + 1) * size_of::<usize>());
        std::slice::from_raw_parts((buffer as *const usize).add(1), count).to_vec()
    };
    list.into_iter().for_each(super::free);
}
