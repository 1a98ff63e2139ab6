//! Pointers to thread-local data that go to other processes (copyin, copyprivate).
//!
//! Thread-locals are private, and their addresses mean something else in another process. When an argument of a
//! region points into the sender's static thread-local block of the program, the block is copied to the shared
//! heap and the receivers are given addresses in the copy.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ops::Range;

use crate::{check, heap, sync};

/// A copy of this thread's thread-local block, if one was needed; freed when dropped.
pub struct Staged {
    block: Range<usize>,
    copy: Option<usize>,
}

impl Staged {
    /// Makes the copy if one of the words points into the block.
    pub fn for_words(words: &[usize]) -> Staged {
        let block = thread_local_block();
        let needed = sync::size() > 1 && words.iter().any(|word| block.contains(word));
        let copy = needed.then(|| {
            let Some((address, _)) = heap::allocate(block.len(), 64) else {
                crate::job::die("no shared memory for copyin data");
            };
            check::writable(address, block.len());
            // SAFETY: the block is this thread's own; the destination is a new writable object of its length.
            unsafe { (address as *mut u8).copy_from_nonoverlapping(block.start as *const u8, block.len()) };
            address
        });
        Staged { block, copy }
    }

    /// The word as other processes must see it.
    pub fn translate(&self, word: usize) -> usize {
        match self.copy {
            Some(copy) if self.block.contains(&word) => copy + (word - self.block.start),
            _ => word,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(copy) = self.copy {
            heap::free(copy);
        }
    }
}

/// The calling thread's copy of the program's own thread-local segment.
fn thread_local_block() -> Range<usize> {
    thread_local! {
        static BLOCK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    }
    let (start, end) = BLOCK.get().unwrap_or_else(|| {
        let mut found = (0, 0);
        // SAFETY: the callback gets `found` back and runs during the call only.
        unsafe { libc::dl_iterate_phdr(Some(main_program), (&raw mut found).cast()) };
        BLOCK.set(Some(found));
        found
    });
    start..end
}

/// Stores the thread-local block of the first object, the program; ends the iteration.
unsafe extern "C" fn main_program(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: `info` describes a loaded object with `dlpi_phnum` headers; `found` is the pair of the caller.
    unsafe {
        let info = &*info;
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let segment = headers.iter().find(|h| h.p_type == libc::PT_TLS);
        if let Some(segment) = segment.filter(|_| !info.dlpi_tls_data.is_null()) {
            let start = info.dlpi_tls_data as usize;
            *found.cast::<(usize, usize)>() = (start, start + segment.p_memsz as usize);
        }
    }
    1
}
