//! Library functions whose memory has to come from the shared heap: lines; and scattered buffers.

use std::ffi::{c_char, c_int};

use super::stream;
use crate::heap::entries::__dsm_realloc;
use crate::job::library::set_errno;
use crate::{check, sync};

/// Smallest line buffer, bytes, as in the GNU C library.
const LINE_BYTES: usize = 120;

unsafe extern "C" {
    fn getdelim(line: *mut *mut c_char, bytes: *mut usize, delimiter: c_int, stream: super::File) -> isize;
}

/// A line that the C library has read.
struct Line(*mut c_char);

impl Drop for Line {
    fn drop(&mut self) {
        // SAFETY: null, or allocated by the C library for this value.
        unsafe { libc::free(self.0.cast()) };
    }
}

/// See [`dsm_abi::entries`]. The result is -1 at the end of the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_getdelim(line: *mut u8, bytes: *mut u8, delimiter: u32, file: *mut u8) -> u64 {
    let (mut own, mut own_bytes) = (Line(std::ptr::null_mut()), 0);
    let file = if sync::size() == 1 { file } else { stream::local_stream(file.cast()).cast() };
    // SAFETY: the program passes an open stream; the C library allocates the buffer.
    let length = unsafe { getdelim(&raw mut own.0, &raw mut own_bytes, delimiter as c_int, file.cast()) };
    if length < 0 {
        return u64::MAX;
    }
    let needed = length as usize + 1;
    for place in [line, bytes] {
        check::writable(place as usize, size_of::<usize>());
    }
    // SAFETY: the program passes places for a pointer and a size, where the pointer is null or an object of that size; they were made
    // writable, and so is the object before it is written.
    unsafe {
        let (line, bytes) = (line.cast::<*mut u8>(), bytes.cast::<usize>());
        if (*line).is_null() || *bytes < needed {
            let old = if (*line).is_null() { 0 } else { *bytes };
            let grown = needed.max(2 * old).max(LINE_BYTES);
            let object = __dsm_realloc(*line, grown as u64);
            if object.is_null() {
                set_errno(libc::ENOMEM);
                return u64::MAX;
            }
            // The program's own allocator may have synchronised.
            check::writable(line as usize, size_of::<usize>());
            check::writable(bytes as usize, size_of::<usize>());
            *line = object;
            *bytes = grown;
        }
        check::writable(*line as usize, needed);
        (*line).copy_from_nonoverlapping(own.0.cast(), needed);
    }
    length as u64
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_getline(line: *mut u8, bytes: *mut u8, file: *mut u8) -> u64 {
    // SAFETY: as the program promises.
    unsafe { __dsm_getdelim(line, bytes, u32::from(b'\n'), file) }
}

fn iovecs(list: *mut u8, count: u32, valid: fn(usize, usize)) {
    let bytes = count as usize * size_of::<libc::iovec>();
    check::readable(list as usize, bytes);
    for i in 0..count as usize {
        // SAFETY: the program passes an array of `count` elements; it was made readable.
        let part = unsafe { *list.cast::<libc::iovec>().add(i) };
        valid(part.iov_base as usize, part.iov_len);
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_load_iovec(list: *mut u8, count: u32) {
    iovecs(list, count, check::readable);
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_store_iovec(list: *mut u8, count: u32) {
    iovecs(list, count, check::writable);
}
