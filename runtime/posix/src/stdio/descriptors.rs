//! File descriptors, in jobs of several processes: a number means the same file in all of them.
//!
//! What process `r` opens gets a number from `r * RANGE` on, so a number of another range tells whose it is, if a set in control memory says that the program
//! has opened it there: process 0's numbers are the kernel's, other processes have files of the runtime under the same numbers, and programs use numbers that
//! nobody has opened (they close all that there may be). The compiler passes descriptors through [`__dsm_descriptor`]: another process's is imported at its first
//! use. 0 is process 0's; 1 and 2 are each process's own until the main program puts another file there.
//!
//! System calls are made directly: a program may have a function of its own with the name of one (`accept`, `select`).

use std::ffi::{c_char, c_int, c_long, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use super::import;
use super::mailbox::{self, Operation};
use super::remote::{self, Call};
use crate::control::Words;
use crate::job::library::set_errno;
use crate::job::{child, die};
use crate::sync::regions;
use crate::{check, job, memory, sync};
use dsm_comm::Word;

/// Numbers of each process.
pub const RANGE: c_int = 4096;
/// Words of a set of them.
pub const SET_WORDS: usize = RANGE as usize / 64;

crate::control::declare! {
    /// Numbers of the descriptors that the program has opened in the process: a set of bits.
    static OPENED: u64, SET_WORDS;
    /// How often process 0 has put another file in the place of standard output, and of standard error: a copy of the count for each process.
    static STANDARD_CHANGES: u64, 2;
}

/// Bytes of a `struct sockaddr_storage`.
const ADDRESS_BYTES: usize = 128;

/// Where the set of a process has a number, and which bit it is.
pub fn bit(rank: u32, set: &'static Words<u64>, descriptor: c_int) -> (Word, u64) {
    let n = (descriptor % RANGE) as usize;
    (set.of(rank, n / 64), 1 << (n % 64))
}

/// Whether a number is one of this process's.
pub fn is_own(descriptor: c_int) -> bool {
    descriptor >= 0 && (descriptor / RANGE) as u32 == sync::rank()
}

/// The other process that has opened it; `None` if this one has, or the runtime, or whoever started the job.
pub fn owner(descriptor: c_int) -> Option<u32> {
    if sync::size() == 1 || descriptor < 0 || descriptor == 1 || descriptor == 2 {
        return None;
    }
    let rank = (descriptor / RANGE) as u32;
    if rank == sync::rank() || rank >= sync::size() {
        return None;
    }
    let (word, bit) = bit(rank, &OPENED, descriptor);
    (descriptor == 0 || word.load(Ordering::Acquire) & bit != 0).then_some(rank)
}

/// A new descriptor of this process, under a number that all understand; -1 with `errno` if there is none left.
pub fn opened(descriptor: c_int) -> c_int {
    if descriptor < 0 || sync::size() == 1 || child::is_child() {
        return descriptor;
    }
    let number = if sync::rank() == 0 { descriptor } else { renumbered(descriptor) };
    if !is_own(number) {
        // SAFETY: the descriptor was just opened and is known to nobody.
        unsafe { libc::close(number) };
        return fail(libc::EMFILE);
    }
    enter(number);
    number
}

/// A descriptor that was just opened, under a number from the first of this process on; -1 if there is none left.
fn renumbered(descriptor: c_int) -> c_int {
    raise_limit();
    mailbox::serve();
    // SAFETY: the descriptor was just opened and is known to nobody.
    unsafe {
        let keep = if libc::fcntl(descriptor, libc::F_GETFD) & libc::FD_CLOEXEC != 0 {
            libc::F_DUPFD_CLOEXEC
        } else {
            libc::F_DUPFD
        };
        let moved = libc::fcntl(descriptor, keep, sync::rank() as c_int * RANGE);
        let error = std::io::Error::last_os_error();
        libc::close(descriptor);
        if moved < 0 && error.raw_os_error() != Some(libc::EMFILE) {
            die(&format!(
                "process {} cannot number the files that it opens from {} on ({error}); ulimit -Hn allows more",
                sync::rank(),
                sync::rank() as c_int * RANGE
            ));
        }
        moved
    }
}

/// The numbers of this process must be allowed.
fn raise_limit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: reads and sets the limits of this process.
        unsafe {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    });
}

/// The program has a file of this process under this number.
pub fn enter(descriptor: c_int) {
    if sync::size() == 1 || child::is_child() || !is_own(descriptor) {
        return;
    }
    if descriptor == 1 || descriptor == 2 {
        if !regions::is_active() {
            for rank in 0..sync::size() {
                standard_changes(rank, descriptor).fetch_add(1, Ordering::AcqRel);
            }
        }
        return;
    }
    let (word, bit) = bit(sync::rank(), &OPENED, descriptor);
    word.fetch_or(bit, Ordering::AcqRel);
}

