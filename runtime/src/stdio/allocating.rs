//! Library functions whose memory has to come from the shared heap: lines, mapped files, scattered buffers.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_char, c_int};

use parking_lot::Mutex;

use super::stream;
use crate::heap::{self, entries::__dsm_realloc};
use crate::{check, sync};

/// Smallest line buffer, bytes, as in the GNU C library.
const LINE_BYTES: usize = 120;

unsafe extern "C" {
    fn getdelim(line: *mut *mut c_char, bytes: *mut usize, delimiter: c_int, stream: super::File) -> isize;
}

thread_local! {
    /// What the C library reads lines into: address and bytes.
    static LINE: Cell<(*mut c_char, usize)> = const { Cell::new((std::ptr::null_mut(), 0)) };
}

/// See [`dsm_abi::entries`]. The result is -1 at the end of the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_getdelim(line: *mut u8, bytes: *mut u8, delimiter: u32, file: *mut u8) -> u64 {
    let (mut own, mut own_bytes) = LINE.get();
    let file = if sync::size() == 1 { file } else { stream::here(file.cast()).cast() };
    // SAFETY: the program passes an open stream; the buffer is this thread's, allocated by the C library.
    let length = unsafe { getdelim(&raw mut own, &raw mut own_bytes, delimiter as c_int, file.cast()) };
    LINE.set((own, own_bytes));
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
                *libc::__errno_location() = libc::ENOMEM;
                return u64::MAX;
            }
            *line = object;
            *bytes = grown;
        }
        check::writable(*line as usize, needed);
        (*line).copy_from_nonoverlapping(own.cast(), needed);
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

const PAGE: usize = 4096;

/// Mappings that are objects of this process's arena: address and bytes.
static MAPPED: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

/// See [`dsm_abi::entries`]. Anonymous memory and private or read-only file contents become shared memory of the program; all other
/// mappings stay with the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_mmap(
    address: *mut u8,
    bytes: u64,
    protection: u32,
    flags: u32,
    descriptor: u32,
    offset: u64,
) -> *mut u8 {
    let (protection, flags) = (protection as c_int, flags as c_int);
    let anonymous = flags & libc::MAP_ANONYMOUS != 0;
    let descriptor =
        if anonymous { descriptor as c_int } else { super::descriptors::here(descriptor as c_int) };
    let written_through = !anonymous && flags & libc::MAP_SHARED != 0 && protection & libc::PROT_WRITE != 0;
    let ours = sync::size() > 1
        && flags & libc::MAP_FIXED == 0
        && protection & libc::PROT_EXEC == 0
        && protection != libc::PROT_NONE
        && bytes > 0
        && !written_through;
    if !ours {
        if written_through && sync::size() > 1 {
            eprintln!(
                "dsm: warning: a file is mapped for writing: only process {} can use the mapping",
                sync::rank()
            );
        }
        // SAFETY: what the program asks for.
        let result = unsafe {
            libc::mmap(address.cast(), bytes as usize, protection, flags, descriptor, offset as i64)
        };
        return result.cast();
    }
    let Some(object) = map(bytes as usize, (!anonymous).then_some((descriptor, offset as i64))) else {
        return libc::MAP_FAILED.cast();
    };
    object as *mut u8
}

/// A page-aligned object with the contents of a file, or zeros; `None` with `errno`.
fn map(bytes: usize, file: Option<(c_int, i64)>) -> Option<usize> {
    let bytes = bytes.next_multiple_of(PAGE);
    let Some((object, zero)) = heap::allocate(bytes, PAGE) else {
        // SAFETY: the thread's own errno.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
        return None;
    };
    if !zero || file.is_some() {
        check::writable(object, bytes);
    }
    if !zero {
        // SAFETY: a new object of this size, writable.
        unsafe { (object as *mut u8).write_bytes(0, bytes) };
    }
    if let Some((descriptor, offset)) = file {
        let mut done = 0;
        while done < bytes {
            // SAFETY: inside the object.
            let count = unsafe {
                libc::pread(descriptor, (object + done) as *mut _, bytes - done, offset + done as i64)
            };
            match count {
                0 => break,
                1.. => done += count as usize,
                // SAFETY: the thread's own errno.
                _ if unsafe { *libc::__errno_location() } == libc::EINTR => {}
                _ => {
                    heap::free(object);
                    return None;
                }
            }
        }
    }
    MAPPED.lock().get_or_insert_default().insert(object, bytes);
    Some(object)
}

/// See [`dsm_abi::entries`]. Parts of a mapping stay until the whole is unmapped, by the process that mapped it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_munmap(address: *mut u8, bytes: u64) -> u32 {
    let at = address as usize;
    if heap::owner(at).is_none() || sync::size() == 1 {
        // SAFETY: what the program asks for.
        return unsafe { libc::munmap(address.cast(), bytes as usize) as u32 };
    }
    let mut mapped = MAPPED.lock();
    let known = mapped.get_or_insert_default();
    if known.get(&at).is_some_and(|whole| *whole <= (bytes as usize).next_multiple_of(PAGE)) {
        known.remove(&at);
        heap::free(at);
    }
    0
}
