//! File descriptors, in jobs of several processes: a number means the same file in all of them.
//!
//! What process `r` opens gets a number from `r * RANGE` on, so a number of another range tells whom to ask. Process 0's numbers are the kernel's;
//! a set in control memory says which of them the program has opened, since other processes have files of the runtime under the same
//! numbers. Operations on another process's descriptor are carried out by its [`mailbox`]. 1 and 2 are each process's own, 0 is process 0's.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use super::mailbox::{self, Operation};
use crate::sync::layout::{DESCRIPTORS, MAILBOX_DATA_BYTES};
use crate::{check, sync};

/// Numbers of each process.
pub const RANGE: c_int = 4096;

fn opened_word(descriptor: c_int) -> Option<(&'static AtomicU64, u64)> {
    let n = usize::try_from(descriptor).ok().filter(|n| *n < RANGE as usize)?;
    Some((sync::control_area_word(0, DESCRIPTORS + n / 64 * 8), 1 << (n % 64)))
}

/// The process to ask; `None` if it is this one.
fn owner(descriptor: c_int) -> Option<u32> {
    if sync::size() == 1 || descriptor < 0 || descriptor == 1 || descriptor == 2 {
        return None;
    }
    let rank = (descriptor / RANGE) as u32;
    let process_0 = || {
        descriptor == 0
            || opened_word(descriptor).is_some_and(|(w, bit)| w.load(Ordering::Acquire) & bit != 0)
    };
    let known = if rank == 0 { process_0() } else { rank < sync::size() };
    (known && rank != sync::rank()).then_some(rank)
}