/// How often process 0 has put another file at 1 or 2: a process's copy of the count.
fn standard_changes(rank: u32, descriptor: c_int) -> Word {
    STANDARD_CHANGES.of(rank, descriptor as usize - 1)
}

/// At the begin of a region: standard output and error are where process 0's are once the program has moved these.
pub fn follow_standard() {
    static SEEN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    for (descriptor, seen) in (1..).zip(&SEEN) {
        let changes = standard_changes(sync::rank(), descriptor).load(Ordering::Acquire);
        if seen.swap(changes, Ordering::Relaxed) == changes {
            continue;
        }
        if !job::is_neighbour(0) {
            remote::warn_about_standard(descriptor);
        } else if let Ok(file) = import::receive(0, descriptor) {
            // SAFETY: puts a file that has just arrived in the place of this process's standard output.
            unsafe {
                libc::dup2(file, descriptor);
                libc::close(file);
            }
        }
    }
}

/// Where a descriptor can be used.
pub enum Place {
    /// In this process, under this number; -1 if the file is closed.
    Local(c_int),
    /// In a process of another host, under the same number.
    Remote(u32),
}

/// Where a descriptor can be used.
pub fn place(descriptor: c_int) -> Place {
    match owner(descriptor) {
        None => Place::Local(descriptor),
        Some(rank) if job::is_neighbour(rank) => Place::Local(import::local(rank, descriptor)),
        Some(rank) => Place::Remote(rank),
    }
}

