//! Memory of task descriptors, in units of 64 bytes. Each thread keeps what it freed last for the next tasks: an allocation is a lock of the heap and, on the
//! shared one, a check, where tasks often take a fraction of a microsecond.

use std::cell::RefCell;

use crate::{check, heap, job, race};

/// Unit of sizes, and alignment.
const UNIT: usize = 64;
/// Sizes that are kept, in units.
const SIZES: usize = 16;
/// Blocks of a size that a thread keeps.
const KEPT: usize = 256;

/// What a thread keeps, by size; of the C library's heap and of the shared one.
struct Kept([[Vec<*mut u8>; SIZES]; 2]);

thread_local! {
    static OWN: RefCell<Kept> = const { RefCell::new(Kept([const { [const { Vec::new() }; SIZES] }; 2])) };
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.iter().flatten().flatten().for_each(|block| heap::free(*block as usize));
    }
}

/// Whether blocks of that size are kept: not where each allocation begins a new life of its bytes, for the reports of races.
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

/// As [`allocate`], if possible a block that the thread keeps.
pub fn take(bytes: usize, shared: bool) -> *mut u8 {
    let units = units(bytes);
    let kept = || OWN.try_with(|own| own.borrow_mut().0[usize::from(shared)][units - 1].pop()).ok().flatten();
    match keeps(units).then(kept).flatten() {
        Some(block) => {
            if shared {
                check::writable(block as usize, UNIT * units);
            }
            block
        }
        None => allocate(bytes, shared),
    }
}

/// Gives a block back.
///
/// # Safety
/// It comes from [`take`] with the same arguments in this process, and nobody uses it any more.
pub unsafe fn give(block: *mut u8, bytes: usize, shared: bool) {
    let units = units(bytes);
    let keep = |own: &RefCell<Kept>| {
        let mut own = own.borrow_mut();
        let blocks = &mut own.0[usize::from(shared)][units - 1];
        let is_kept = blocks.len() < KEPT;
        if is_kept {
            blocks.push(block);
        }
        is_kept
    };
    if !keeps(units) || !OWN.try_with(keep).unwrap_or(false) {
        heap::free(block as usize);
    }
}
