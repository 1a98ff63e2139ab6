//! Proxies for streams of other processes.
//!
//! A proxy has a buffer if the stream has one at its owner, so one transfer does for many calls. Before this process releases, the stream is brought to where the calls here have left it: whoever
//! acquires from it may go on there. What is read ahead is what the owner's stream has in its own buffer, so nobody waits for it, and the stream may be a pipe; the owner's C library takes it back with
//! `ungetc`, which only moves the place in its buffer as long as the bytes are there. So does what the program has put back here. That the end has been read is noted at the owner, and forgotten here:
//! another process may go back.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::mailbox::{self, Operation};
use super::{FULLY_BUFFERED, File, fields, registry, setvbuf, stderr, stdin, stdout};
use crate::job::child;
use crate::job::library::set_errno;
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
    fn feof(stream: File) -> c_int;
    fn fread_unlocked(to: *mut u8, size: usize, count: usize, stream: File) -> usize;
    fn flockfile(stream: File);
    fn funlockfile(stream: File);
}

/// What a proxy stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    owner: u32,
    file: usize,
}

#[derive(Clone, Copy)]
struct Proxy {
    /// Its address.
    stream: usize,
    /// As of `setvbuf`.
    buffering: c_int,
    /// The number of changes of the registry when the owner was asked for that: another stream may have come to the address since.
    asked_at: u64,
}

/// What its functions are given.
struct Cookie {
    target: Target,
    proxy: AtomicUsize,
}

/// Those made here.
static PROXIES: Mutex<Option<HashMap<Target, Proxy>>> = Mutex::new(None);
/// Whether any of them may have been used.
static ARE_USED: AtomicBool = AtomicBool::new(false);

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

impl Target {
    /// The stream of another process that the program names, standard input included.
    pub fn of(named: File) -> Option<Target> {
        if sync::rank() != 0 && is_standard_input(named) {
            return Some(Target { owner: 0, file: mailbox::STDIN });
        }
        target(named).map(|(owner, file)| Target { owner, file })
    }

    fn request(
        self,
        operation: Operation,
        place: (i64, i64),
        out: &[u8],
        into: &mut [u8],
    ) -> Result<i64, c_int> {
        mailbox::request(self.owner, operation, self.file, place, out, into)
    }

    /// The buffering of the stream. Nobody writes to standard input, and everybody reads of it what has arrived.
    fn buffering(self) -> c_int {
        match self.file {
            mailbox::STDIN => FULLY_BUFFERED,
            _ => self.request(Operation::Buffering, (0, 0), &[], &mut []).unwrap_or(FULLY_BUFFERED.into())
                as c_int,
        }
    }

    fn make_proxy(self) -> File {
        let functions = CookieFunctions { read, write, seek, close };
        let cookie = Box::into_raw(Box::new(Cookie { target: self, proxy: AtomicUsize::new(0) }));
        // SAFETY: the functions take the cookie that is passed, which lives until the last of them.
        unsafe {
            let stream = fopencookie(cookie.cast(), c"r+".as_ptr(), functions);
            if stream.is_null() {
                crate::job::die("no memory for a stream of another process");
            }
            (*cookie).proxy.store(stream as usize, Ordering::Release);
            stream
        }
    }
}

/// The proxy for a stream, made at its first use here.
pub fn proxy_stream(owner: u32, file: usize) -> File {
    let target = Target { owner, file };
    let changes = registry::changes();
    let mut all = PROXIES.lock();
    let proxy = all.get_or_insert_default().entry(target).or_insert_with(|| Proxy {
        stream: target.make_proxy() as usize,
        buffering: FULLY_BUFFERED,
        asked_at: u64::MAX,
    });
    let stream = proxy.stream as File;
    if proxy.asked_at != changes {
        proxy.asked_at = changes;
        let buffering = target.buffering();
        if buffering != proxy.buffering {
            proxy.buffering = buffering;
            // SAFETY: of a new stream, or of another one than before, of which nothing is left.
            unsafe {
                fields::empty(stream);
                setvbuf(stream, std::ptr::null_mut(), buffering, 0);
            }
        }
    }
    // Standard input has a proxy that may never be used.
    if file != mailbox::STDIN {
        ARE_USED.store(true, Ordering::Relaxed);
    }
    stream
}

/// Whether [`give_back`] has nothing to do.
#[inline]
pub fn is_given_back() -> bool {
    !ARE_USED.load(Ordering::Relaxed) || are_empty()
}

#[cold]
fn are_empty() -> bool {
    let all = PROXIES.lock();
    // SAFETY: a proxy leaves the table before it is closed.
    all.iter().flatten().all(|(_, proxy)| unsafe { fields::is_empty(proxy.stream as File) })
}

/// Has the streams of other processes be where the calls here have left them, but for those that another thread uses at the same time.
#[cold]
pub fn give_back() {
    // A child's copy is its parent's to give back.
    if child::is_child() {
        return;
    }
    let all: Vec<_> =
        PROXIES.lock().iter().flatten().map(|(target, proxy)| (*target, proxy.stream as File)).collect();
    for (target, proxy) in all {
        // SAFETY: an open stream: who closes it is ordered with this thread, or the program has a race.
        if !mailbox::is_held(target.owner) && unsafe { !fields::is_empty(proxy) } {
            _ = give_back_one(target, proxy);
        }
    }
}

/// Whether everything could be written.
fn give_back_one(target: Target, proxy: File) -> bool {
    // SAFETY: as in `give_back`.
    let Some(emptied) = (unsafe { fields::empty(proxy) }) else { return true };
    for part in emptied.bytes.rchunks(mailbox::DATA_BYTES) {
        // Closed in the meantime, if it fails.
        _ = target.request(Operation::Unread, (part.len() as i64, 0), part, &mut []);
    }
    !emptied.has_failed
}