/// The number to use in this process, for what works on one host only; -1 if the file is closed.
pub fn local_descriptor(descriptor: c_int) -> c_int {
    match place(descriptor) {
        Place::Local(number) => number,
        Place::Remote(owner) => remote::refuse(owner, descriptor),
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_descriptor(descriptor: u32) -> u32 {
    local_descriptor(descriptor.cast_signed()).cast_unsigned()
}

/// A descriptor of this process is about to be closed.
pub fn leave(descriptor: c_int) {
    if sync::size() > 1 && !child::is_child() && is_own(descriptor) {
        let (word, bit) = bit(sync::rank(), &OPENED, descriptor);
        word.fetch_and(!bit, Ordering::AcqRel);
    }
}

/// Closes a descriptor of this process.
pub fn close_own(descriptor: c_int) -> c_int {
    leave(descriptor);
    // SAFETY: the program's descriptor.
    unsafe { libc::close(descriptor) }
}

pub(super) fn fail(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// A system call; the result is -1 with `errno` if it fails.
macro_rules! system {
    ($name:ident $(, $arg:expr)*) => { libc::syscall(libc::$name $(, $arg)*) as c_int };
}

fn dup_to(old: c_int, new: c_int, flags: c_int) -> c_int {
    if old == new {
        // SAFETY: asks about the program's descriptor, here.
        return if unsafe { libc::fcntl(local_descriptor(old), libc::F_GETFD) } < 0 { -1 } else { new };
    }
    if let Some(rank) = owner(new) {
        die(&format!(
            "process {} calls dup2 for descriptor {new}, which process {rank} has opened; call it there, for example outside parallel regions",
            sync::rank()
        ));
    }
    let from = local_descriptor(old);
    import::forget_everywhere(sync::rank(), new);
    // SAFETY: the program's own request.
    let result = unsafe { system!(SYS_dup3, from, new, flags) };
    if result >= 0 {
        enter(new);
    }
    result
}

/// # Safety
/// A string that ends.
unsafe fn template_writable(template: *mut c_char) {
    // SAFETY: the caller's promise.
    let len = unsafe { check::readable_string(template as usize) };
    check::writable(template as usize, len + 1);
}

/// Defines functions of the C library as the program calls them.
macro_rules! descriptors {
    ($($name:ident($($arg:ident: $t:ty),*) -> $result:ty = $body:expr;)*) => {$(
        #[doc = "The C library's function of this name, on descriptors of any process."]
        ///
        /// # Safety
        /// As for the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $t),*) -> $result {
            // SAFETY: the arguments are the program's.
            #[allow(unused_unsafe, reason = "some bodies are safe")]
            unsafe { $body }
        }
    )*};
}

pub(super) use descriptors as functions;

descriptors! {
    __dsm_open(path: *const c_char, flags: c_int, mode: u32) -> c_int = {
        check::readable_string(path as usize);
        opened(system!(SYS_openat, libc::AT_FDCWD, path, flags, mode))
    };
    __dsm_creat(path: *const c_char, mode: u32) -> c_int =
        __dsm_open(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode);
    __dsm_openat(directory: c_int, path: *const c_char, flags: c_int, mode: u32) -> c_int = {
        check::readable_string(path as usize);
        opened(system!(SYS_openat, local_descriptor(directory), path, flags, mode))
    };
    __dsm_mkstemp(template: *mut c_char) -> c_int = {
        template_writable(template);
        opened(libc::mkstemp(template))
    };
    __dsm_mkostemp(template: *mut c_char, flags: c_int) -> c_int = {
        template_writable(template);
        opened(libc::mkostemp(template, flags))
    };
    __dsm_mkstemps(template: *mut c_char, suffix: c_int) -> c_int = {
        template_writable(template);
        opened(libc::mkstemps(template, suffix))
    };
    __dsm_mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int = {
        template_writable(template);
        opened(libc::mkostemps(template, suffix, flags))
    };
    __dsm_dup(descriptor: c_int) -> c_int = match place(descriptor) {
        Place::Local(own) => opened(system!(SYS_dup, own)),
        Place::Remote(owner) => remote::call(owner, descriptor, Call::Duplicate, 0) as c_int,
    };
    __dsm_dup2(old: c_int, new: c_int) -> c_int = dup_to(old, new, 0);
    __dsm_dup3(old: c_int, new: c_int, flags: c_int) -> c_int =
        if old == new { fail(libc::EINVAL) } else { dup_to(old, new, flags) };
    __dsm_pipe(ends: *mut c_int) -> c_int = __dsm_pipe2(ends, 0);
    __dsm_pipe2(ends: *mut c_int, flags: c_int) -> c_int = {
        let mut own = [0; 2];
        let result = system!(SYS_pipe2, own.as_mut_ptr(), flags);
        pair(ends, own, result)
    };
    __dsm_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int =
        opened(system!(SYS_socket, domain, kind, protocol));
    __dsm_socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int = {
        let mut own = [0; 2];
        let result = system!(SYS_socketpair, domain, kind, protocol, own.as_mut_ptr());
        pair(ends, own, result)
    };
    __dsm_accept(socket: c_int, address: *mut c_void, len: *mut u32) -> c_int = __dsm_accept4(socket, address, len, 0);
    __dsm_accept4(socket: c_int, address: *mut c_void, len: *mut u32, flags: c_int) -> c_int = {
        if !address.is_null() {
            check::writable(address as usize, ADDRESS_BYTES);
            check::writable(len as usize, size_of::<u32>());
        }
        opened(system!(SYS_accept4, local_descriptor(socket), address, len, flags))
    };
    __dsm_epoll_create(_size: c_int) -> c_int = opened(system!(SYS_epoll_create1, 0));
    __dsm_epoll_create1(flags: c_int) -> c_int = opened(system!(SYS_epoll_create1, flags));
    __dsm_eventfd(value: u32, flags: c_int) -> c_int = opened(system!(SYS_eventfd2, value, flags));
    __dsm_timerfd_create(clock: c_int, flags: c_int) -> c_int = opened(system!(SYS_timerfd_create, clock, flags));
    __dsm_memfd_create(name: *const c_char, flags: u32) -> c_int = {
        check::readable_string(name as usize);
        opened(system!(SYS_memfd_create, name, flags))
    };
    __dsm_fcntl(descriptor: c_int, command: c_int, argument: c_long) -> c_int = {
        let lock = matches!(
            command,
            libc::F_SETLK | libc::F_SETLKW | libc::F_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW | libc::F_OFD_GETLK
        );
        if lock {
            check::writable(argument as usize, size_of::<libc::flock>());
        }
        match (place(descriptor), remote::control(command)) {
            (Place::Remote(owner), Some(call)) => remote::call(owner, descriptor, call, argument) as c_int,
            _ => {
                let result = libc::fcntl(local_descriptor(descriptor), command, argument);
                if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) { opened(result) } else { result }
            }
        }
    };
    __dsm_ioctl(descriptor: c_int, request: libc::c_ulong, argument: c_long) -> c_int = {
        // What it is to the device nobody knows; the size is in the number, or small.
        const SMALL: usize = 64;
        if memory::shared().is_some() && memory::is_shared(argument as usize) {
            check::writable(argument as usize, (request as usize >> 16 & 0x3fff).max(SMALL));
        }
        libc::ioctl(local_descriptor(descriptor), request, argument)
    };
    __dsm_close(descriptor: c_int) -> c_int = {
        let rank = owner(descriptor);
        if descriptor >= 0 && sync::size() > 1 {
            import::forget_everywhere(rank.unwrap_or(sync::rank()), descriptor);
        }
        match rank {
            None => close_own(descriptor),
            // Its copy is closed.
            Some(_) if child::is_child() => 0,
            Some(rank) => {
                let closed = mailbox::request(rank, Operation::DescriptorClose, descriptor as usize, (0, 0), &[], &mut []);
                closed.map_or_else(fail, |result| result as c_int)
            }
        }
    };
}

/// Gives both ends of a pipe or a pair of sockets to the program.
unsafe fn pair(ends: *mut c_int, own: [c_int; 2], result: c_int) -> c_int {
    if result == 0 {
        check::writable(ends as usize, size_of_val(&own));
        // SAFETY: the program passes space for two numbers, writable now.
        unsafe { ends.cast::<[c_int; 2]>().write_unaligned(own.map(opened)) };
    }
    result
}
