//! `open_memstream`: a stream into memory of the shared heap. Unbuffered, so what the program sees of it is always up to date.

use std::ffi::{c_char, c_int, c_void};

use super::stream::{CookieFunctions, fopencookie};
use super::{File, UNBUFFERED, entries, setvbuf};
use crate::check;
use crate::heap::entries::{__dsm_malloc, __dsm_realloc};

/// Smallest buffer, bytes.
const LEAST: usize = 128;

struct Target {
    /// The program's variables for address and length.
    place: *mut *mut u8,
    length: *mut usize,
    buffer: *mut u8,
    space: usize,
    end: usize,
    at: usize,
}

impl Target {
    fn tell(&self) {
        check::writable(self.place as usize, size_of::<usize>());
        check::writable(self.length as usize, size_of::<usize>());
        // SAFETY: the program keeps its variables as long as the stream; they were made writable.
        unsafe {
            self.place.write(self.buffer);
            self.length.write(self.at.min(self.end));
        }
    }

    /// Writes at the position; false if the heap is full.
    fn put(&mut self, bytes: &[u8]) -> bool {
        let end = self.at + bytes.len();
        if end + 1 > self.space {
            let space = (2 * self.space).max(end + 1);
            // SAFETY: the buffer came from the same heap.
            let grown = unsafe { __dsm_realloc(self.buffer, space as u64) };
            if grown.is_null() {
                return false;
            }
            (self.buffer, self.space) = (grown, space);
        }
        let from = self.end.min(self.at);
        check::writable(self.buffer as usize + from, end + 1 - from);
        // SAFETY: inside the buffer by the test above, and writable. What lies between the old end and the position is zeros.
        unsafe {
            self.buffer.add(from).write_bytes(0, self.at - from);
            self.buffer.add(self.at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            if end >= self.end {
                self.buffer.add(end).write(0);
            }
        }
        self.at = end;
        self.end = self.end.max(end);
        true
    }
}

unsafe extern "C" fn read(_: *mut c_void, _: *mut u8, _: usize) -> isize {
    -1
}

unsafe extern "C" fn write(cookie: *mut c_void, from: *const u8, len: usize) -> isize {
    // SAFETY: the C library passes the cookie given at creation and `len` bytes.
    let (target, bytes) = unsafe { (&mut *cookie.cast::<Target>(), std::slice::from_raw_parts(from, len)) };
    if !target.put(bytes) {
        return 0;
    }
    target.tell();
    len as isize
}

unsafe extern "C" fn seek(cookie: *mut c_void, offset: *mut i64, from: c_int) -> c_int {
    // SAFETY: as in `write`; the offset is the C library's.
    let (target, by) = unsafe { (&mut *cookie.cast::<Target>(), *offset) };
    let base = match from {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => target.at as i64,
        _ => target.end as i64,
    };
    let Ok(at) = usize::try_from(base + by) else { return -1 };
    target.at = at;
    target.tell();
    // SAFETY: as above.
    unsafe { *offset = at as i64 };
    0
}

unsafe extern "C" fn close(cookie: *mut c_void) -> c_int {
    // SAFETY: the cookie is a box made below, and this is its last use.
    unsafe { Box::from_raw(cookie.cast::<Target>()) }.tell();
    0
}

/// `open_memstream`; the buffer is the program's to free.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_open_memstream(place: *mut *mut u8, length: *mut usize) -> File {
    // SAFETY: memory of the shared heap, which is written after the check.
    let buffer = unsafe { __dsm_malloc(LEAST as u64) };
    if buffer.is_null() {
        return std::ptr::null_mut();
    }
    let mut target = Box::new(Target { place, length, buffer, space: LEAST, end: 0, at: 0 });
    target.put(&[]);
    target.tell();
    let functions = CookieFunctions { read, write, seek, close };
    // SAFETY: the functions take the cookie that is passed; a stream just made may be set to any buffering.
    unsafe {
        let stream = fopencookie(Box::into_raw(target).cast(), c"w".as_ptr().cast::<c_char>(), functions);
        if !stream.is_null() {
            setvbuf(stream, std::ptr::null_mut(), UNBUFFERED, 0);
        }
        entries::opened(stream, None).cast()
    }
}
