//! Opening, closing and finding streams. `dsm-runtime` (`runtime/src/lib.rs`, `entry_types`) checks the types against [`dsm_abi::for_each_entry`].

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use super::mailbox::{self, Operation};
use super::registry::{self, Refused};
use super::stream::Target;
use super::{File, buffers, descriptors, fflush, stream};
use crate::job::library::set_errno;
use crate::{check, sync};

unsafe extern "C" {
    fn fopen(path: *const c_char, mode: *const c_char) -> File;
    fn fdopen(descriptor: c_int, mode: *const c_char) -> File;
    fn freopen(path: *const c_char, mode: *const c_char, stream: File) -> File;
    fn tmpfile() -> File;
    fn popen(command: *const c_char, mode: *const c_char) -> File;
    fn pclose(stream: File) -> c_int;
    fn fclose(stream: File) -> c_int;
    fn fileno(stream: File) -> c_int;
    fn feof(stream: File) -> c_int;
    fn clearerr(stream: File);
}

/// Makes a string of the program readable.
unsafe fn text(string: *mut u8) -> *const c_char {
    if !string.is_null() {
        // SAFETY: the program passes a NUL-terminated string or null.
        unsafe { check::readable_string(string as usize) };
    }
    string as *const c_char
}

/// Enters a new stream of this process into the registry. `mode`, if given, allows a second stream on the file in case another process's
/// stream has the same address.
pub(super) unsafe fn opened(first: File, mode: Option<&CStr>) -> *mut u8 {
    if first.is_null() || sync::size() == 1 {
        return first.cast();
    }
    mailbox::serve();
    let mut file = first;
    // SAFETY: the stream was just opened. What another process opens goes on under a number that all understand.
    unsafe {
        match mode {
            Some(mode) if sync::rank() != 0 && !descriptors::is_own(fileno(first)) => {
                file = second(first, mode);
                fclose(first);
                if file.is_null() {
                    return std::ptr::null_mut();
                }
            }
            _ => descriptors::enter(fileno(first)),
        }
    }
    let mut rejected = Vec::new();
    loop {
        match registry::insert(file as usize) {
            Ok(()) => break,
            Err(Refused::Full) => {
                warn_full();
                break;
            }
            Err(Refused::Taken) => {
                // SAFETY: the stream was just opened.
                let next = mode.map(|mode| unsafe { second(file, mode) });
                let Some(next) = next.filter(|f| !f.is_null()) else { break };
                rejected.push(file);
                file = next;
            }
        }
    }
    for old in rejected {
        // SAFETY: opened above and given to nobody.
        unsafe {
            descriptors::leave(fileno(old));
            fclose(old);
        }
    }
    file.cast()
}

/// A second stream on the file of a stream of this process, under a number that all understand; null with `errno` if there is none.
///
/// # Safety
/// As for `fdopen`, of the stream's descriptor.
unsafe fn second(file: File, mode: &CStr) -> File {
    // SAFETY: the caller's promise; the copy is this function's until it has a stream.
    unsafe {
        let number = descriptors::opened(libc::dup(fileno(file)));
        let stream = if number < 0 { std::ptr::null_mut() } else { fdopen(number, mode.as_ptr()) };
        if stream.is_null() && number >= 0 {
            descriptors::close_own(number);
        }
        stream
    }
}

