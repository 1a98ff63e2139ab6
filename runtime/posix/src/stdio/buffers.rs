//! Memory that the program lends to a stream: `setvbuf` and its relatives, `fmemopen`.
//!
//! The C library reads and writes such memory whenever it likes, without checks. What a buffer of `setvbuf` contains is nobody's business until the
//! stream is closed, so over several processes the stream gets a private buffer of the same size. A stream of `fmemopen` has the C library's own such stream
//! behind it, on a private copy: each transfer brings the copy up to date, and takes what it has changed to the program's memory.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

use parking_lot::Mutex;

use super::mailbox::Operation;
use super::stream::{CookieFunctions, fopencookie};
use super::{FULLY_BUFFERED, File, LINE_BUFFERED, UNBUFFERED, entries, setvbuf, stream};
use crate::{check, memory, sync};

/// `BUFSIZ` of the GNU C library.
const USUAL_BYTES: usize = 8192;

unsafe extern "C" {
    fn fmemopen(memory: *mut u8, bytes: usize, mode: *const c_char) -> File;
    fn fread(to: *mut u8, size: usize, count: usize, stream: File) -> usize;
    fn fwrite(from: *const u8, size: usize, count: usize, stream: File) -> usize;
    fn fseek(stream: File, offset: c_long, from: c_int) -> c_int;
    fn ftell(stream: File) -> c_long;
    fn fclose(stream: File) -> c_int;
    fn clearerr(stream: File);
}

/// Private buffers by stream.
static BUFFERS: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

/// Sets the buffering of a stream of this process; a `size` that is not 0 asks for a buffer of that size.
pub fn set_own(file: File, mode: c_int, size: usize) -> c_int {
    let mut buffers = BUFFERS.lock();
    // SAFETY: new memory, which goes when the stream has another or is closed; the stream is open.
    unsafe {
        let wanted = size != 0 && mode != UNBUFFERED;
        let fresh = if wanted { libc::malloc(size).cast::<u8>() } else { std::ptr::null_mut() };
        let result = setvbuf(file, fresh, mode, if fresh.is_null() { 0 } else { size });
        let gone = match (result == 0, fresh.is_null()) {
            (true, true) => buffers.get_or_insert_default().remove(&(file as usize)),
            (true, false) => buffers.get_or_insert_default().insert(file as usize, fresh as usize),
            (false, _) => Some(fresh as usize),
        };
        libc::free(gone.unwrap_or(0) as *mut c_void);
        result
    }
}

/// The stream at this address is closed.
pub fn closed(file: usize) {
    if let Some(buffer) = BUFFERS.lock().as_mut().and_then(|buffers| buffers.remove(&file)) {
        // SAFETY: allocated by `set_own`; its stream is gone.
        unsafe { libc::free(buffer as *mut c_void) };
    }
}

/// Sets the buffering of any process's stream.
unsafe fn set(named: File, buffer: *mut u8, mode: c_int, size: usize) -> c_int {
    if sync::size() == 1 {
        // SAFETY: the program's arguments.
        return unsafe { setvbuf(named, buffer, mode, size) };
    }
    let size = if buffer.is_null() { 0 } else { size };
    if stream::is_standard_input(named) && sync::rank() != 0 {
        return 0;
    }
    match stream::target(named) {
        Some((owner, file)) => {
            let place = (i64::from(mode), size as i64);
            stream::on_whole(owner, file, Operation::Buffer, place)
        }
        None => set_own(named, mode, size),
    }
}

/// `setvbuf`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setvbuf(named: File, buffer: *mut u8, mode: c_int, size: usize) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { set(named, buffer, mode, size) }
}

/// `setbuffer`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setbuffer(named: File, buffer: *mut u8, size: usize) {
    let mode = if buffer.is_null() { UNBUFFERED } else { FULLY_BUFFERED };
    // SAFETY: the program's arguments.
    unsafe { set(named, buffer, mode, size) };
}

/// `setbuf`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setbuf(named: File, buffer: *mut u8) {
    // SAFETY: the program's arguments.
    unsafe { __dsm_setbuffer(named, buffer, USUAL_BYTES) };
}

