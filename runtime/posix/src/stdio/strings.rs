//! String and path functions that change memory only they know, and what `c/format.c` needs.

use std::ffi::{c_char, c_long};
use std::sync::atomic::Ordering;

use crate::{check, heap, memory};

crate::control::declare! {
    /// Where `strtok` goes on, for all threads of the job: the GNU C library has one place for the program.
    static STRTOK: u64;
}

/// Makes a string readable: to its NUL, or `bound` bytes if that is not negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_rt_load_string(string: *const u8, bound: c_long) {
    // SAFETY: the program passes a string that ends within the bound.
    unsafe {
        match usize::try_from(bound) {
            Err(_) => _ = check::readable_string(string as usize),
            Ok(bound) => _ = check::readable_within(string as usize, bound),
        }
    }
}

/// As [`dsm_rt_load_string`] for wide characters; `bound` in bytes of multibyte output, of which each character makes at least one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_rt_load_wide_string(string: *const libc::wchar_t, bound: c_long) {
    let bound = usize::try_from(bound).unwrap_or(usize::MAX);
    for i in 0..bound {
        // SAFETY: no terminator was seen yet, so the string goes on to this character at least.
        unsafe {
            let at = string.add(i);
            check::readable(at as usize, size_of::<libc::wchar_t>());
            if *at == 0 {
                return;
            }
        }
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_load_wide_str(addr: *mut u8, most: u64) {
    if check::has_effect() && memory::is_shared(addr as usize) {
        // SAFETY: the program passes a wide string, or as many characters.
        unsafe { dsm_rt_load_wide_string(addr.cast(), c_long::try_from(most).unwrap_or(-1)) };
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_load_strings(list: *mut u8) {
    if list.is_null() || !check::has_effect() {
        return;
    }
    let mut at = list.cast::<*mut u8>();
    // SAFETY: the program passes addresses of strings up to a null pointer; each is made readable before it is looked at.
    unsafe {
        loop {
            check::readable(at as usize, size_of::<usize>());
            if (*at).is_null() {
                return;
            }
            check::readable_string(*at as usize);
            at = at.add(1);
        }
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_load_to(addr: *mut u8, end: *mut u8) {
    check::readable(addr as usize, (end as usize).saturating_sub(addr as usize));
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_store_to(addr: *mut u8, end: *mut u8) {
    check::writable(addr as usize, (end as usize).saturating_sub(addr as usize));
}

/// Makes memory writable.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_store(memory: *mut u8, bytes: c_long) {
    check::writable(memory as usize, bytes.max(0) as usize);
}

/// Makes a string that is about to be cut writable.
unsafe fn cut(string: *mut u8) {
    if !string.is_null() {
        // SAFETY: the program passes a NUL-terminated string.
        unsafe { check::writable(string as usize, check::readable_string(string as usize) + 1) };
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_strtok_r(string: *mut u8, separators: *mut u8, rest: *mut u8) -> *mut u8 {
    check::writable(rest as usize, size_of::<usize>());
    // SAFETY: the program passes what `strtok_r` demands; the strings are valid after the calls.
    unsafe {
        check::readable_string(separators as usize);
        let rest = rest.cast::<*mut c_char>();
        cut(if string.is_null() { (*rest).cast() } else { string });
        libc::strtok_r(string.cast(), separators.cast(), rest).cast()
    }
}

/// See [`dsm_abi::entries`]. Where it goes on is kept for the job, as the GNU C library keeps it for the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_strtok(string: *mut u8, separators: *mut u8) -> *mut u8 {
    let word = STRTOK.shared(0);
    let mut rest = word.load(Ordering::Acquire) as *mut u8;
    // SAFETY: as the program promises; `rest` is a local pointer.
    let token = unsafe { __dsm_strtok_r(string, separators, (&raw mut rest).cast()) };
    word.store(rest as u64, Ordering::Release);
    token
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_strsep(string: *mut u8, separators: *mut u8) -> *mut u8 {
    check::writable(string as usize, size_of::<usize>());
    // SAFETY: the program passes what `strsep` demands; the strings are valid after the calls.
    unsafe {
        check::readable_string(separators as usize);
        let place = string.cast::<*mut u8>();
        let begin = *place;
        if begin.is_null() {
            return begin;
        }
        cut(begin);
        let length = libc::strcspn(begin.cast(), separators.cast());
        let end = begin.add(length);
        *place = if *end == 0 { std::ptr::null_mut() } else { end.add(1) };
        *end = 0;
        begin
    }
}

/// A copy on the shared heap of a string of the C library, which is freed.
unsafe fn adopt(text: *mut c_char) -> *mut u8 {
    if text.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: a string that the C library has just allocated; private memory, so nothing has to be made valid.
    unsafe {
        let copy = heap::entries::__dsm_strdup(text.cast());
        libc::free(text.cast());
        copy
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_realpath(path: *mut u8, resolved: *mut u8) -> *mut u8 {
    // SAFETY: the program passes what `realpath` demands.
    unsafe {
        if !path.is_null() {
            check::readable_string(path as usize);
        }
        if resolved.is_null() {
            return adopt(libc::realpath(path.cast(), std::ptr::null_mut()));
        }
        check::writable(resolved as usize, libc::PATH_MAX as usize);
        libc::realpath(path.cast(), resolved.cast()).cast()
    }
}

/// See [`dsm_abi::entries`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_getcwd(buffer: *mut u8, size: u64) -> *mut u8 {
    // SAFETY: the program passes what `getcwd` demands.
    unsafe {
        if buffer.is_null() {
            return adopt(libc::getcwd(std::ptr::null_mut(), size as usize));
        }
        // Longer than any path of the kernel's.
        check::writable(buffer as usize, (size as usize).min(1 << 16));
        libc::getcwd(buffer.cast(), size as usize).cast()
    }
}
