//! Memory of tasks, in units of 64 bytes. Each thread keeps what it freed last for the next tasks: an allocation is a lock of the heap and, on the
//! shared one, a check, where tasks often take a fraction of a microsecond.
//!
//! Blocks of private memory ([`take_own`]) go back to the thread that took them: where one thread makes the tasks and others run them, it would allocate each block anew, and the
//! others would free it in its arena, under the lock. What others return waits in a stack of its thread ([`Returned`]), which takes all of it when it has nothing left.

use std::cell::RefCell;
use std::sync::atomic::{AtomicPtr, Ordering};

use parking_lot::Mutex;

use crate::{check, heap, job, race};

/// Unit of sizes, and alignment.
const UNIT: usize = 64;
/// Sizes that are kept, in units.
const SIZES: usize = 16;
/// Blocks of a size that a thread keeps, of private memory: where tasks wait for others, there are as many as the program makes.
const KEPT_OWN: usize = 4096;
/// The same, of the shared heap.
const KEPT: usize = 256;

/// Begin of a block of private memory: what its thread needs when it comes back.
#[repr(C)]
pub struct Header {
    /// Of the thread that took it; null if it goes back to the heap.
    home: *const Returned,
    /// Block below it in a stack.
    next: *mut Header,
    units: usize,
}

/// Private blocks of a thread that others gave back: a stack that many push to, and only its thread takes, all at once.
#[derive(Default)]
#[repr(align(128))]
struct Returned(AtomicPtr<Header>);

impl Returned {
    /// # Safety
    /// Nobody uses the block any more.
    unsafe fn push(&self, block: *mut Header) {
        let mut top = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's promise.
            unsafe { (*block).next = top };
            match self.0.compare_exchange_weak(top, block, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// The first of all blocks, which nobody else knows from here on.
    fn take_all(&self) -> *mut Header {
        self.0.swap(std::ptr::null_mut(), Ordering::Acquire)
    }
}

/// Stacks of threads that have ended. Blocks may still name them, so they live on, and serve the next threads.
static UNUSED: Mutex<Vec<&'static Returned>> = Mutex::new(Vec::new());

/// What a thread keeps, by size: of private memory, and of the shared heap.
struct Kept {
    returned: Option<&'static Returned>,
    /// The first of those blocks that it took from there and has not looked at.
    chain: *mut Header,
    own: [Vec<*mut Header>; SIZES],
    shared: [Vec<*mut u8>; SIZES],
}

impl Kept {
    const fn new() -> Kept {
        Kept {
            returned: None,
            chain: std::ptr::null_mut(),
            own: [const { Vec::new() }; SIZES],
            shared: [const { Vec::new() }; SIZES],
        }
    }

    /// A private block of so many units that was used before.
    fn take_own(&mut self, units: usize) -> Option<*mut Header> {
        let blocks = &mut self.own[units - 1];
        if let Some(block) = blocks.pop() {
            blocks.last().into_iter().for_each(|next| prefetch(*next, units));
            return Some(block);
        }
        loop {
            if self.chain.is_null() {
                let new = || UNUSED.lock().pop().unwrap_or_else(|| Box::leak(Box::default()));
                self.chain = self.returned.get_or_insert_with(new).take_all();
                if self.chain.is_null() {
                    return None;
                }
            }
            let block = self.chain;
            // SAFETY: what was taken from the stack belongs to nobody else.
            let (next, length) = unsafe { ((*block).next, (*block).units) };
            self.chain = next;
            prefetch(next, units);
            if length == units {
                return Some(block);
            }
            self.keep_own(block);
        }
    }

    fn keep_own(&mut self, block: *mut Header) {
        // SAFETY: a block that nobody uses.
        let blocks = &mut self.own[unsafe { (*block).units } - 1];
        if blocks.len() < KEPT_OWN {
            blocks.push(block);
        } else {
            heap::free(block as usize);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        while !self.chain.is_null() {
            let block = self.chain;
            // SAFETY: as in `take_own`.
            self.chain = unsafe { (*block).next };
            heap::free(block as usize);
        }
        self.own.iter().flatten().for_each(|block| heap::free(*block as usize));
        self.shared.iter().flatten().for_each(|block| heap::free(*block as usize));
        if let Some(returned) = self.returned {
            UNUSED.lock().push(returned);
        }
    }
}

thread_local! {
    static KEPT_HERE: RefCell<Kept> = const { RefCell::new(Kept::new()) };
}

/// Has the processor bring the cache lines of a block that the thread is going to write, as they may be with a thread that has run a task there.
fn prefetch(block: *const Header, units: usize) {
    use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
    for unit in 0..units {
        // SAFETY: a hint, which reads and writes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(block.cast::<i8>().wrapping_add(UNIT * unit)) };
    }
}

/// Whether blocks of the shared heap of that size are kept: not where each allocation begins a new life of its bytes, for the reports of races.
fn keeps(units: usize) -> bool {
    units <= SIZES && !race::is_on()
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).max(1)
}

/// Memory for `bytes`, on the shared heap or on the C library's; `heap::free` takes both. Writable until the thread's next acquire or release.
pub fn allocate(bytes: usize, shared: bool) -> *mut u8 {
    let bytes = UNIT * units(bytes);
    let base = if shared {
        heap::allocate(bytes, UNIT).map_or(std::ptr::null_mut(), |(address, _)| address as *mut u8)
    } else {
        // SAFETY: the size is a multiple of the alignment.
        unsafe { libc::aligned_alloc(UNIT, bytes).cast::<u8>() }
    };
    if base.is_null() {
        job::die("no memory for a task");
    }
    if shared {
        check::writable(base as usize, bytes);
    }
    base
}

/// A block of private memory of `bytes`, which begin with a [`Header`] that is filled.
pub fn take_own(bytes: usize) -> *mut Header {
    let units = units(bytes);
    let kept = KEPT_HERE.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let block = (units <= SIZES).then(|| kept.take_own(units)).flatten();
        (block, kept.returned)
    });
    let (block, returned) = kept.unwrap_or_default();
    block.unwrap_or_else(|| {
        let block = allocate(bytes, false).cast::<Header>();
        let home = returned.filter(|_| units <= SIZES).map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: a new block.
        unsafe { block.write(Header { home, next: std::ptr::null_mut(), units }) };
        block
    })
}