/// A new descriptor of this process, under a number that all understand.
fn opened(descriptor: c_int) -> c_int {
    if descriptor < 0 || sync::size() == 1 {
        return descriptor;
    }
    if sync::rank() == 0 {
        if let Some((word, bit)) = opened_word(descriptor) {
            word.fetch_or(bit, Ordering::AcqRel);
        }
        return descriptor;
    }
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
        if moved < 0 {
            let error = std::io::Error::last_os_error();
            crate::start::die(&format!(
                "process {} cannot number the files that it opens from {} on ({error}); ulimit -Hn allows more",
                sync::rank(),
                sync::rank() as c_int * RANGE
            ));
        }
        libc::close(descriptor);
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

/// Asks the owner; sets `errno` and gives -1 if that fails.
fn ask(
    rank: u32,
    operation: Operation,
    descriptor: c_int,
    ab: (i64, i64),
    out: &[u8],
    into: &mut [u8],
) -> i64 {
    mailbox::request(rank, operation, descriptor as usize, ab, out, into).unwrap_or_else(|error| {
        // SAFETY: the thread's own errno.
        unsafe { *libc::__errno_location() = error };
        -1
    })
}

/// The owner's side: `a` and `b` are length and offset (-1: where the file stands), or offset and origin.
///
/// # Safety
/// `data` has room for what `a` asks for.
pub unsafe fn carry_out(operation: Operation, descriptor: c_int, (a, b): (i64, i64), data: *mut u8) -> i64 {
    let len = (a.max(0) as usize).min(MAILBOX_DATA_BYTES);
    // SAFETY: the caller's promise.
    unsafe {
        match operation {
            Operation::DescriptorRead if b < 0 => libc::read(descriptor, data.cast(), len) as i64,
            Operation::DescriptorRead => libc::pread(descriptor, data.cast(), len, b) as i64,
            Operation::DescriptorWrite if b < 0 => libc::write(descriptor, data.cast(), len) as i64,
            Operation::DescriptorWrite => libc::pwrite(descriptor, data.cast(), len, b) as i64,
            Operation::DescriptorSeek => libc::lseek(descriptor, a, b as c_int),
            Operation::DescriptorSync => libc::fsync(descriptor).into(),
            Operation::DescriptorTruncate => libc::ftruncate(descriptor, a).into(),
            _ => close_own(descriptor).into(),
        }
    }
}

fn close_own(descriptor: c_int) -> c_int {
    if sync::size() > 1
        && sync::rank() == 0
        && let Some((word, bit)) = opened_word(descriptor)
    {
        word.fetch_and(!bit, Ordering::AcqRel);
    }
    // SAFETY: the program's descriptor.
    unsafe { libc::close(descriptor) }
}

/// Reads pieces until all is there, nothing more comes, or what came was less than asked for.
fn read_from(rank: u32, descriptor: c_int, buffer: *mut u8, len: usize, offset: i64) -> isize {
    let mut done = 0;
    while done < len {
        let wanted = (len - done).min(MAILBOX_DATA_BYTES);
        // SAFETY: inside the program's buffer, writable by now.
        let into = unsafe { std::slice::from_raw_parts_mut(buffer.add(done), wanted) };
        let at = if offset < 0 { -1 } else { offset + done as i64 };
        let got = ask(rank, Operation::DescriptorRead, descriptor, (wanted as i64, at), &[], into);
        if got < 0 {
            return if done > 0 { done as isize } else { -1 };
        }
        done += got as usize;
        if (got as usize) < wanted {
            break;
        }
    }
    done as isize
}

fn write_to(rank: u32, descriptor: c_int, buffer: *const u8, len: usize, offset: i64) -> isize {
    let mut done = 0;
    while done < len {
        let wanted = (len - done).min(MAILBOX_DATA_BYTES);
        // SAFETY: inside the program's buffer, readable by now.
        let out = unsafe { std::slice::from_raw_parts(buffer.add(done), wanted) };
        let at = if offset < 0 { -1 } else { offset + done as i64 };
        let put = ask(rank, Operation::DescriptorWrite, descriptor, (wanted as i64, at), out, &mut []);
        if put <= 0 {
            return if done > 0 { done as isize } else { put as isize };
        }
        done += put as usize;
    }
    done as isize
}

/// # Safety
/// A string that ends.
unsafe fn template_writable(template: *mut c_char) {
    // SAFETY: the caller's promise.
    let len = unsafe { check::readable_string(template as usize) };
    check::writable(template as usize, len + 1);
}

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

descriptors! {
    __dsm_open(path: *const c_char, flags: c_int, mode: u32) -> c_int = {
        check::readable_string(path as usize);
        opened(libc::open(path, flags, mode))
    };
    __dsm_creat(path: *const c_char, mode: u32) -> c_int = {
        check::readable_string(path as usize);
        opened(libc::creat(path, mode))
    };
    __dsm_openat(directory: c_int, path: *const c_char, flags: c_int, mode: u32) -> c_int = {
        check::readable_string(path as usize);
        opened(libc::openat(directory, path, flags, mode))
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
    __dsm_dup(descriptor: c_int) -> c_int = opened(libc::dup(descriptor));
    __dsm_pipe(ends: *mut c_int) -> c_int = {
        check::writable(ends as usize, 2 * size_of::<c_int>());
        let status = libc::pipe(ends);
        if status == 0 {
            let ends = std::slice::from_raw_parts_mut(ends, 2);
            ends.iter_mut().for_each(|end| *end = opened(*end));
        }
        status
    };
    __dsm_read(descriptor: c_int, buffer: *mut c_void, len: usize) -> isize = {
        check::writable(buffer as usize, len);
        match owner(descriptor) {
            None => libc::read(descriptor, buffer, len),
            Some(rank) => read_from(rank, descriptor, buffer.cast(), len, -1),
        }
    };
    __dsm_pread(descriptor: c_int, buffer: *mut c_void, len: usize, offset: c_long) -> isize = {
        check::writable(buffer as usize, len);
        match owner(descriptor) {
            None => libc::pread(descriptor, buffer, len, offset),
            Some(rank) => read_from(rank, descriptor, buffer.cast(), len, offset.max(0)),
        }
    };
    __dsm_write(descriptor: c_int, buffer: *const c_void, len: usize) -> isize = {
        check::readable(buffer as usize, len);
        match owner(descriptor) {
            None => libc::write(descriptor, buffer, len),
            Some(rank) => write_to(rank, descriptor, buffer.cast(), len, -1),
        }
    };
    __dsm_pwrite(descriptor: c_int, buffer: *const c_void, len: usize, offset: c_long) -> isize = {
        check::readable(buffer as usize, len);
        match owner(descriptor) {
            None => libc::pwrite(descriptor, buffer, len, offset),
            Some(rank) => write_to(rank, descriptor, buffer.cast(), len, offset.max(0)),
        }
    };
    __dsm_lseek(descriptor: c_int, offset: c_long, origin: c_int) -> c_long = match owner(descriptor) {
        None => libc::lseek(descriptor, offset, origin),
        Some(rank) => ask(rank, Operation::DescriptorSeek, descriptor, (offset, origin.into()), &[], &mut []),
    };
    __dsm_fsync(descriptor: c_int) -> c_int = match owner(descriptor) {
        None => libc::fsync(descriptor),
        Some(rank) => ask(rank, Operation::DescriptorSync, descriptor, (0, 0), &[], &mut []) as c_int,
    };
    __dsm_ftruncate(descriptor: c_int, len: c_long) -> c_int = match owner(descriptor) {
        None => libc::ftruncate(descriptor, len),
        Some(rank) => ask(rank, Operation::DescriptorTruncate, descriptor, (len, 0), &[], &mut []) as c_int,
    };
    __dsm_close(descriptor: c_int) -> c_int = match owner(descriptor) {
        None => close_own(descriptor),
        Some(rank) => ask(rank, Operation::DescriptorClose, descriptor, (0, 0), &[], &mut []) as c_int,
    };
}
