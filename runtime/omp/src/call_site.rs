//! Where the program called the runtime last, noted by the entry points in C while there is a reader.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

unsafe extern "C" {
    static dsm_rt_calls_are_noted: AtomicU8;
    fn dsm_rt_call() -> *const usize;
    fn dsm_rt_note_call(address: usize, frame: usize);
}

/// What reads it.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Reader {
    /// A tool.
    Tool = 1,
    /// Fetching ahead, which has a history for each place where processes synchronise.
    History = 2,
}

fn readers() -> &'static AtomicU8 {
    // SAFETY: a byte that lives as long as the process.
    unsafe { &dsm_rt_calls_are_noted }
}

impl Reader {
    /// Calls are noted for it from now on.
    pub fn begin(self) {
        readers().fetch_or(self as u8, Ordering::SeqCst);
    }

    /// Calls need not be noted for it any more.
    pub fn end(self) {
        readers().fetch_and(!(self as u8), Ordering::SeqCst);
    }

    /// Whether calls are noted for it.
    #[inline(always)]
    pub fn is_there(self) -> bool {
        readers().load(Ordering::Relaxed) & self as u8 != 0
    }
}

/// Where the thread called the runtime last, and the frame that it called from. Means nothing where calls are not noted.
#[inline]
pub fn last() -> (*const c_void, usize) {
    // SAFETY: two words of the calling thread.
    unsafe { (*dsm_rt_call() as *const c_void, *dsm_rt_call().add(1)) }
}

/// Notes a call of an entry point that does not do so itself.
pub fn note(address: usize, frame: usize) {
    // SAFETY: sets two words of the calling thread.
    unsafe { dsm_rt_note_call(address, frame) };
}
