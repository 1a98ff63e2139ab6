//! Proxies for streams of other processes.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::mailbox::{self, Operation};
use super::{File, UNBUFFERED, registry, setvbuf, stderr, stdin, stdout};
use crate::sync;

/// `cookie_io_functions_t` of the GNU C library.
#[repr(C)]
pub struct CookieFunctions {
    pub read: unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> isize,
    pub write: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> isize,
    pub seek: unsafe extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int,
    pub close: unsafe extern "C" fn(*mut c_void) -> c_int,
}

#[allow(missing_docs, reason = "see `dsm_abi::entries`")]
unsafe extern "C" {
    pub fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: CookieFunctions) -> File;
}

/// What a proxy stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Target {
    owner: u32,
    file: usize,
}

/// Addresses of the proxies made here.
static PROXIES: Mutex<Option<HashMap<Target, usize>>> = Mutex::new(None);

thread_local! {
    /// Number of registry changes, stream, and what to use in its place: the latest look-up.
    static LATEST: Cell<(u64, usize, usize)> = const { Cell::new((u64::MAX, 0, 0)) };
}

/// The stream to use in this process for one that the program names.
pub fn local_stream(named: File) -> File {
    let changes = registry::changes();
    let address = named as usize;
    let (at, from, to) = LATEST.get();
    if at == changes && from == address {
        return to as File;
    }
    let result = look_up(named);
    LATEST.set((changes, address, result as usize));
    result
}

fn look_up(named: File) -> File {
    // SAFETY: the variables change between regions only.
    let (own_stdin, standard) = unsafe { (stdin, [stdin, stdout, stderr]) };
    if named.is_null() || standard.contains(&named) {
        return named;
    }
    // The program may have kept the value that `stdin` has in process 0.
    if named == (&raw mut super::_IO_2_1_stdin_) {
        return own_stdin;
    }
    match target(named) {
        Some((owner, file)) => proxy_stream(owner, file),
        None => named,
    }
}

/// Owner and address of a stream of another process.
pub fn target(named: File) -> Option<(u32, usize)> {
    let owner = registry::owner(named as usize)?;
    (owner != sync::rank()).then_some((owner, named as usize))
}

/// The proxy for a stream, made at its first use here.
pub fn proxy_stream(owner: u32, file: usize) -> File {
    let target = Target { owner, file };
    let mut all = PROXIES.lock();
    let address = *all.get_or_insert_default().entry(target).or_insert_with(|| {
        let functions = CookieFunctions { read, write, seek, close };
        let cookie = Box::into_raw(Box::new(target)).cast();
        // SAFETY: the functions take the cookie that is passed; a stream just made may be set to any buffering.
        unsafe {
            let stream = fopencookie(cookie, c"r+".as_ptr(), functions);
            if stream.is_null() {
                crate::job::die("no memory for a stream of another process");
            }
            setvbuf(stream, std::ptr::null_mut(), UNBUFFERED, 0);
            stream as usize
        }
    });
    address as File
}

/// The descriptor of another process's stream, as all processes name it.
pub fn number(owner: u32, file: usize) -> c_int {
    done(mailbox::request(owner, Operation::Number, file, (0, 0), &[], &mut [])) as c_int
}

/// Closes the proxy and with it the stream it stands for; the result is that of `fclose`.
pub fn close_proxy(owner: u32, file: usize) -> c_int {
    let stream = proxy_stream(owner, file);
    super::import::forget_everywhere(owner, number(owner, file));
    PROXIES.lock().get_or_insert_default().remove(&Target { owner, file });
    // SAFETY: made by `proxy_stream` and forgotten above, so nobody closes it twice.
    unsafe { libc::fclose(stream.cast()) }
}

/// Result of a cookie function, with `errno`.
fn done(result: Result<i64, c_int>) -> i64 {
    result.unwrap_or_else(|error| {
        // SAFETY: the thread's own errno.
        unsafe { *libc::__errno_location() = error };
        -1
    })
}

unsafe extern "C" fn read(cookie: *mut c_void, into: *mut u8, len: usize) -> isize {
    let len = len.min(mailbox::DATA_BYTES);
    // SAFETY: the C library passes the cookie given at creation, and a buffer of at least `len` bytes.
    let (target, into) = unsafe { (*cookie.cast::<Target>(), std::slice::from_raw_parts_mut(into, len)) };
    done(mailbox::request(target.owner, Operation::Read, target.file, (len as i64, 0), &[], into)) as isize
}

unsafe extern "C" fn write(cookie: *mut c_void, from: *const u8, len: usize) -> isize {
    // SAFETY: as in `read`.
    let (target, from) = unsafe { (*cookie.cast::<Target>(), std::slice::from_raw_parts(from, len)) };
    let mut written = 0;
    for part in from.chunks(mailbox::DATA_BYTES) {
        let place = (part.len() as i64, 0);
        match mailbox::request(target.owner, Operation::Write, target.file, place, part, &mut []) {
            Ok(count) => written += count,
            // A cookie's write function says 0, never -1.
            Err(error) => {
                done(Err(error));
                break;
            }
        }
    }
    written as isize
}

unsafe extern "C" fn seek(cookie: *mut c_void, offset: *mut i64, from: c_int) -> c_int {
    // SAFETY: the C library passes the cookie and a valid offset.
    let (target, place) = unsafe { (*cookie.cast::<Target>(), (*offset, i64::from(from))) };
    let at = done(mailbox::request(target.owner, Operation::Seek, target.file, place, &[], &mut []));
    if at < 0 {
        return -1;
    }
    // SAFETY: as above.
    unsafe { *offset = at };
    0
}

unsafe extern "C" fn close(cookie: *mut c_void) -> c_int {
    // SAFETY: the cookie is a box made by `proxy_stream`, and this is its last use.
    let target = unsafe { *Box::from_raw(cookie.cast::<Target>()) };
    done(mailbox::request(target.owner, Operation::Close, target.file, (0, 0), &[], &mut [])) as c_int
}

/// The streams that `stdout` and `stderr` name at first; at the same addresses in every process.
fn standard_outputs() -> [File; 2] {
    [&raw mut super::_IO_2_1_stdout_, &raw mut super::_IO_2_1_stderr_]
}

/// Whether it is process 0's standard input, under its name here or there.
pub fn is_standard_input(named: File) -> bool {
    // SAFETY: the variable is changed before the program runs.
    named == unsafe { stdin } || named == &raw mut super::_IO_2_1_stdin_
}

/// Whether it is the standard output or error stream.
pub fn is_standard_output(named: File) -> bool {
    standard_outputs().contains(&named)
}

/// Whether nothing has changed in the registry since this was asked last.
pub fn seen_all_changes() -> bool {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let changes = registry::changes();
    SEEN.swap(changes, Ordering::Relaxed) == changes
}

/// Standard streams that process 0 has reopened become proxies here.
pub fn follow_standard_output() {
    let [out, err] = standard_outputs();
    // SAFETY: no other thread of this process runs user code between regions, and the runtime reads the variables only.
    unsafe {
        if registry::owner(out as usize) == Some(0) {
            stdout = proxy_stream(0, out as usize);
        }
        if registry::owner(err as usize) == Some(0) {
            stderr = proxy_stream(0, err as usize);
        }
    }
}