/// `setlinebuf`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setlinebuf(named: File) {
    // SAFETY: the program's argument.
    unsafe { set(named, std::ptr::null_mut(), LINE_BUFFERED, 0) };
}

/// A stream of `fmemopen` on memory of the program.
struct Lent {
    /// The C library's stream on the copy, without a buffer.
    inner: File,
    copy: Box<[u8]>,
    program: *mut u8,
}

impl Lent {
    /// Runs `body` with the copy up to date, and takes what it changes to the program.
    fn current<R>(&mut self, body: impl FnOnce(&mut Lent) -> R) -> R {
        check::readable(self.program as usize, self.copy.len());
        // SAFETY: the program's memory, as long as the copy, made readable. The inner stream does not run now.
        unsafe { self.copy.as_mut_ptr().copy_from_nonoverlapping(self.program, self.copy.len()) };
        let before = self.copy.clone();
        let result = body(self);
        self.give_back(&before);
        result
    }

    fn give_back(&self, before: &[u8]) {
        let mut at = 0;
        while at < before.len() {
            let same = |i: usize| self.copy[i] == before[i];
            let run = (at..before.len()).take_while(|i| same(*i) == same(at)).count();
            if !same(at) {
                check::writable(self.program as usize + at, run);
                // SAFETY: inside the program's memory, writable now.
                unsafe { self.program.add(at).copy_from_nonoverlapping(self.copy.as_ptr().add(at), run) };
            }
            at += run;
        }
    }
}

unsafe fn lent<'a>(cookie: *mut c_void) -> &'a mut Lent {
    // SAFETY: the C library passes the cookie given at creation, with the stream locked.
    unsafe { &mut *cookie.cast::<Lent>() }
}

unsafe extern "C" fn read(cookie: *mut c_void, into: *mut u8, len: usize) -> isize {
    // SAFETY: as for `lent`; the buffer has `len` bytes.
    unsafe {
        lent(cookie).current(|lent| {
            clearerr(lent.inner);
            fread(into, 1, len, lent.inner) as isize
        })
    }
}

unsafe extern "C" fn write(cookie: *mut c_void, from: *const u8, len: usize) -> isize {
    // SAFETY: as for `lent`; the buffer has `len` bytes.
    unsafe {
        lent(cookie).current(|lent| {
            clearerr(lent.inner);
            fwrite(from, 1, len, lent.inner) as isize
        })
    }
}

unsafe extern "C" fn seek(cookie: *mut c_void, offset: *mut i64, from: c_int) -> c_int {
    // SAFETY: as for `lent`; the offset is the C library's.
    unsafe {
        lent(cookie).current(|lent| {
            let result = fseek(lent.inner, *offset, from);
            *offset = ftell(lent.inner);
            result
        })
    }
}

unsafe extern "C" fn close(cookie: *mut c_void) -> c_int {
    // SAFETY: the cookie is a box made below, and this is its last use.
    unsafe {
        let mut lent = Box::from_raw(cookie.cast::<Lent>());
        lent.current(|lent| fclose(lent.inner))
    }
}

/// `fmemopen`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_fmemopen(program: *mut u8, bytes: usize, mode: *const c_char) -> File {
    // SAFETY: the program passes what `fmemopen` demands.
    unsafe {
        check::readable_string(mode as usize);
        if sync::size() == 1 || program.is_null() || bytes == 0 || !memory::is_shared(program as usize) {
            return entries::opened(fmemopen(program, bytes, mode), None).cast();
        }
        let mode = CStr::from_ptr(mode).to_owned();
        check::readable(program as usize, bytes);
        let before = std::slice::from_raw_parts(program, bytes).to_vec();
        let mut lent = Box::new(Lent { inner: std::ptr::null_mut(), copy: before.clone().into(), program });
        lent.inner = fmemopen(lent.copy.as_mut_ptr(), bytes, mode.as_ptr());
        if lent.inner.is_null() {
            return lent.inner;
        }
        setvbuf(lent.inner, std::ptr::null_mut(), UNBUFFERED, 0);
        lent.give_back(&before);
        let functions = CookieFunctions { read, write, seek, close };
        entries::opened(fopencookie(Box::into_raw(lent).cast(), mode.as_ptr(), functions), None).cast()
    }
}