/// Gives it back.
///
/// # Safety
/// It comes from [`take_own`] in this process, and nobody uses it any more.
pub unsafe fn give_own(block: *mut Header) {
    // SAFETY: the caller's promise; stacks of threads are never freed.
    let home = unsafe { (*block).home.as_ref() };
    let Some(home) = home else { return heap::free(block as usize) };
    let kept = KEPT_HERE.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let is_own = kept.returned.is_some_and(|own| std::ptr::eq(own, home));
        if is_own {
            kept.keep_own(block);
        }
        is_own
    });
    if !kept.unwrap_or(false) {
        // SAFETY: as above.
        unsafe { home.push(block) };
    }
}

/// Memory of the shared heap for `bytes`, if possible a block that the thread keeps. Writable until the thread's next acquire or release.
pub fn take_shared(bytes: usize) -> *mut u8 {
    let units = units(bytes);
    let kept = || KEPT_HERE.try_with(|kept| kept.borrow_mut().shared[units - 1].pop()).ok().flatten();
    match keeps(units).then(kept).flatten() {
        Some(block) => {
            check::writable(block as usize, UNIT * units);
            block
        }
        None => allocate(bytes, true),
    }
}

/// Gives it back.
///
/// # Safety
/// It comes from [`take_shared`] with the same size in this process, and nobody uses it any more.
pub unsafe fn give_shared(block: *mut u8, bytes: usize) {
    let units = units(bytes);
    let keep = |kept: &RefCell<Kept>| {
        let mut kept = kept.borrow_mut();
        let blocks = &mut kept.shared[units - 1];
        let is_kept = blocks.len() < KEPT;
        if is_kept {
            blocks.push(block);
        }
        is_kept
    };
    if !keeps(units) || !KEPT_HERE.try_with(keep).unwrap_or(false) {
        heap::free(block as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_back_to_the_thread_that_took_them() {
        let first: Vec<usize> = (0..3).map(|_| take_own(200) as usize).collect();
        let given = first.clone();
        let other = std::thread::spawn(move || {
            // SAFETY: blocks that nobody uses.
            given.iter().for_each(|block| unsafe { give_own(*block as *mut Header) });
            take_own(200) as usize
        });
        assert!(!first.contains(&other.join().unwrap()), "the other thread has blocks of its own");
        let mut second: Vec<usize> = (0..3).map(|_| take_own(200) as usize).collect();
        second.sort_unstable();
        let mut first = first;
        first.sort_unstable();
        assert_eq!(first, second);
    }

    #[test]
    fn blocks_of_a_thread_that_has_ended_go_to_another() {
        let in_thread = |take: fn() -> usize| std::thread::spawn(take).join().unwrap();
        let go_on = || {
            let taken = in_thread(|| take_own(300) as usize);
            // SAFETY: a block that nobody uses.
            unsafe { give_own(taken as *mut Header) };
            in_thread(|| take_own(300) as usize) == taken
        };
        // Another test's thread may get them meanwhile, but not each time.
        let again = (0..1000).any(|_| go_on());
        assert!(again);
    }
}
