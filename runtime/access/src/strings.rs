//! Strings and searches: makes readable what a function of the library is going to read, and no more.
//!
//! Bounds of such functions may lie far behind the object (`strncmp(s, t, SIZE_MAX)`), so every line is looked at before the next one is
//! made readable. In a single process nothing is to be done.

use crate::check::{find_byte, readable_until, readable_within, rest_of_line};
use crate::{check, memory};

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// A string or `limit` bytes start at `string`, unless it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_load_str_within(string: *mut u8, limit: u64) {
    if check::has_effect() && memory::is_shared(string as usize) {
        // SAFETY: the caller's promise.
        unsafe { readable_within(string as usize, limit as usize) };
    }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `limit` bytes start at `memory`, or as many as up to the value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_load_until(memory: *mut u8, value: u32, limit: u64) -> u64 {
    if !check::has_effect() || memory.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe {
        readable_until(memory as usize, limit as usize, |at, len| find_byte(at, value.cast_signed(), len))
            as u64
    }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// Strings start at both addresses, or `limit` bytes, or as many as up to a difference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_load_compared(string: *mut u8, other: *mut u8, limit: u64, fold: u32) {
    if !check::has_effect() {
        return;
    }
    let (x, y, limit) = (string as usize, other as usize, limit as usize);
    let mut done = 0;
    while done < limit {
        let len = rest_of_line(y + done, rest_of_line(x + done, limit - done));
        check::readable(x + done, len);
        check::readable(y + done, len);
        for i in done..done + len {
            // SAFETY: all bytes before were equal and not NUL, so the comparison looks at these.
            let (a, b) = unsafe { (*((x + i) as *const u8), *((y + i) as *const u8)) };
            // Which other characters are equal depends on the locale.
            let equal =
                if fold != 0 { a.eq_ignore_ascii_case(&b) || !a.is_ascii() && !b.is_ascii() } else { a == b };
            if !equal || a == 0 || b == 0 {
                return;
            }
        }
        done += len;
    }
}
