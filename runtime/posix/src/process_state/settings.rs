//! What is set by a call: each function does what the C library's does, and says that something has changed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{Kind, changed, results};
use crate::check::readable_text;
use crate::stdio::descriptors;
use crate::{check, sync};

unsafe extern "C" {
    fn nice(increment: c_int) -> c_int;
    // In C, weakly: a C program has no C++ library.
    fn dsm_rt_cxx_set_new_handler(handler: *mut c_void) -> *mut c_void;
    fn dsm_rt_cxx_set_terminate(handler: *mut c_void) -> *mut c_void;
    fn dsm_rt_cxx_global_locale(result: *mut c_void, locale: *mut c_void);
    fn dsm_rt_cxx_locale() -> u64;
}

/// A result that is 0 if it worked.
fn noted(kind: Kind, result: c_int) -> c_int {
    if result == 0 {
        changed(kind);
    }
    result
}

/// `chdir`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_chdir(path: *const c_char) -> c_int {
    // SAFETY: the program's path, made readable.
    noted(Kind::Directory, unsafe { libc::chdir(readable_text(path)) })
}

/// `fchdir`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_fchdir(descriptor: c_int) -> c_int {
    // SAFETY: no memory is touched.
    noted(Kind::Directory, unsafe { libc::fchdir(descriptors::__dsm_descriptor(descriptor as u32) as c_int) })
}

/// What the program has set by `umask`; -1: nothing.
static MASK: AtomicI64 = AtomicI64::new(-1);

/// `umask`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_umask(mask: u32) -> u32 {
    // SAFETY: no memory is touched.
    let before = unsafe { libc::umask(mask) };
    MASK.store((mask & 0o777).into(), Ordering::Relaxed);
    if before != mask & 0o777 {
        changed(Kind::Mask);
    }
    before
}

/// The mask that the program has set, or -1.
pub fn mask() -> i64 {
    MASK.load(Ordering::Relaxed)
}

/// `setlocale`; the name can be read by all threads.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setlocale(category: c_int, name: *const c_char) -> *mut c_char {
    // SAFETY: the program's name, made readable.
    let result = unsafe { libc::setlocale(category, readable_text(name)) };
    if !name.is_null() && !result.is_null() {
        changed(Kind::Locale);
    }
    results::constant(result)
}

/// C++'s global locale, if the program has set it: the address of its implementation.
static CXX_LOCALE: AtomicU64 = AtomicU64::new(0);

/// `std::locale::global`: the former global locale goes to `result`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_global(result: *mut c_void, locale: *mut c_void) {
    check::writable(result as usize, size_of::<usize>());
    check::readable(locale as usize, size_of::<usize>());
    // SAFETY: the program's objects, which are a pointer each.
    let global = unsafe {
        dsm_rt_cxx_global_locale(result, locale);
        dsm_rt_cxx_locale()
    };
    CXX_LOCALE.store(global, Ordering::Relaxed);
    changed(Kind::Locale);
}

/// See [`CXX_LOCALE`]; 0 for none.
pub fn cxx_locale() -> u64 {
    CXX_LOCALE.load(Ordering::Relaxed)
}

/// Resources that have limits.
pub const RESOURCES: usize = 16;
/// Which of them the program has limited, a bit each, and the limits.
static LIMITS: Mutex<(u64, [libc::rlimit; RESOURCES])> =
    Mutex::new((0, [libc::rlimit { rlim_cur: 0, rlim_max: 0 }; RESOURCES]));

/// `setrlimit`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setrlimit(resource: u32, limit: *const libc::rlimit) -> c_int {
    check::readable(limit as usize, size_of::<libc::rlimit>());
    // SAFETY: the program's limits, made readable.
    let result = unsafe { libc::setrlimit(resource, limit) };
    if result == 0 && (resource as usize) < RESOURCES {
        let mut limits = LIMITS.lock();
        limits.0 |= 1 << resource;
        // SAFETY: as above.
        limits.1[resource as usize] = unsafe { limit.read() };
    }
    noted(Kind::Limits, result)
}

/// Which limits the program has set, and to what.
pub fn limits() -> (u64, [libc::rlimit; RESOURCES]) {
    *LIMITS.lock()
}

/// `nice`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_nice(increment: c_int) -> c_int {
    if increment != 0 {
        changed(Kind::Priority);
    }
    // SAFETY: no memory is touched.
    unsafe { nice(increment) }
}

/// `setpriority`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_setpriority(which: u32, who: u32, priority: c_int) -> c_int {
    // SAFETY: no memory is touched.
    let result = unsafe { libc::setpriority(which, who, priority) };
    if which == libc::PRIO_PROCESS && (who == 0 || who == std::process::id()) {
        noted(Kind::Priority, result)
    } else {
        result
    }
}

/// `std::set_new_handler`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_set_new_handler(handler: *mut c_void) -> *mut c_void {
    changed(Kind::Handlers);
    // SAFETY: the program's function.
    unsafe { dsm_rt_cxx_set_new_handler(handler) }
}

/// `std::set_terminate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_set_terminate(handler: *mut c_void) -> *mut c_void {
    changed(Kind::Handlers);
    // SAFETY: the program's function.
    unsafe { dsm_rt_cxx_set_terminate(handler) }
}

/// The working directory by its path, if it has one.
pub fn directory() -> Option<Vec<u8>> {
    let mut path = [0u8; libc::PATH_MAX as usize];
    // SAFETY: a buffer of that size.
    let found = unsafe { libc::getcwd(path.as_mut_ptr().cast(), path.len()) };
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    // A directory that cannot be reached from the root has a name in brackets.
    (!found.is_null() && path.to_bytes().first() == Some(&b'/')).then(|| path.to_bytes_with_nul().to_vec())
}

/// Device and number of the working directory.
pub fn directory_number() -> [u64; 2] {
    // SAFETY: a buffer for the result, all zero if there is none.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        libc::stat(c".".as_ptr(), &mut status);
        [status.st_dev, status.st_ino]
    }
}

/// Goes to the working directory of process 0, whose id is `pid`.
pub fn follow_directory(path: Option<&CStr>, number: [u64; 2], pid: u64) {
    let by_process = format!("/proc/{pid}/cwd\0");
    let by_process = CStr::from_bytes_with_nul(by_process.as_bytes()).expect("one NUL at the end");
    for path in path.into_iter().chain([by_process]) {
        // SAFETY: a string.
        if unsafe { libc::chdir(path.as_ptr()) } == 0 && directory_number() == number {
            return;
        }
    }
    eprintln!("dsm: warning: process {} cannot go to the working directory of process 0", sync::rank());
}