fn warn_full() {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        eprintln!(
            "dsm: warning: more than {} streams are open: further ones can be used only by the process that opens them",
            registry::STREAM_SLOTS
        );
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_stream(named: *mut u8) -> *mut u8 {
    if sync::size() == 1 { named } else { stream::local_stream(named.cast()).cast() }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fopen(path: *mut u8, mode: *mut u8) -> *mut u8 {
    // SAFETY: the program passes what `fopen` demands.
    unsafe {
        let mode = text(mode);
        opened(fopen(text(path), mode), Some(CStr::from_ptr(mode)))
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fdopen(descriptor: u32, mode: *mut u8) -> *mut u8 {
    // SAFETY: the program passes what `fdopen` demands.
    unsafe {
        let mode = text(mode);
        let descriptor = descriptor as c_int;
        // A copy is not the stream's to close.
        let here = descriptors::local_descriptor(descriptor);
        let is_copy = here != descriptor;
        let number = if is_copy { libc::fcntl(here, libc::F_DUPFD_CLOEXEC, 0) } else { here };
        let file = fdopen(number, mode);
        if file.is_null() && is_copy && number >= 0 {
            libc::close(number);
        }
        opened(file, Some(CStr::from_ptr(mode)))
    }
}

/// See [`dsm_abi::entries`]. Standard streams that process 0 reopens are its own from then on in all processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_freopen(path: *mut u8, mode: *mut u8, named: *mut u8) -> *mut u8 {
    // SAFETY: the program passes what `freopen` demands.
    unsafe {
        let (path, mode) = (text(path), text(mode));
        if stream::target(named.cast()).is_some() {
            set_errno(libc::EBADF);
            return std::ptr::null_mut();
        }
        let standard = stream::is_standard_output(named.cast());
        if sync::size() > 1 && !standard {
            registry::remove(named as usize);
        }
        let file = freopen(path, mode, named.cast());
        if standard && sync::rank() != 0 { file.cast() } else { opened(file, None) }
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_tmpfile() -> *mut u8 {
    // SAFETY: a new stream.
    unsafe { opened(tmpfile(), Some(c"w+")) }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_popen(command: *mut u8, mode: *mut u8) -> *mut u8 {
    // SAFETY: the program passes what `popen` demands.
    unsafe { opened(popen(text(command), text(mode)), None) }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fileno(named: *mut u8) -> u32 {
    if sync::size() > 1 {
        if stream::is_standard_input(named.cast()) {
            return libc::STDIN_FILENO as u32;
        }
        if let Some((owner, file)) = stream::target(named.cast()) {
            return stream::number(owner, file).cast_unsigned();
        }
    }
    // SAFETY: the program passes an open stream.
    unsafe { fileno(named.cast()).cast_unsigned() }
}

/// A stream of this process is about to be closed.
unsafe fn closing(named: *mut u8) {
    // SAFETY: the program passes an open stream.
    let descriptor = unsafe { fileno(named.cast()) };
    if descriptor >= 0 {
        super::import::forget_everywhere(sync::rank(), descriptor);
        descriptors::leave(descriptor);
    }
    registry::remove(named as usize);
}

/// See [`dsm_abi::entries`]. Only the process that called `popen` can wait for the command.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_pclose(named: *mut u8) -> u32 {
    if sync::size() > 1 {
        if stream::target(named.cast()).is_some() {
            set_errno(libc::ECHILD);
            return u32::MAX;
        }
        // SAFETY: the program passes a stream of `popen`.
        unsafe { closing(named) };
    }
    // SAFETY: the program passes a stream of `popen`.
    unsafe { pclose(named.cast()) as u32 }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fclose(named: *mut u8) -> u32 {
    if sync::size() > 1 {
        if let Some((owner, file)) = stream::target(named.cast()) {
            return stream::close_proxy(owner, file) as u32;
        }
        // SAFETY: the program passes an open stream.
        unsafe { closing(named) };
    }
    // SAFETY: the program passes an open stream.
    let result = unsafe { fclose(named.cast()) as u32 };
    buffers::closed(named as usize);
    result
}

/// `feof`: of a stream of another process, whatever process has read its end.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_feof(named: File) -> c_int {
    if sync::size() > 1
        && let Some(target) = Target::of(named)
    {
        return stream::is_at_end(target).into();
    }
    // SAFETY: the program passes an open stream.
    unsafe { feof(named) }
}

/// `clearerr`, at a stream's owner, too.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_clearerr(named: File) {
    let target = if sync::size() > 1 { Target::of(named) } else { None };
    let here = target.map_or(named, stream::clear_errors);
    // SAFETY: the program passes an open stream, or it is the proxy of one.
    unsafe { clearerr(here) };
}

/// See [`dsm_abi::entries`]. A null pointer means the streams of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fflush(named: *mut u8) -> u32 {
    if sync::size() > 1
        && !named.is_null()
        && let Some((owner, file)) = stream::target(named.cast())
    {
        return stream::on_whole(owner, file, Operation::Flush, (0, 0)).cast_unsigned();
    }
    if named.is_null() {
        super::give_back();
    }
    // SAFETY: the program passes an open stream or null.
    unsafe { fflush(named.cast()) as u32 }
}

/// After a fork: takes over that process 0 has reopened a standard stream.
pub fn after_fork() {
    if sync::rank() == 0 {
        return;
    }
    descriptors::follow_standard();
    if !stream::seen_all_changes() {
        stream::follow_standard_output();
    }
}
