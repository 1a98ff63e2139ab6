//! Memory for the report of a crash: mapped when it is needed, handed out in order, never taken back. The thread that reports allocates from it, because the
//! C library's allocator may be what crashed.

use std::alloc::Layout;
use std::cell::Cell;

use dsm_comm::segment;

/// Address space that is reserved first, bytes; the kernel gives memory to touched pages only.
const BYTES: usize = 1 << 30;
/// Least address space that is tried, bytes.
const LEAST_BYTES: usize = 16 << 20;

thread_local! {
    /// The first free byte and the end; both 0: the thread uses the ordinary allocator.
    static FREE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Runs `body`, which allocates from an arena; `None` if there is no memory for one.
pub fn with<T>(body: impl FnOnce() -> T) -> Option<T> {
    let outer = FREE.get();
    FREE.set(map()?);
    let result = body();
    FREE.set(outer);
    Some(result)
}

fn map() -> Option<(usize, usize)> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let mut bytes = BYTES;
    while bytes >= LEAST_BYTES {
        // SAFETY: new memory at an address of the kernel's choice.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if at != libc::MAP_FAILED {
            segment::dump(at as usize..at as usize + bytes, false);
            return Some((at as usize, at as usize + bytes));
        }
        bytes /= 4;
    }
    None
}

/// Whether the calling thread allocates from an arena.
#[inline(always)]
pub fn is_active() -> bool {
    FREE.get().1 != 0
}

/// New memory, zero; null if the arena is full.
pub fn alloc(layout: Layout) -> *mut u8 {
    let (free, end) = FREE.get();
    let start = free.next_multiple_of(layout.align());
    match start.checked_add(layout.size()).filter(|next| *next <= end) {
        Some(next) => {
            FREE.set((next, end));
            start as *mut u8
        }
        None => std::ptr::null_mut(),
    }
}

/// A larger or smaller copy.
///
/// # Safety
/// `object` has the layout.
pub unsafe fn realloc(object: *const u8, layout: Layout, bytes: usize) -> *mut u8 {
    let Ok(wanted) = Layout::from_size_align(bytes, layout.align()) else { return std::ptr::null_mut() };
    let new = alloc(wanted);
    if !new.is_null() {
        // SAFETY: as the caller says; the copy is new, and both hold as many bytes.
        unsafe { new.copy_from_nonoverlapping(object, layout.size().min(bytes)) };
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_apart_and_ends() {
        assert!(!is_active());
        with(|| {
            let one = alloc(Layout::from_size_align(3, 1).unwrap());
            let two = alloc(Layout::from_size_align(64, 64).unwrap());
            assert!(is_active() && (two as usize).is_multiple_of(64) && two as usize >= one as usize + 3);
            // SAFETY: memory of the arena with these layouts.
            unsafe {
                two.write(7);
                let moved = realloc(two, Layout::from_size_align(64, 64).unwrap(), 100);
                assert_eq!((moved.read(), moved as usize >= two as usize + 64), (7, true));
            }
            assert!(alloc(Layout::from_size_align(BYTES, 1).unwrap()).is_null());
        });
        assert!(!is_active());
    }
}