/// An operation on the stream as a whole: the result of the C library's function.
pub fn on_whole(owner: u32, file: usize, operation: Operation, place: (i64, i64)) -> c_int {
    let target = Target { owner, file };
    let is_written = give_back_one(target, proxy_stream(owner, file));
    if operation == Operation::Buffer
        && let Some(proxy) = PROXIES.lock().get_or_insert_default().get_mut(&target)
    {
        proxy.asked_at = u64::MAX;
    }
    let result = done(target.request(operation, place, &[], &mut [])) as c_int;
    if is_written { result } else { -1 }
}

/// `fread` of another process's stream, of as many bytes as there is space for. What is not in the proxy's buffer comes from the owner without more behind it, which would have to go back.
///
/// # Safety
/// The stream is open.
pub unsafe fn read_all(Target { owner, file }: Target, into: &mut [u8]) -> usize {
    let proxy = proxy_stream(owner, file);
    // SAFETY: made by `proxy_stream`, and nobody else uses it while it is locked.
    unsafe {
        flockfile(proxy);
        let mut count = 0;
        while count < into.len() && fields::ready(proxy) != 0 {
            let here = fields::ready(proxy).min(into.len() - count);
            count += fread_unlocked(into[count..].as_mut_ptr(), 1, here, proxy);
        }
        let mut rest = &mut into[count..];
        while !rest.is_empty() && feof(proxy) == 0 {
            let wanted = rest.len().min(mailbox::DATA_BYTES);
            let place = (wanted as i64, wanted as i64);
            let (part, behind) = rest.split_at_mut(wanted);
            let read = mailbox::request(owner, Operation::Read, file, place, &[], part);
            count += *read.as_ref().unwrap_or(&0) as usize;
            if read != Ok(wanted as i64) {
                fields::end(proxy, done(read) < 0);
                break;
            }
            rest = behind;
        }
        funlockfile(proxy);
        count
    }
}

/// `feof` of another process's stream.
pub fn is_at_end(Target { owner, file }: Target) -> bool {
    let proxy = proxy_stream(owner, file);
    // SAFETY: made by `proxy_stream`.
    unsafe {
        feof(proxy) != 0
            || fields::unread(proxy) == 0
                && mailbox::request(owner, Operation::AtEnd, file, (0, 0), &[], &mut []) == Ok(1)
    }
}

/// `clearerr` of another process's stream, there. Returns the proxy.
pub fn clear_errors(target: Target) -> File {
    // A stream that is closed has no errors.
    _ = target.request(Operation::ClearErrors, (0, 0), &[], &mut []);
    proxy_stream(target.owner, target.file)
}

/// The descriptor of another process's stream, as all processes name it.
pub fn number(owner: u32, file: usize) -> c_int {
    done(mailbox::request(owner, Operation::Number, file, (0, 0), &[], &mut [])) as c_int
}

/// Closes the proxy and with it the stream it stands for; the result is that of `fclose`.
pub fn close_proxy(owner: u32, file: usize) -> c_int {
    let stream = proxy_stream(owner, file);
    let is_written = give_back_one(Target { owner, file }, stream);
    super::import::forget_everywhere(owner, number(owner, file));
    PROXIES.lock().get_or_insert_default().remove(&Target { owner, file });
    // SAFETY: made by `proxy_stream` and forgotten above, so nobody closes it twice.
    let result = unsafe { libc::fclose(stream.cast()) };
    if is_written { result } else { -1 }
}

/// Result of a cookie function, with `errno`.
fn done(result: Result<i64, c_int>) -> i64 {
    result.unwrap_or_else(|error| {
        set_errno(error);
        -1
    })
}

/// # Safety
/// The C library passes the cookie given at creation, which lives until [`close`].
unsafe fn of<'a>(cookie: *mut c_void) -> &'a Cookie {
    // SAFETY: the caller's.
    unsafe { &*cookie.cast() }
}

unsafe extern "C" fn read(cookie: *mut c_void, into: *mut u8, len: usize) -> isize {
    let len = len.min(mailbox::DATA_BYTES);
    // SAFETY: the C library passes a buffer of at least `len` bytes; the proxy is in use.
    let (cookie, into, is_wide) = unsafe {
        let cookie = of(cookie);
        let is_wide = fields::is_wide(cookie.proxy.load(Ordering::Acquire) as File);
        (cookie, std::slice::from_raw_parts_mut(into, len), is_wide)
    };
    ARE_USED.store(true, Ordering::Relaxed);
    let most = if is_wide { 1 } else { len };
    done(cookie.target.request(Operation::Read, (1, most as i64), &[], into)) as isize
}

unsafe extern "C" fn write(cookie: *mut c_void, from: *const u8, len: usize) -> isize {
    // SAFETY: as in `read`.
    let (target, from) = unsafe { (of(cookie).target, std::slice::from_raw_parts(from, len)) };
    let mut written = 0;
    for part in from.chunks(mailbox::DATA_BYTES) {
        let place = (part.len() as i64, 0);
        match target.request(Operation::Write, place, part, &mut []) {
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
    let (target, place) = unsafe { (of(cookie).target, (*offset, i64::from(from))) };
    let at = done(target.request(Operation::Seek, place, &[], &mut []));
    if at < 0 {
        return -1;
    }
    // SAFETY: as above.
    unsafe { *offset = at };
    0
}

unsafe extern "C" fn close(cookie: *mut c_void) -> c_int {
    // SAFETY: the cookie is a box made by `proxy_stream`, and this is its last use.
    let target = unsafe { Box::from_raw(cookie.cast::<Cookie>()) }.target;
    done(target.request(Operation::Close, (0, 0), &[], &mut [])) as c_int
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
